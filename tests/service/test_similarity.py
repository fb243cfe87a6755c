"""Comparisons by a worker: once per request, and fast enough for a class of 200."""

from __future__ import annotations

import datetime
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autograder.app import open_course
from autograder.grading.release_generation import generate_release
from tests.marking import copied_class
from tests.marking.copied_class import CopiedClass
from tests.service import course
from tests.support.thorough import THOROUGH

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord, Offer
    from autograder.service.models_results import Comparison
    from autograder.service.similarity import KeptComparison

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 600
FIRST = 15
WORKS = 200 if THOROUGH else 60
COPIED = "import numpy as np\ndef softmax(a):\n    b = np.exp(a - a.max())\n    return b / b.sum()\n"


def row(offer: Offer) -> Comparison:
    """Return the stored comparison of an assignment."""
    from autograder.service.models_results import Comparison

    return Comparison.objects.get(offer=offer)


def worked(until: Callable[[], object]) -> None:
    """Run a worker until a condition holds."""
    from autograder.service.worker import Worker, run_worker

    stop = threading.Event()

    def work() -> None:
        with Worker() as worker:
            run_worker(worker, concurrency=1, stop=stop)

    thread = threading.Thread(target=work)
    thread.start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        while not until() and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        stop.set()
        thread.join()


def kept(offer: Offer) -> KeptComparison:
    """Return the result of the comparison."""
    from autograder.service import similarity

    comparison = similarity.decode_comparison(row(offer))
    assert comparison is not None, row(offer).problem
    return comparison


def leave_ungraded(offer: Offer) -> None:
    """Remove the jobs of the attempts, and delay the sweep by an hour."""
    from django.db import connection
    from django.utils import timezone

    from autograder.service import tasks

    soon = timezone.now() + datetime.timedelta(hours=1)
    offer.attempts.update(queued_at=soon)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs WHERE queue_name = %s", [tasks.GRADING])


def waiting(offer: Offer) -> int:
    """Return the number of waiting jobs to compare this class."""
    from procrastinate.contrib.django.models import ProcrastinateJob

    return ProcrastinateJob.objects.filter(queueing_lock=f"comparing {offer.pk}", status="todo").count()


@pytest.mark.slow
def test_a_worker_compares_what_staff_asked_for(service_course: CourseRecord, tmp_path: Path) -> None:
    """Two requests create one job, later ones another; a failure is stored and leaves the queue."""
    from autograder.service import similarity
    from autograder.service.models import VersionFile

    folder = course.small(tmp_path / "course")
    service_course.secret = open_course(folder).load_secret()
    service_course.save()
    offer = course.offered(service_course, folder)
    for student, source in (("ada", COPIED), ("bob", COPIED.replace("b", "z"))):
        course.handed_in(offer, student, course.answered(folder, softmax_answer=source))
    leave_ungraded(offer)
    similarity.request_comparison(offer)
    similarity.request_comparison(offer)
    assert 1 == waiting(offer)
    worked(lambda: row(offer).made_at)
    assert [("ada", "bob")] == [entry.pair.students for entry in kept(offer).pairs]
    assert ("", 0) == (row(offer).problem, waiting(offer))
    first = row(offer).made_at
    similarity.request_comparison(offer)
    VersionFile.objects.filter(version=offer.version, path__endswith=".toml").delete()
    worked(lambda: row(offer).problem)
    assert "small.toml" in row(offer).problem
    assert (first, 2, 0) == (row(offer).made_at, kept(offer).works, waiting(offer))


@pytest.mark.apart
def test_copies_among_many_works_come_first(service_course: CourseRecord, tmp_path: Path) -> None:
    """The ten copies are among the first fifteen pairs."""
    from autograder.service import similarity

    class_ = copied_class.copied_class(WORKS, 7)
    offer = _handed_in(service_course, tmp_path / "course", class_)
    similarity.request_comparison(offer)
    worked(lambda: row(offer).made_at)
    comparison = kept(offer)
    first = {frozenset(entry.pair.students) for entry in comparison.pairs[:FIRST]}
    assert {frozenset((pair.source, pair.copy)) for pair in class_.copies} <= first
    assert comparison.works == WORKS


def _handed_in(record: CourseRecord, root: Path, class_: CopiedClass) -> Offer:
    """Offer an assignment with submissions of a class, without grading them."""
    from autograder.service import versions

    for name in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / name, root / name)
    generate_release(open_course(root), copied_class.NAME)
    record.secret = open_course(root).load_secret()
    record.save()
    offer = versions.create_or_update_offer(record, open_course(root), copied_class.NAME)
    release = (root / "release" / copied_class.NAME / f"{copied_class.NAME}.ipynb").read_bytes()
    for student, work in class_.works.items():
        paper = copied_class.notebook(release, work)
        course.handed_in(offer, student, {f"{copied_class.NAME}.ipynb": paper})
    leave_ungraded(offer)
    return offer
