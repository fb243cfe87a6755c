"""The answer key sits the exam: it must score full marks, and the untouched release none.

What a rubric, a reference or a notebook has wrong shows here, before a student meets it.
"""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct

from autograder import generate
from autograder.assignment import Assignment
from autograder.checks import make_check
from autograder.checks.symbolic import SymbolicCheck
from autograder.checks.symbolic.graph import Way
from autograder.grading import Grader, Handed
from autograder.records import Graded, ItemResult, Status
from autograder.rubric import Rubric
from autograder.sandbox.outside import leftovers
from autograder.sandbox.pool import Pool


class Finding(Struct, frozen=True):
    """One thing that is not as it must be."""

    paper: str
    """``"answer key"`` or ``"untouched release"``."""
    place: str
    """``question.item``, or a notebook."""
    text: str


class Ways(Struct, frozen=True):
    """What every way through the partial credit of one item is worth."""

    place: str
    """``question.item``."""
    stated: bool
    """The rubric states the steps; otherwise they follow from its mistakes and remarks."""
    ways: tuple[Way, ...]


def credit(rubric: Rubric) -> tuple[Ways, ...]:
    """Every way through the partial credit of every formula, the conditions left open.

    Raises:
        RubricError: a question's options are not usable.
    """
    found = []
    for question in rubric.questions:
        check = make_check(question, rubric)
        for item, graph in check.graphs.items() if isinstance(check, SymbolicCheck) else ():
            found.append(Ways(f"{question.id}.{item}", graph.stated, tuple(graph.ways())))
    return tuple(found)


def verify(assignment: Assignment, pool: Pool) -> tuple[Finding, ...]:
    """Grade the source notebooks and the release as if students had handed them in.

    Raises:
        CourseError: a source or a reference solution is not usable.
        SandboxUnavailable: student code cannot be confined on this machine.
    """
    leftovers.sweep_groups()
    grader = Grader(assignment, pool)
    sources = generate.sources(assignment.course, assignment.rubric)
    graded = grader.grade(Handed("answer-key", sources))
    key = graded.score
    untouched = grader.grade(Handed("untouched", assignment.release_bytes)).score
    findings = [_of_key(result) for result in key.items if _lost(result, assignment)]
    findings += [
        Finding("untouched release", _place(result), f"expected no answer, got {_got(result)}")
        for result in untouched.items
        if result.status is not Status.NO_ANSWER
    ]
    return (*_errors(graded), *findings)


def _errors(graded: Graded) -> list[Finding]:
    """Cells of the answer key that raise: an error in a locked cell would meet every student."""
    return [
        Finding(
            "answer key",
            f"{notebook.name}, cell {number}",
            f"raised {run.error}" if run.error else "ended its box",
        )
        for notebook in graded.notebooks
        for number, run in enumerate(notebook.runs, start=1)
        if run is not None and (run.error or run.ending)
    ]


def _lost(result: ItemResult, assignment: Assignment) -> bool:
    item = assignment.rubric.question(result.question).item(result.item)
    if item.manual or assignment.rubric.question(result.question).kind == "written":
        return result.status is not Status.NEEDS_REVIEW
    return result.status is not Status.PASSED or result.points != max(item.points, Decimal(0))


def _of_key(result: ItemResult) -> Finding:
    return Finding("answer key", _place(result), f"expected {result.possible} points, got {_got(result)}")


def _place(result: ItemResult) -> str:
    return f"{result.question}.{result.item}"


def _got(result: ItemResult) -> str:
    return f"{result.points} ({result.status.value}): {result.staff}"
