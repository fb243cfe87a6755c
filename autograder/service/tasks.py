"""The queues: a job names an attempt to grade, or an offer to compare or send; the tables are the truth.

A worker handles attempts and trials in the same threads: trials wait for attempts.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta

import procrastinate
from django.db import transaction
from django.utils import timezone
from procrastinate.contrib.django import app, connector_params
from procrastinate.contrib.django.models import ProcrastinateWorker
from procrastinate.exceptions import AlreadyEnqueued

from autograder.core.errors import describe_error
from autograder.service.models import Offer, PlatformCourse
from autograder.service.setup import PATIENCE_SECONDS

LOG = logging.getLogger("autograder.service.tasks")
GRADING, TRIALS, SCORES, COMPARING, DRAFTS = "grading", "trials", "scores", "comparing", "drafts"
ERASING, NOTICES = "erasing", "notices"
"""Queues, and the tasks in them: attempts to grade; attempts to grade in trials; assignments with marks for
learning platforms; assignments to compare for similarity; drafts of assignments to check; courses with an
ended retention period; notifications to deliver."""
_AFTER_OTHERS = {TRIALS, COMPARING, DRAFTS, ERASING}
"""Queues with jobs that run when no attempt waits."""
QUEUE_READERS = 3
"""How often a worker calls `process_queues`: to grade, to send marks, and to notify. Each call reports."""
_SILENT = timedelta(seconds=30)
"""Procrastinate reports every ten seconds, and removes whoever missed three reports."""
_AGAIN_SECONDS = 1.0
"""Delay before connecting again to an unavailable database."""


def enqueue_job(queue: str, subject: object) -> bool:
    """Enqueue a job with the open transaction; return False if one for the same subject already waits."""
    job = app.configure_task(
        queue,
        queue=queue,
        # Makes Procrastinate refuse a second waiting job.
        queueing_lock=f"{queue} {subject}",
        priority=-1 if queue in _AFTER_OTHERS else 0,
    )
    try:
        with transaction.atomic():  # a savepoint: a refused job must not end the caller's transaction
            job.defer(subject=str(subject))
    except AlreadyEnqueued:
        return False
    return True


def enqueue_scores(offer: Offer) -> None:
    """Enqueue sending an assignment's marks, if the course is connected with a learning platform."""
    if PlatformCourse.objects.filter(course=offer.course_id).exists():
        enqueue_job(SCORES, offer.pk)


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
