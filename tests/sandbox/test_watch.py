"""Watching a box from outside: scripted counters, and a process of our own in place of a box."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.core.records import CellRun, Ending, LimitEvent, LimitKind, Limits, Observation
from autograder.sandbox.inside.jail import EXIT_NO_MEMORY, EXIT_NOT_CONFINED
from autograder.sandbox.inside.limit_hints import AGAIN
from autograder.sandbox.outside import watch
from autograder.sandbox.outside.cgroups import Counts
from autograder.sandbox.outside.watch import Watch

LIMITS = Limits(processor_seconds=10, processes=4)
ABSENT = 1 << 30
"""No process has this number."""


class ScriptedGroup:
    """A control group with scripted counters."""

    def __init__(self, seconds: float | None = 0.0) -> None:
        self.counted = Counts()
        self.seconds = seconds
        self.asked = 0

    def add_process(self, pid: int) -> None:
        """Do nothing."""

    def read_counts(self) -> Counts:
        """Return the scripted counts."""
        return self.counted

    def read_processor_seconds(self) -> float | None:
        """Return the scripted seconds."""
        self.asked += 1
        return self.seconds

    def read_peak_bytes(self) -> int:
        """Return None."""
        return 0

    def remove(self) -> None:
        """Do nothing."""


def watched(group: ScriptedGroup | None) -> Watch:
    """Return a watch that is attached to no process."""
    made = Watch(LIMITS, group)
    made.attach_process(ABSENT)
    made.open_scratch()
    return made


def test_a_counter_that_grew_is_met_once() -> None:
    """An increased counter is reported once, whether or not the code mentions it."""
    group = ScriptedGroup()
    watching = watched(group)
    group.counted = Counts(refused_processes=2)
    assert (LimitEvent(LimitKind.PROCESSES, measured=True),) == watching.collect_met_limits()
    assert () == watching.collect_met_limits()
    group.counted = Counts(refused_processes=3, killed_for_memory=1)
    expected = (
        LimitEvent(LimitKind.MEMORY, measured=True),
        LimitEvent(LimitKind.PROCESSES, measured=True, claimed=True),
    )
    assert expected == watching.collect_met_limits([AGAIN])


def test_try_again_means_processes_only_where_some_were_refused() -> None:
    """EAGAIN means that the limit of processes was met only if the kernel refused some.

    Descriptors raise it, too.
    """
    assert () == watched(ScriptedGroup()).collect_met_limits([AGAIN])
    assert () == watched(None).collect_met_limits([AGAIN])


@pytest.mark.parametrize("word", [met.value for met in LimitKind])
def test_what_only_the_code_says_is_marked_so(word: str) -> None:
    """It is kept for the message, and is not marked as seen."""
    assert (LimitEvent(LimitKind(word), claimed=True),) == watched(ScriptedGroup()).collect_met_limits([word])


@pytest.mark.parametrize("words", [["no-such"], ["", "MEMORY", "\x00"], []])
def test_words_that_are_not_in_the_list_are_nothing(words: list[str]) -> None:
    """Unknown words of a reply are ignored."""
    assert () == watched(ScriptedGroup()).collect_met_limits(words)


def test_output_counted_here_is_seen() -> None:
    """A cell that printed too much past the shell is truncated, although its reply does not say so."""
    run = watched(None).mark_run(CellRun(), (), printed=True)
    assert CellRun(truncated=True, met=(LimitEvent(LimitKind.OUTPUT, measured=True, claimed=True),)) == run
    run = watched(None).mark_run(CellRun(truncated=True), (), printed=False)
    assert (LimitEvent(LimitKind.OUTPUT, claimed=True),) == run.met


def test_a_run_without_limits_stays_as_it_is() -> None:
    """The same record is returned."""
    run = CellRun(error="ValueError")
    assert run is watched(None).mark_run(run, (), printed=False)


def test_a_call_carries_what_was_met() -> None:
    """Limits that were met are added to the call; without any, the same record is returned."""
    bad = Observation(ok=False, error="MemoryError")
    assert [LimitKind.MEMORY] == [one.met for one in watched(None).confirm_answer(bad, ["memory"]).met]
    assert bad is watched(None).confirm_answer(bad, [])


@pytest.mark.parametrize(
    ("report", "counts", "seconds", "ending"),
    [
        ({}, Counts(), 0.0, Ending.CRASHED),
        ({"status": "no"}, Counts(), 0.0, Ending.CRASHED),
        ({"status": 0}, Counts(), 0.0, Ending.EXITED),
        ({"status": 7 << 8}, Counts(), 99.0, Ending.EXITED),
        ({"status": EXIT_NOT_CONFINED << 8}, Counts(), 0.0, Ending.CRASHED),
        ({"status": EXIT_NO_MEMORY << 8}, Counts(), 0.0, Ending.EXITED),
        ({"status": 9}, Counts(), 0.0, Ending.CRASHED),
        ({"status": 9, "cpu": 9.6}, Counts(), 0.0, Ending.PROCESSOR_TIME),
        ({"status": 9, "cpu": 1.0}, Counts(), 10.0, Ending.PROCESSOR_TIME),
        ({"status": 9, "cpu": 9.6}, Counts(killed_for_memory=1), 0.0, Ending.MEMORY),
        ({"status": 0}, Counts(killed_for_memory=1), 0.0, Ending.MEMORY),
    ],
)
def test_why_a_box_ended(report: dict[str, object], counts: Counts, seconds: float, ending: Ending) -> None:
    """The cause is determined only from the kernel's information."""
    group = ScriptedGroup(seconds)
    watching = watched(group)
    group.counted = counts
    assert ending is watching.find_ending(report)


def test_memory_that_does_not_suffice_to_answer() -> None:
    """Without a group, memory is refused to the guest as well, and its exit status says so."""
    assert Ending.MEMORY is watched(None).find_ending({"status": EXIT_NO_MEMORY << 8})


def test_a_worker_killed_earlier_is_not_why_a_box_ends_now() -> None:
    """A kill that an earlier reply has reported is not the cause of a later ending."""
    group = ScriptedGroup()
    watching = watched(group)
    group.counted = Counts(killed_for_memory=1)
    watching.collect_met_limits()
    assert Ending.EXITED is watching.find_ending({"status": 0})


def test_processor_time_is_not_asked_before_it_can_be_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look is when all cores together could have used up the limit.

    Later looks depend on the rest.
    """
    monkeypatch.setattr(watch, "_CORES", 2)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    group = ScriptedGroup()
    watching = watched(group)
    assert (None, 0) == (watching.find_exceeded_limit(), group.asked)
    assert 5.0 == pytest.approx(watching.get_pause())
    group.seconds = 6.0
    now += 5.0
    assert (None, 1) == (watching.find_exceeded_limit(), group.asked)
    assert 2.0 == pytest.approx(watching.get_pause())
    group.seconds = 10.0
    now += 2.0
    assert Ending.PROCESSOR_TIME is watching.find_exceeded_limit()


def test_without_accounting_the_processes_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that does not count processor time is treated like no group."""
    watching = Watch(Limits(processor_seconds=1), ScriptedGroup(None))
    watching.attach_process(os.getpid())
    while time.process_time() < 1.1:
        pass
    monkeypatch.setattr(watching, "_next_look", 0.0)
    assert Ending.PROCESSOR_TIME is watching.find_exceeded_limit()
    assert watching.read_processor_seconds() >= 1.0


TAKING = """
import sys
print('ready', flush=True)
sys.stdin.readline()
taken = bytearray(b'x') * (64 << 20)
print('taken', flush=True)
sys.stdin.readline()
"""


def test_without_a_group_memory_is_looked_at() -> None:
    """Exceeding the limit ends the box; memory is measured at most every 50 ms.

    Memory from before the start belongs to the zygote and is not counted.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", TAKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdin
        assert child.stdout
        assert "ready\n" == child.stdout.readline()
        watching = Watch(Limits(memory_mb=1, processor_seconds=100_000), None)
        watching.attach_process(child.pid)
        assert None is watching.find_exceeded_limit()
        assert 0 < watching.get_pause() <= 0.05
        child.stdin.write("\n")
        child.stdin.flush()
        assert "taken\n" == child.stdout.readline()
        time.sleep(watching.get_pause())
        assert Ending.MEMORY is watching.find_exceeded_limit()
        child.kill()


def test_a_folder_of_another_size_is_no_scratch_space() -> None:
    """If a box has no file system of its own, the machine's is not mistaken for it."""
    watching = Watch(LIMITS, None)
    watching.attach_process(os.getpid())
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "SCRATCH", "tmp")
        watching.open_scratch()
    assert before == len(list(Path("/proc/self/fd").iterdir()))
    assert () == watching.collect_met_limits()
    watching.close()
