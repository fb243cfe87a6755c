"""The queues: a job says which attempt to look at, or whose marks to send on; the tables are the truth.

A worker has one set of hands for attempts and for what trials make of them: trials wait for attempts.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable, Mapping

import procrastinate
from django.db import transaction
from procrastinate.contrib.django import app, connector_params
from procrastinate.exceptions import AlreadyEnqueued

from autograder.errors import describe_error
from autograder.service.setup import PATIENCE_SECONDS

LOG = logging.getLogger("autograder.service.tasks")
GRADING, TRIALS, SCORES, COMPARING = "grading", "trials", "scores", "comparing"
"""Queues, and the tasks in them: attempts to grade; what trials make of attempts; assignments whose marks a
learning platform is told; those whose works are compared with each other."""
_AFTER_OTHERS = -1
_AGAIN_SECONDS = 1.0
"""After so long a database that went away is asked again."""


def defer(attempt: uuid.UUID) -> bool:
    """Put an attempt into the queue, with the transaction that is open; False: it is there already."""
    return _defer(GRADING, str(attempt))


def try_trial(result: int) -> bool:
    """Have an attempt graded by a trial, when no attempt waits; False: it will be anyhow."""
    return _defer(TRIALS, str(result), lock=f"trial {result}", priority=_AFTER_OTHERS)


def send_scores(offer: int) -> bool:
    """Have an assignment's marks sent on, with the transaction that is open; False: they will be anyhow."""
    return _defer(SCORES, str(offer))


def compare(offer: int) -> bool:
    """Have an assignment's works compared, when no attempt waits; False: they will be anyhow."""
    return _defer(COMPARING, str(offer), lock=f"comparison {offer}", priority=_AFTER_OTHERS)


def _defer(queue: str, subject: str, *, lock: str = "", priority: int = 0) -> bool:
    job = app.configure_task(queue, queue=queue, queueing_lock=lock or subject, priority=priority)
    try:
        with transaction.atomic():  # what is refused must not end the caller's transaction
            job.defer(subject=subject)
    except AlreadyEnqueued:
        return False
    return True


def empty_queues(work: Mapping[str, Callable[[str], None]], concurrency: int, stop: threading.Event) -> None:
    """Call a queue's function for each job's subject until ``stop`` is set; what runs by then is finished.

    A database that goes away is waited for.

    Args:
        work: by queue.
        concurrency: jobs at a time, of all queues together.
        stop: ends it.
    """
    while not stop.is_set():
        try:
            asyncio.run(_work(work, concurrency, stop))
        except Exception as error:  # noqa: BLE001 - the database went away, or is not there yet
            LOG.warning("the queue cannot be reached: %s", describe_error(error))
            stop.wait(_AGAIN_SECONDS)


async def _work(work: Mapping[str, Callable[[str], None]], concurrency: int, stop: threading.Event) -> None:
    worker = procrastinate.App(
        connector=procrastinate.PsycopgConnector(kwargs=connector_params(), timeout=PATIENCE_SECONDS)
    )

    for queue, call in work.items():
        worker.task(name=queue, queue=queue)(_called(call))

    async with worker.open_async():
        working = asyncio.create_task(
            worker.run_worker_async(
                queues=[*work],
                concurrency=concurrency,
                install_signal_handlers=False,
                delete_jobs="always",  # the attempt's row says what became of it
                fetch_job_polling_interval=1.0,
            )
        )
        stopped = asyncio.create_task(asyncio.to_thread(_wait, stop, working.done))
        await asyncio.wait([working, stopped], return_when=asyncio.FIRST_COMPLETED)
        working.cancel()  # it takes no more jobs, and ends when the running ones are done
        await asyncio.gather(working, return_exceptions=not working.done())
        await stopped


def _called(call: Callable[[str], None]) -> Callable[[str], None]:
    """A function of its own for each queue, with the name of a job's argument."""

    def called(subject: str) -> None:
        call(subject)

    return called


def _wait(stop: threading.Event, ended: Callable[[], bool]) -> None:
    while not (ended() or stop.wait(0.1)):
        pass
