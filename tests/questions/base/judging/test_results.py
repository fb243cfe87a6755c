"""Test the points of a finding."""

from __future__ import annotations

from decimal import Decimal

from autograder.core.records import Status
from autograder.questions.base.judging.results import (
    make_failure,
    make_no_answer,
    make_result,
    make_review,
)
from autograder.rubric import parse_rubric

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
    """A deduction is subtracted only after a failure, gives no points, and waits for manual review."""
    question = parse_rubric(RUBRIC).get_question("one")
    right, loud = question.items
    found = {
        name: [
            (one.status, one.points, one.possible)
            for one in (make_result(question, right, finding), make_result(question, loud, finding))
        ]
        for name, finding in (
            ("passed", None),
            ("failed", make_failure("number.wrong")),
            ("no answer", make_no_answer()),
            ("review", make_review("a fault of ours")),
        )
    }
    three, one, nothing = Decimal(3), Decimal(-1), Decimal(0)
    assert {
        "passed": [(Status.PASSED, three, three), (Status.PASSED, nothing, nothing)],
        "failed": [(Status.FAILED, nothing, three), (Status.FAILED, one, nothing)],
        "no answer": [(Status.NO_ANSWER, nothing, three), (Status.NO_ANSWER, nothing, nothing)],
        "review": [(Status.NEEDS_REVIEW, nothing, three), (Status.NEEDS_REVIEW, nothing, nothing)],
    } == found
