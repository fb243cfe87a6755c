"""What each way through the partial credit of formulas is worth; and parts of formulas that never matter."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograder.checks.base import CreditPath, Draw, Evidence, HasPartialCredit
from autograder.grading.pipeline import Grader
from autograder.kinds import make_check
from autograder.records import Answer
from autograder.rubric import Rubric
from autograder.verify.findings import VerifyFinding


class Ways(Struct, frozen=True):
    """What every way through the partial credit of one item is worth."""

    place: str
    """``question.item``."""
    stated: bool
    """The rubric states the steps; otherwise they follow from its mistakes and remarks."""
    ways: tuple[CreditPath, ...]


def credit(rubric: Rubric) -> tuple[Ways, ...]:
    """Every way through the partial credit of every formula, the conditions left open.

    Raises:
        RubricError: a question's options are not usable.
    """
    found = []
    for question in rubric.questions:
        check = make_check(question, rubric)
        for item, one in check.ways.items() if isinstance(check, HasPartialCredit) else ():
            found.append(Ways(f"{question.id}.{item}", one.stated, one.ways))
    return tuple(found)


def idle_arguments(grader: Grader) -> Iterator[VerifyFinding]:
    """Right answers with an argument of ``max`` or ``min`` that never decides, named."""
    for question in grader.assignment.rubric.questions:
        check = grader.assignment.checks[question.id]
        if not isinstance(check, HasPartialCredit):
            continue
        draw = Draw.for_question(grader.secret, grader.assignment.rubric, question)
        expected = grader.sittings.common.expected.get(question.id, ())
        evidence = Evidence(Answer(question.id, "code", "", changed=True), (), expected, draw=draw)
        for found in check.idle_arguments(evidence):
            yield VerifyFinding(
                "rubric",
                f"{question.id}.{found.item}",
                "every argument of max and min decides for some values of the symbols",
                f"{found.argument} was nowhere seen to decide in {found.formula}",
                "leave it out, or write what was meant",
            )
