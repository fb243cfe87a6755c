"""Hostile formulas cost next to nothing and run nothing."""

from __future__ import annotations

import time

import pytest

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.key import AnswerKey
from autograder.algebra.notation.parse import parse
from autograder.algebra.values.points import Points
from autograder.errors import Undecided, Unreadable
from tests.algebra.examples import VOCABULARY
from tests.algebra.hostile import DECIDED, REFUSED

KEY = AnswerKey([parse("8*d_model^2", VOCABULARY)], [Comparer(Points(VOCABULARY.domains))])
SECONDS = 0.01


def fastest(text: str) -> tuple[str, float]:
    """What comes of a text, and the shortest of three times: other work shares this machine."""
    outcome, best = "", 1e9
    for _ in range(3):
        start = time.perf_counter()
        try:
            outcome = "right" if KEY.verdict(parse(text, VOCABULARY)).right else "wrong"
        except Unreadable:
            outcome = "refused"
        except Undecided:
            outcome = "undecided"
        best = min(best, time.perf_counter() - start)
    return outcome, best


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_texts_are_refused_quickly(name: str) -> None:
    """Each is refused with a message, in less than ten milliseconds."""
    outcome, seconds = fastest(REFUSED[name])
    assert outcome == "refused"
    assert seconds < SECONDS


@pytest.mark.parametrize("name", DECIDED)
def test_costly_formulas_end_quickly(name: str) -> None:
    """A readable formula of any size is judged, or left to a human, in less than ten milliseconds."""
    outcome, seconds = fastest(DECIDED[name])
    assert outcome == "right" if name == "exponent by cancellation" else outcome in ("wrong", "undecided")
    assert seconds < SECONDS
