"""What the tables know of an answer, taken from a result as it is kept, so that the next is there at once.

A result holds whole notebooks; to find the next of two thousand answers none of them is opened.
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
"""Characters of an answer that are kept for marking."""
FIELDS = ("answered", "text", "equal", "computed", "shuffled", "verdicts", "suggested", "gathered", "stage")
"""What `describe` writes."""
_BATCH = 200


class MarkableCell(Struct, frozen=True):
    """A grade cell with what belongs to it."""

    question: Question
    name: str
    """Its ``grade_id``."""
    items: tuple[Item, ...]

    @property
    def possible(self) -> Decimal:
        """The most points."""
        return self.question.cells()[self.name]

    @property
    def manual(self) -> tuple[Item, ...]:
        """Those that a person decides on in any case."""
        return tuple(item for item in self.items if item.manual)


def cell_of(rubric: Rubric, notebook: str, cell: str) -> MarkableCell | None:
    """A grade cell of the rubric; None: there is none of this name."""
    for question in rubric.questions:
        if question.notebook == notebook and cell in question.cells():
            return MarkableCell(question, cell, items_of(question, cell))
    return None


def describe(row: CellMark, cell: MarkableCell, graded: Graded, rubric: Rubric, secret: bytes) -> bool:
    """Write into a row what its result says of the answer; whether anything is another than before.

    Args:
        row: of the student and the cell; not saved here.
        cell: as the student's rubric has it.
        graded: the result that counts.
        rubric: the student's.
        secret: the course's: order and groups follow from it.
    """
    before = tuple(getattr(row, name) for name in FIELDS)
    of_question = [one for one in graded.score.items if one.question == cell.question.id]
    results = {one.item: one for one in of_question}
    whole = bool(cell.manual) and len(cell.manual) == len(cell.items) and rubric.draws is None
    marked = MarkedCell(cell.question, cell.name, cell.manual or cell.items, whole, secret)
    text = printable_text(marked.answers([graded]).get(row.student, ""), MOST_TEXT)
    if text != row.text:
        row.gathered = row.stage = ""  # who put it into a group, or marked it, had read another text
    row.text = text
    row.answered = any(_to_read(results.get(item.id), item) for item in cell.items)
    # Answers that nobody could read are not equal: each is in a file of its own.
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
    """By item: what grading gave, or None where a person decides."""
    return {item: None if points is None else Decimal(points) for item, points in row.verdicts.items()}


def describe_older(offer: Offer, assignment: Assignment) -> int:
    """Describe the answers that were graded before marking had tables; how many.

    Args:
        offer: of the assignment.
        assignment: as it is offered.
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
    """The attempt of a student whose result counts."""
    current = CurrentResult.objects.filter(course=offer.course, assignment=offer.assignment, student=student)
    result = current.values_list("result", flat=True).first()
    found = Attempt.objects.filter(offer=offer, student=student, result=result)
    return None if result is None else found.order_by("-number").first()


def results_of(offer: Offer, students: Iterable[str]) -> Iterable[tuple[str, Graded]]:
    """The results that count of some students, a batch at a time."""
    wanted = sorted(students)
    for start in range(0, len(wanted), _BATCH):
        rows = CurrentResult.objects.filter(
            course=offer.course, assignment=offer.assignment, student__in=wanted[start : start + _BATCH]
        )
        for student, stored in rows.values_list("student", "result__graded"):
            graded = decode(bytes(stored))
            if graded is not None:
                yield student, graded
