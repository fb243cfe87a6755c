"""What a draft does to a class: who moves, by how much, and why."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from decimal import Decimal

import msgspec
from msgspec import Struct

from autograder.grades import Standing, standing
from autograder.records import ItemResult, Message, Score, Status
from autograder.rubric import Rubric
from autograder.service import attempts, versions
from autograder.service.drafts import trying
from autograder.service.drafts.marks import FollowedMark, MarkFollower, as_mark
from autograder.service.models import CellMark, CurrentResult, DraftVersion, State
from autograder.service.store import given_to


class ItemMove(Struct, frozen=True):
    """One item of one student, before and after."""

    question: str
    item: str
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


class StudentMove(Struct, frozen=True):
    """One student whose marks, or what they are told, differ."""

    student: str
    before: Standing | None
    after: Standing
    items: tuple[ItemMove, ...]

    @property
    def by(self) -> Decimal:
        """Points won, or lost below zero."""
        return self.after.total - (self.before.total if self.before else Decimal(0))


class RubricChange(Struct, frozen=True):
    """What a draft changes of an item, or of a question's title."""

    question: str
    item: str
    """Empty: the question itself."""
    worth_before: Decimal
    worth_after: Decimal
    text_before: Mapping[str, str]
    text_after: Mapping[str, str]


class DraftEffect(Struct, frozen=True):
    """What a draft does, as far as it is known."""

    total: int
    same: int
    """Students for whom nothing changes."""
    moved: tuple[StudentMove, ...]
    waiting: tuple[str, ...]
    """Students whose attempt is still being graded, by the draft or by what is offered."""
    failed: Mapping[str, str]
    """Why it could not be graded by the draft, by student."""
    changes: tuple[RubricChange, ...]

    @property
    def complete(self) -> bool:
        """Everybody is graded by it."""
        return not (self.waiting or self.failed)


class _Scored(Struct, frozen=True):
    """What is read of a result: not its notebooks."""

    score: Score


def effect(draft: DraftVersion) -> DraftEffect:
    """Who moves by a draft; nothing is written."""
    offer = draft.offer
    before, after = versions.rubric_of(draft.base), versions.rubric_of(draft.version)
    known, current, marks = _known(draft), _current(draft), _marks(draft)
    failed = trying.failures(draft)
    handins = attempts.all_counting(offer, after)
    moved, waiting, same = [], [], 0
    for student, handin in sorted(handins.items()):
        result = known.get(uuid.UUID(handin.folder.name))
        if result is None:
            waiting += [student] if student not in failed else []
            continue
        move = _move(student, (before, after), current.get(student), result, marks.get(student, []))
        given = given_to(offer, student)
        found = move.student_move(given)
        if found is None:
            same += 1
        else:
            moved.append(found)
    moved.sort(key=lambda one: (one.by == 0, one.by, one.student))
    failed = {who: why for who, why in failed.items() if who in handins}
    return DraftEffect(
        len(handins), same, tuple(moved), tuple(waiting), failed, tuple(rubric_changes(before, after))
    )


class _Move(Struct, frozen=True):
    """One student's two results."""

    student: str
    before: Rubric
    after: Rubric
    was: Score | None
    score: Score
    marks: list[CellMark]
    resubmitted: bool

    def student_move(self, given: Decimal) -> StudentMove | None:
        """The move; None where everything stays."""
        follower = MarkFollower(self.after, self.was, self.score, self.resubmitted)
        followed = {(row.place.notebook, row.place.cell): follower.follow(row) for row in self.marks}
        old = {(row.place.notebook, row.place.cell): as_mark(row) for row in self.marks}
        new = {name: one.mark for name, one in followed.items()}
        stood = standing(self.was, self.before, old, given) if self.was else None
        stands = standing(self.score, self.after, new, given)
        items = tuple(self._items(followed))
        told = stood and (stood.total, stood.worst, stood.best, stood.pending, stood.final)
        if not items and told == (stands.total, stands.worst, stands.best, stands.pending, stands.final):
            return None
        return StudentMove(self.student, stood, stands, items)

    def _items(self, followed: Mapping[tuple[str, str], FollowedMark]) -> Iterator[ItemMove]:
        was = {(one.question, one.item): one for one in (self.was.items if self.was else ())}
        will = {(one.question, one.item): one for one in self.score.items}
        rows = {(row.place.notebook, row.place.cell): row for row in self.marks}
        for question in self.after.questions:
            for item in question.items:
                name = (question.notebook, item.cell or question.id)
                key = (question.id, item.id)
                move = _item_move(key, was.get(key), will.get(key))
                row = rows.get(name)
                if row is not None and item.id in row.items:
                    move = _given_move(key, row.items[item.id], followed[name].items[item.id])
                elif row is not None and row.points is not None:
                    continue  # the mark of the whole cell stands for it
                if move.differs:
                    yield move


def _item_move(key: tuple[str, str], was: ItemResult | None, will: ItemResult | None) -> ItemMove:
    return ItemMove(
        *key,
        _points(was),
        _points(will),
        was.possible if was else Decimal(0),
        will.possible if will else Decimal(0),
        was.student if was else None,
        will.student if will else None,
    )


def _given_move(key: tuple[str, str], was: Mapping[str, str], will: Mapping[str, str]) -> ItemMove:
    return ItemMove(
        *key,
        Decimal(was["points"]),
        Decimal(will["points"]),
        Decimal(was["of"]),
        Decimal(will["of"]),
        None,
        None,
        by_person=True,
    )


def _points(result: ItemResult | None) -> Decimal | None:
    return None if result is None or result.status is Status.NEEDS_REVIEW else result.points


def _move(
    student: str,
    rubrics: tuple[Rubric, Rubric],
    current: tuple[Score, str] | None,
    result: tuple[Score, str],
    marks: list[CellMark],
) -> _Move:
    was, submission = current or (None, "")
    resubmitted = was is not None and submission != result[1]
    return _Move(student, *rubrics, was, result[0], marks, resubmitted)


def _score(stored: bytes) -> Score:
    return msgspec.json.decode(stored, type=_Scored).score


def _known(draft: DraftVersion) -> dict[uuid.UUID, tuple[Score, str]]:
    """The draft's results with the digest of what was graded, of attempts that are graded otherwise too."""
    rows = draft.results.filter(result__isnull=False, attempt__state=State.GRADED)
    found = rows.values_list("attempt_id", "result__graded", "result__submission").iterator(chunk_size=50)
    return {attempt: (_score(bytes(stored)), digest) for attempt, stored, digest in found}


def _current(draft: DraftVersion) -> dict[str, tuple[Score, str]]:
    """What counts now, with the digest of what was graded."""
    rows = CurrentResult.objects.filter(course=draft.offer.course_id, assignment=draft.offer.assignment)
    found = rows.values_list("student", "result__graded", "result__submission").iterator(chunk_size=50)
    return {student: (_score(bytes(stored)), digest) for student, stored, digest in found}


def _marks(draft: DraftVersion) -> dict[str, list[CellMark]]:
    """What people gave, by student."""
    found: dict[str, list[CellMark]] = {}
    for row in touched(draft):
        found.setdefault(row.student, []).append(row)
    return found


def touched(draft: DraftVersion) -> Iterator[CellMark]:
    """The rows of marks that people gave."""
    rows = CellMark.objects.filter(
        place__course=draft.offer.course_id, place__assignment=draft.offer.assignment, touched=True
    )
    return rows.select_related("place").order_by("pk").iterator()


def rubric_changes(before: Rubric, after: Rubric) -> Iterator[RubricChange]:
    """What differs between two rubrics of the same items, but for calls and what is right."""
    for old, new in zip(before.questions, after.questions, strict=True):
        if old.title != new.title:
            yield RubricChange(new.id, "", old.points, new.points, old.title, new.title)
        for was, will in zip(old.items, new.items, strict=False):
            if (was.points, was.text) != (will.points, will.text):
                yield RubricChange(new.id, will.id, was.points, will.points, was.text, will.text)
