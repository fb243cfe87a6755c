"""Web, worker and database are killed at random under load: each submission with a receipt is graded once."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self

import psycopg
import pytest

from autograder.app import open_course
from autograder.app.classes import collect_standings, grade_class
from autograder.core.errors import ServiceError
from autograder.service.setup import DATABASE_URL
from tests.service import course
from tests.service.test_attempts import CLASS
from tests.support import small_course
from tests.support.served import Served, wait_for
from tests.support.thorough import THOROUGH

pytestmark = [pytest.mark.long, pytest.mark.sandbox, pytest.mark.apart]
NAME = small_course.NAME
KILLS = 30 if THOROUGH else 6
STUDENTS = tuple(f"s{number:02}" for number in range(24 if THOROUGH else 8))
SECONDS_TO_FINISH = 800.0
UNFINISHED = "SELECT count(*) FROM service_attempt WHERE state <> 'graded'"


class Load:
    """Students who submit repeatedly until stopped, and the receipts they got."""

    def __init__(self, service: Served, folder: Path, keys: dict[str, str]) -> None:
        self._service, self._folder, self._keys = service, folder, keys
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._go_on, args=(part,)) for part in range(2)]
        self.receipts: dict[tuple[str, int], str] = {}
        """Digests by (student, number of the attempt)."""
        self.refused = 0

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for_receipt(self) -> None:
        """Wait for another receipt."""
        count = len(self.receipts)
        wait_for(lambda: len(self.receipts) > count, 300, "nobody gets a receipt")

    def _go_on(self, part: int) -> None:
        chance, students = random.Random(part), STUDENTS[part::2]
        while not self._stop.is_set():
            student = chance.choice(students)
            answers = CLASS[chance.choice(sorted(CLASS))]
            files = course.answered(self._service.course, **answers)
            try:
                got = self._service.hand_in(NAME, self._keys[student], files, self._folder / student)
            except ServiceError:
                self.refused += 1
                time.sleep(0.2)
                continue
            self.receipts[student, got["attempt"]] = got["digest"]
            self._stop.wait(chance.uniform(0.05, 0.4))


def _all_are_graded(service: Served) -> bool:
    with contextlib.suppress(psycopg.OperationalError):  # the database may be restarting after a kill
        return service.rows(UNFINISHED) == [(0,)]
    return False


def test_what_has_a_receipt_is_graded_once(tmp_path: Path) -> None:
    """After kills under load, each attempt has one result, with the same marks as in a folder."""
    (tmp_path / "course").mkdir()
    folder, chance = course.small(tmp_path / "course"), random.Random(7)
    with Served(folder, "--workers", "1") as service:
        keys = service.accounts(STUDENTS)
        with Load(service, tmp_path / "sent", keys) as load:
            struck = dict.fromkeys(("web", "worker", "database"), 0)
            while sum(struck.values()) < KILLS:
                # Even on a slow machine, there is a submission between two kills.
                load.wait_for_receipt()
                time.sleep(chance.uniform(0.3, 2.5))
                victim = min(chance.sample(sorted(struck), len(struck)), key=struck.__getitem__)
                if victim == "web":
                    service.kill_and_restart()
                    struck[victim] += 1
                else:
                    struck[victim] += service.kill(victim)
        wait_for(service.answers, 300, "the service does not answer")
        wait_for(lambda: _all_are_graded(service), SECONDS_TO_FINISH, "not all are graded")
        rows = service.rows("SELECT student, number, digest, result_id FROM service_attempt")
        assert load.receipts.items() <= {(who, number): digest for who, number, digest, _ in rows}.items()
        assert None not in {result for *_, result in rows}
        kept = service.rows("SELECT student, submission FROM service_storedresult")
        assert sorted({(who, digest) for who, _, digest, _ in rows}) == sorted(kept)
        print(struck, len(load.receipts), "receipts", load.refused, "refused", len(rows), "attempts")
        assert min(struck.values()) > 0
        _the_same_marks(service, tmp_path)


def test_workers_come_and_go(tmp_path: Path) -> None:
    """Three workers start and stop at random while students submit: the marks are the same as in a folder."""
    (tmp_path / "course").mkdir()
    folder, chance = course.small(tmp_path / "course"), random.Random(8)
    with Served(folder, "--workers", "-1") as service:
        keys = service.accounts(STUDENTS)
        workers: list[subprocess.Popen[bytes] | None] = [None, None, None]

        def change() -> None:
            place = chance.randrange(3)
            running = workers[place]
            _ended(running)
            workers[place] = None if running else _worker(service)

        for number, student in enumerate(STUDENTS * 2):
            answers = CLASS[sorted(CLASS)[number % len(CLASS)]]
            service.hand_in(NAME, keys[student], course.answered(folder, **answers), tmp_path / student)
            if number % 6 == 0:
                change()
        until = time.monotonic() + SECONDS_TO_FINISH
        while service.rows(UNFINISHED) != [(0,)]:
            assert time.monotonic() < until, "not all are graded"
            change()
            time.sleep(chance.uniform(2, 6))  # a worker needs some seconds to start
        for worker in workers:
            _ended(worker)
        _the_same_marks(service, tmp_path)


def _worker(service: Served) -> subprocess.Popen[bytes]:
    environment = {**os.environ, DATABASE_URL: service.database_url}
    command = [sys.executable, "-m", "autograder", "worker", "--workers", "1"]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, start_new_session=True)


def _ended(worker: subprocess.Popen[bytes] | None) -> None:
    """Terminate a worker as a service manager does, so that it finishes its job."""
    if worker is not None:
        worker.terminate()
        worker.wait()


def _the_same_marks(service: Served, folder: Path) -> None:
    """Compare the marks of the service with those of `autograder grade` for the same files."""
    from tests.cli.running import run

    result = run("backup", str(folder / "left"), "--course", str(service.course), "--as-course", service.slug)
    assert (0, "") == (result.returncode, result.stderr)
    left = open_course(folder / "left")
    rows = collect_standings(left, NAME).rows
    left.gradebook.unlink()
    grade_class(left, NAME)
    assert rows == collect_standings(left, NAME).rows
