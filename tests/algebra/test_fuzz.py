"""A small draw of what `make fuzz` does at length."""

from __future__ import annotations

import secrets

import pytest

from tests.algebra.fuzz import check_inputs, check_pairs

pytestmark = pytest.mark.alone

PAIRS = 3_000
INPUTS = 3_000


def test_no_verdict_is_wrong() -> None:
    """Of formulas that are equal by construction or unequal by a witness, none is judged wrongly."""
    seed = secrets.randbits(32)
    outcomes = check_pairs(PAIRS, seed)
    assert (0, seed) == (outcomes["wrong"], seed)
    assert outcomes["undecided"] < PAIRS // 100
    assert outcomes["refused"] < PAIRS // 50


def test_no_input_breaks_or_stalls_anything() -> None:
    """Every text is read or refused at a place inside it, within the limits of time and memory."""
    found = check_inputs(INPUTS, secrets.randbits(32))
    judged, refused = found["judged"], found["refused"]
    assert isinstance(judged, int)
    assert isinstance(refused, int)
    assert judged > INPUTS // 20
    assert refused > INPUTS // 20
