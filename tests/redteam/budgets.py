"""What a submission may cost others: the limits of the red team's report, and their measurement."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from autograder.core.records import GradingResult
from autograder.grading.pipeline import Grader, SubmittedFiles

MOST_PROCESSOR_SECONDS = 8.0
"""Processor time of the grader for one submission. An honest one takes about one."""
MOST_MEMORY_MB = 450
"""Memory of the grader above that before the first submission, whoever is being graded."""
MOST_STORED_BYTES = 4 << 20
"""In the gradebook, for one attempt."""
MOST_PAGE_BYTES = 16 << 20
"""Size of one student's pages: the feedback and the executed notebook."""
_SAMPLE_SECONDS = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Stay(Struct):
    """How long one submission was being graded, and what the grader used for it."""

    student: str
    begin: float
    """On the monotonic clock."""
    end: float = float("inf")
    processor_seconds: float = 0.0
    memory_mb: float = 0.0
    """The most memory that the grader used meanwhile, for any submission."""

    def meets(self, other: Stay) -> bool:
        """Return whether both were being graded at some moment."""
        return self.begin < other.end and other.begin < self.end


class Meter(Struct):
    """Stores the stays of all submissions. Safe to use from several threads."""

    stays: dict[str, Stay] = field(default_factory=dict)
    """By student; the last one if there are several."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def measuring(self, student: str) -> Iterator[Stay]:
        """Measure what this thread does meanwhile."""
        stay = Stay(student, time.monotonic())
        with self.lock:
            self.stays[student] = stay
        before = time.thread_time()
        try:
            yield stay
        finally:
            stay.end, stay.processor_seconds = time.monotonic(), time.thread_time() - before

    @contextlib.contextmanager
    def sampling(self) -> Iterator[None]:
        """Sample the grader's memory repeatedly, and note it for all who are being graded."""
        done, before = threading.Event(), resident_mb()  # the tests use much memory, too

        def sample() -> None:
            while not done.wait(_SAMPLE_SECONDS):
                used = resident_mb() - before
                with self.lock:
                    present = [stay for stay in self.stays.values() if stay.end == float("inf")]
                for stay in present:
                    stay.memory_mb = max(stay.memory_mb, used)

        thread = threading.Thread(target=sample, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def beside(self, stay: Stay) -> list[str]:
        """Return whose submissions were being graded during a stay."""
        with self.lock:
            return [one.student for one in self.stays.values() if one is not stay and one.meets(stay)]


def measured(meter: Meter) -> type[Grader]:
    """Return a grader that measures every submission."""

    class Measured(Grader):
        def grade(self, handed: SubmittedFiles, *further: Any, **options: Any) -> GradingResult:
            with meter.measuring(handed.student):
                return super().grade(handed, *further, **options)

    return Measured


def resident_mb() -> float:
    """Return this process's resident memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE / (1 << 20)


def stored(gradebook: Path) -> Mapping[str, int]:
    """Return the bytes per student in the gradebook: results, and the comments of automatic marks."""
    results = "SELECT student, SUM(LENGTH(graded)) FROM autograder_result GROUP BY student"
    comments = (
        "SELECT s.student_id, SUM(LENGTH(c.auto_comment)) FROM comment c JOIN submitted_notebook n"
        " ON n.id = c.notebook_id JOIN submitted_assignment s ON s.id = n.assignment_id GROUP BY s.student_id"
    )
    found: dict[str, int] = {}
    database = sqlite3.connect(f"file:{gradebook}?mode=ro", uri=True)
    try:
        for query in (results, comments):
            for student, size in database.execute(query):
                found[student] = found.get(student, 0) + (size or 0)
    finally:
        database.close()
    return found


def pages(root: Path, students: Collection[str]) -> Mapping[str, int]:
    """Return the bytes per student of published files: feedback and executed notebooks."""
    folders = [root / "feedback", root / "autograded"]
    return {
        student: sum(
            path.stat().st_size
            for folder in folders
            for path in (folder / student).rglob("*")
            if path.is_file() and not path.is_symlink()
        )
        for student in students
    }
