"""Test the order of grading in a batch: endless loops do not delay other submissions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from autograder.core.records import GradingResult
from autograder.course import Handin
from autograder.grading import batch
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.sandbox.timeouts import NewTimeout, SubmissionTimeouts

LOOPS = [f"loop-{number}" for number in range(6)]
OTHERS = [f"other-{number}" for number in range(6)]


class FakeGrader:
    """A grader that records its calls; submissions in LOOPS time out until the timeout is known."""

    def __init__(self) -> None:
        self.assignment = SimpleNamespace(rubric=SimpleNamespace(assignment=SimpleNamespace(redraw="never")))
        self.events: list[tuple[str, str]] = []

    def grade(self, handed: SubmittedFiles, *, timeouts: SubmissionTimeouts) -> GradingResult:
        """Return an empty result with the timeouts that occurred."""
        notebook_timeouts = timeouts.get_notebook_timeouts(handed.student.encode)
        try:
            if handed.student in LOOPS and not notebook_timeouts.is_known_cell(0, ()):
                notebook_timeouts.record_cell(0, ())
        except NewTimeout:
            self.events.append(("stopped", handed.student))
            raise
        finally:
            timeouts.met |= notebook_timeouts.met
        self.events.append(("graded", handed.student))
        return cast("GradingResult", SimpleNamespace(student=handed.student, timeouts=timeouts.met))


def grade_batch(
    monkeypatch: pytest.MonkeyPatch,
    students: list[str],
    workers: int,
    known: Mapping[str, Mapping[str, int]] = {},
) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """Return the events in order, and the results by student."""
    monkeypatch.setattr(batch, "read_handin", lambda _, handin: SubmittedFiles(handin.owner, {}))
    grader = FakeGrader()
    handins = [Handin(student, Path(student)) for student in students]
    groups = batch._grade_in_parallel(cast("Grader", grader), handins, workers, lambda: None, known)
    results = {handin.student: graded for group in groups for handin, graded in group}
    return grader.events, results


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_batch_grades_endless_loops_after_everybody_else_has_begun(
    monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """Endless loops are graded again after all other submissions have started."""
    events, results = grade_batch(monkeypatch, [*LOOPS, *OTHERS], workers)
    assert sorted(results) == [*LOOPS, *OTHERS]
    assert sorted(events) == sorted(
        [("graded", name) for name in [*LOOPS, *OTHERS]] + [("stopped", name) for name in LOOPS]
    )
    first_again = min(events.index(("graded", name)) for name in LOOPS)
    begun_late = [name for name in OTHERS if events.index(("graded", name)) > first_again]
    assert len(begun_late) < batch.AHEAD * workers  # only those that other workers had started by then
    assert {name: len(results[name].timeouts) for name in LOOPS} == dict.fromkeys(LOOPS, 1)
    assert not any(results[name].timeouts for name in OTHERS)


def test_batch_of_one_worker_grades_in_order_but_for_endless_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    students = ["loop-0", "other-0", "loop-1", "other-1"]
    events, _ = grade_batch(monkeypatch, students, 1)
    assert events == [
        ("stopped", "loop-0"),
        ("graded", "other-0"),
        ("stopped", "loop-1"),
        ("graded", "other-1"),
        ("graded", "loop-0"),
        ("graded", "loop-1"),
    ]


def test_batch_stops_nobody_for_whom_the_timeout_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known timeouts do not interrupt a later run."""
    _, results = grade_batch(monkeypatch, LOOPS, 1)
    known_timeouts = {name: results[name].timeouts for name in LOOPS}
    events, _ = grade_batch(monkeypatch, [*LOOPS, *OTHERS], 1, known_timeouts)
    assert events == [("graded", name) for name in [*LOOPS, *OTHERS]]


def test_batch_stops_nobody_if_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No submission is interrupted if there are as many workers as submissions."""
    events, _ = grade_batch(monkeypatch, LOOPS, len(LOOPS))
    assert sorted(events) == [("graded", name) for name in LOOPS]
