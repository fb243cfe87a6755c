"""Limits for an ordinary user: with delegated control groups, or else with the watchdog."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.sandbox.outside import cgroups
from autograder.sandbox.outside.cgroups import Version1, Version2
from tests.sandbox.test_ordinary_user import SCRIPT

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(
        os.geteuid() != 0,
        reason="not applicable: only root can hand control groups to another user",
    ),
]
UID = 61_998
"""An unused user id, different from that of other tests that may run at the same time."""
FALLBACK = "address space limit and watchdog"
CODE = """
from autograder.core.errors import BoxEnded
from autograder.core.records import Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.namespaces import NamespaceSandbox
LIMITS = Limits(memory_mb=128, processes=16, scratch_mb=8, scratch_files=64, descriptors=40,
    processor_seconds=1)
SOURCES = (
    "import os, time\\nfor _ in range(99):\\n    if os.fork() == 0: time.sleep(9)",
    "open('x', 'wb').write(bytes(9 << 20))",
    "for number in range(99): open(str(number), 'x').close()",
    "[open('/dev/null') for _ in range(99)]",
    "bytearray(b'x') * (300 << 20)",
    "import os\\nfor _ in range(4):\\n    if os.fork() == 0:\\n        while True: pass\\nwhile True: pass",
)
sandbox = NamespaceSandbox(Environment())
print(sandbox.memory_bound)
for source in SOURCES:
    box = sandbox.open(LIMITS)
    try:
        run = box.run_cell(source, seconds=9)
        print(*(f"{one.met.value}{' seen' * one.measured}" for one in run.met))
    except BoxEnded as ended:
        print(ended)
    box.close()
sandbox.close()
"""
ROOM = """
from autograder.core.records import Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.namespaces import NamespaceSandbox
sandbox = NamespaceSandbox(Environment())
box = sandbox.open(Limits(memory_mb=256))
box.run_cell("def hoard(*kept):\\n  while True: kept += bytes(16 << 20),; print(len(kept))", seconds=9)
for _ in range(3):
    run = box.run_cell("hoard()", seconds=9)
    print(run.error, run.outputs[0].data["text/plain"].split()[-1])
box.close()
sandbox.close()
"""
NAPS = """
import time
from autograder.core.errors import BoxEnded
from autograder.core.records import Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.namespaces import NamespaceSandbox
sandbox = NamespaceSandbox(Environment())
box = sandbox.open(Limits())
print(box._measure_own_delay() is not None)
try:
    box.run_cell("import time\\nwhile True:\\n  time.sleep(0.09)\\n  end = time.process_time() + 0.01\\n"
        "  while time.process_time() < end: pass", seconds=0.3)
except BoxEnded as ended:
    print(ended)
sandbox.close()
"""
THREADS = """
from autograder.core.records import Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.namespaces import NamespaceSandbox
sandbox = NamespaceSandbox(Environment())
print(sandbox.memory_bound)
box = sandbox.open(Limits(memory_mb=256, processes=32))
run = box.run_cell("import threading\\nmeeting = threading.Barrier(16)\\n"
    "def meet():\\n  kept = [bytearray(1000) for _ in range(1000)]\\n  meeting.wait(9)\\n"
    "threads = [threading.Thread(target=meet) for _ in range(16)]\\n"
    "for one in threads: one.start()\\nfor one in threads: one.join()\\nprint(meeting.broken)", seconds=20)
print(run.error, run.outputs[0].data["text/plain"].split()[-1])
box.close()
sandbox.close()
"""
SEEN = ["processes seen", "disk seen", "files seen", "descriptors"]


def run(join: list[Path], code: str = CODE) -> list[str]:
    """Return the output of the code, run by the user in the given groups."""
    joined = "".join(f"echo $$ > {shlex.quote(str(folder / 'cgroup.procs'))} && " for folder in join)
    with tempfile.TemporaryDirectory(prefix="autograder-user-") as home:
        Path(home).chmod(0o777)
        words = [sys.executable, str(SCRIPT), str(UID), sys.executable, "-c", code]
        environment = {
            "HOME": home,
            "TMPDIR": home,
            "PATH": os.environ["PATH"],
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            ["/bin/sh", "-c", f'{joined}exec "$@"', "sh", *words],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=600,
            stdin=subprocess.DEVNULL,
        )
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout.splitlines()


@pytest.fixture
def handed_over() -> Iterator[tuple[str, list[Path]]]:
    """Return the best version that root can delegate here, and groups of it that belong to the user."""
    driver = cgroups.find_driver()
    folders: list[Path] = []
    if isinstance(driver, Version1):
        folders = [folder / "box-delegated" for folder in dict.fromkeys(driver._folders.values())]
    elif isinstance(driver, Version2):
        folders = [driver._folder / "box-delegated"]
    for folder in folders:
        folder.mkdir()
    join = folders
    if isinstance(driver, Version2):
        (folders[0] / "cgroup.subtree_control").write_text("+memory +pids")
        join = [folders[0] / "box-own"]
        join[0].mkdir()
    for folder in {*folders, *join}:
        for path in (folder, *folder.iterdir()):
            os.chown(path, UID, UID)
    yield driver.name if driver else FALLBACK, join
    for folder in (*join, *folders):
        cgroups.remove_folder(folder)
    if driver:
        driver.close()


def test_with_groups_that_were_handed_over(handed_over: tuple[str, list[Path]]) -> None:
    """They are used, count the same as for root, and are empty again afterwards."""
    name, join = handed_over
    assert [name, *SEEN, "memory", "processor-time"] == run(join)
    assert [] == [path for folder in join for path in folder.parent.rglob("autograder-*")]


def test_without_groups() -> None:
    """The watchdog sees the same; memory is refused before it is used."""
    assert [FALLBACK, *SEEN, "memory", "processor-time"] == run([])


def test_what_a_failed_computation_gathered_is_free_again() -> None:
    """After a computation exceeded the limit, later questions have the full limit again."""
    runs = [line.split() for line in run([], ROOM)]
    assert ["MemoryError"] * 3 == [error for error, _ in runs]
    first, *later = [int(pieces) for _, pieces in runs]
    assert first >= 8
    assert all(pieces >= first - 1 for pieces in later), runs


def test_threads_need_little_of_the_room() -> None:
    """Sixteen threads that allocate at once fit if the address space is limited instead of memory."""
    assert [FALLBACK, " False"] == run([], THREADS)


def test_naps_between_steps_are_no_fault_of_ours() -> None:
    """The kernel tells an ordinary user, too, how long a box waited for a processor."""
    told = Path("/proc/self/schedstat").exists()
    assert [str(told), "cell-time"] == run([], NAPS) or not told
