"""Who ended a box: only kills from outside are our fault, all other endings are the student's."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from autograder.core.errors import BoxEnded, SandboxFault
from autograder.core.records import Cell, Ending
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.pool import Pool
from autograder.sandbox.retry import MAX_FAULTS
from autograder.sandbox.session import Session
from tests.conftest import start_sandbox
from tests.sandbox.contract import LIMITS
from tests.support.leftovers import descendants, zygote_pid

ENDED_FROM_INSIDE = {
    "its own pipes are closed": "import os\nos.closerange(3, 64)\nwhile True: pass",
    "its first thread leaves, another closes the pipes and stays": """
import ctypes, os, threading, time
def stay():
    time.sleep(0.05)
    os.closerange(3, 64)
    while True: pass
threading.Thread(target=stay).start()
ctypes.CDLL(None).syscall(60, 0)
""",
    "it kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nos._exit(0)",
    "a child kills it": """
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
if os.fork() == 0:
    for number in range(1, 65):
        try: os.kill(1, number)
        except OSError: pass
    os._exit(0)
os.wait()
os._exit(0)
""",
    "it aborts": "import os\nos.abort()",
    "it faults": "import ctypes\nctypes.string_at(0)",
    "it exits as an unconfined box does": "import os\nos._exit(97)",
    "it kills everything": "import os\ntry: os.kill(-1, 9)\nfinally: os._exit(0)",
    "a system call of another kind": (
        "import ctypes, mmap\n"
        "code = mmap.mmap(-1, 4096, prot=7)\n"
        "code.write(bytes.fromhex('b801000000cd80c3'))\n"
        "ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()\n"
        "import os\nos._exit(0)"
    ),
}


@pytest.fixture
def box(plain_sandbox: NamespaceSandbox) -> Iterator[NamespaceBox]:
    """Return a new box."""
    opened = plain_sandbox.open(LIMITS)
    yield opened
    opened.close()


def soon(action: Callable[[], None]) -> None:
    """Do something while the test waits for the box."""
    threading.Timer(0.1, action).start()


@pytest.mark.sandbox
@pytest.mark.parametrize("source", ENDED_FROM_INSIDE.values(), ids=ENDED_FROM_INSIDE.keys())
def test_what_student_code_does_to_its_box_is_never_our_fault(box: NamespaceBox, source: str) -> None:
    """However it imitates a killed box, the ending is attributed to student code."""
    with pytest.raises(BoxEnded) as ended:
        box.run_cell(source, seconds=2)
    assert ended.value.ending in {Ending.CRASHED, Ending.EXITED, Ending.CELL_TIME, Ending.PROTOCOL}


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "source", ["while True: pass", "import time\ntime.sleep(9)", "import os\nos.fork()\nwhile True: pass"]
)
def test_a_box_killed_from_outside_is_our_fault(box: NamespaceBox, source: str) -> None:
    """SIGKILL to process 1 while it runs a cell is our fault."""
    soon(lambda: os.kill(box.pid, signal.SIGKILL))
    with pytest.raises(SandboxFault, match="killed from outside"):
        box.run_cell(source, seconds=9)


@pytest.mark.sandbox
def test_a_box_killed_between_requests_is_our_fault(box: NamespaceBox) -> None:
    """The next request finds the box dead."""
    box.run_cell("x = 1", seconds=5)
    os.kill(box.pid, signal.SIGKILL)
    with pytest.raises(SandboxFault):
        box.run_cell("x", seconds=5)


class Killer:
    """Kill processes of a pool's zygote while a session runs, each after the previous one was replaced."""

    def __init__(self, pool: Pool, victims: list[str]) -> None:
        self._pool = pool
        self._victims = victims
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _run(self) -> None:
        for victim in self._victims:
            deadline = time.monotonic() + 300
            below: list[int] = []
            while len(below) < 2 and time.monotonic() < deadline:
                time.sleep(0.3)  # long enough to open a box, short enough to hit the cell that sleeps
                sandbox = self._pool.get_sandbox(Environment())
                assert isinstance(sandbox, NamespaceSandbox)
                below = descendants(zygote_pid(sandbox))
            os.kill(below[-1] if victim == "box" else below[0], signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.sandbox
def test_kills_in_one_submission_cost_nothing() -> None:
    """After kills of a zygote, a box and another zygote, every cell has run, with a note for each."""
    victims = ["zygote", "box", "zygote"]
    cells = (Cell("x = 1"), Cell("import time\ntime.sleep(2)\ny = x + 1"), Cell("print(y)"))
    with Pool(start_sandbox) as pool:
        persistent = pool.create_persistent(Environment())
        with Session(persistent, cells, LIMITS) as session, Killer(pool, victims):
            runs = session.run()
    assert {"run-again"} == {note.code for note in session.notes}
    assert len(victims) <= len(session.notes) <= MAX_FAULTS
    assert [("", None)] * 3 == [(run.error, run.ending) for run in runs if run]
    assert "2" == runs[-1].outputs[0].data["text/plain"].strip()
