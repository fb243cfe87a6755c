"""Attempts are graded by a draft: what is to be graded, claimed by a worker, kept beside what counts.

A `DraftResult` is open, has a result, or has failed as often as it may. Nothing else is touched: not the
attempt, nor marks, nor which result counts.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from msgspec import Struct

from autograder.grading import scoring
from autograder.grading.batch import with_handin
from autograder.records import Graded, ItemResult
from autograder.rubric import Rubric
from autograder.service import attempts, tasks, versions
from autograder.service.drafts.reuse import reusable
from autograder.service.models import DraftResult, DraftVersion, State
from autograder.service.store import DatabaseStore
from autograder.store import GradedEntry, Key, decode

MOST_TRIES = 3
LEASE = timedelta(seconds=30)
_AT_ONCE = 200
"""So many open results, the oldest ones, are given to the queue in a round; the next is seconds later."""


class DraftProgress(Struct, frozen=True):
    """How far a draft is."""

    total: int
    done: int
    failed: int

    @property
    def complete(self) -> bool:
        """Everybody has a result by it, and one by what is offered."""
        return self.done == self.total


def under_way() -> QuerySet[DraftVersion]:
    """The drafts that are tried, and can still be applied."""
    drafts = DraftVersion.objects.filter(settled="", base=F("offer__version"))
    return drafts.select_related("offer__course", "version__course", "base").order_by("pk")


def catch_up(draft: DraftVersion) -> None:
    """Let a draft be about the attempts that count now: new ones come, others go, old results are not kept.

    A result is old where its attempt was to be graded again since, as after a change of times.
    """
    handins = attempts.all_counting(draft.offer, versions.rubric_of(draft.version))
    counting = {attempts.result_of(one) for one in handins.values()}
    with transaction.atomic():
        known = {str(one): row for row, one in draft.results.values_list("pk", "attempt_id")}
        draft.results.filter(pk__in=[row for one, row in known.items() if one not in counting]).delete()
        DraftResult.objects.bulk_create(
            [DraftResult(draft=draft, attempt_id=one) for one in sorted(counting - known.keys())],
            ignore_conflicts=True,
        )
        old = Q(graded_at__lt=F("attempt__queued_at")) | Q(result__whole=False)
        draft.results.filter(pk__in=draft.results.filter(old).values("pk")).update(
            result=None, graded_at=None, tries=0, problem=""
        )
        _defer(draft)


def _defer(draft: DraftVersion) -> None:
    now = timezone.now()
    free = Q(leased_until=None) | Q(leased_until__lt=now)
    rows = draft.results.filter(free, result=None, tries__lt=MOST_TRIES).order_by("pk")
    for row in rows.values_list("pk", flat=True)[:_AT_ONCE]:
        tasks.try_draft(row)


def again(draft: DraftVersion) -> int:
    """Try what failed once more; how many that are."""
    with transaction.atomic():
        found = _failed(draft).update(tries=0, problem="", leased_until=None)
        _defer(draft)
    return found


def _failed(draft: DraftVersion) -> QuerySet[DraftResult]:
    free = Q(leased_until=None) | Q(leased_until__lt=timezone.now())
    return draft.results.filter(free, result=None, tries__gte=MOST_TRIES)


def failures(draft: DraftVersion) -> dict[str, str]:
    """Why nobody could grade some students' attempts by the draft, by student."""
    rows = _failed(draft).values_list("attempt__student", "problem")
    return {who: problem or "the worker ended each time; nothing says why" for who, problem in sorted(rows)}


def progress(draft: DraftVersion) -> DraftProgress:
    """How far the grading by a draft is."""
    done = draft.results.filter(result__isnull=False, attempt__state=State.GRADED)
    return DraftProgress(draft.results.count(), done.count(), _failed(draft).count())


def sweep() -> None:
    """Whatever became of jobs and workers: drafts follow what counts, and what is open is in the queue."""
    for draft in under_way():
        catch_up(draft)


def claim(identifier: int) -> DraftResult | None:
    """Take an open result of a draft that is being tried; None where there is nothing to do."""
    now = timezone.now()
    free = Q(leased_until=None) | Q(leased_until__lt=now)
    with transaction.atomic():
        rows = DraftResult.objects.select_for_update(of=("self",)).select_related(
            "draft__version__course", "draft__base", "attempt__offer__course", "attempt__result"
        )
        row = rows.filter(
            free, pk=identifier, result=None, tries__lt=MOST_TRIES, draft__in=under_way().values("pk")
        ).first()
        if row is not None:
            row.tries, row.leased_until = row.tries + 1, now + LEASE
            row.save(update_fields=["tries", "leased_until"])
    return row


def prolong(row: DraftResult) -> None:
    """Keep the lease."""
    DraftResult.objects.filter(pk=row.pk, result=None).update(leased_until=timezone.now() + LEASE)


def give_back(row: DraftResult, problem: str) -> None:
    """Let somebody else try; after the last try it has failed, and says why."""
    DraftResult.objects.filter(pk=row.pk, result=None).update(problem=problem, leased_until=None)
    if row.tries < MOST_TRIES:
        tasks.try_draft(row.pk)


def found(row: DraftResult, key: Key) -> Graded | None:
    """A result that is there already under all that it depends on, and without a fault of ours."""
    graded = DatabaseStore(row.attempt.offer.course).find(key)
    if graded is None or any(note.code in scoring.FAULTS for note in graded.score.notes):
        return None
    return graded


def known(row: DraftResult, key: Key) -> dict[str, tuple[ItemResult, ...]]:
    """What the attempt's own result says of questions for which the draft can change nothing.

    Args:
        row: as it was claimed.
        key: of the result to come.
    """
    stored = row.attempt.result
    if stored is None or (stored.submission, stored.environment) != (key.submission, key.environment):
        return {}
    _, before = versions.rubric_file(row.draft.base)
    _, after = versions.rubric_file(row.draft.version)
    graded = decode(bytes(stored.graded))
    if graded is None or stored.rubric != hashlib.sha256(before).hexdigest():
        return {}
    return reusable(before, after, graded)


def keep(row: DraftResult, graded: Graded, rubric: Rubric, key: Key) -> bool:
    """Keep what came of an attempt by a draft.

    Returns:
        False: the draft is settled by now, or the attempt counts no more, and nothing was kept.
    """
    attempt = row.attempt
    members = attempts.together(attempt.offer, attempt.student)
    found = (attempts.counting(attempt.offer, who, rubric) for who in members)
    handin = next((one for one in found if one and attempts.result_of(one) == str(attempt.pk)), None)
    with transaction.atomic():
        mine = DraftResult.objects.select_for_update(of=("self",)).filter(pk=row.pk, draft__settled="")
        if handin is None or not mine.exists():
            return False
        entry = GradedEntry(key, with_handin(graded, handin), rubric, attempt.submitted_at)
        result = DatabaseStore(attempt.offer.course).keep(entry)
        mine.update(result=result, graded_at=timezone.now(), problem="", leased_until=None)
    return True
