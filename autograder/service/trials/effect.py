"""The effect of a trial on a class: changed totals by student, with amount and reason."""

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
    """The effect of a trial, as far as it is known."""

    total: int
    same: int
    """Number of students without a change."""
    moved: tuple[StudentMove, ...]
    waiting: tuple[str, ...]
    """Students with an attempt that is still being graded, by the trial or by the offered version."""
    failed: Mapping[str, str]
    """Reason for a failure in the trial, by student."""
    changes: tuple[RubricChange, ...]

    @property
    def complete(self) -> bool:
        """True if the trial has a result for every student."""
        return not (self.waiting or self.failed)


class _Scored(Struct, frozen=True):
    """The part of a result that is read here: without its notebooks."""

    score: Score


def effect(trial: VersionTrial) -> TrialEffect:
    """Return the changes that a trial would make; does not write anything."""
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
        # Marks of cells that the new version no longer has cannot be carried over.
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
    """Return the trial's score and digest by attempt, for attempts that have a regular result too."""
    rows = trial.results.filter(result__isnull=False, attempt__state=State.GRADED)
    # Stored results are large, so only a few are in memory at a time.
    found = rows.values_list("attempt_id", "result__graded", "result__submission").iterator(chunk_size=50)
    return {attempt: (_score(bytes(stored)), digest) for attempt, stored, digest in found}


def _current(trial: VersionTrial) -> dict[str, tuple[Score, str]]:
    """Return the current score and digest by student."""
    rows = CurrentResult.objects.filter(course=trial.offer.course_id, assignment=trial.offer.assignment)
    found = rows.values_list("student", "result__graded", "result__submission").iterator(chunk_size=50)
    return {student: (_score(bytes(stored)), digest) for student, stored, digest in found}


def _marks(trial: VersionTrial) -> dict[str, list[CellMark]]:
    """Return the marks of people by student."""
    found: dict[str, list[CellMark]] = {}
    for row in touched(trial):
        found.setdefault(row.student, []).append(row)
    return found


def touched(trial: VersionTrial) -> Iterator[CellMark]:
    """Yield the rows of marks that people gave."""
    rows = CellMark.objects.filter(
        place__course=trial.offer.course_id, place__assignment=trial.offer.assignment, touched=True
    )
    return rows.select_related("place").order_by("pk").iterator()
