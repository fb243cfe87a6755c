"""Hostile code in the real sandbox, with an honest function and a classmate's open box.

Every attack in tests/redteam/attacks is one or several cells. Each must reach nothing forbidden, change
nothing outside, leave nothing behind, and end in time and as expected. Its honest function and the
classmate's must still answer.
"""

from __future__ import annotations

import contextlib
import os
import platform
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.core.records import Call, Cell, CellRun, Limits, Observation
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.session import Session
from tests.redteam.attack import ATTACKS, HONEST, PRELUDE, Attack
from tests.redteam.numbers import numbers
from tests.redteam.world import World, opened
from tests.support.leftovers import adopted_orphans, settled, traces
from tests.support.pace import patient_grader
from tests.support.thorough import rotating

pytestmark = pytest.mark.sandbox

LIMITS = Limits(
    cell_seconds=2.5,
    call_seconds=1.5,
    submission_seconds=8,
    memory_mb=96,
    processes=32,
    output_kb=64,
    reply_mb=4,
    scratch_mb=16,
    scratch_files=256,
    descriptors=64,
    restarts=3,
)
MOST_COMPUTED = 1.1 * LIMITS.submission_seconds
FALSE_FAULTS = {"run-again", "sandbox-fault", "ended-itself"}
"""The ending of an attack is attributed to student code."""
WANTED = Call("honest", args=([1, 2, 3],))
CLASSMATE = (
    HONEST
    + r"""
import fcntl, os, socket, threading
for place in ('/w', '/tmp', '/dev/shm'): open(place + '/note-of-a-classmate', 'w').close()
open('/dev/shm/redteam-note', 'wb').write(bytes(4096))
meetings = []
for name in ('redteam-meeting', 'redteam-meeting-of-another'):
    meetings.append(socket.socket(socket.AF_UNIX))
    meetings[-1].bind('\0' + name)
    meetings[-1].listen()

def strained():
    near, far = socket.socketpair()
    socket.send_fds(near, [b'x'], [0] * 8)
    _, kept, _, _ = socket.recv_fds(far, 1, 8)
    for descriptor in kept: os.close(descriptor)
    near.close(); far.close()
    a, b = os.pipe()
    size = fcntl.fcntl(a, 1032)
    sent = os.write(b, bytes(60_000)) if size >= 60_000 else 0
    os.close(a); os.close(b)
    sums = []
    threads = [threading.Thread(target=lambda: sums.append(sum(range(1000)))) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    if (child := os.fork()) == 0: os._exit(7)
    return [len(kept), size, sent, len(sums), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]
"""
)
"""A classmate who uses everything that the kernel counts by user, during the attack."""
OF_USERS = {"neighbours", "quotas", "shared"}
STRAINED = Call("strained")


@pytest.fixture(scope="module", autouse=True)
def orphans() -> Iterator[None]:
    """Adopt processes that an attack leaves behind, and wait for boxes, because other tests may run."""
    with adopted_orphans(), patient_grader():
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return the targets that attacks try to reach."""
    with opened(tmp_path_factory.mktemp("course")) as made:
        yield made


@pytest.fixture(scope="module")
def bounded(plain_sandbox: NamespaceSandbox) -> None:
    """Check before any attack that a box is not root's and its processes and memory are limited."""
    box = plain_sandbox.open(LIMITS)
    limits = Path(f"/proc/{box.pid}/limits").read_text()
    status = Path(f"/proc/{box.pid}/status").read_text()
    groups = Path(f"/proc/{box.pid}/cgroup").read_text()
    box.close()
    rows = {line[:25].strip(): line[25:].split()[0] for line in limits.splitlines()[1:]}
    assert LIMITS.processes <= int(rows["Max processes"]) < 2 * LIMITS.processes
    assert rows["Max address space"] != "unlimited" or "autograder-" in groups
    assert "\nUid:\t0\t" not in status
    assert "\nCapEff:\t0000000000000000\n" in status
    assert "\nSeccomp:\t2\n" in status
    assert "\nNoNewPrivs:\t1\n" in status


FIRST = {attack.kind: name for name, attack in reversed(ATTACKS.items())}
"""One attack of each kind runs in every test run; a part of the others runs separately."""
OTHERS = rotating([name for name in ATTACKS if name not in FIRST.values()], parts=4)


@pytest.mark.slow
@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize(
    "name", [*FIRST.values(), *(pytest.param(name, marks=pytest.mark.apart) for name in OTHERS)]
)
def test_an_attack_changes_nothing(name: str, world: World, request: pytest.FixtureRequest) -> None:
    """See the head of this file."""
    attack = ATTACKS[name]
    if attack.machine and attack.machine != platform.machine():
        pytest.skip(f"not applicable: this attack needs {attack.machine}")
    sandbox: NamespaceSandbox = request.getfixturevalue("torch_sandbox" if attack.torch else "plain_sandbox")
    before, outside = traces(), world.state()
    classmate = sandbox.open(LIMITS)
    assert "" == classmate.run_cell(CLASSMATE, seconds=LIMITS.cell_seconds).error
    with (
        strained(classmate) as answers,
        Session(sandbox, program(attack, world), LIMITS, files=attack.files) as session,
    ):
        last = [run for run in session.run() if run][-1]
        asked = session.ask([Call("attack")])[0] if attack.gives else None
        honest = session.ask([WANTED])[0]
        if honest.ending:  # leftovers of an attack may end its box only now; the next one is clean
            honest = session.ask([WANTED])[0]
        reached = session.ask([Call("reached", read=True)])[0]
    # An ordinary user's boxes share that user: docs/security.md.
    if os.geteuid() == 0 or attack.kind not in OF_USERS:
        assert {(8, 65_536, 60_000, 8, 7)} == set(answers)
    assert [3, 5, 7] == classmate.ask([WANTED], seconds=LIMITS.call_seconds)[0].value
    classmate.close()

    assert outcome(last) in attack.ends, last
    if asked is not None:
        assert outcome(asked) in attack.gives, asked
    assert [] == [note for note in session.notes if note.code in FALSE_FAULTS]
    assert honest.value == [3, 5, 7] or attack.breaks, honest
    assert reached.value == [] or attack.breaks, reached
    assert session.computed < MOST_COMPUTED
    assert outside == world.state()
    assert 0 == world.visits()
    assert sandbox.is_alive()
    assert before == settled(before)


@contextlib.contextmanager
def strained(classmate: NamespaceBox) -> Iterator[list[object]]:
    """Ask a classmate repeatedly during an attack; yield the answers at the end."""
    answers: list[object] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set() or not answers:
            found = classmate.ask([STRAINED], seconds=LIMITS.call_seconds)[0]
            answers.append(tuple(found.value) if found.ok else (found.error, found.message, found.ending))
            done.wait(0.05)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answers
    finally:
        done.set()
        thread.join()


def program(attack: Attack, world: World) -> list[Cell]:
    """Return the cells of an attacking submission."""
    told = {
        "TARGETS": world.targets(),
        "NUMBERS": numbers(),
        "LIMIT": LIMITS.processes,
        "SCRATCH": LIMITS.scratch_mb,
    }
    names = "\n".join(f"{name} = {value!r}" for name, value in told.items())
    return [Cell(PRELUDE + names), Cell(HONEST), *(Cell(source) for source in attack.cells)]


def outcome(result: CellRun | Observation) -> str:
    """Return an ending, an exception's name, or nothing."""
    return result.ending.value if result.ending else result.error
