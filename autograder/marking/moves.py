"""Who moves when a class is graded otherwise, by how much, and in which items: two results compared.

Exact and pure: the trials of the service and the regrading of folder courses say the same by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.grades import NOTHING, PersonMark, PersonMarks, Standing, standing
from autograder.marking.points import items_of
from autograder.records import ItemResult, Message, Score, Status
from autograder.rubric import Question, Rubric


class ItemMove(Struct, frozen=True):
    """One item of one student, before and after."""

    question: str
    item: str
    """Of a cell whose items a person marked together: all of them, with ``+`` between."""
    before: Decimal | None
    """Points; None: a person decides."""
    after: Decimal | None
    possible_before: Decimal
    possible_after: Decimal
    told_before: Message | None
    """What the student is told by grading; None: nothing yet."""
    told_after: Message | None
    by_person: bool = False
    """A person's mark of the item."""

    @property
    def differs(self) -> bool:
        """Whether there is anything to tell."""
        before = (self.before, self.possible_before, self.told_before)
        return before != (self.after, self.possible_after, self.told_after)

    @property
    def moves(self) -> bool:
        """Whether its points are others, and not only what is told."""
        return (self.before, self.possible_before) != (self.after, self.possible_after)


class StudentMove(Struct, frozen=True):
    """One student whose marks, or what they are told, differ."""

    student: str
    before: Standing | None
    after: Standing
    items: tuple[ItemMove, ...]

    @property
    def by(self) -> Decimal:
        """Points won, or lost below zero."""
        return self.after.total - (self.before.total if self.before else NOTHING)


class MarkedScore(Struct, frozen=True):
    """One student's automatic result, with what people gave and the course besides."""

    score: Score
    rubric: Rubric
    """The one the student was graded by."""
    marks: PersonMarks = {}
    given: Decimal = NOTHING
    """Bonus points of the course."""

    def standing(self) -> Standing:
        """Where the student stands by it."""
        return standing(self.score, self.rubric, self.marks, self.given)


def student_move(before: MarkedScore | None, after: MarkedScore) -> StudentMove | None:
    """How a student moves; None where everything stays.

    Args:
        before: what counted; None: nothing did.
        after: what takes its place.
    """
    stood, stands = before.standing() if before else None, after.standing()
    items = tuple(_item_moves(before, after))
    told = stood and (stood.total, stood.worst, stood.best, stood.pending, stood.final)
    if not items and told == (stands.total, stands.worst, stands.best, stands.pending, stands.final):
        return None
    return StudentMove(after.score.student, stood, stands, items)


def in_order(moves: Iterable[StudentMove]) -> tuple[StudentMove, ...]:
    """The moves as they are shown: who loses most first, and last who is only told something else."""
    return tuple(sorted(moves, key=lambda one: (one.by == 0, one.by, one.student)))


def _item_moves(before: MarkedScore | None, after: MarkedScore) -> Iterator[ItemMove]:
    was = {(one.question, one.item): one for one in (before.score.items if before else ())}
    will = {(one.question, one.item): one for one in after.score.items}
    marks = before.marks if before else {}
    for question in after.rubric.questions:
        for cell in question.cells():
            name = (question.notebook, cell)
            old, new = marks.get(name, PersonMark()), after.marks.get(name, PersonMark())
            whole = [one.points is not None and not one.items for one in (old, new)]
            if any(whole) and old.points != new.points:
                yield _whole_move(question, cell, _Side(was, old), _Side(will, new))
                continue
            for item in items_of(question, cell):
                key = (question.id, item.id)
                move = _item_move(key, was.get(key), will.get(key))
                if item.id in old.items and item.id in new.items:
                    move = _given_move(key, old, new)
                elif old.points is not None or new.points is not None:
                    continue  # the mark of the cell stands for it
                if move.differs:
                    yield move
    known = {(question.id, item.id) for question in after.rubric.questions for item in question.items}
    for key, gone in was.items():
        if key not in known:
            yield _item_move(key, gone, None)


def _item_move(key: tuple[str, str], was: ItemResult | None, will: ItemResult | None) -> ItemMove:
    return ItemMove(
        *key,
        _points(was),
        _points(will),
        was.possible if was else NOTHING,
        will.possible if will else NOTHING,
        was.student if was else None,
        will.student if will else None,
    )


def _given_move(key: tuple[str, str], was: PersonMark, will: PersonMark) -> ItemMove:
    item = key[1]
    of = will.worth.get(item, NOTHING)
    points = (was.items[item], will.items[item], was.worth.get(item, of), of)
    return ItemMove(*key, *points, None, None, by_person=True)


class _Side(Struct, frozen=True):
    """One side of a comparison of a cell."""

    results: Mapping[tuple[str, str], ItemResult]
    mark: PersonMark

    def points(self, question: Question, cell: str) -> Decimal | None:
        """What the cell has: the mark, or what grading found of all its items."""
        if self.mark.points is not None:
            return self.mark.points
        found = [_points(self.results.get((question.id, item.id))) for item in items_of(question, cell)]
        known = [one for one in found if one is not None]
        return sum(known, NOTHING) if len(known) == len(found) else None

    def possible(self, question: Question, cell: str) -> Decimal:
        """What it could have."""
        found = (self.results.get((question.id, item.id)) for item in items_of(question, cell))
        return sum((one.possible for one in found if one is not None), NOTHING)


def _whole_move(question: Question, cell: str, was: _Side, will: _Side) -> ItemMove:
    """A cell whose mark, given as a whole, is new or another one."""
    return ItemMove(
        question.id,
        "+".join(item.id for item in items_of(question, cell)),
        was.points(question, cell),
        will.points(question, cell),
        was.possible(question, cell),
        will.possible(question, cell),
        None,
        None,
        by_person=True,
    )


def _points(result: ItemResult | None) -> Decimal | None:
    return None if result is None or result.status is Status.NEEDS_REVIEW else result.points


class RubricChange(Struct, frozen=True):
    """What differs in an item, or in a question's title."""

    question: str
    item: str
    """Empty: the question itself."""
    worth_before: Decimal
    worth_after: Decimal
    text_before: Mapping[str, str]
    text_after: Mapping[str, str]


def rubric_changes(before: Rubric, after: Rubric) -> Iterator[RubricChange]:
    """What differs between two rubrics, but for calls and what is right."""
    for old, new in zip(before.questions, after.questions, strict=True):
        if old.title != new.title:
            yield RubricChange(new.id, "", old.points, new.points, old.title, new.title)
        for was, will in zip(old.items, new.items, strict=False):
            if (was.points, was.text) != (will.points, will.text):
                yield RubricChange(new.id, will.id, was.points, will.points, was.text, will.text)
