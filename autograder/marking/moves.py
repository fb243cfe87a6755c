"""Compare two results of a class: who moves, by how much, and in which items.

Exact and pure; shared by the trials of the service and the regrading of folder courses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.core.records import ItemResult, Message, Score, Status
from autograder.grading.grades import NOTHING, PersonMark, PersonMarks, Standing, compute_standing
from autograder.marking.points import list_items
from autograder.rubric import Question, Rubric


class ItemMove(Struct, frozen=True):
    """One item of one student, before and after."""

    question: str
    item: str
    """If a grader marked several items of a cell together: all of them, joined by ``+``."""
    before: Decimal | None
    """Points; None: needs manual review."""
    after: Decimal | None
    possible_before: Decimal
    possible_after: Decimal
    told_before: Message | None
    """Message of grading to the student; None: none yet."""
    told_after: Message | None
    by_person: bool = False
    """Whether it is a manual mark of the item."""

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        before = (self.before, self.possible_before, self.told_before)
        return before != (self.after, self.possible_after, self.told_after)

    @property
    def moves(self) -> bool:
        """Whether the points differ, and not only the message."""
        return (self.before, self.possible_before) != (self.after, self.possible_after)


class StudentMove(Struct, frozen=True):
    """One student with different marks or messages."""

    student: str
    before: Standing | None
    after: Standing
    items: tuple[ItemMove, ...]

    @property
    def by(self) -> Decimal:
        """Points gained, or lost if negative."""
        return self.after.total - (self.before.total if self.before else NOTHING)


class MarkedScore(Struct, frozen=True):
    """One student's automatic result, with manual marks and bonus points."""

    score: Score
    rubric: Rubric
    """The rubric that the student was graded by."""
    marks: PersonMarks = {}
    given: Decimal = NOTHING
    """Bonus points of the course."""

    def compute_standing(self) -> Standing:
        """Return the resulting standing of the student."""
        return compute_standing(self.score, self.rubric, self.marks, self.given)


def compare_student(before: MarkedScore | None, after: MarkedScore) -> StudentMove | None:
    """Return the move of a student; None if everything stays.

    Args:
        before: the result that counted; None: none did.
        after: the new result.
    """
    standing_before, standing_after = before.compute_standing() if before else None, after.compute_standing()
    items = tuple(_compare_items(before, after))
    summary_before = standing_before and (
        standing_before.total,
        standing_before.worst,
        standing_before.best,
        standing_before.pending,
        standing_before.final,
    )
    if not items and summary_before == (
        standing_after.total,
        standing_after.worst,
        standing_after.best,
        standing_after.pending,
        standing_after.final,
    ):
        return None
    return StudentMove(after.score.student, standing_before, standing_after, items)


def sort_moves(moves: Iterable[StudentMove]) -> tuple[StudentMove, ...]:
    """Sort moves for display: largest loss first, and moves without a change of points last."""
    # False sorts before True: students with a change of points come first.
    return tuple(sorted(moves, key=lambda move: (move.by == 0, move.by, move.student)))


def _compare_items(before: MarkedScore | None, after: MarkedScore) -> Iterator[ItemMove]:
    was = {(entry.question, entry.item): entry for entry in (before.score.items if before else ())}
    will = {(entry.question, entry.item): entry for entry in after.score.items}
    marks = before.marks if before else {}
    for question in after.rubric.questions:
        for cell in question.list_cells():
            name = (question.notebook, cell)
            old, new = marks.get(name, PersonMark()), after.marks.get(name, PersonMark())
            whole = [entry.points is not None and not entry.items for entry in (old, new)]
            # A mark for the whole cell gives no points by item, so the cell is compared as one.
            if any(whole) and old.points != new.points:
                yield _make_cell_move(question, cell, _Side(was, old), _Side(will, new))
                continue
            for item in list_items(question, cell):
                key = (question.id, item.id)
                move = _make_item_move(key, was.get(key), will.get(key))
                if item.id in old.items and item.id in new.items:
                    move = _make_manual_move(key, old, new)
                elif old.points is not None or new.points is not None:
                    continue  # the mark of the cell covers it
                if move.differs:
                    yield move
    # Items that the new rubric no longer has are listed at the end.
    current_items = {(question.id, item.id) for question in after.rubric.questions for item in question.items}
    for key, gone in was.items():
        if key not in current_items:
            yield _make_item_move(key, gone, None)


def _make_item_move(key: tuple[str, str], was: ItemResult | None, will: ItemResult | None) -> ItemMove:
    return ItemMove(
        *key,
        _get_points(was),
        _get_points(will),
        was.possible if was else NOTHING,
        will.possible if will else NOTHING,
        was.student if was else None,
        will.student if will else None,
    )


def _make_manual_move(key: tuple[str, str], was: PersonMark, will: PersonMark) -> ItemMove:
    item = key[1]
    worth = will.worth.get(item, NOTHING)
    points = (was.items[item], will.items[item], was.worth.get(item, worth), worth)
    return ItemMove(*key, *points, None, None, by_person=True)


class _Side(Struct, frozen=True):
    """One side of the comparison of a cell."""

    results: Mapping[tuple[str, str], ItemResult]
    mark: PersonMark

    def get_points(self, question: Question, cell: str) -> Decimal | None:
        """Return the points of a cell: the mark, or the sum of the verdicts if all items have one."""
        if self.mark.points is not None:
            return self.mark.points
        item_points = [
            _get_points(self.results.get((question.id, item.id))) for item in list_items(question, cell)
        ]
        decided_points = [value for value in item_points if value is not None]
        return sum(decided_points, NOTHING) if len(decided_points) == len(item_points) else None

    def get_possible(self, question: Question, cell: str) -> Decimal:
        """Return the possible points of a cell."""
        results = (self.results.get((question.id, item.id)) for item in list_items(question, cell))
        return sum((result.possible for result in results if result is not None), NOTHING)


def _make_cell_move(question: Question, cell: str, was: _Side, will: _Side) -> ItemMove:
    """Return the move of a cell with a new or changed mark for the whole cell."""
    return ItemMove(
        question.id,
        "+".join(item.id for item in list_items(question, cell)),
        was.get_points(question, cell),
        will.get_points(question, cell),
        was.get_possible(question, cell),
        will.get_possible(question, cell),
        None,
        None,
        by_person=True,
    )


def _get_points(result: ItemResult | None) -> Decimal | None:
    return None if result is None or result.status is Status.NEEDS_REVIEW else result.points


class RubricChange(Struct, frozen=True):
    """A difference in an item, or in a question's title."""

    question: str
    item: str
    """Empty: the question itself."""
    worth_before: Decimal
    worth_after: Decimal
    text_before: Mapping[str, str]
    text_after: Mapping[str, str]


def compare_rubrics(before: Rubric, after: Rubric) -> Iterator[RubricChange]:
    """Yield the differences in points and texts between two rubrics; calls and right answers are ignored."""
    for old, new in zip(before.questions, after.questions, strict=True):
        if old.title != new.title:
            yield RubricChange(new.id, "", old.points, new.points, old.title, new.title)
        earlier, later = ({item.id: item for item in question.items} for question in (old, new))
        # An item that only one of them has is worth nothing in the other.
        for name in {**later, **earlier}:
            (worth_before, text_before), (worth_after, text_after) = (
                (items[name].points, items[name].text) if name in items else (NOTHING, {})
                for items in (earlier, later)
            )
            if (worth_before, text_before) != (worth_after, text_after):
                yield RubricChange(new.id, name, worth_before, worth_after, text_before, text_after)
