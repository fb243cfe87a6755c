"""Grading attempts in a trial: selected, claimed by a worker, and stored without counting.

A `TrialResult` is open, has a result, or has failed the maximum number of times. Attempts, marks and current
results are not changed.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from msgspec import Struct

from autograder.core.records import GradingResult
from autograder.core.wording import Phrase, decode_phrase, encode_phrase
from autograder.grading import grades
from autograder.grading.batch import with_handin
from autograder.grading.store import GradedEntry, ResultKey
from autograder.messages import build_localised_text
from autograder.rubric import Rubric
from autograder.service import attempts, tasks, versions
from autograder.service.models import State, TrialResult, VersionTrial
from autograder.service.store import DatabaseStore

MOST_TRIES = 3
LEASE = timedelta(seconds=30)
_AT_ONCE = 200
"""Maximum number of open results, oldest first, to enqueue in one round; the next round follows seconds
later."""


class TrialProgress(Struct, frozen=True):
    """Progress of a trial."""

    total: int
    done: int
    failed: int

    @property
    def complete(self) -> bool:
        """True if every student has a result in the trial, and one by the offered version."""
        return self.done == self.total


def list_active_trials() -> QuerySet[VersionTrial]:
    """Return the active trials that can still be applied."""
    trials = VersionTrial.objects.filter(settled="", base=F("offer__version"))
    return trials.select_related("offer__course", "version__course", "base").order_by("pk")


def catch_up(trial: VersionTrial) -> None:
    """Update a trial to the attempts that count now: add new ones, remove others, reset outdated results.

    A result is outdated if its attempt had to be graded again since, for example after a change of times.
    """
    handins = attempts.find_counting_attempts(trial.offer, versions.load_rubric(trial.version))
    counting = {attempts.get_graded_attempt_id(entry) for entry in handins.values()}
    with transaction.atomic():
        rows_by_attempt = {str(entry): row for row, entry in trial.results.values_list("pk", "attempt_id")}
        trial.results.filter(
            pk__in=[row for entry, row in rows_by_attempt.items() if entry not in counting]
        ).delete()
        TrialResult.objects.bulk_create(
            [
                TrialResult(trial=trial, attempt_id=entry)
                for entry in sorted(counting - rows_by_attempt.keys())
            ],
            # Two sweeps may add the same attempt.
            ignore_conflicts=True,
        )
        old = Q(graded_at__lt=F("attempt__queued_at")) | Q(result__whole=False)
        trial.results.filter(pk__in=trial.results.filter(old).values("pk")).update(
            result=None, graded_at=None, tries=0, problem=""
        )
        _enqueue_results(trial)


def _enqueue_results(trial: VersionTrial) -> None:
    now = timezone.now()
    free = Q(leased_until=None) | Q(leased_until__lt=now)
    rows = trial.results.filter(free, result=None, tries__lt=MOST_TRIES).order_by("pk")
    for row in rows.values_list("pk", flat=True)[:_AT_ONCE]:
        tasks.enqueue_job(tasks.TRIALS, row)


def retry_failed(trial: VersionTrial) -> int:
    """Retry the failed results; return their number."""
    with transaction.atomic():
        number = _select_failed(trial).update(tries=0, problem="", leased_until=None)
        _enqueue_results(trial)
    return number


def _select_failed(trial: VersionTrial) -> QuerySet[TrialResult]:
    free = Q(leased_until=None) | Q(leased_until__lt=timezone.now())
    return trial.results.filter(free, result=None, tries__gte=MOST_TRIES)


def load_failures(trial: VersionTrial) -> dict[str, Phrase]:
    """Return, by student, the reason why an attempt could not be graded in the trial."""
    rows = _select_failed(trial).values_list("attempt__student", "problem")
    stopped = build_localised_text("web.job-stopped")
    return {who: decode_phrase(problem) if problem else stopped for who, problem in sorted(rows)}


def measure_progress(trial: VersionTrial) -> TrialProgress:
    """Return the progress of a trial."""
    done = trial.results.filter(result__isnull=False, attempt__state=State.GRADED)
    return TrialProgress(trial.results.count(), done.count(), _select_failed(trial).count())


def sweep_trials() -> None:
    """Update all active trials and enqueue open results, whatever happened to jobs and workers."""
    for trial in list_active_trials():
        catch_up(trial)


def claim_result(identifier: int) -> TrialResult | None:
    """Claim an open result of an active trial; return None if there is nothing to do."""
    now = timezone.now()
    free = Q(leased_until=None) | Q(leased_until__lt=now)
    with transaction.atomic():
        rows = TrialResult.objects.select_for_update(of=("self",)).select_related(
            "trial__version__course", "attempt__offer__course"
        )
        # A trial that was closed or overtaken in the meantime is not graded any further.
        row = rows.filter(
            free,
            pk=identifier,
            result=None,
            tries__lt=MOST_TRIES,
            trial__in=list_active_trials().values("pk"),
        ).first()
        if row is not None:
            row.tries, row.leased_until = row.tries + 1, now + LEASE
            row.save(update_fields=["tries", "leased_until"])
    return row


def extend_lease(row: TrialResult) -> None:
    """Extend the lease."""
    TrialResult.objects.filter(pk=row.pk, result=None).update(leased_until=timezone.now() + LEASE)


def give_back(row: TrialResult, problem: Phrase) -> None:
    """Release a result for another try; after the last try it fails, with this problem as the reason."""
    TrialResult.objects.filter(pk=row.pk, result=None).update(
        problem=encode_phrase(problem), leased_until=None
    )
    if row.tries < MOST_TRIES:
        tasks.enqueue_job(tasks.TRIALS, row.pk)


def find_result(row: TrialResult, key: ResultKey) -> GradingResult | None:
    """Return a stored result with the same key and without an internal error, or None."""
    graded = DatabaseStore(row.attempt.offer.course).find_result(key)
    # A result with an internal error is not reused, because another try may succeed.
    if graded is None or any(note.code in grades.FAULTS for note in graded.score.notes):
        return None
    return graded


def keep_result(row: TrialResult, graded: GradingResult, rubric: Rubric, key: ResultKey) -> bool:
    """Store the result of an attempt in a trial.

    Returns:
        False: the trial is closed by now, or the attempt no longer counts, and nothing was stored.
    """
    attempt = row.attempt
    members = attempts.list_group_members(attempt.offer, attempt.student)
    handins = (attempts.find_counting_attempt(attempt.offer, who, rubric) for who in members)
    handin = next(
        (
            candidate
            for candidate in handins
            if candidate and attempts.get_graded_attempt_id(candidate) == str(attempt.pk)
        ),
        None,
    )
    with transaction.atomic():
        mine = TrialResult.objects.select_for_update(of=("self",)).filter(pk=row.pk, trial__settled="")
        if handin is None or not mine.exists():
            return False
        entry = GradedEntry(key, with_handin(graded, handin), rubric, attempt.submitted_at)
        result = DatabaseStore(attempt.offer.course).keep_result(entry)
        mine.update(result=result, graded_at=timezone.now(), problem="", leased_until=None)
    return True
