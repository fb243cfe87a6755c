"""Columns that describe an answer, filled in from its result when it is stored, so that paging is fast.

A result holds whole notebooks; finding the next of two thousand answers must not decode any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.core.records import GradingResult, ItemResult, Status
from autograder.core.stream import derive_key
from autograder.grading.assignment import Assignment
from autograder.grading.store import decode_result
from autograder.marking.grouping import hash_results
from autograder.marking.points import collect_verdicts, list_items
from autograder.pages.feedback.answers import MarkedCell
from autograder.pages.feedback.sanitise import to_printable_text
from autograder.questions.base.judging.manual import read_manual_options
from autograder.questions.base.values import prose
from autograder.rubric import Item, Question, Rubric
from autograder.service.models import Attempt, CellMark, Offer

MOST_TEXT = 100_000
"""Maximum number of characters of an answer that are stored for marking."""
FIELDS = (
    "answered",
    "text",
    "equal",
    "computed",
    "shuffled",
    "verdicts",
    "suggested",
    "gathered",
    "stage",
    "annotations",
)
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
        return self.question.list_cells()[self.name]

    @property
    def manual(self) -> tuple[Item, ...]:
        """Items that always need manual review."""
        return tuple(item for item in self.items if item.manual)


def find_cell(rubric: Rubric, notebook: str, cell: str) -> MarkableCell | None:
    """Return a grade cell of the rubric; None: there is none of this name."""
    for question in rubric.questions:
        if question.notebook == notebook and cell in question.list_cells():
            return MarkableCell(question, cell, list_items(question, cell))
    return None


def describe_answer(
    row: CellMark, cell: MarkableCell, graded: GradingResult, rubric: Rubric, secret: bytes
) -> bool:
    """Write a result's description of the answer into its row; return whether anything changed.

    Args:
        row: the row of the student and the cell; not saved here.
        cell: as in the student's rubric.
        graded: the result that counts.
        rubric: the student's.
        secret: the course's secret: order and groups follow from it.
    """
    before = tuple(getattr(row, name) for name in FIELDS)
    of_question = [result for result in graded.score.items if result.question == cell.question.id]
    results = {result.item: result for result in of_question}
    # With personal variants, equal texts may answer different questions.
    whole = bool(cell.manual) and len(cell.manual) == len(cell.items) and rubric.draws is None
    marked = MarkedCell(cell.question, cell.name, cell.manual or cell.items, whole, secret)
    text = to_printable_text(marked.collect_answers([graded]).get(row.student, ""), MOST_TEXT)
    if text != row.text:
        row.gathered = row.stage = ""  # grouping and marks by two were about another text
        row.annotations = []  # and so were remarks on its lines
    row.text = text
    row.answered = any(_needs_reading(results.get(item.id), item) for item in cell.items)
    # Unreadable answers are not equal: each is in a different file.
    row.equal = marked.name_group(text) if whole and row.answered and text.strip() else ""
    row.computed = hash_results(of_question)
    row.shuffled = derive_key(secret, "order of marking", cell.name, row.student.encode())[:16].hex()
    points_by_item = collect_verdicts(cell.question, cell.name, graded.score)
    row.verdicts = {item: None if points is None else str(points) for item, points in points_by_item.items()}
    row.suggested = row.answered and any(
        prose.find_spans(text, read_manual_options(cell.question, item).suggest) for item in cell.manual
    )
    return before != tuple(getattr(row, name) for name in FIELDS)


def _needs_reading(result: ItemResult | None, item: Item) -> bool:
    if result is None:
        return True
    return result.status is Status.NEEDS_REVIEW or (item.manual and result.status is not Status.NO_ANSWER)


def load_verdicts(row: CellMark) -> Mapping[str, Decimal | None]:
    """Return the points that grading gave each item, or None for items that need manual review."""
    return {item: None if points is None else Decimal(points) for item, points in row.verdicts.items()}


def describe_older(offer: Offer, assignment: Assignment) -> int:
    """Describe answers that were graded before these columns existed; return their number.

    Args:
        offer: of the assignment.
        assignment: the offered version.
    """
    rows = offer.marks.filter(shuffled="").select_related("place")
    of_student: dict[str, list[CellMark]] = {}
    for row in rows:
        of_student.setdefault(row.student, []).append(row)
    number = 0
    for student, graded in load_results(offer, of_student):
        student_rubric = assignment.get_rubric(student)
        for row in of_student[student]:
            cell = find_cell(student_rubric, row.place.notebook, row.place.cell)
            if cell is not None:
                number += describe_answer(row, cell, graded, student_rubric, bytes(offer.course.secret))
        CellMark.objects.bulk_update(of_student[student], FIELDS)
    return number


def find_attempt(offer: Offer, student: str) -> Attempt | None:
    """Return the attempt with the student's current result."""
    result = offer.current_results.filter(student=student).values_list("result", flat=True).first()
    attempts = Attempt.objects.filter(offer=offer, student=student, result=result)
    return None if result is None else attempts.order_by("-number").first()


def load_results(offer: Offer, students: Iterable[str]) -> Iterable[tuple[str, GradingResult]]:
    """Yield the current results of some students, loaded in batches."""
    wanted = sorted(students)
    for start in range(0, len(wanted), _BATCH):
        rows = offer.current_results.filter(student__in=wanted[start : start + _BATCH])
        for student, stored in rows.values_list("student", "result__graded"):
            graded = decode_result(bytes(stored))
            if graded is not None:
                yield student, graded
