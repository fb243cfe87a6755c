"""Test that the draw is fair, reproducible and different for each student."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from autograder.core.errors import RubricError
from autograder.rubric import load_rubric
from autograder.rubric.variants.draws import Fault, Variant, draw_variant
from autograder.rubric.variants.options import Draws, read_draws

ROOT = Path(__file__).parents[3]
SECRET = bytes(range(32))
STUDENTS = 10_000
SHEET = load_rubric(ROOT / "rubrics" / "variants-practice.toml")
CATALOGUES = {"repair": tuple(Fault(one.id, one.title) for one in SHEET.checks["repair"].faults)}
CODE = """
import sys
from pathlib import Path
from tests.rubric.variants.test_draws import drawn
print(drawn("ada").label, drawn("\\u4e94").label)
"""


def drawn(student: str, secret: bytes = SECRET, assignment: str = "variants-practice") -> Variant:
    """Return a student's variant of the practice sheet."""
    assert SHEET.draws is not None
    counts = SHEET.planted
    return draw_variant(secret, assignment, student, SHEET.draws, catalogues=CATALOGUES, counts=counts)


@cache
def everybody() -> tuple[Variant, ...]:
    """Return the variants of many students."""
    return tuple(drawn(f"student-{number}") for number in range(STUDENTS))


def table(**draws: object) -> Draws:
    """Return draws without a rubric."""
    where = draws.pop("where", [])
    return read_draws({"draw": draws, "where": where}, "rubric")


def test_the_same_in_every_process() -> None:
    """Another process with another hash seed draws the same variants."""
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", CODE],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert [drawn("ada").label, drawn("\u4e94").label] == done.stdout.split()


def test_the_draw_is_the_one_that_was_handed_out() -> None:
    """Two variants are stored here, because changing the way of drawing would change released variants."""
    draws = table(
        d={"integers": [1, 2, 3, 4, 5], "common": 1},
        w={"choices": ["a", "b", "c"], "common": "a"},
        f={"faults": "m"},
        where=["d != 3"],
    )
    faults = {"m": [Fault(name, {"en": name}) for name in "uvwxyz"]}
    found = [
        draw_variant(SECRET, "sheet", student, draws, catalogues=faults, counts={"f": 3})
        for student in ("ada", "bob")
    ]
    assert [
        ({"d": 1, "w": "a"}, ("w", "x", "z")),
        ({"d": 5, "w": "a"}, ("u", "w", "y")),
    ] == [(one.values, one.faults["f"]) for one in found]


def test_students_assignments_and_secrets_draw_apart() -> None:
    """Another id, assignment or course gives another draw, even if they are similar."""
    ids = [
        "ada",
        "Ada",
        "ada ",
        "a",
        "da",
        "adа",
        "x" * 128,
        "五",
        "a\x00da",
        "ada/1",
    ]  # one with a Cyrillic а
    assert len(ids) == len({drawn(one).label for one in ids})
    assert drawn("ada") != drawn("ada", assignment="variants-practice-2")
    assert drawn("ada") != drawn("ada", secret=bytes(32))
    assert drawn("\u00e9") == drawn("e\u0301")


def test_length_and_boundaries_of_names_do_not_run_together() -> None:
    """Assignment ``ab`` of student ``c`` does not equal assignment ``a`` of student ``bc``."""
    assert drawn("c", assignment="ab") != drawn("bc", assignment="a")


@pytest.mark.slow
def test_everybody_gets_an_equally_hard_sheet() -> None:
    """For ten thousand students, each variant has four faults and satisfies all conditions."""
    for variant in everybody():
        values, faults = variant.values, variant.faults["decoder"]
        assert 4 == len(set(faults))
        d_model, n_heads = values["d_model"], values["n_heads"]
        assert isinstance(d_model, int)
        assert isinstance(n_heads, int)
        assert 0 == d_model % n_heads
        assert 32 <= d_model // n_heads


def test_every_set_of_faults_is_drawn_equally_often() -> None:
    """All sets of four faults are equally frequent."""
    admissible = [tuple(fault.id for fault in chosen) for chosen in combinations(CATALOGUES["repair"], 4)]
    counts = Counter(variant.faults["decoder"] for variant in everybody())
    assert set(counts) <= set(admissible)
    assert_even([counts[one] for one in admissible])


@pytest.mark.parametrize("name", ["batch", "length", "n_layers", "factor", "most_tokens"])
def test_every_value_is_drawn_about_equally_often(name: str) -> None:
    """Over ten thousand students every value occurs, within a third of its expected share."""
    assert SHEET.draws is not None
    counts = Counter(variant.values[name] for variant in everybody())
    possible = SHEET.draws.drawn[name].values
    assert set(possible) == set(counts)
    share = STUDENTS / len(possible)
    assert all(share * 2 / 3 < count < share * 4 / 3 for count in counts.values()), counts


def test_every_pair_of_sizes_that_fits_is_drawn_equally_often() -> None:
    """Values that satisfy the conditions are equally frequent."""
    counts = Counter((variant.values["d_model"], variant.values["n_heads"]) for variant in everybody())
    assert 21 == len(counts)
    # Two further conditions remove slightly more of some pairs than of others.
    share = STUDENTS / len(counts)
    assert all(share * 0.75 < count < share * 1.25 for count in counts.values()), counts


def test_nearly_everybody_has_a_sheet_of_their_own() -> None:
    """Nearly all of ten thousand sheets differ."""
    assert len({variant.label for variant in everybody()}) > 0.98 * STUDENTS


def assert_even(counts: Sequence[int]) -> None:
    """Assert that chi-squared of equal shares is within six standard deviations of its mean."""
    share = sum(counts) / len(counts)
    squared = sum((count - share) ** 2 / share for count in counts)
    freedom = len(counts) - 1
    assert abs(squared - freedom) < 6 * (2 * freedom) ** 0.5


def test_integers_are_unbiased_at_awkward_bounds() -> None:
    """All values are equally frequent if the bound does not divide the generator's range."""
    draws = table(n={"integers": {"from": 0, "to": 6}, "common": 0})
    counts = Counter(
        draw_variant(SECRET, "a", str(one), draws, catalogues={}, counts={}).values["n"]
        for one in range(7000)
    )
    assert_even([counts[number] for number in range(7)])


def test_more_faults_than_there_are_are_refused() -> None:
    """The message states how many faults exist."""
    draws = table(f={"faults": "q"})
    faults = [Fault(name, {}) for name in "abc"]
    every = draw_variant(SECRET, "a", "x", draws, catalogues={"q": faults}, counts={"f": 3})
    assert ("a", "b", "c") == every.faults["f"]
    with pytest.raises(RubricError, match="4 are to be planted, but the checks plant 3"):
        draw_variant(SECRET, "a", "x", draws, catalogues={"q": faults}, counts={"f": 4})
