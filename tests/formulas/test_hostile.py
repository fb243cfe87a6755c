"""Hostile formulas are rejected, judged or undecided within the time limit of tests."""

from __future__ import annotations

import pytest

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.notation.formula_lists import parse_list, parse_single
from autograder.formulas.values.points import Points
from tests.formulas.examples import VOCABULARY
from tests.formulas.hostile import DECIDED, REFUSED
from tests.formulas.verdicts import judge

PLAIN = Comparer(Points(VOCABULARY.domains, b"a test"))
HEADS = PLAIN.with_assumptions([parse_single("d_model = n_heads*d_head", VOCABULARY)])
KEYS = {
    "a polynomial": ("8*d_model^2", [PLAIN]),
    "a polynomial under an assumption": ("8*d_model^2", [PLAIN, HEADS]),
    "a fraction": ("n/(d_model + 1) + 1/n_heads", [PLAIN, HEADS]),
    "a logarithm": ("n*log(n) + d_model", [PLAIN]),
    "a ceiling": ("ceil(n/2)", [PLAIN]),
    "a power": ("2^n*d_model", [PLAIN]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_texts_are_refused(name: str) -> None:
    """Each text is rejected with a message."""
    assert judge(REFUSED[name], "8*d_model^2", VOCABULARY, [PLAIN]) == "refused"


@pytest.mark.slow
@pytest.mark.parametrize("asked", KEYS)
@pytest.mark.parametrize("name", DECIDED)
def test_costly_formulas_are_judged_or_left_open(name: str, asked: str) -> None:
    """A readable formula of any size is judged or undecided, with any key."""
    right, readings = KEYS[asked]
    outcome = judge(DECIDED[name], right, VOCABULARY, readings)
    if name == "exponent by cancellation" and asked.startswith("a polynomial"):
        assert outcome == "right"
    else:
        assert outcome in ("wrong", "undecided")


@pytest.mark.parametrize("nested", ["sqrt({} + n)", "1/({} + n)"])
def test_keys_of_many_levels_judge(nested: str) -> None:
    """Keys with 38 nested roots or fractions accept a right answer and reject a wrong one."""
    text = "d"
    for _ in range(38):
        text = nested.format(text)
    assert judge(text, text, VOCABULARY, [PLAIN]) == "right"
    assert judge(f"{text} + d", text, VOCABULARY, [PLAIN]) in ("wrong", "undecided")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*REFUSED, *DECIDED])
def test_lists_and_inequalities_are_not_right(name: str) -> None:
    """Hostile texts are not right as a list, or as one side of an inequality."""
    text = (REFUSED | DECIDED)[name]
    listed, inequality = parse_list("(n, d)", VOCABULARY), parse_single("n < d_model", VOCABULARY)
    assert judge(text, listed, VOCABULARY, [PLAIN], parse_list) != "right"
    assert judge(f"{text} < d", inequality, VOCABULARY, [PLAIN], parse_single) != "right"
