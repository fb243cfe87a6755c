"""Attempts are graded by a trial: what is to be graded, claimed by a worker, kept beside what counts.

A `TrialResult` is open, has a result, or has failed as often as it may. Nothing else is touched: not the
attempt, nor marks, nor which result counts.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from msgspec import Struct

from autograder.grading import scoring
from autograder.grading.batch import with_handin
from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.service import attempts, tasks, versions
from autograder.service.models import State, TrialResult, VersionTrial
from autograder.service.store import DatabaseStore
from autograder.store import GradedEntry, Key

MOST_TRIES = 3
LEASE = timedelta(seconds=30)
_AT_ONCE = 200
"""So many open results, the oldest ones, are given to the queue in a round; the next is seconds later."""


class TrialProgress(Struct, frozen=True):
    """How far a trial is."""

    total: int
    done: int
    failed: int

    @property
    def complete(self) -> bool:
        """Everybody has a result by it, and one by what is offered."""
        return self.done == self.total


def under_way() -> QuerySet[VersionTrial]:
    """The trials that are tried, and can still be applied."""
    trials = VersionTrial.objects.filter(settled="", base=F("offer__version"))
    return trials.select_related("offer__course", "version__course", "base").order_by("pk")


def catch_up(trial: VersionTrial) -> None:
    """Let a trial be about the attempts that count now: new ones come, others go, old results are not kept.

    A result is old where its attempt was to be graded again since, as after a change of times.
    """
    handins = attempts.all_counting(trial.offer, versions.rubric_of(trial.version))
    counting = {attempts.result_of(one) for one in handins.values()}
    with transaction.atomic():
        known = {str(one): row for row, one in trial.results.values_list("pk", "attempt_id")}
        trial.results.filter(pk__in=[row for one, row in known.items() if one not in counting]).delete()
        TrialResult.objects.bulk_create(
            [TrialResult(trial=trial, attempt_id=one) for one in sorted(counting - known.keys())],
            ignore_conflicts=True,
        )
        old = Q(graded_at__lt=F("attempt__queued_at")) | Q(result__whole=False)
        trial.results.filter(pk__in=trial.results.filter(old).values("pk")).update(
            result=None, graded_at=None, tries=0, problem=""
        )
        _defer(trial)


def _defer(trial: VersionTrial) -> None:
    now = timezone.now()
    free = Q(leased_until=None) | Q(leased_until__lt=now)
    rows = trial.results.filter(free, result=None, tries__lt=MOST_TRIES).order_by("pk")
    for row in rows.values_list("pk", flat=True)[:_AT_ONCE]:
        tasks.try_trial(row)


def again(trial: VersionTrial) -> int:
    """Try what failed once more; how many that are."""
    with transaction.atomic():
        found = _failed(trial).update(tries=0, problem="", leased_until=None)
        _defer(trial)
    return found


def _failed(trial: VersionTrial) -> QuerySet[TrialResult]:
    free = Q(leased_until=None) | Q(leased_until__lt=timezone.now())
    return trial.results.filter(free, result=None, tries__gte=MOST_TRIES)


def failures(trial: VersionTrial) -> dict[str, str]:
    """Why nobody could grade some students' attempts by the trial, by student."""
    rows = _failed(trial).values_list("attempt__student", "problem")
    return {who: problem or "the worker ended each time; nothing says why" for who, problem in sorted(rows)}


def progress(trial: VersionTrial) -> TrialProgress:
    """How far the grading by a trial is."""
    done = trial.results.filter(result__isnull=False, attempt__state=State.GRADED)
    return TrialProgress(trial.results.count(), done.count(), _failed(trial).count())


def sweep() -> None:
    """Whatever became of jobs and workers: trials follow what counts, and what is open is in the queue."""
    for trial in under_way():
        catch_up(trial)


def claim(identifier: int) -> TrialResult | None:
    """Take an open result of a trial that is being tried; None where there is nothing to do."""
    now = timezone.now()
    free = Q(leased_until=None) | Q(leased_until__lt=now)
    with transaction.atomic():
        rows = TrialResult.objects.select_for_update(of=("self",)).select_related(
            "trial__version__course", "attempt__offer__course"
        )
        row = rows.filter(
            free, pk=identifier, result=None, tries__lt=MOST_TRIES, trial__in=under_way().values("pk")
        ).first()
        if row is not None:
            row.tries, row.leased_until = row.tries + 1, now + LEASE
            row.save(update_fields=["tries", "leased_until"])
    return row


def prolong(row: TrialResult) -> None:
    """Keep the lease."""
    TrialResult.objects.filter(pk=row.pk, result=None).update(leased_until=timezone.now() + LEASE)


def give_back(row: TrialResult, problem: str) -> None:
    """Let somebody else try; after the last try it has failed, and says why."""
    TrialResult.objects.filter(pk=row.pk, result=None).update(problem=problem, leased_until=None)
    if row.tries < MOST_TRIES:
        tasks.try_trial(row.pk)


def found(row: TrialResult, key: Key) -> Graded | None:
    """A result that is there already under all that it depends on, and without a fault of ours."""
    graded = DatabaseStore(row.attempt.offer.course).find(key)
    if graded is None or any(note.code in scoring.FAULTS for note in graded.score.notes):
        return None
    return graded


def keep(row: TrialResult, graded: Graded, rubric: Rubric, key: Key) -> bool:
    """Keep what came of an attempt by a trial.

    Returns:
        False: the trial is settled by now, or the attempt counts no more, and nothing was kept.
    """
    attempt = row.attempt
    members = attempts.together(attempt.offer, attempt.student)
    found = (attempts.counting(attempt.offer, who, rubric) for who in members)
    handin = next((one for one in found if one and attempts.result_of(one) == str(attempt.pk)), None)
    with transaction.atomic():
        mine = TrialResult.objects.select_for_update(of=("self",)).filter(pk=row.pk, trial__settled="")
        if handin is None or not mine.exists():
            return False
        entry = GradedEntry(key, with_handin(graded, handin), rubric, attempt.submitted_at)
        result = DatabaseStore(attempt.offer.course).keep(entry)
        mine.update(result=result, graded_at=timezone.now(), problem="", leased_until=None)
    return True
