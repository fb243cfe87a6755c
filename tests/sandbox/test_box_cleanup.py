"""Closing a box or a sandbox leaves nothing behind, however it ended."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
from collections.abc import Iterator

import pytest

from autograder.core.errors import BoxEnded, SandboxFault
from autograder.core.records import Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from tests.conftest import start_sandbox
from tests.sandbox.contract import LIMITS
from tests.support.leftovers import (
    adopted_orphans,
    descendants,
    settled,
    traces,
    zygote_pid,
)

pytestmark = pytest.mark.sandbox

DAEMON = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setpgid(0, 0)
        if os.fork() == 0:
            open(f'/tmp/{os.getpid()}', 'w').write('still here')
            while True: time.sleep(1)
        os._exit(0)
"""
STUBBORN_DAEMONS = """
import os, signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
started, report = os.pipe()
for generation in range(4):
    if os.fork():
        if generation: os._exit(0)
        break
    for leave in (os.setsid, lambda: os.setpgid(0, 0)):
        try:
            leave()
        except OSError:
            pass
else:
    os.write(report, b'x')
    while True: time.sleep(1)
os.read(started, 1)
"""
ENDS = {
    "honest": "x = 1",
    "daemons": DAEMON,
    "threads": "from threading import Timer\nfor _ in 'abc': Timer(9, print).start()",
    "exit with daemons": DAEMON + "os._exit(0)",
    "crash": "import os\nos.abort()",
    "stopped": "import os\nos.kill(os.getpid(), 19)",
    "closed pipes": "import os\nos.closerange(0, 64)",
    "stubborn daemons": STUBBORN_DAEMONS,
    "at exit": "import atexit, time\natexit.register(time.sleep, 99)",
}


@pytest.fixture(scope="module", autouse=True)
def orphans() -> Iterator[None]:
    """Adopt processes that are left behind, ignoring other graders on this machine."""
    with adopted_orphans():
        yield


@pytest.mark.parametrize("source", ENDS.values(), ids=ENDS.keys())
def test_a_closed_box_leaves_nothing(plain_sandbox: NamespaceSandbox, source: str) -> None:
    """Processes, descriptors, control groups and mounts are as before the box was opened."""
    before = traces()
    box = plain_sandbox.open(LIMITS)
    with contextlib.suppress(BoxEnded):
        box.run_cell(source, seconds=0.5)
    box.close()
    assert before == settled(before)


def test_a_box_that_is_never_asked_leaves_nothing(plain_sandbox: NamespaceSandbox) -> None:
    """Opening and closing leaves nothing, and closing again changes nothing."""
    before = traces()
    box = plain_sandbox.open(LIMITS)
    assert box.close() == box.close()
    assert before == settled(before)


def test_a_closed_sandbox_leaves_nothing_even_with_open_boxes() -> None:
    """Closing a sandbox ends its boxes; closing them afterwards, and closing twice, is harmless."""
    before = traces()
    sandbox = start_sandbox(Environment())
    boxes = [sandbox.open(LIMITS) for _ in range(2)]
    boxes[0].run_cell(STUBBORN_DAEMONS, seconds=5)
    sandbox.close()
    for box in boxes:
        box.close()
    sandbox.close()
    assert before == settled(before)
    with pytest.raises(SandboxFault):
        sandbox.open(LIMITS)
    assert before == settled(before)


def test_a_killed_zygote_takes_its_boxes_along() -> None:
    """Whichever process of the zygote dies, all of its processes and boxes end, and it is our fault."""
    for victim in (0, -1):
        before = traces()
        sandbox = start_sandbox(Environment())
        box = sandbox.open(LIMITS)
        box.run_cell(STUBBORN_DAEMONS, seconds=5)
        zygote = [zygote_pid(sandbox), *descendants(zygote_pid(sandbox))[:1]]
        threading.Timer(0.1, os.kill, (zygote[victim], signal.SIGKILL)).start()
        with pytest.raises(SandboxFault):
            box.run_cell("while True: pass", seconds=5)
        box.close()
        sandbox.close()
        assert before == settled(before)


def test_a_box_that_cannot_be_opened_leaves_nothing(plain_sandbox: NamespaceSandbox) -> None:
    """Running out of descriptors is reported as our fault and leaks none."""
    before = traces()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for spare in range(1, 12):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before.descriptors + spare, hard))
        try:
            plain_sandbox.open(LIMITS).close()
        except SandboxFault:
            pass
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert before == settled(before), spare
    assert plain_sandbox.is_alive()


def test_limits_that_cannot_be_set_are_our_fault(plain_sandbox: NamespaceSandbox) -> None:
    """A box that cannot be confined is never a student's failure."""
    before = traces()
    with pytest.raises(SandboxFault, match="the box could not be"):
        plain_sandbox.open(Limits(scratch_mb=-1))
    assert before == settled(before)


def test_files_that_do_not_fit_are_our_fault(plain_sandbox: NamespaceSandbox) -> None:
    """Extra files beyond the scratch space are reported, and the box is closed."""
    before = traces()
    with pytest.raises(SandboxFault, match="files could not be put"):
        plain_sandbox.open(LIMITS, files={"large.bin": bytes(LIMITS.scratch_mb + 1 << 20)})
    assert before == settled(before)
