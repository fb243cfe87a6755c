"""The kind ``visibility``: matrices and pairs are judged exactly, and mistakes are named."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from autograder.checks.base import Check
from autograder.errors import RubricError
from autograder.messages import languages, render
from autograder.records import ItemResult, Opaque, Status, Tensor
from tests.checks.asking import DRAW, answer, check_of, error, judge, value
from tests.support.local_box import LocalBox

WRITTEN = LocalBox("from reference.tracing.visibility import written as seen")


def question(config: str, more: str = "") -> Check:
    """A question about an architecture."""
    return check_of(
        '[[question]]\nid = "q"\nkind = "visibility"\npoints = 2\nanswer = "seen"\n'
        f'reference = "tracing.visibility:written"\nconfig = {config}\n'
        f'[[question.item]]\nid = "matrix"\npoints = 2\ntext = {{ en = "x" }}\n{more}'
    )


def judged(check: Check, given: Any) -> ItemResult:
    """The result of a value that the student's box holds."""
    source = "seen = f()"
    expected = WRITTEN.ask(check.reference_plan(DRAW))
    observed = [value(given) for _ in check.plan(answer(source), DRAW)]
    return judge(check, source, observed, expected)[0]


DECODER = question('{ pattern = "decoder", length = 3 }')
LOWER = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    "given",
    [
        LOWER,
        tuple(map(tuple, LOWER)),
        np.tril(np.ones((3, 3))),
        Tensor(np.tril(np.ones((3, 3), bool)), "bool"),
        [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)],
        [[2, 2], [2, 1], [2, 0], [1, 1], [1, 0], [0, 0], [0, 0]],
        {0: [0], 1: [0, 1], 2: [0, 1, 2]},
    ],
)
def test_every_form_is_read(given: Any) -> None:
    """Matrices of numbers or truth values, pairs in any order, and dictionaries are the same answer."""
    assert Status.PASSED is judged(DECODER, given).status


def test_a_literal_needs_no_box() -> None:
    """What stands in the source is read there."""
    source = f"seen = {LOWER}"
    assert () == DECODER.plan(answer(source), DRAW)
    expected = WRITTEN.ask(DECODER.reference_plan(DRAW))
    assert Status.PASSED is judge(DECODER, source, (), expected)[0].status


def test_a_set_of_pairs_is_read_by_its_entries() -> None:
    """A set has no plain form; its entries in order are asked for in the same plan."""
    source = "seen = {(t, s) for t in range(3) for s in range(t + 1)}"
    plan = DECODER.plan(answer(source), DRAW)
    assert 2 == len(plan)
    pairs = [(t, s) for t in range(3) for s in range(t + 1)]
    expected = WRITTEN.ask(DECODER.reference_plan(DRAW))
    observed = [value(Opaque("set")), value(Opaque("set"), pairs)]
    assert Status.PASSED is judge(DECODER, source, observed, expected)[0].status
    wrong = [value(Opaque("set")), value(Opaque("set"), pairs[1:])]
    assert Status.FAILED is judge(DECODER, source, wrong, expected)[0].status
    unordered = [value(Opaque("set")), (*value(Opaque("set")), *error("TypeError"))]
    assert "visibility.form" == judge(DECODER, source, unordered, expected)[0].code


WINDOW = question('{ pattern = "window", length = 6, window = 3, layers = 2 }')
PADDED = question('{ pattern = "encoder", length = 4, padding = [3] }')

PREFIX = question('{ pattern = "prefix", length = 4, prefix = 2 }')
DILATED = question('{ pattern = "window", length = 7, window = 3, dilation = 2 }')


def band(length: int, width: int) -> list[list[int]]:
    """A window without stack."""
    return [[int(0 <= t - s < width) for s in range(length)] for t in range(length)]


@pytest.mark.parametrize(
    ("check", "given", "code"),
    [
        (DECODER, [list(row) for row in zip(*LOWER, strict=True)], "transposed"),
        (DECODER, [[0, 0, 0], [1, 0, 0], [1, 1, 0]], "diagonal-missing"),
        (DECODER, [[1, 1, 0], [1, 1, 1], [1, 1, 1]], "one-ahead"),
        (DECODER, [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "inverted"),
        (DECODER, [[1] * 3] * 3, "both-sides"),
        (DECODER, [[0] * 3] * 3, "nothing"),
        (DECODER, [], "nothing"),
        (DECODER, [[1, 0, 0], [1, 1, 0], [1, 0, 1]], "rows"),
        (WINDOW, band(6, 3), "one-layer"),
        (WINDOW, band(6, 6), "windows-added"),
        (WINDOW, band(6, 4), "rows"),
        (WINDOW, band(6, 7), "windows-added"),
        (PADDED, [[1] * 4] * 4, "padding-ignored"),
        (PADDED, [[1, 1, 1, 0]] * 3 + [[0, 0, 0, 0]], "padding-rows"),
        (PREFIX, [[int(s <= t) for s in range(4)] for t in range(4)], "prefix-causal"),
        (DILATED, band(7, 3), "dilation-ignored"),
        (DILATED, [[int(t - s in (0, 2)) for s in range(7)] for t in range(7)], "window-too-narrow"),
        (DILATED, [[int(t - s in (0, 2, 4, 6)) for s in range(7)] for t in range(7)], "window-too-wide"),
        (DECODER, "a text", "form"),
        (DECODER, 3, "form"),
        (DECODER, [[1, 0, 0], [1, 1]], "form"),
        (DECODER, [[1, 0, 0], [1, 1, 0], [1, 1, 2]], "entry"),
        (DECODER, [[1.0, 0.0, float("nan")]] * 3, "entry"),
        (DECODER, [[0, 0], [3, 0]], "position"),
        (DECODER, [[0, 0], [0, -1]], "position"),
        (DECODER, [[1, 0, 0, 0]] * 4, "size"),
        (DECODER, np.ones((1, 200_000)), "size"),
        (DECODER, {0: 1}, "form"),
        (DECODER, {"a": [0]}, "form"),
        (DECODER, [[0, 0], [10**5000, 0]], "form"),
    ],
)
def test_mistakes_are_named(check: Check, given: Any, code: str) -> None:
    """A wrong matrix has its name, whatever it is; no points, and a sentence in both languages."""
    result = judged(check, given)
    assert (Status.FAILED, f"visibility.{code}", Decimal(0)) == (result.status, result.code, result.points)
    assert all(render(result.student, language) for language in languages())


def test_a_matrix_with_two_columns_is_not_taken_for_pairs() -> None:
    """With two keys the shape decides: rows of 0 and 1 are a matrix there."""
    check = question('{ pattern = "cross", length = 3, keys = 2, padding = [1] }')
    assert Status.PASSED is judged(check, [[1, 0]] * 3).status
    assert Status.PASSED is judged(check, [(0, 0), (1, 0), (2, 0), (2, 0)]).status


def test_the_sentence_gives_nothing_away() -> None:
    """No sentence names an entry that would have been right."""
    result = judged(DECODER, [[1, 0, 0], [1, 1, 0], [1, 0, 1]])
    assert "1 of 3 rows" in render(result.student, "en")
    assert "expected" not in render(result.student, "en")


def test_a_named_mistake_is_worth_what_the_rubric_says() -> None:
    """Half the points for the matrix of a single layer."""
    more = (
        '[[question.item.mistake]]\ncode = "one"\nwhen = "diagnosis:one-layer"\n'
        'points = 1\ntext = { en = "One." }\n'
    )
    check = question('{ pattern = "window", length = 6, window = 3, layers = 2 }', more)
    assert (Decimal(1), "one") == (judged(check, band(6, 3)).points, judged(check, band(6, 3)).code)


def test_functions_are_compared_in_every_case() -> None:
    """A mask function is asked in every case; a misconception in one of them is enough."""
    check = check_of(
        '[[question]]\nid = "q"\nkind = "visibility"\npoints = 1\nanswer = "mask"\n'
        'reference = "tracing.visibility:window_mask"\n[[question.case]]\nargs = [5, 3]\n'
        '[[question.case]]\nargs = [4, 1]\n[[question.item]]\nid = "mask"\npoints = 1\ntext = { en = "x" }\n'
    )
    expected = LocalBox("from reference.tracing.visibility import window_mask as mask").ask(
        check.reference_plan(DRAW)
    )
    for body, code in (
        ("0 <= t - s < w", "passed"),
        ("-1 <= t - s < w", "visibility.one-ahead"),
        ("t - s == 1", ""),
    ):
        source = f"def mask(n, w): return [[{body} for s in range(n)] for t in range(n)]"
        observed = LocalBox(source).ask(check.plan(answer(source), DRAW))
        result = judge(check, source, observed, expected)[0]
        assert result.student.code == code or (not code and result.status is Status.FAILED)


@pytest.mark.parametrize(
    ("config", "more", "match"),
    [
        ("{}", "value = [[0, 2], [1, 1]]", "no answer of kind visibility"),
        (
            "{}",
            '[[question.item.mistake]]\ncode = "x"\nwhen = "diagnosis:tansposed"\ntext = { en = "x" }',
            "transposed",
        ),
        (
            "{}",
            '[[question.item.mistake]]\ncode = "x"\nwhen = "diagnosis:no-gate"\ntext = { en = "x" }',
            "no diagnosis",
        ),
    ],
)
def test_errors_in_a_rubric_are_named(config: str, more: str, match: str) -> None:
    """A matrix that is none, and diagnoses that do not exist, are refused."""
    with pytest.raises(RubricError, match=match):
        question(config, more)


def test_a_reference_that_is_no_matrix() -> None:
    """Our own fault costs nothing."""
    result = judge(DECODER, f"seen = {LOWER}", (), [value({"right": [[0, 7]], "mistakes": 3})])[0]
    assert Status.NEEDS_REVIEW is result.status
