"""What a trial does to a class: who moves, by how much, and why."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from autograder.marking.following import MarkFollower
from autograder.marking.moves import (
    MarkedScore,
    RubricChange,
    StudentMove,
    in_order,
    rubric_changes,
    student_move,
)
from autograder.records import Graded, Score
from autograder.service import attempts, versions
from autograder.service.models import CellMark, CurrentResult, State, VersionTrial
from autograder.service.store import given_to
from autograder.service.trials import trying
from autograder.service.trials.marks import as_mark, followed, place_of


class TrialEffect(Struct, frozen=True):
    """What a trial does, as far as it is known."""

    total: int
    same: int
    """Students for whom nothing changes."""
    moved: tuple[StudentMove, ...]
    waiting: tuple[str, ...]
    """Students whose attempt is still being graded, by the trial or by what is offered."""
    failed: Mapping[str, str]
    """Why it could not be graded by the trial, by student."""
    changes: tuple[RubricChange, ...]

    @property
    def complete(self) -> bool:
        """Everybody is graded by it."""
        return not (self.waiting or self.failed)


class _Scored(Struct, frozen=True):
    """What is read of a result: not its notebooks."""

    score: Score


def effect(trial: VersionTrial) -> TrialEffect:
    """Who moves by a trial; nothing is written."""
    offer = trial.offer
    before, after = versions.rubric_of(trial.base), versions.rubric_of(trial.version)
    known, current, marks = _known(trial), _current(trial), _marks(trial)
    cells = {(question.notebook, cell) for question in after.questions for cell in question.cells()}
    failed = trying.failures(trial)
    handins = attempts.all_counting(offer, after)
    moved, waiting, same = [], [], 0
    for student, handin in sorted(handins.items()):
        result = known.get(uuid.UUID(attempts.result_of(handin)))
        if result is None:
            waiting += [student] if student not in failed else []
            continue
        rows = [row for row in marks.get(student, []) if place_of(row) in cells]
        given = given_to(offer, student)
        was, submission = current.get(student) or (None, "")
        counted = attempts.as_counted(Graded(result[0], digest=result[1]), handin, after)
        follower = MarkFollower(after, was, counted.score, was is not None and submission != counted.digest)
        stood = {place_of(row): as_mark(row) for row in rows}
        stand = {place_of(row): followed(follower, row) for row in rows}
        found = student_move(
            MarkedScore(was, before, stood, given) if was else None,
            MarkedScore(counted.score, after, stand, given),
        )
        if found is None:
            same += 1
        else:
            moved.append(found)
    failed = {who: why for who, why in failed.items() if who in handins}
    changes = tuple(rubric_changes(before, after))
    return TrialEffect(len(handins), same, in_order(moved), tuple(waiting), failed, changes)


def _score(stored: bytes) -> Score:
    return msgspec.json.decode(stored, type=_Scored).score


def _known(trial: VersionTrial) -> dict[uuid.UUID, tuple[Score, str]]:
    """The trial's results with the digest of what was graded, of attempts that are graded otherwise too."""
    rows = trial.results.filter(result__isnull=False, attempt__state=State.GRADED)
    found = rows.values_list("attempt_id", "result__graded", "result__submission").iterator(chunk_size=50)
    return {attempt: (_score(bytes(stored)), digest) for attempt, stored, digest in found}


def _current(trial: VersionTrial) -> dict[str, tuple[Score, str]]:
    """What counts now, with the digest of what was graded."""
    rows = CurrentResult.objects.filter(course=trial.offer.course_id, assignment=trial.offer.assignment)
    found = rows.values_list("student", "result__graded", "result__submission").iterator(chunk_size=50)
    return {student: (_score(bytes(stored)), digest) for student, stored, digest in found}


def _marks(trial: VersionTrial) -> dict[str, list[CellMark]]:
    """What people gave, by student."""
    found: dict[str, list[CellMark]] = {}
    for row in touched(trial):
        found.setdefault(row.student, []).append(row)
    return found


def touched(trial: VersionTrial) -> Iterator[CellMark]:
    """The rows of marks that people gave."""
    rows = CellMark.objects.filter(
        place__course=trial.offer.course_id, place__assignment=trial.offer.assignment, touched=True
    )
    return rows.select_related("place").order_by("pk").iterator()
