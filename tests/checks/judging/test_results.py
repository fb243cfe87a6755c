"""What a finding is worth."""

from __future__ import annotations

from decimal import Decimal

from autograder.checks.judging.results import (
    failed,
    first_failure,
    no_answer,
    result,
    review,
)
from autograder.records import Observation, Status
from autograder.rubric import parse

RUBRIC = b"""
version = 1
[assignment]
name = "deductions"
points = 3
[[question]]
id = "one"
kind = "number"
points = 3
answer = "number"
[[question.item]]
id = "right"
points = 3
text = { en = "Right" }
value = 7
[[question.item]]
id = "loud"
points = -1
text = { en = "Nothing is printed" }
value = 7
"""


def test_a_deduction_takes_points_away_and_gives_none() -> None:
    """Only where something was found; what a person has to look at costs nothing yet."""
    question = parse(RUBRIC).question("one")
    right, loud = question.items
    found = {
        name: [
            (one.status, one.points, one.possible)
            for one in (result(question, right, finding), result(question, loud, finding))
        ]
        for name, finding in (
            ("passed", None),
            ("failed", failed("number.wrong")),
            ("no answer", no_answer()),
            ("review", review("a fault of ours")),
        )
    }
    three, one, nothing = Decimal(3), Decimal(-1), Decimal(0)
    assert {
        "passed": [(Status.PASSED, three, three), (Status.PASSED, nothing, nothing)],
        "failed": [(Status.FAILED, nothing, three), (Status.FAILED, one, nothing)],
        "no answer": [(Status.NO_ANSWER, nothing, three), (Status.NO_ANSWER, nothing, nothing)],
        "review": [(Status.NEEDS_REVIEW, nothing, three), (Status.NEEDS_REVIEW, nothing, nothing)],
    } == found


def seen(*values: object) -> tuple[Observation, ...]:
    """Calls that returned these values."""
    return tuple(Observation(ok=True, value=value) for value in values)


def test_an_answer_that_is_not_whole_is_for_a_person() -> None:
    """Fewer observations than calls, or a call that was not made, are our fault; all of them are none."""
    skipped = Observation(ok=False, error="Skipped")
    assert first_failure(seen(1, 2), 2, "number", "number") is None
    for observations in (seen(1), (), (*seen(1), skipped)):
        finding = first_failure(observations, 2, "number", "number")
        assert finding is not None
        assert Status.NEEDS_REVIEW is finding.status
