"""Columns that describe an answer, filled in from its result when it is stored, so that paging is fast.

A result holds whole notebooks; finding the next of two thousand answers must not decode any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.assignment import Assignment
from autograder.checks.judging.manual import manual_options
from autograder.checks.values import prose
from autograder.feedback.answers import MarkedCell
from autograder.feedback.sanitise import printable_text
from autograder.marking.grouping import computed_digest
from autograder.marking.points import items_of, verdicts_of
from autograder.records import Graded, ItemResult, Status
from autograder.rubric import Item, Question, Rubric
from autograder.service.models import Attempt, CellMark, CurrentResult, Offer
from autograder.store import decode
from autograder.stream import derived

MOST_TEXT = 100_000
"""Maximum number of characters of an answer that are stored for marking."""
FIELDS = ("answered", "text", "equal", "computed", "shuffled", "verdicts", "suggested", "gathered", "stage")
"""The columns that `describe_answer` writes."""
_BATCH = 200


class MarkableCell(Struct, frozen=True):
    """A grade cell with its question and items."""

    question: Question
    name: str
    """The cell's ``grade_id``."""
    items: tuple[Item, ...]

    @property
    def possible(self) -> Decimal:
        """Maximum points."""
        return self.question.cells()[self.name]

    @property
    def manual(self) -> tuple[Item, ...]:
        """Items that always need manual review."""
        return tuple(item for item in self.items if item.manual)


def cell_of(rubric: Rubric, notebook: str, cell: str) -> MarkableCell | None:
    """Return a grade cell of the rubric; None: there is none of this name."""
    for question in rubric.questions:
        if question.notebook == notebook and cell in question.cells():
            return MarkableCell(question, cell, items_of(question, cell))
    return None


def describe(row: CellMark, cell: MarkableCell, graded: Graded, rubric: Rubric, secret: bytes) -> bool:
    """Write a result's description of the answer into its row; return whether anything changed.

    Args:
        row: the row of the student and the cell; not saved here.
        cell: as in the student's rubric.
        graded: the result that counts.
        rubric: the student's.
        secret: the course's secret: order and groups follow from it.
    """
    before = tuple(getattr(row, name) for name in FIELDS)
    of_question = [one for one in graded.score.items if one.question == cell.question.id]
    results = {one.item: one for one in of_question}
    # With personal variants, equal texts may answer different questions.
    whole = bool(cell.manual) and len(cell.manual) == len(cell.items) and rubric.draws is None
    marked = MarkedCell(cell.question, cell.name, cell.manual or cell.items, whole, secret)
    text = printable_text(marked.answers([graded]).get(row.student, ""), MOST_TEXT)
    if text != row.text:
        row.gathered = row.stage = ""  # grouping and marks by two were about another text
    row.text = text
    row.answered = any(_to_read(results.get(item.id), item) for item in cell.items)
    # Unreadable answers are not equal: each is in a different file.
    row.equal = marked.group(text) if whole and row.answered and text.strip() else ""
    row.computed = computed_digest(of_question)
    row.shuffled = derived(secret, "order of marking", cell.name, row.student.encode())[:16].hex()
    found = verdicts_of(cell.question, cell.name, graded.score)
    row.verdicts = {item: None if points is None else str(points) for item, points in found.items()}
    row.suggested = row.answered and any(
        prose.spans(text, manual_options(cell.question, item).suggest) for item in cell.manual
    )
    return before != tuple(getattr(row, name) for name in FIELDS)


def _to_read(result: ItemResult | None, item: Item) -> bool:
    if result is None:
        return True
    return result.status is Status.NEEDS_REVIEW or (item.manual and result.status is not Status.NO_ANSWER)


def verdicts(row: CellMark) -> Mapping[str, Decimal | None]:
    """Return the points that grading gave each item, or None for items that need manual review."""
    return {item: None if points is None else Decimal(points) for item, points in row.verdicts.items()}


def describe_older(offer: Offer, assignment: Assignment) -> int:
    """Describe answers that were graded before these columns existed; return their number.

    Args:
        offer: of the assignment.
        assignment: the offered version.
    """
    rows = CellMark.objects.filter(
        place__course=offer.course, place__assignment=offer.assignment, shuffled=""
    ).select_related("place")
    of_student: dict[str, list[CellMark]] = {}
    for row in rows:
        of_student.setdefault(row.student, []).append(row)
    number = 0
    for student, graded in results_of(offer, of_student):
        own = assignment.rubric_of(student)
        for row in of_student[student]:
            cell = cell_of(own, row.place.notebook, row.place.cell)
            if cell is not None:
                number += describe(row, cell, graded, own, bytes(offer.course.secret))
        CellMark.objects.bulk_update(of_student[student], FIELDS)
    return number


def attempt_of(offer: Offer, student: str) -> Attempt | None:
    """Return the attempt with the student's current result."""
    current = CurrentResult.objects.filter(course=offer.course, assignment=offer.assignment, student=student)
    result = current.values_list("result", flat=True).first()
    found = Attempt.objects.filter(offer=offer, student=student, result=result)
    return None if result is None else found.order_by("-number").first()


def results_of(offer: Offer, students: Iterable[str]) -> Iterable[tuple[str, Graded]]:
    """Yield the current results of some students, loaded in batches."""
    wanted = sorted(students)
    for start in range(0, len(wanted), _BATCH):
        rows = CurrentResult.objects.filter(
            course=offer.course, assignment=offer.assignment, student__in=wanted[start : start + _BATCH]
        )
        for student, stored in rows.values_list("student", "result__graded"):
            graded = decode(bytes(stored))
            if graded is not None:
                yield student, graded
