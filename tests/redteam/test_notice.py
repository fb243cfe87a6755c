"""Attacks can notice success: without protection, each of them notes what it reaches.

Attacks that look, read or call run in a plain process without a box, as the nobody user if the tests run as
root. Each must reach something there; otherwise it would report nothing in a box either.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.redteam.attack import ATTACKS, PRELUDE
from tests.redteam.exam import told
from tests.redteam.numbers import numbers
from tests.redteam.world import World, opened

NOBODY = 65_534
ORDINARY = Path(__file__).parents[1] / "support" / "ordinary_user.py"
LOOKING = (
    "answers: the grader's own modules",
    "answers: the reference, by every way to a module",
    "answers: the environment",
    "answers: the command line and the parent's descriptors",
    "answers: right answers that lie beside the notebook",
    "files: reading secrets",
    "files: reading through links",
    "files: climbing out of the root",
    "files: locks and leases on shared files",
    "files: running what one has written",
    "identity: other programs",
    "kernel: administering the machine",
    "kernel: the new mount interface",
    "kernel: other processes' memory and descriptors",
    "kernel: subsystems with a history of holes",
    "kernel: kernel keyrings",
    "kernel: sessions of one's own",
    "kernel: terminals and devices by ioctl",
    "memory: an anonymous file",
    "network: connections to the machine and the world",
    "network: socket families with a history",
    "network: the list of network devices",
    "network: buffers of sockets that nobody counts",
    "shared: notes for the next student",
    "shared: notes from the last student",
    "shared: shared memory by name",
    "shared: a meeting place without a file",
    "shared: shared memory and queues of System V",
    "disk: using up descriptors",
    "disk: using up inodes",
    "disk: filling the disk",
    "disk: a sparse file larger than all",
    "disk: raising one's own limits",
    "processes: thread bomb",
)
"""Attacks that note what they `reached` and do no harm to an unprotected machine."""
CALLED = (
    "answers: stack frames",
    "answers: every object in memory",
)
"""The same for attacks that are noticed when their function is called."""
AROUND = """
import os, socket
os.chdir(PLACE)
meetings = []
for name in ('redteam-meeting', 'redteam-meeting-of-another'):
    meetings.append(socket.socket(socket.AF_UNIX))
    try: meetings[-1].bind('\\0' + name); meetings[-1].listen()
    except OSError: pass
left_open = os.open('/', os.O_RDONLY)
try: open('/dev/shm/redteam-note', 'xb').write(bytes(4096))
except OSError: pass
class Score: pass
def grade(expected=42, kept=Score()): attack()
"""
"""What a grader's own program would contain if student code ran inside it."""


@pytest.fixture
def open_place() -> Iterator[Path]:
    """Return a world-writable folder with files that a careless grader leaves there."""
    with tempfile.TemporaryDirectory(prefix="notice-") as folder:
        place = Path(folder)
        (place / "reference").mkdir()
        (place / "beside").mkdir()
        for name in ("reference/__init__.py", "reference/attention.py", "note-left", "beside/numpy.py"):
            (place / name).touch()
        (place / "key.ipynb").write_text('{"cells": []}')
        place.chmod(0o777)
        yield place
        Path("/dev/shm", place.name).unlink(missing_ok=True)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return the targets that attacks try to reach."""
    with opened(tmp_path_factory.mktemp("course")) as made:
        yield made


def reached_by(name: str, place: Path, world: World, *, called: bool) -> list[object]:
    """Return what an attack notes in a plain process."""
    attack = ATTACKS[name]
    targets = {
        **world.targets(),
        "files": [sys.executable, __file__, "/etc/passwd"],
        # Not this process, on which the attack may be allowed to do more than look.
        "processes": [world.victim.pid],
    }
    program = f"PLACE = {str(place)!r}\n" + "\n".join(
        (AROUND, PRELUDE, told(targets), f"NUMBERS = {numbers()!r}", *attack.cells)
    )
    program = program.replace("'/w", f"'{place}").replace("redteam-note", place.name)
    # Nothing is left on this machine, and searching its /tmp may take minutes.
    for everybodys in ("/data", "/tmp", "/var/tmp", "/run", "/dev/shm"):
        program = program.replace(f"'{everybodys}'", f"'{place}'")
    program += f"\n{'grade()' if called else ''}\nprint('REACHED' + json.dumps(reached, default=repr))\n"
    (place / "program.py").write_text(program)
    as_nobody = [sys.executable, str(ORDINARY), str(NOBODY)] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*as_nobody, sys.executable, "-B", "-W", "ignore", str(place / "program.py")],
        cwd=place,
        env={
            "PATH": os.environ["PATH"],
            "A_TOKEN": "x",
            "PYTHONPATH": f"{place}:{Path(__file__).parents[2]}",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("REACHED")]
    assert lines, done.stderr[-600:]
    found: list[object] = json.loads(lines[-1].removeprefix("REACHED"))
    return found


@pytest.mark.parametrize("name", [*LOOKING, *CALLED])
def test_an_attack_notices_where_nothing_is_in_its_way(name: str, open_place: Path, world: World) -> None:
    """An attack without protection reaches something, and not merely because of an unknown error."""
    if ATTACKS[name].machine not in {"", platform.machine()}:
        pytest.skip(f"not applicable: this attack needs {ATTACKS[name].machine}")
    found = reached_by(name, open_place, world, called=name in CALLED)
    sure = [one for one in found if "cannot tell" not in str(one)]
    assert sure, found


@pytest.mark.parametrize(
    ("action", "noted"),
    [
        ("lambda: 42", ["name", "42"]),
        ("lambda: open('/nowhere/at/all')", None),
        ("lambda: __import__('nothing_of_this_name')", None),
        ("lambda: os.no_such_function()", ["name", "AttributeError"]),
        ("lambda: undefined", ["name", "NameError"]),
        ("lambda: int('x')", ["name", "ValueError"]),
        ("lambda: int('x'), ValueError", None),
    ],
)
def test_only_a_refusal_is_a_refusal(action: str, noted: list[str] | None) -> None:
    """An exception that no protection raises is noted, so that a misspelt attack does not pass."""
    names: dict[str, object] = {}
    exec(f"{PRELUDE}\nattempt('name', {action})", names)
    reached = names["reached"]
    assert isinstance(reached, list)
    assert (noted is None) == (reached == [])
    assert noted is None or (noted[0] == reached[0][0] and noted[1] in reached[0][1])


@pytest.mark.parametrize(
    ("name", "arguments", "noted"),
    [("getpid", "", True), ("close", ", -1", True), ("chroot", ", b'/'", os.geteuid() == 0)],
)
def test_a_call_that_the_kernel_looked_at_was_not_refused(name: str, arguments: str, *, noted: bool) -> None:
    """Only the filter's own answers are refusals: EPERM, EACCES and ENOSYS."""
    number = {"getpid": {"x86_64": 39, "aarch64": 172}, "close": {"x86_64": 3, "aarch64": 57}}
    chosen = numbers()[name] if name in numbers() else number[name][platform.machine()]
    names: dict[str, object] = {}
    exec(f"{PRELUDE}\ncall('x', {chosen}{arguments})", names)
    assert noted == bool(names["reached"])
