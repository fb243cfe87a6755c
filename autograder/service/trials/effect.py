"""The effect of a trial on a class: changed totals by student, with amount and reason."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from decimal import Decimal

import msgspec
from msgspec import Struct

from autograder.core.records import GradingResult, Score
from autograder.core.wording import Phrase
from autograder.grading.grades import CellName, PersonMark
from autograder.marking.mark_follower import MarkFollower
from autograder.marking.moves import (
    MarkedScore,
    RubricChange,
    StudentMove,
    compare_rubrics,
    compare_student,
    sort_moves,
)
from autograder.service import attempts, versions
from autograder.service.models import CellMark, State, VersionTrial
from autograder.service.store import get_bonus_points
from autograder.service.trials import grading


class TrialEffect(Struct, frozen=True):
    """The effect of a trial, as far as it is known."""

    total: int
    same: int
    """Number of students without a change."""
    moved: tuple[StudentMove, ...]
    waiting: tuple[str, ...]
    """Students with an attempt that is still being graded, by the trial or by the offered version."""
    failed: Mapping[str, Phrase]
    """Reason for a failure in the trial, by student."""
    changes: tuple[RubricChange, ...]

    @property
    def complete(self) -> bool:
        """True if the trial has a result for every student."""
        return not (self.waiting or self.failed)


class _ScoreOnly(Struct, frozen=True):
    """The part of a result that is read here: without its notebooks."""

    score: Score


def compute_effect(trial: VersionTrial) -> TrialEffect:
    """Return the changes that a trial would make; does not write anything."""
    offer = trial.offer
    before, after = versions.load_rubric(trial.base), versions.load_rubric(trial.version)
    trial_scores, current, marks = _load_trial_scores(trial), _load_current_scores(trial), _load_marks(trial)
    cells = {(question.notebook, cell) for question in after.questions for cell in question.list_cells()}
    failed = grading.load_failures(trial)
    handins = attempts.find_counting_attempts(offer, after)
    moved, waiting, same = [], [], 0
    for student, handin in sorted(handins.items()):
        result = trial_scores.get(uuid.UUID(attempts.get_graded_attempt_id(handin)))
        if result is None:
            waiting += [student] if student not in failed else []
            continue
        # Marks of cells that the new version no longer has cannot be carried over.
        rows = [row for row in marks.get(student, []) if get_cell_name(row) in cells]
        bonus = get_bonus_points(offer, student)
        was, submission = current.get(student) or (None, "")
        counted = attempts.as_counted(GradingResult(result[0], digest=result[1]), handin, after)
        follower = MarkFollower(after, was, counted.score, was is not None and submission != counted.digest)
        stood = {get_cell_name(row): to_mark(row) for row in rows}
        stand = {get_cell_name(row): follow_mark(follower, row) for row in rows}
        move = compare_student(
            MarkedScore(was, before, stood, bonus) if was else None,
            MarkedScore(counted.score, after, stand, bonus),
        )
        if move is None:
            same += 1
        else:
            moved.append(move)
    failed = {who: why for who, why in failed.items() if who in handins}
    changes = tuple(compare_rubrics(before, after))
    return TrialEffect(len(handins), same, sort_moves(moved), tuple(waiting), failed, changes)


def _decode_score(stored: bytes) -> Score:
    return msgspec.json.decode(stored, type=_ScoreOnly).score


def _load_trial_scores(trial: VersionTrial) -> dict[uuid.UUID, tuple[Score, str]]:
    """Return the trial's score and digest by attempt, for attempts that have a regular result too."""
    rows = trial.results.filter(result__isnull=False, attempt__state=State.GRADED)
    # Stored results are large, so only a few are in memory at a time.
    stored_rows = rows.values_list("attempt_id", "result__graded", "result__submission").iterator(
        chunk_size=50
    )
    return {attempt: (_decode_score(bytes(stored)), digest) for attempt, stored, digest in stored_rows}


def _load_current_scores(trial: VersionTrial) -> dict[str, tuple[Score, str]]:
    """Return the current score and digest by student."""
    rows = trial.offer.current_results.values_list("student", "result__graded", "result__submission")
    stored_rows = rows.iterator(chunk_size=50)
    return {student: (_decode_score(bytes(stored)), digest) for student, stored, digest in stored_rows}


def _load_marks(trial: VersionTrial) -> dict[str, list[CellMark]]:
    """Return the marks of people by student."""
    marks: dict[str, list[CellMark]] = {}
    rows = trial.offer.marks.filter(touched=True).select_related("place").order_by("pk")
    for row in rows.iterator():
        marks.setdefault(row.student, []).append(row)
    return marks


def get_cell_name(row: CellMark) -> CellName:
    """Return the cell of a row."""
    return row.place.notebook, row.place.cell


def to_mark(row: CellMark) -> PersonMark:
    """Return a person's mark as it is."""
    points = None if row.points is None else Decimal(row.points)
    items = {name: Decimal(stored["points"]) for name, stored in row.items.items()}
    worth = {name: Decimal(stored["of"]) for name, stored in row.items.items()}
    extra = Decimal(row.extra)
    return PersonMark(points, extra, row.again, row.comment, items, worth, row.flagged, row.remarks)


def follow_mark(follower: MarkFollower, row: CellMark) -> PersonMark:
    """Return a person's mark as it will be under the new rubric."""
    automatic = None if row.automatic is None else Decimal(row.automatic)
    return follower.follow_mark(get_cell_name(row), to_mark(row), automatic)


def encode_items(mark: PersonMark) -> Mapping[str, Mapping[str, str]]:
    """Return a mark's items in the form of `CellMark.items`."""
    return {name: {"points": str(points), "of": str(mark.worth[name])} for name, points in mark.items.items()}
