"""Who ended a box: endings that only another program can cause are never the student's fault."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.core.errors import BoxLost, SandboxFault
from autograder.core.records import Ending
from autograder.sandbox.outside.watch import check_cause, has_ended_itself, is_process_one

KILLED, FAULTED, EXITED = int(signal.SIGKILL), int(signal.SIGSEGV), 3 << 8
"""Wait statuses."""


def outcome(ending: Ending, report: dict[str, int], **facts: object) -> str:
    """Return who caused an ending."""
    known = {"by_itself": True, "process_one": True, **facts}
    try:
        check_cause(ending, report, **known)  # type: ignore[arg-type]
    except (BoxLost, SandboxFault) as error:
        return type(error).__name__
    return "student"


@pytest.mark.parametrize(
    ("ending", "report", "facts", "whose"),
    [
        (Ending.CRASHED, {"status": KILLED}, {}, "BoxLost"),
        (Ending.CRASHED, {"status": KILLED}, {"process_one": False}, "student"),
        (Ending.CRASHED, {"status": KILLED}, {"by_itself": False}, "student"),
        (Ending.CRASHED, {"status": FAULTED}, {}, "student"),
        (Ending.CRASHED, {"status": EXITED}, {}, "student"),
        (Ending.CRASHED, {"status": 97 << 8}, {}, "student"),
        (Ending.CRASHED, {"status": "9"}, {}, "SandboxFault"),
        (Ending.CRASHED, {}, {"process_one": False}, "SandboxFault"),
        (Ending.CRASHED, {}, {}, "SandboxFault"),
        (Ending.CRASHED, {}, {"by_itself": False}, "student"),
        (Ending.EXITED, {"status": EXITED}, {}, "student"),
        (Ending.CELL_TIME, {}, {}, "student"),
        (Ending.PROCESSOR_TIME, {"status": KILLED}, {}, "student"),
        (Ending.MEMORY, {"status": KILLED}, {"memory": (899, 1000)}, "BoxLost"),
        (Ending.MEMORY, {"status": KILLED}, {"memory": (900, 1000)}, "student"),
        (Ending.MEMORY, {"status": KILLED}, {"memory": (1000, 1000)}, "student"),
        (Ending.MEMORY, {"status": KILLED}, {"memory": (0, 0)}, "student"),
    ],
)
def test_whose_doing_it_was(
    ending: Ending, report: dict[str, int], facts: dict[str, object], whose: str
) -> None:
    """Outside signals to process 1, and memory kills without memory used up, are not the student's doing."""
    assert whose == outcome(ending, report, **facts)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("Pid:\t7\nNSpid:\t7\t1\n", True),
        ("NSpid:\t4711\t12\t1\n", True),
        ("NSpid:\t1\n", False),  # in the grader's namespace, where any process may kill it
        ("NSpid:\t7\t2\n", False),
        ("Pid:\t1\n", False),
        ("NSpid:\t-1\n", False),
        ("", False),
    ],
)
def test_number_one_is_that_of_a_namespace_of_its_own(status: str, expected: bool) -> None:
    """The last of several process ids decides; a single one means that there is no separate namespace."""
    assert expected is is_process_one(status)


@pytest.mark.parametrize(("flags", "expected"), [(0x4, True), (0x400004, True), (0x400000, False)])
def test_a_process_that_is_ending_is_waited_for(tmp_path: Path, flags: int, expected: bool) -> None:
    """A process that lives without a sign of ending did not end by itself; its name is irrelevant."""
    wait = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        place = tmp_path / str(wait.pid)
        place.mkdir()
        (place / "stat").write_text(f"{wait.pid} (a) S 4) S 1 1 1 0 -1 {flags} 0 0\n")
        pidfd = os.pidfd_open(wait.pid)
        if expected:
            wait.kill()
        assert expected is has_ended_itself(pidfd, wait.pid, tmp_path)
        os.close(pidfd)
    finally:
        wait.kill()
        wait.communicate()
