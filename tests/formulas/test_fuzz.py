"""A small draw of what `python -m tests.formulas.fuzz` does at length; the same in every run."""

from __future__ import annotations

import pytest

from tests.formulas.fuzz import SECONDS_OF_CASES, Judge, check_inputs, check_pairs, fastest
from tests.support.rotation import rotating

PAIRS = 1_500
INPUTS = 1_000
SEED = 20


@pytest.mark.slow
def test_no_verdict_is_wrong() -> None:
    """Of formulas that are equal by construction or unequal by a witness, none is judged wrongly."""
    for outcomes in check_pairs(PAIRS, SEED).values():
        assert 0 == outcomes["wrong"]
        assert outcomes["right"] > PAIRS // 20
        assert outcomes["undecided of equal"] < PAIRS // 50
        assert outcomes["refused"] < PAIRS // 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", rotating((20, 21, 22)))
def test_no_input_breaks_or_stalls_anything(seed: int) -> None:
    """Every text is read or refused at a place inside it, within the limits of time and memory."""
    found = check_inputs(INPUTS, seed)
    judged, refused = found["judged"], found["refused"]
    assert isinstance(judged, int)
    assert isinstance(refused, int)
    assert judged > INPUTS // 20
    assert refused > INPUTS // 20


@pytest.mark.parametrize(
    "text",
    [
        "(d_hidden*d_hidden)**(V*V*(-V)*e)",
        "(d_hidden*d_hidden)**(V*V*(-V)*e)/(e/e)**(e/e)",
        "(d_hidden*d_hidden)**(V*V*V*e)",
    ],
)
def test_numbers_beyond_a_machines_end_no_search(text: str) -> None:
    """What a part would have to be is without end at one point; that is no number to look for."""
    assert "judged" == Judge()(text)


def test_dear_points_inside_cases_have_an_end() -> None:
    """A maximum of gamma functions costs a hundred times one of polynomials at each point."""
    least = "min(binomial(e, e), binomial(d_head, d_head), e + e + n_heads)"
    assert fastest(Judge(), f"{least} + {least} + log(d_ff, 4)*log(d_ff, 4)") < SECONDS_OF_CASES
