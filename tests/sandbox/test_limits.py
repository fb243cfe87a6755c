"""Memory, processes, scratch space, inodes and descriptors are limited, with and without control groups."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from autograder.core.errors import BoxEnded
from autograder.core.records import Call, Cell, Ending, Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.outside import cgroups
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.session import Session
from tests.conftest import start_sandbox

pytestmark = pytest.mark.sandbox

SMALL = Limits(memory_mb=128, processes=16, scratch_mb=8, scratch_files=64, descriptors=32)
COUNT = """
import os, time, threading
def count(step, most):
    kept = []
    try:
        while len(kept) < most:
            kept.append(step())
    except (OSError, RuntimeError, MemoryError):
        pass
    return len(kept)
def fork():
    pid = os.fork()
    while pid == 0: time.sleep(9)
    return pid
def thread():
    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
def megabyte():
    with open('/tmp/full', 'ab') as file: file.write(bytes(1 << 20))
def shared():
    with open('/dev/shm/full', 'ab') as file: file.write(bytes(1 << 20))
def inode():
    open(f'/w/{os.urandom(8).hex()}', 'x').close()
def descriptor():
    return os.open('/dev/null', os.O_RDONLY)
def memory():
    return bytearray(os.urandom(1)) * (8 << 20)
"""


@pytest.fixture(scope="module")
def without_groups() -> Iterator[NamespaceSandbox]:
    """Return a sandbox on a machine without writable control groups."""
    patch = pytest.MonkeyPatch()
    patch.setattr(cgroups, "find_driver", lambda: None)
    made = start_sandbox(Environment())
    patch.undo()
    yield made
    made.close()


@pytest.fixture(params=["best", "without groups"])
def sandbox(request: pytest.FixtureRequest) -> NamespaceSandbox:
    """Return the best sandbox of this machine, and the fallback."""
    chosen: NamespaceSandbox = request.getfixturevalue(
        "plain_sandbox" if request.param == "best" else "without_groups"
    )
    return chosen


def test_the_fallback_says_what_bounds_memory(without_groups: NamespaceSandbox) -> None:
    """Without control groups memory is limited by the address space and the watchdog."""
    assert "address space limit and watchdog" == without_groups.memory_bound


@pytest.mark.parametrize(
    ("step", "least", "most"),
    [
        ("fork", 4, SMALL.processes),
        ("thread", 4, SMALL.processes),
        ("megabyte", 4, SMALL.scratch_mb),
        ("shared", 4, SMALL.scratch_mb),
        ("inode", 16, SMALL.scratch_files),
        ("descriptor", 8, SMALL.descriptors),
    ],
)
def test_a_bound_is_reached_as_an_exception(
    sandbox: NamespaceSandbox, step: str, least: int, most: int
) -> None:
    """Exceeding a limit raises an ordinary exception; using less is allowed, and the box continues."""
    box = sandbox.open(SMALL)
    box.run_cell(COUNT, seconds=5)
    box.run_cell(f"reached = count({step}, 500)\ncount(lambda: 1 / 0, 0)", seconds=10)
    (observation,) = box.ask([Call("reached", read=True)], seconds=5)
    box.close()
    assert observation.ok, observation
    assert least <= observation.value <= most


def test_processes_of_one_box_do_not_count_against_another(sandbox: NamespaceSandbox) -> None:
    """A fork bomb in one box does not use up the processes of its neighbour."""
    first, second = sandbox.open(SMALL), sandbox.open(SMALL)
    reached = []
    for box in (first, second):
        box.run_cell(f"{COUNT}\nreached = count(fork, 500)", seconds=10)
        reached.append(box.ask([Call("reached", read=True)], seconds=5)[0].value)
    first.close()
    second.close()
    assert reached[0] == reached[1]


def test_too_much_private_memory_ends_the_box_or_raises(sandbox: NamespaceSandbox) -> None:
    """A control group ends the box with MEMORY; the limit of the address space raises MemoryError first."""
    box = sandbox.open(SMALL)
    box.run_cell(COUNT, seconds=5)
    if sandbox.memory_bound.startswith("cgroup"):
        with pytest.raises(BoxEnded) as caught:
            box.run_cell("count(memory, 500)", seconds=10)
        assert Ending.MEMORY is caught.value.ending
    else:
        box.run_cell("reached = count(memory, 500)", seconds=10)
        (observation,) = box.ask([Call("reached", read=True)], seconds=5)
        assert 4 <= observation.value <= SMALL.memory_mb // 8
    box.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["children", "shared mapping"])
def test_memory_of_several_processes_is_counted_together(sandbox: NamespaceSandbox, kind: str) -> None:
    """Neither many small processes nor shared mappings circumvent the limit."""
    sources = {
        "children": "for _ in range(6):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (60 << 20)\n"
        "        time.sleep(9)\n",
        "shared mapping": "import mmap\nfor _ in range(3):\n    if os.fork() == 0:\n"
        "        m = mmap.mmap(-1, 100 << 20)\n        for i in range(0, 100 << 20, 4096): m[i] = 1\n"
        "        time.sleep(9)\n",
    }
    box = sandbox.open(SMALL)
    peak = (
        f"{COUNT}\n{sources[kind]}end = time.monotonic() + 3\nwhile time.monotonic() < end: time.sleep(0.01)"
    )
    if sandbox.memory_bound == "cgroup v1":
        # Version 1 kills single processes: children die, and the box continues within its limit.
        run = box.run_cell(peak, seconds=8)
        assert "" == run.error
        assert box.close().memory_bytes <= SMALL.memory_mb << 20
    else:
        with pytest.raises(BoxEnded) as caught:
            box.run_cell(peak, seconds=8)
        assert Ending.MEMORY is caught.value.ending
        box.close()


BUSY = """
import os
for _ in range(24):
    if os.fork() == 0:
        try:
            os.setsid()
        except OSError:
            pass
        while True: pass
"""
WORK_SECONDS = 0.2
WORK = f"import time\nend = time.process_time() + {WORK_SECONDS}\nwhile time.process_time() < end: pass"


def test_busy_processes_of_one_box_leave_another_its_share(sandbox: NamespaceSandbox) -> None:
    """A box with many processes gets hardly more processor time than its neighbour with one."""
    autogroup = Path("/proc/sys/kernel/sched_autogroup_enabled")
    if not sandbox.memory_bound.startswith("cgroup") and (
        not autogroup.exists() or autogroup.read_text() == "0\n"
    ):
        pytest.skip("not applicable: this kernel divides its processors by process, and by nothing else")
    limits = msgspec.structs.replace(SMALL, processes=32)
    busy, honest = sandbox.open(limits), sandbox.open(limits)
    busy.run_cell(BUSY, seconds=5)
    before = busy.measure_processor_time()
    honest.run_cell(WORK, seconds=10)
    taken = busy.measure_processor_time() - before
    busy.close()
    honest.close()
    # It gets all processors but one; shared by process it would get 24 times its neighbour's time.
    assert taken < 3 * (os.cpu_count() or 1) * WORK_SECONDS


def test_usage_is_reported(plain_sandbox: NamespaceSandbox) -> None:
    """Processor seconds are known after closing."""
    box = plain_sandbox.open(SMALL)
    box.run_cell(
        "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass", seconds=5
    )
    usage = box.close()
    assert 0.2 <= usage.processor_seconds < 3


SLOW = """
import time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
    return seconds
"""


@pytest.mark.slow
def test_the_time_of_a_call_is_that_of_each_call(plain_sandbox: NamespaceSandbox) -> None:
    """Several calls that each take 80 % of the limit are answered."""
    limits = msgspec.structs.replace(SMALL, call_seconds=0.5)
    with Session(plain_sandbox, (Cell(SLOW),), limits) as session:
        answers = session.ask([Call("burn", args=(0.4,))] * 6)
        assert [0.4] * 6 == [one.value for one in answers]
        late = session.ask([Call("burn", args=(0.4,)), Call("burn", args=(0.8,))])
    assert [(0.4, None), (None, Ending.CALL_TIME)] == [(one.value, one.ending) for one in late]
