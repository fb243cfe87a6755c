"""Honest classmates with little slack, graded repeatedly during attacks: they must lose no points."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from decimal import Decimal
from types import TracebackType
from typing import Self

import nbformat
from msgspec import Struct

from autograder.core.records import GradingResult
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.sandbox.limit_notes import SHARED_USER
from tests.redteam.budgets import Meter, Stay
from tests.redteam.exam import LIMITS, NAME, Exam, with_cells

SHARE = 0.8
"""The fraction of its time limit that one of their calls needs, including start and end."""

STRAIN = """
import os, queue, threading, time, torch
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe, Queue
from torch.utils.data import DataLoader, TensorDataset

def used():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system

def one_round():
    data = TensorDataset(torch.arange(64.0).reshape(16, 4))
    seen = sum(float(batch.sum()) for (batch,) in DataLoader(data, batch_size=4, num_workers=2))
    assert seen == 2016.0, seen
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda x: x * x, range(200))) == 2646700
    near, far = Pipe()
    sender = threading.Thread(target=near.send, args=(bytes(300_000),))
    sender.start()
    assert len(far.recv()) == 300_000
    sender.join()
    numbers = Queue()
    numbers.put(list(range(5_000)))
    assert len(numbers.get(timeout=60)) == 5_000
    kept = [os.pipe() for _ in range(8)]
    for pair in kept: os.close(pair[0]); os.close(pair[1])
    open('/tmp/mine', 'wb').write(bytes(2 << 20)); os.remove('/tmp/mine')

def strain(seconds):
    begin = used()
    one_round()
    while used() - begin < seconds:
        torch.randn(60, 60) @ torch.randn(60, 60)
"""
IN_CELL = "ready = False\nstrain(0)\nready = True"
PAUSE_SECONDS = 0.5
"""Pause between two classmates; otherwise they would use half of a small machine."""
IN_CALL = f"""
strained = []
untroubled = MyMultiHeadAttention.forward
def forward(self, *args, **kwargs):
    assert ready, 'an earlier cell did not run to its end'
    if not strained:
        strained.append(1)
        strain({SHARE * LIMITS.call_seconds - 0.3})
    return untroubled(self, *args, **kwargs)
MyMultiHeadAttention.forward = forward
"""


class Loss(Struct, frozen=True):
    """What a classmate with little slack lost, and when."""

    stay: Stay
    points: Decimal
    """Fewer points than alone."""
    said: str
    late: bool
    """Lost because of a time limit."""


def paper(exam: Exam) -> bytes:
    """Return the answer key, with a call that needs nearly all its time, and data loaders in a cell."""
    key = nbformat.reads(exam.key.decode(), as_version=4)
    return with_cells(key, (), (STRAIN, IN_CELL, IN_CALL))


class Strained:
    """Grades such classmates, one after another, in a separate thread."""

    def __init__(self, exam: Exam, grader: Grader) -> None:
        self._grader = grader
        self._handed = SubmittedFiles("strained", {NAME: paper(exam)})
        self._alone = points(grader.grade(self._handed))
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self.graded = 0
        self.longest = 0.0
        self.losses: list[Loss] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    @property
    def alone(self) -> Decimal:
        """Return the points of such a classmate without attackers."""
        return sum(self._alone.values(), Decimal(0))

    def _go_on(self) -> None:
        while not self._done.is_set():
            stay = Stay("strained", time.monotonic())
            graded = self._grader.grade(self._handed)
            stay.end = time.monotonic()
            self.graded += 1
            self.longest = max(self.longest, stay.end - stay.begin)
            loss = lost(self._alone, stay, graded)
            if loss is not None:
                self.losses.append(loss)
            self._done.wait(PAUSE_SECONDS)


def lost(alone: Mapping[str, Decimal], stay: Stay, graded: GradingResult) -> Loss | None:
    """Return the loss of a classmate compared with its points without attackers, or None.

    Args:
        alone: points by item.
        stay: the time of its grading.
        graded: its result.
    """
    earned = points(graded)
    fewer = {item: alone[item] - got for item, got in earned.items() if got != alone[item]}
    troubled = [run for book in graded.notebooks for run in book.runs if run and (run.ending or run.error)]
    if not fewer and not troubled:
        return None
    endings = [str(run.ending or run.error) for run in troubled]
    said = [f"{one.item}: {one.staff}" for one in graded.score.items if f"{one.question}.{one.item}" in fewer]
    late = any("time" in text for text in (*endings, *said))
    noted = [note.code for note in graded.score.notes if note.code == SHARED_USER]  # staff are told
    return Loss(stay, sum(fewer.values(), Decimal(0)), "; ".join((*noted, *endings, *said))[:200], late)


def points(graded: GradingResult) -> Mapping[str, Decimal]:
    """Return points by item."""
    return {f"{item.question}.{item.item}": item.points for item in graded.score.items}


def accused(losses: list[Loss], meter: Meter) -> list[tuple[str, Loss]]:
    """Return who was being graded while a classmate lost something."""
    return [(student, loss) for loss in losses for student in meter.beside(loss.stay)]
