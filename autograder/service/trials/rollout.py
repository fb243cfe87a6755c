"""Begin a trial of a new version, apply it to the whole class at once, or drop it.

Locks are taken in one order, which all other code follows: the course, the log, the trial, attempts, marks,
and finally the offer. So students can submit until the last moment; a submission in between makes the trial
be refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.db import transaction
from django.utils import timezone

from autograder.core.records import GradingResult
from autograder.course import Course, Handin
from autograder.grading import assignment as assignments
from autograder.grading.store import GradedEntry, ResultKey, decode_result
from autograder.marking.mark_follower import MarkFollower
from autograder.rubric import Rubric
from autograder.service import attempts, audit, mark_changes, tasks, versions
from autograder.service.models import (
    Account,
    Attempt,
    CellMark,
    CourseRecord,
    Offer,
    State,
    StoredResult,
    TrialResult,
    Version,
    VersionTrial,
)
from autograder.service.refusals import RequestRefused
from autograder.service.store import DatabaseStore
from autograder.service.trials import grading
from autograder.service.trials.effect import encode_items, follow_mark

SERVER = "autograder serve"
"""Name in the log in place of a person: the server imports the folder when it starts."""
_TOGETHER = 32
"""Maximum number of results in memory at a time."""


def import_assignment(
    record: CourseRecord, course: Course, name: str, by: Account | None = None
) -> tuple[Offer, VersionTrial | None]:
    """Offer a folder's assignment, or begin a trial of its new version.

    A version with another rubric or reference must be tried on everyone who has submitted before it counts.
    Any other new version is offered at once, because marks do not depend on the difference.

    Args:
        record: the course in the database.
        course: its folder.
        name: of the assignment.
        by: the account that requests it; None: the server, which does not repeat a dropped trial.

    Raises:
        As `versions.create_or_update_offer`.
        AutograderError: the new version cannot be used for grading.
    """
    offer = Offer.objects.filter(course=record, assignment=name).select_related("version", "course").first()
    # The folder is older than what staff have uploaded since.
    if by is None and offer is not None and offer.uploaded:
        return offer, None
    version = versions.import_version(record, course, name)
    if offer is None or not offer.attempts.exists() or versions.has_same_grading(offer.version, version):
        return versions.create_or_update_offer(record, course, name, version), None
    assignments.load_assignment(course, name)
    with transaction.atomic():
        versions.prepare_cell_rows(version)
        transaction.set_rollback(True)  # a dry run: the cells change only when the version is offered
    versions.import_groups(offer, course)
    return offer, _begin_trial(offer, version, by)


def _begin_trial(offer: Offer, version: Version, by: Account | None) -> VersionTrial | None:
    """Begin a trial, unless this version has one already; older active trials are dropped."""
    with transaction.atomic():
        CourseRecord.objects.select_for_update(no_key=True).get(pk=offer.course_id)
        of_offer = VersionTrial.objects.filter(offer=offer, base=offer.version_id).order_by("-pk")
        if existing := of_offer.filter(version=version, settled="").first():
            return existing
        if by is None and of_offer.filter(version=version, settled="dropped").exists():
            return None
        # An offer has at most one active trial.
        for other in VersionTrial.objects.filter(offer=offer, settled=""):
            drop_trial(other, by)
        trial = VersionTrial.objects.create(offer=offer, version=version, base=offer.version, by=by)
        before, after = offer.version.number, version.number
        who = by.username if by else SERVER
        audit.record_action(
            who, "try version", offer.assignment, course=offer.course, before=before, after=after
        )
    grading.catch_up(trial)
    return trial


def apply_trial(trial: VersionTrial, by: Account, reason: str = "") -> None:
    """Offer a trial's version and make its results count; all or nothing.

    Args:
        trial: an active trial.
        by: the account that applies it.
        reason: for students with changed marks.

    Raises:
        RequestRefused: the trial is closed, another version was offered since, or a student has no result in
            it yet or submitted just now.
        GradebookError: the store refused, or an obsolete cell has a person's mark.
    """
    with transaction.atomic():
        course = CourseRecord.objects.select_for_update(no_key=True).get(pk=trial.offer.course_id)
        row = _lock_and_log(trial, by, course, "apply version")
        if Offer.objects.get(pk=row.offer_id).version_id != row.base_id:
            raise RequestRefused("trial-outdated")
        rubric = versions.load_rubric(row.version)
        handins = attempts.find_counting_attempts(row.offer, rubric)
        results = _lock_results(row, handins)
        _lock_marks(row)
        versions.prepare_cell_rows(row.version)
        counted = dict.fromkeys(
            attempts.get_graded_attempt_id(handin) for _, handin in sorted(handins.items())
        )
        rows = [results[name] for name in counted]
        for start in range(0, len(rows), _TOGETHER):
            _record_results(row, rows[start : start + _TOGETHER], rubric, handins)
        _set_offered_version(row, rubric, handins)
        mark_changes.record_reason(row.offer, reason, by)
        _close_trial(row, "applied")


def drop_trial(trial: VersionTrial, by: Account | None) -> None:
    """Drop a trial; the offered version stays.

    Raises:
        RequestRefused: the trial is closed.
    """
    with transaction.atomic():
        _close_trial(_lock_and_log(trial, by, trial.offer.course, "drop version"), "dropped")


def _lock_and_log(trial: VersionTrial, by: Account | None, course: CourseRecord, action: str) -> VersionTrial:
    """Log the action, lock the trial and return it.

    Raises:
        RequestRefused: the trial is closed.
    """
    who, subject = by.username if by else SERVER, trial.offer.assignment
    before, after = trial.base.number, trial.version.number
    audit.record_action(who, action, subject, course=course, before=before, after=after)
    locked = VersionTrial.objects.select_for_update(of=("self",)).select_related(
        "offer__course", "version", "base"
    )
    row = locked.get(pk=trial.pk)
    if row.settled:
        raise RequestRefused(f"trial-already-{row.settled}")
    return row


def _close_trial(trial: VersionTrial, how: str) -> None:
    VersionTrial.objects.filter(pk=trial.pk).update(settled=how, settled_at=timezone.now())


def _lock_results(trial: VersionTrial, handins: Mapping[str, Handin]) -> dict[str, TrialResult]:
    """Return the trial's results by attempt, locked together with the attempts.

    Raises:
        RequestRefused: a student has none, or an outdated one.
    """
    counting = [attempts.get_graded_attempt_id(handin) for handin in handins.values()]
    locked = Attempt.objects.select_for_update().filter(pk__in=counting).order_by("pk")
    since = {str(attempt.pk): attempt.queued_at for attempt in locked if attempt.state == State.GRADED}
    rows = TrialResult.objects.select_for_update(of=("self",)).filter(trial=trial).order_by("pk")
    # Stored results are large, so their contents are deferred. A result from before the attempt was queued
    # again is outdated.
    results = {
        str(row.attempt_id): row
        for row in rows.select_related("result", "attempt").defer("result__graded")
        if row.result is not None
        and row.result.whole
        and row.graded_at is not None
        and row.graded_at >= since.get(str(row.attempt_id), timezone.now())
    }
    missing = sorted(
        who for who, handin in handins.items() if attempts.get_graded_attempt_id(handin) not in results
    )
    if missing:
        raise RequestRefused("trial-ungraded", students=", ".join(missing[:5]))
    return results


def _lock_marks(trial: VersionTrial) -> None:
    """Lock the marks in the same order as marking does, so that markers and this transaction wait in turn."""
    rows = trial.offer.marks.select_for_update(of=("self",))
    for _ in rows.order_by("pk").values_list("pk").iterator():
        pass


def _record_results(
    trial: VersionTrial, rows: list[TrialResult], rubric: Rubric, handins: Mapping[str, Handin]
) -> None:
    """Make results count, with the marks that people gave these students."""
    store, now = DatabaseStore(trial.offer.course), timezone.now()
    entries = [
        _build_entry(row, rubric, handin)
        for row in rows
        for handin in handins.values()
        if attempts.get_graded_attempt_id(handin) == str(row.attempt_id)
    ]
    # Computed first: recording replaces the current results that it compares with.
    marks = list(_follow_marks(trial, entries, rubric))
    store.record_results(entries)
    CellMark.objects.bulk_update(marks, ["points", "items", "again", "revision", "decided"])
    for row in rows:
        row.attempt.version_id, row.attempt.result_id = trial.version_id, row.result_id
        row.attempt.graded_at = now
    Attempt.objects.bulk_update([row.attempt for row in rows], ["version", "result", "graded_at"])


def _build_entry(row: TrialResult, rubric: Rubric, handin: Handin) -> GradedEntry:
    stored = StoredResult.objects.get(pk=row.result_id)
    key = ResultKey(*(getattr(stored, field) for field in ResultKey.__struct_fields__))
    return attempts.build_counted_entry(key, _decode_graded(bytes(stored.graded)), rubric, handin)


def _decode_graded(stored: bytes) -> GradingResult:
    graded = decode_result(stored)
    if graded is None:
        raise RequestRefused("trial-other-software")
    return graded


def _follow_marks(trial: VersionTrial, entries: Iterable[GradedEntry], rubric: Rubric) -> Iterable[CellMark]:
    """Yield the rows of people's marks with their new values, unsaved."""
    entered = {entry.key.student: entry for entry in entries}
    results = trial.offer.current_results.filter(student__in=entered).select_related("result")
    current = {row.student: row.result for row in results}
    for row in trial.offer.marks.filter(touched=True, student__in=entered).select_related("place"):
        entry, before = entered[row.student], current.get(row.student)
        was = decode_result(bytes(before.graded)) if before else None
        resubmitted = before is not None and before.submission != entry.key.submission
        follower = MarkFollower(rubric, was.score if was else None, entry.graded.score, resubmitted)
        mark = follow_mark(follower, row)
        points, items = None if mark.points is None else str(mark.points), encode_items(mark)
        if (points, items, mark.again) == (row.points, row.items, row.again):
            continue
        # A mark that came from a decision remains one, so that later decisions can change it.
        row.decided = points if row.decided == row.points else row.decided
        row.points, row.items, row.again = points, items, mark.again
        row.revision += 1
        yield row


def _set_offered_version(trial: VersionTrial, rubric: Rubric, handins: Mapping[str, Handin]) -> None:
    """Offer the trial's version, unless a submission came in between.

    Raises:
        RequestRefused: a submission did.
    """
    offer = Offer.objects.select_for_update(of=("self",)).select_related("course").get(pk=trial.offer_id)
    # Compared again under the lock of the offer: a submission may have come in since.
    now = attempts.find_counting_attempts(offer, rubric)
    if {(handin.folder, handin.own) for handin in now.values()} != {
        (handin.folder, handin.own) for handin in handins.values()
    }:
        raise RequestRefused("trial-new-attempt")
    Offer.objects.filter(pk=offer.pk).update(version=trial.version_id)
    open_attempts = Attempt.objects.filter(offer=offer, state__in=(State.WAITING, State.FAILED))
    open_attempts.update(version=trial.version_id)
    if offer.published_at:
        tasks.enqueue_scores(offer)
