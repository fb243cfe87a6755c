"""The marks of one student: results of all questions, points by cell and in total, manual marks, the grade.

Exact and pure; knows no notebook and no box. Automatic results and manual marks are combined here, cell by
cell: as in nbgrader, a manual mark replaces everything in its cell. While something is pending, the least and
the most that can still come of it are kept, so that a grade can be given as a range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

import msgspec
from msgspec import Struct

from autograder.core.errors import NotebookError
from autograder.core.records import Deduction, ItemResult, Message, Note, Score, Status
from autograder.rubric import Item, Question, Rubric
from autograder.rubric.scales import Grade, Scale
from autograder.rubric.timestamps import UNDECIDED

NOTHING = Decimal(0)
LATE = "late"
"""The code of a refusal because of lateness."""

OUR_FAULT = "our-fault"
"""The code of a note about an unexpected error of ours."""
SANDBOX_FAULT = "sandbox-fault"
"""The code of a note about a sandbox that failed."""
ENDED_ITSELF = "ended-itself"
"""The code of a note about a submission that needs manual review as a whole, because its boxes were lost
repeatedly."""
FAULTS = frozenset({OUR_FAULT, SANDBOX_FAULT, ENDED_ITSELF})
"""The cause of such a note may be gone at the next run, which therefore grades again."""

_DECIDED = frozenset({LATE, "missing"})
"""Refusals that are final. All others mean that a submitted file could not be read: it needs manual review
before the student loses a point."""


def compute_score(
    student: str,
    rubric: Rubric,
    results: Mapping[str, Sequence[ItemResult]],
    notes: Iterable[Note] = (),
    isolation: str = "namespaces",
) -> Score:
    """Return the marks of one submission: one result for every item of the rubric, in its order.

    A missing result becomes NEEDS_REVIEW. A result that breaks a rule (PASSED without full points, points
    above the possible ones, …) is our fault: it becomes NEEDS_REVIEW, and a note names the rule for staff. An
    item with negative points has nothing to win: PASSED and NO_ANSWER leave the question's points unchanged,
    FAILED takes points away, but never more than the other items have earned.

    Args:
        student: the student.
        rubric: of the assignment.
        results: the judged items by question id.
        notes: remarks for staff that are stored with the score.
        isolation: how the student's code was confined.
    """
    faults: list[Note] = []
    items: list[ItemResult] = []
    for question in rubric.questions:
        results_by_item = {
            result.item: result for result in results.get(question.id, ()) if result.question == question.id
        }
        judged = [
            _check_result(question, item, results_by_item.get(item.id), faults) for item in question.items
        ]
        items += _limit_deductions(_with_needs(question, judged))
    return Score(student, rubric.assignment.name, rubric.version, tuple(items), (*notes, *faults), isolation)


def leave_open(
    student: str, rubric: Rubric, staff: str, notes: Iterable[Note] = (), isolation: str = "namespaces"
) -> Score:
    """Return the marks of a submission that needs manual review from the first item to the last.

    Args:
        student: the student.
        rubric: of the assignment.
        staff: the reason, for staff.
        notes: remarks for staff that are stored with the score.
        isolation: how the student's code was confined.
    """
    items = tuple(
        _require_review(question, item, staff, "review.fault")
        for question in rubric.questions
        for item in question.items
    )
    return Score(student, rubric.assignment.name, rubric.version, items, tuple(notes), isolation)


def refuse_questions(
    rubric: Rubric, error: NotebookError, *, notebook: str = ""
) -> dict[str, tuple[ItemResult, ...]]:
    """Return results for the questions of a notebook that could not be read, by question id.

    Args:
        rubric: of the assignment.
        error: why it could not be read.
        notebook: its name; empty: all notebooks of the assignment.
    """
    # An unreadable notebook may contain a correct answer, so it is not a zero.
    status = Status.NO_ANSWER if error.code in _DECIDED else Status.NEEDS_REVIEW
    code = {LATE: f"refused.{LATE}", "missing": "refused"}.get(error.code, "refused.review")
    message = Message(code, {"reason": error.text})
    return {
        question.id: tuple(
            ItemResult(
                question.id,
                item.id,
                status,
                NOTHING,
                item.points,
                message,
                f"not graded ({error.code}): {error}",
                error.code,
            )
            for item in question.items
        )
        for question in rubric.questions
        if notebook in ("", question.notebook)
    }


def _check_result(
    question: Question, item: Item, result: ItemResult | None, faults: list[Note]
) -> ItemResult:
    """Return the result unchanged, or NEEDS_REVIEW if there is none or it breaks a rule."""
    if result is None:
        staff = "no result: our fault"
    else:
        broken = _find_broken_rule(item, result)
        if not broken:
            # A negative item has nothing to win.
            return msgspec.structs.replace(result, possible=max(item.points, NOTHING))
        staff = f"{broken}: our fault; it said {result.status} with {result.points}: {result.staff}"
        faults.append(Note("broken-result", f"item {item.id}: {broken}", question.id))
    return _require_review(question, item, staff, "review.missing")


def _require_review(question: Question, item: Item, staff: str, code: str) -> ItemResult:
    """Return a result that needs manual review, because the item could not be graded automatically."""
    possible = max(item.points, NOTHING)
    return ItemResult(
        question.id, item.id, Status.NEEDS_REVIEW, NOTHING, possible, Message(code), staff, code
    )


def _find_broken_rule(item: Item, result: ItemResult) -> str:
    """Return the rule that a result breaks, in words; empty if it breaks none."""
    if result.possible not in (item.points, max(item.points, NOTHING)):
        return f"possible is {result.possible}, the rubric says {item.points}"
    if not result.points.is_finite():
        return "points are not a number"
    low, high = min(item.points, NOTHING), max(item.points, NOTHING)
    if not low <= result.points <= high:
        return f"points {result.points} are outside of {low} to {high}"
    # For a negative item, `high` is zero: passing it means losing nothing.
    if result.status is Status.PASSED and result.points != high:
        return f"passed with {result.points} of {item.points} points"
    if result.status in (Status.NO_ANSWER, Status.NEEDS_REVIEW) and result.points != 0:
        return f"{result.status} with {result.points} points"
    return ""


def _with_needs(question: Question, judged: Sequence[ItemResult]) -> list[ItemResult]:
    """Withhold points of items that need others which did not pass.

    While one of those is open, so is the item itself.
    """
    status = {result.item: result.status for result in judged}
    results = []
    for item, result in zip(question.items, judged, strict=True):
        lacking = [needed for needed in item.needs if status[needed] is not Status.PASSED]
        if lacking and result.points > 0:
            names = ", ".join(lacking)
            is_open = Status.NEEDS_REVIEW in {status[needed] for needed in lacking}
            result = msgspec.structs.replace(  # noqa: PLW2901
                result,
                status=Status.NEEDS_REVIEW if is_open else Status.FAILED,
                points=NOTHING,
                student=Message("review.fault" if is_open else "needs.lacking"),
                staff=f"{result.staff}; counts only with {names}",
                code="needs.lacking",
            )
        results.append(result)
    return results


def _limit_deductions(items: Sequence[ItemResult]) -> list[ItemResult]:
    """Limit negative items, in their order, to the points that the question has earned."""
    # The earned points of the question are all that negative items can take.
    remaining = sum((item.points for item in items if item.points > 0), NOTHING)
    results = []
    for item in items:
        if item.points < 0:
            deduction = max(item.points, -remaining)
            remaining += deduction
            results.append(msgspec.structs.replace(item, points=deduction))
        else:
            results.append(item)
    return results


CellName = tuple[str, str]
"""(notebook, grade_id)."""


class PersonMark(Struct, frozen=True):
    """The manual mark of one cell."""

    points: Decimal | None = None
    """Replaces the automatic points; None if there is no manual mark."""
    extra: Decimal = NOTHING
    """nbgrader's extra credit; a negative value takes points away."""
    again: bool = False
    """The submission or the automatic mark has changed since: needs another review."""
    comment: str = ""
    items: Mapping[str, Decimal] = {}
    """Manual points by item, if the cell was marked item by item."""
    worth: Mapping[str, Decimal] = {}
    """Possible points by item at that time; empty: those of the current result."""
    flagged: bool = False
    """Marked for another look. It changes no points, and students do not see it."""
    remarks: Mapping[str, str] = {}
    """Comments by item; `comment` is about the whole cell."""


class MarkChange(Struct, frozen=True):
    """A change of a mark that the student had already seen."""

    at: datetime
    before: Decimal
    """Total points."""
    after: Decimal
    reason: str


PersonMarks = Mapping[CellName, PersonMark]
"""The manual marks of one student."""


class CellPoints(Struct, frozen=True):
    """The points of one grade cell: current value and the range that is still possible."""

    name: str
    possible: Decimal
    points: Decimal
    least: Decimal
    most: Decimal
    settled: bool
    """At least part of it is decided."""
    pending: bool
    """Part of it needs manual review."""
    by_person: bool = False
    items: Mapping[str, Decimal] = {}
    """Manual points by item (`PersonMark.items`)."""
    flagged: bool = False
    """Marked for another look (`PersonMark.flagged`)."""
    comment: str = ""
    """The markers' comment."""
    remarks: Mapping[str, str] = {}
    """The markers' comments by item (`PersonMark.remarks`)."""


class QuestionPoints(Struct, frozen=True):
    """The points of one question, as sums over its cells."""

    id: str
    bonus: bool
    possible: Decimal
    cells: tuple[CellPoints, ...]
    comments: tuple[str, ...] = ()
    """The markers' comments."""
    extra: Decimal = NOTHING
    """Extra credit for the question, possibly negative; not included in its points."""

    @property
    def points(self) -> Decimal:
        """Points so far."""
        return _sum_points(cell.points for cell in self.cells)

    @property
    def least(self) -> Decimal:
        """Points that are certain."""
        return _sum_points(cell.least for cell in self.cells)

    @property
    def most(self) -> Decimal:
        """Points that are still possible."""
        return _sum_points(cell.most for cell in self.cells)

    @property
    def pending(self) -> bool:
        """True if part of it needs manual review."""
        return any(cell.pending for cell in self.cells)


class Standing(Struct, frozen=True):
    """The marks of one student in one assignment."""

    student: str
    questions: tuple[QuestionPoints, ...]
    given: Decimal = NOTHING
    """Bonus points that the course gave in addition."""
    extra: Decimal = NOTHING
    """Bonus points from nbgrader's extra credit."""
    taken: Decimal = NOTHING
    """Points taken away by negative extra credit, as a number from zero on."""
    scale: Scale | None = None
    outdated: bool = False
    """Graded by a version of the rubric other than the current one."""

    untimely: bool = False
    """Submitted late or at an unknown time, and the consequence is still to be decided by staff."""
    deduction: Deduction | None = None
    """Late penalty."""
    group: str = ""
    """The group that submitted together; empty for a single student."""

    @property
    def final(self) -> bool:
        """True if nothing is pending."""
        return not (self.outdated or self.untimely or any(question.pending for question in self.questions))

    @property
    def passed(self) -> bool | None:
        """Whether the student passes; None while that is open, or if there are no grades."""
        if self.worst is None or self.best is None or self.worst.passed is not self.best.passed:
            return None
        # A late submission may yet lose points, which can turn a pass into a fail but never the reverse.
        return None if self.untimely and self.best.passed else self.best.passed

    @property
    def earned(self) -> Decimal:
        """Points so far without bonus points, before any are taken away."""
        return self._sum_field("points", bonus=False)

    @property
    def by_bonus_questions(self) -> Decimal:
        """Points so far in bonus questions."""
        return self._sum_field("points", bonus=True)

    @property
    def late(self) -> Decimal:
        """Late penalty on the points earned so far; a number from zero on."""
        return self._deduct_lateness(max(NOTHING, self.earned - self.taken))

    @property
    def points(self) -> Decimal:
        """Points so far, without bonus points."""
        return self._count_points("points")[0]

    @property
    def bonus(self) -> Decimal:
        """Bonus points so far, whether they count or not."""
        return self.by_bonus_questions + self.extra + self.given

    @property
    def total(self) -> Decimal:
        """Points that count so far, before rounding."""
        return self._compute_total("points")

    @property
    def pending(self) -> Decimal:
        """Number of points that are still open."""
        return _sum_points(cell.most - cell.least for question in self.questions for cell in question.cells)

    @property
    def worst(self) -> Grade | None:
        """The grade if nothing more is earned; None if there are no grades."""
        return self.scale.find_grade(self._compute_total("least")) if self.scale else None

    @property
    def best(self) -> Grade | None:
        """The grade if everything open is earned; equal to `worst` if all is final."""
        return self.scale.find_grade(self._compute_total("most")) if self.scale else None

    def _compute_total(self, field: str) -> Decimal:
        points, bonus = self._count_points(field)
        return self.scale.count_points(points, bonus) if self.scale else points + bonus

    def _count_points(self, field: str) -> tuple[Decimal, Decimal]:
        points = max(NOTHING, self._sum_field(field, bonus=False) - self.taken)
        return points - self._deduct_lateness(points), self._sum_field(
            field, bonus=True
        ) + self.extra + self.given

    def _deduct_lateness(self, points: Decimal) -> Decimal:
        """Return the late penalty: at most the points themselves, and never below the floor."""
        if self.deduction is None:
            return NOTHING
        # Percentages refer to the regular questions; bonus questions do not raise the penalty.
        possible = _sum_points(question.possible for question in self.questions if not question.bonus)
        of = {"percent": possible / 100, "percent-of-earned": points / 100, "points": Decimal(1)}
        unit = of[self.deduction.unit]
        return max(NOTHING, min(self.deduction.amount * unit, points - self.deduction.floor * unit))

    def _sum_field(self, field: str, *, bonus: bool) -> Decimal:
        return _sum_points(getattr(question, field) for question in self.questions if question.bonus is bonus)


def compute_standing(
    score: Score, rubric: Rubric, marks: PersonMarks | None = None, bonus: Decimal = NOTHING
) -> Standing:
    """Combine automatic result, manual marks and bonus points of one student.

    Args:
        score: the automatic result.
        rubric: the rubric of the student's variant.
        marks: manual marks.
        bonus: bonus points of the course, from zero on.
    """
    marks = marks or {}
    automatic = compute_automatic_points(score, rubric)
    questions = tuple(_count_question(question, automatic, marks) for question in rubric.questions)
    extras = [marks[cell].extra for cell in automatic if cell in marks]
    return Standing(
        score.student,
        questions,
        bonus,
        _sum_points(extra for extra in extras if extra > 0),
        -_sum_points(extra for extra in extras if extra < 0),
        rubric.assignment.grading,
        score.rubric_version != rubric.version,
        any(note.code in UNDECIDED for note in score.notes),
        score.deduction,
        score.group.name if score.group else "",
    )


def _count_question(
    question: Question, automatic: Mapping[CellName, CellPoints], marks: PersonMarks
) -> QuestionPoints:
    names = [(question.notebook, cell) for cell in question.list_cells()]
    cells = tuple(_with_mark(automatic[name], marks.get(name)) for name in names)
    # A comment may be on the answer cell even if other cells carry the points.
    commented = dict.fromkeys(((question.notebook, question.answer_cell), *names))
    comments = tuple(marks[name].comment for name in commented if name in marks and marks[name].comment)
    extra = _sum_points(marks[name].extra for name in names if name in marks)
    return QuestionPoints(question.id, question.bonus, question.points, cells, comments, extra)


def compute_automatic_points(score: Score, rubric: Rubric) -> dict[CellName, CellPoints]:
    """Return the automatic points of every grade cell, each between zero and the cell's points.

    An item without a result is pending.
    """
    results = {(result.question, result.item): result for result in score.items}
    return {
        (question.notebook, cell): _count_cell(question, cell, possible, results)
        for question in rubric.questions
        for cell, possible in question.list_cells().items()
    }


def _count_cell(
    question: Question, cell: str, possible: Decimal, results: Mapping[tuple[str, str], ItemResult]
) -> CellPoints:
    decided: list[Decimal] = []
    pending_items: list[Item] = []
    for item in question.items:
        if (item.cell or question.id) == cell:
            result = results.get((question.id, item.id))
            if result is not None and result.status is not Status.NEEDS_REVIEW:
                decided.append(result.points)
            elif item.points != 0:  # one worth nothing, such as "Comments?", changes no mark
                pending_items.append(item)
    # Items may have negative points, so pending ones widen the range in both directions.
    points = _sum_points(decided)
    least = points + _sum_points(item.points for item in pending_items if item.points < 0)
    most = points + _sum_points(item.points for item in pending_items if item.points > 0)

    def limit_points(value: Decimal) -> Decimal:
        return min(max(value, NOTHING), possible)

    return CellPoints(
        cell,
        possible,
        limit_points(points),
        limit_points(least),
        limit_points(most),
        settled=bool(decided),
        pending=bool(pending_items),
    )


def _with_mark(cell: CellPoints, mark: PersonMark | None) -> CellPoints:
    """Return the cell with its manual mark instead of the automatic one, if there is one."""
    if mark is None:
        return cell
    points, least, most, pending = cell.points, cell.least, cell.most, cell.pending
    if mark.points is not None:
        points, pending = mark.points, mark.again and bool(cell.possible or mark.points)
        # A mark under review may still become anything that the cell allows.
        least, most = (min(NOTHING, points), max(cell.possible, points)) if mark.again else (points, points)
    return CellPoints(
        cell.name,
        cell.possible,
        points,
        least,
        most,
        settled=cell.settled or mark.points is not None,
        pending=pending,
        by_person=mark.points is not None,
        items={} if mark.points is None else mark.items,
        flagged=mark.flagged,
        comment=mark.comment,
        remarks=mark.remarks,
    )


def _sum_points(values: Iterable[Decimal]) -> Decimal:
    return sum(values, NOTHING)
