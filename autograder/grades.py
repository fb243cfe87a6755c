"""Where a student stands: points by cell, question and in all, with what people gave, and the grade.

Exact and pure. Automatic results and people's marks meet here, cell by cell: a person's mark stands for
everything in its cell, as nbgrader has it. While something is open, the least and the most that can still
come of it are kept, so that a grade can be told as a range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from autograder.records import Deduction, ItemResult, Score, Status
from autograder.rubric import Item, Question, Rubric
from autograder.rubric.scales import Grade, Scale
from autograder.timestamps import UNDECIDED

NOTHING = Decimal(0)

CellName = tuple[str, str]
"""(notebook, grade_id)."""


class PersonMark(Struct, frozen=True):
    """What people gave one cell."""

    points: Decimal | None = None
    """The mark that stands in place of the automatic one; None: there is none."""
    extra: Decimal = NOTHING
    """nbgrader's extra credit; below zero it is taken away."""
    again: bool = False
    """The submission or the automatic mark has changed since: to be looked at again."""
    comment: str = ""
    items: Mapping[str, Decimal] = {}
    """By item, what the mark is made of, where people gave it item by item."""
    worth: Mapping[str, Decimal] = {}
    """By item, of how many points that was; empty: of what the result that counts says."""
    flagged: bool = False
    """Somebody should look at this one. It gives and takes no points, and students do not see it."""
    remarks: Mapping[str, str] = {}
    """By item, what people wrote about it alone; `comment` is about the whole cell."""


class MarkChange(Struct, frozen=True):
    """A mark that a student was shown, and that is another one now."""

    at: datetime
    before: Decimal
    """Points in all."""
    after: Decimal
    reason: str


PersonMarks = Mapping[CellName, PersonMark]
"""What people gave one student."""


class CellPoints(Struct, frozen=True):
    """The points of one grade cell: so far, and what they can still become."""

    name: str
    possible: Decimal
    points: Decimal
    least: Decimal
    most: Decimal
    settled: bool
    """Some of it is decided."""
    pending: bool
    """Some of it waits for a person."""
    by_person: bool = False
    items: Mapping[str, Decimal] = {}
    """By item, what a person's mark is made of (`PersonMark.items`)."""
    flagged: bool = False
    """Somebody should look at it (`PersonMark.flagged`)."""
    comment: str = ""
    """What people wrote about it."""
    remarks: Mapping[str, str] = {}
    """By item, what people wrote about that (`PersonMark.remarks`)."""


class QuestionPoints(Struct, frozen=True):
    """The points of one question, as sums over its cells."""

    id: str
    bonus: bool
    possible: Decimal
    cells: tuple[CellPoints, ...]
    comments: tuple[str, ...] = ()
    """What people wrote about it."""
    extra: Decimal = NOTHING
    """Extra credit that people gave for it, or took away; not among its points."""

    @property
    def points(self) -> Decimal:
        """So far."""
        return _sum(cell.points for cell in self.cells)

    @property
    def least(self) -> Decimal:
        """What is certain."""
        return _sum(cell.least for cell in self.cells)

    @property
    def most(self) -> Decimal:
        """What can still be reached."""
        return _sum(cell.most for cell in self.cells)

    @property
    def pending(self) -> bool:
        """Some of it waits for a person."""
        return any(cell.pending for cell in self.cells)


class Standing(Struct, frozen=True):
    """The marks of one student in one assignment."""

    student: str
    questions: tuple[QuestionPoints, ...]
    given: Decimal = NOTHING
    """Bonus points that the course gave besides."""
    extra: Decimal = NOTHING
    """Bonus points that people gave as nbgrader's extra credit."""
    taken: Decimal = NOTHING
    """What people took away by extra credit below zero, as a number from zero on."""
    scale: Scale | None = None
    outdated: bool = False
    """Graded by another version of the rubric than the one that counts now."""

    untimely: bool = False
    """Handed in late, or nobody knows when, and a person has yet to decide what that means."""
    deduction: Deduction | None = None
    """For being late."""
    group: str = ""
    """With whom it was handed in; empty: alone."""

    @property
    def final(self) -> bool:
        """Nothing is open."""
        return not (self.outdated or self.untimely or any(question.pending for question in self.questions))

    @property
    def passed(self) -> bool | None:
        """Whether it is a pass; None while that is open, and where there are no grades."""
        if self.worst is None or self.best is None or self.worst.passed is not self.best.passed:
            return None
        return None if self.untimely and self.best.passed else self.best.passed

    @property
    def earned(self) -> Decimal:
        """So far, without bonus points, before people took anything away."""
        return self._sums("points", bonus=False)

    @property
    def by_bonus_questions(self) -> Decimal:
        """So far, in bonus questions."""
        return self._sums("points", bonus=True)

    @property
    def late(self) -> Decimal:
        """What is taken off for being late, of what is earned so far; a number from zero on."""
        return self._late(max(NOTHING, self.earned - self.taken))

    @property
    def points(self) -> Decimal:
        """So far, without bonus points."""
        return self._counted("points")[0]

    @property
    def bonus(self) -> Decimal:
        """Bonus points so far, whether they count or not."""
        return self.by_bonus_questions + self.extra + self.given

    @property
    def total(self) -> Decimal:
        """What counts so far, before rounding."""
        return self._total("points")

    @property
    def pending(self) -> Decimal:
        """How many points are still open."""
        return _sum(cell.most - cell.least for question in self.questions for cell in question.cells)

    @property
    def worst(self) -> Grade | None:
        """The grade if nothing more is earned; None where there are no grades."""
        return self.scale.grade(self._total("least")) if self.scale else None

    @property
    def best(self) -> Grade | None:
        """The grade if everything open is earned; the same as `worst` where all is final."""
        return self.scale.grade(self._total("most")) if self.scale else None

    @property
    def certain(self) -> tuple[Decimal, Decimal]:
        """Points and bonus points, should nothing more be earned: what `worst` is made of."""
        return self._counted("least")

    def _total(self, what: str) -> Decimal:
        points, bonus = self._counted(what)
        return self.scale.counted(points, bonus) if self.scale else points + bonus

    def _counted(self, what: str) -> tuple[Decimal, Decimal]:
        points = max(NOTHING, self._sums(what, bonus=False) - self.taken)
        return points - self._late(points), self._sums(what, bonus=True) + self.extra + self.given

    def _late(self, points: Decimal) -> Decimal:
        """What is taken off so many points: never more than there are, and never below the floor."""
        if self.deduction is None:
            return NOTHING
        possible = _sum(question.possible for question in self.questions if not question.bonus)
        of = {"percent": possible / 100, "percent-of-earned": points / 100, "points": Decimal(1)}
        unit = of[self.deduction.unit]
        return max(NOTHING, min(self.deduction.amount * unit, points - self.deduction.floor * unit))

    def _sums(self, what: str, *, bonus: bool) -> Decimal:
        return _sum(getattr(question, what) for question in self.questions if question.bonus is bonus)


def standing(
    score: Score, rubric: Rubric, marks: PersonMarks | None = None, given: Decimal = NOTHING
) -> Standing:
    """Where a student stands.

    Args:
        score: the automatic result.
        rubric: the one the student is graded by.
        marks: what people gave.
        given: bonus points of the course, from zero on.
    """
    marks = marks or {}
    automatic = automatic_points(score, rubric)
    questions = tuple(_question(question, automatic, marks) for question in rubric.questions)
    extras = [marks[cell].extra for cell in automatic if cell in marks]
    return Standing(
        score.student,
        questions,
        given,
        _sum(extra for extra in extras if extra > 0),
        -_sum(extra for extra in extras if extra < 0),
        rubric.assignment.grading,
        score.rubric_version != rubric.version,
        any(note.code in UNDECIDED for note in score.notes),
        score.deduction,
        score.group.name if score.group else "",
    )


def _question(
    question: Question, automatic: Mapping[CellName, CellPoints], marks: PersonMarks
) -> QuestionPoints:
    names = [(question.notebook, cell) for cell in question.cells()]
    cells = tuple(_with_mark(automatic[name], marks.get(name)) for name in names)
    commented = dict.fromkeys(((question.notebook, question.answer_cell), *names))
    comments = tuple(marks[name].comment for name in commented if name in marks and marks[name].comment)
    extra = _sum(marks[name].extra for name in names if name in marks)
    return QuestionPoints(question.id, question.bonus, question.points, cells, comments, extra)


def automatic_points(score: Score, rubric: Rubric) -> dict[CellName, CellPoints]:
    """The automatic points of every grade cell, each within zero and the cell's points.

    An item without a result is open.
    """
    results = {(result.question, result.item): result for result in score.items}
    return {
        (question.notebook, cell): _cell(question, cell, possible, results)
        for question in rubric.questions
        for cell, possible in question.cells().items()
    }


def _cell(
    question: Question, cell: str, possible: Decimal, results: Mapping[tuple[str, str], ItemResult]
) -> CellPoints:
    decided: list[Decimal] = []
    waiting: list[Item] = []
    for item in question.items:
        if (item.cell or question.id) == cell:
            result = results.get((question.id, item.id))
            if result is not None and result.status is not Status.NEEDS_REVIEW:
                decided.append(result.points)
            elif item.points != 0:  # one worth nothing, such as "Comments?", changes no mark
                waiting.append(item)
    points = _sum(decided)
    least = points + _sum(item.points for item in waiting if item.points < 0)
    most = points + _sum(item.points for item in waiting if item.points > 0)

    def bounded(value: Decimal) -> Decimal:
        return min(max(value, NOTHING), possible)

    return CellPoints(
        cell,
        possible,
        bounded(points),
        bounded(least),
        bounded(most),
        settled=bool(decided),
        pending=bool(waiting),
    )


def _with_mark(cell: CellPoints, mark: PersonMark | None) -> CellPoints:
    """The cell with a person's mark in place of the automatic one, where there is one."""
    if mark is None:
        return cell
    points, least, most, pending = cell.points, cell.least, cell.most, cell.pending
    if mark.points is not None:
        points, pending = mark.points, mark.again and bool(cell.possible or mark.points)
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


def _sum(values: Iterable[Decimal]) -> Decimal:
    return sum(values, NOTHING)
