"""Grade attempts while a page is open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograder.service.models import Offer


def grade(offer: Offer, meanwhile: Callable[[], None]) -> None:
    """Run a worker until a function returns, and check that everything is graded."""
    from django.db import connections

    from autograder.service.worker import Worker, run_worker

    stop = threading.Event()

    def work() -> None:
        with Worker() as worker:
            run_worker(worker, concurrency=1, stop=stop)
        connections.close_all()

    working = threading.Thread(target=work)
    working.start()
    try:
        meanwhile()
    finally:
        stop.set()
        working.join()
    assert not offer.attempts.exclude(state="graded").exists()
