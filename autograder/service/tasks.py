"""The queues: a job names an attempt to grade, or an offer to compare or send; the tables are the truth.

A worker handles attempts and trials in the same threads: trials wait for attempts.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta

import procrastinate
from django.db import transaction
from django.utils import timezone
from procrastinate.contrib.django import app, connector_params
from procrastinate.contrib.django.models import ProcrastinateWorker
from procrastinate.exceptions import AlreadyEnqueued

from autograder.core.errors import describe_error
from autograder.service.setup import PATIENCE_SECONDS

LOG = logging.getLogger("autograder.service.tasks")
GRADING, TRIALS, SCORES, COMPARING, DRAFTS = "grading", "trials", "scores", "comparing", "drafts"
ERASING, NOTICES = "erasing", "notices"
"""Queues, and the tasks in them: attempts to grade; attempts to grade in trials; assignments with marks for
learning platforms; assignments to compare for similarity; uploaded assignments to check; courses with an
ended retention period; notifications to deliver."""
_AFTER_OTHERS = -1
QUEUE_READERS = 3
"""How often a worker calls `process_queues`: to grade, to send marks, and to notify. Each call reports."""
_SILENT = timedelta(seconds=30)
"""Procrastinate reports every ten seconds, and removes whoever missed three reports."""
_AGAIN_SECONDS = 1.0
"""Delay before connecting again to an unavailable database."""


def enqueue_attempt(attempt: uuid.UUID) -> bool:
    """Enqueue an attempt with the open transaction; return False if it is already enqueued."""
    return _enqueue_job(GRADING, str(attempt))


def enqueue_trial(result: int) -> bool:
    """Enqueue a trial's result, to run when no attempt waits; return False if it is already enqueued."""
    return _enqueue_job(TRIALS, str(result), lock=f"trial {result}", priority=_AFTER_OTHERS)


def enqueue_scores(offer: int) -> bool:
    """Enqueue sending an assignment's marks with the open transaction; False: it is already enqueued."""
    return _enqueue_job(SCORES, str(offer))


def enqueue_comparison(offer: int) -> bool:
    """Enqueue a comparison, to run when no attempt waits; return False if it is already enqueued."""
    return _enqueue_job(COMPARING, str(offer), lock=f"comparison {offer}", priority=_AFTER_OTHERS)


def enqueue_draft(draft: int) -> bool:
    """Enqueue the check of a draft, to run when no attempt waits; return False if it is already enqueued."""
    return _enqueue_job(DRAFTS, str(draft), lock=f"draft {draft}", priority=_AFTER_OTHERS)


def enqueue_erasure(course: int) -> bool:
    """Enqueue the erasure of a course's students; return False if it is already enqueued."""
    return _enqueue_job(ERASING, str(course), lock=f"erasure {course}", priority=_AFTER_OTHERS)


def enqueue_notices() -> bool:
    """Enqueue the delivery of notifications with the open transaction; False: it is already enqueued."""
    return _enqueue_job(NOTICES, "due", lock="notices")


def _enqueue_job(queue: str, subject: str, *, lock: str = "", priority: int = 0) -> bool:
    # The queueing lock makes Procrastinate refuse a second waiting job for the same subject.
    job = app.configure_task(queue, queue=queue, queueing_lock=lock or subject, priority=priority)
    try:
        with transaction.atomic():  # a savepoint: a refused job must not end the caller's transaction
            job.defer(subject=subject)
    except AlreadyEnqueued:
        return False
    return True


def count_workers() -> int:
    """Return the number of workers that reported to the database lately."""
    living = ProcrastinateWorker.objects.filter(last_heartbeat__gt=timezone.now() - _SILENT).count()
    return -(-living // QUEUE_READERS)


def process_queues(
    work: Mapping[str, Callable[[str], None]], concurrency: int, stop: threading.Event
) -> None:
    """Call a queue's function for each job's subject until ``stop`` is set; running jobs are finished.

    If the database is unavailable, wait for it.

    Args:
        work: function by queue.
        concurrency: maximum number of concurrent jobs of all queues.
        stop: set to end.
    """
    while not stop.is_set():
        try:
            asyncio.run(_run_worker(work, concurrency, stop))
        except Exception as error:  # noqa: BLE001 - the database went away, or is not there yet
            LOG.warning("the queue cannot be reached: %s", describe_error(error))
            stop.wait(_AGAIN_SECONDS)


async def _run_worker(
    work: Mapping[str, Callable[[str], None]], concurrency: int, stop: threading.Event
) -> None:
    worker = procrastinate.App(
        connector=procrastinate.PsycopgConnector(kwargs=connector_params(), timeout=PATIENCE_SECONDS)
    )

    for queue, call in work.items():
        worker.task(name=queue, queue=queue)(_wrap_call(call))

    async with worker.open_async():
        working = asyncio.create_task(
            worker.run_worker_async(
                queues=[*work],
                concurrency=concurrency,
                install_signal_handlers=False,
                delete_jobs="always",  # the attempt's row has the outcome
                fetch_job_polling_interval=1.0,
            )
        )
        stopped = asyncio.create_task(asyncio.to_thread(_wait_until_stopped, stop, working.done))
        await asyncio.wait([working, stopped], return_when=asyncio.FIRST_COMPLETED)
        working.cancel()  # takes no more jobs; ends when the running ones are done
        await asyncio.gather(working, return_exceptions=not working.done())
        await stopped


def _wrap_call(call: Callable[[str], None]) -> Callable[[str], None]:
    """Wrap a queue's function, so that each queue has a separate one with the job's argument name."""

    def run_task(subject: str) -> None:
        call(subject)

    return run_task


def _wait_until_stopped(stop: threading.Event, ended: Callable[[], bool]) -> None:
    # A threading.Event cannot be awaited, so a thread polls it.
    while not (ended() or stop.wait(0.1)):
        pass
