"""Neighbouring boxes: no box can use up another one's per-user quotas."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.core.errors import SandboxUnavailable
from autograder.core.records import Call, Cell, Limits
from autograder.sandbox.outside import namespaces
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.namespaces import FIRST_UID, LAST_UID, NamespaceSandbox
from autograder.sandbox.session import Session
from tests.redteam.attack import ATTACKS, PRELUDE
from tests.sandbox.test_ordinary_user import as_user
from tests.support.leftovers import descendants

pytestmark = pytest.mark.sandbox

GREEDY = [name for name, attack in ATTACKS.items() if attack.kind == "neighbours"]
LOADER = """
import os, torch
from torch.utils.data import DataLoader, TensorDataset
def learns():
    numbers = TensorDataset(torch.arange(40.0))
    return sum(float(batch.sum()) for batch, in DataLoader(numbers, batch_size=4, num_workers=2))
def passes():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    return os.write(writing, bytes(65536))
"""
LEARNS = Call("learns")
PASSES = Call("passes")
as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="not applicable: an ordinary user's boxes share that user"
)


@pytest.fixture
def greedy(torch_sandbox: NamespaceSandbox) -> Iterator[NamespaceBox]:
    """Return the box of a classmate who uses up all quotas."""
    box = torch_sandbox.open(Limits())
    yield box
    box.close()


@as_root
@pytest.mark.parametrize("name", GREEDY)
def test_data_loaders_and_pipes_work_beside_whoever_takes_all(
    torch_sandbox: NamespaceSandbox, greedy: NamespaceBox, name: str
) -> None:
    """Data loaders and pipes of two classmates work during every attack on shared quotas."""
    told = f"import os\nNUMBERS, LIMIT, SCRATCH, TARGETS = {{}}, 64, 64, {{}}\n{PRELUDE}"
    greedy.run_cell(told, seconds=5)
    for cell in ATTACKS[name].cells:
        greedy.run_cell(cell, seconds=9)
    assert greedy.pid in descendants(os.getpid())
    for _ in range(2):
        with Session(torch_sandbox, (Cell(LOADER),), Limits()) as session:
            answers = session.ask([LEARNS, PASSES])
        assert [780.0, 65536] == [one.value for one in answers]
        assert [] == session.notes


@as_root
def test_no_two_boxes_have_the_same_user(plain_sandbox: NamespaceSandbox) -> None:
    """No box has the user id of another box or of the program that started it; ids are released."""
    boxes = [plain_sandbox.open(Limits()) for _ in range(6)]
    users = [Path(f"/proc/{box.pid}").stat().st_uid for box in boxes]
    claimed = [uid for uid in users if is_claimed(uid)]
    for box in boxes:
        box.close()
    left = [uid for uid in users if is_claimed(uid)]
    assert 6 == len(set(users))
    assert 0 not in users
    assert users == claimed
    assert [] == left


def is_claimed(uid: int) -> bool:
    """Return whether the lock of a user id is held."""
    with (namespaces.CLAIMS / f"uid-{uid}").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


_TAKE_EVERY_NAME = """
import os, socket, sys
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
first, last, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
held = []
for uid in range(first, last + 1):
    held.append(socket.socket(socket.AF_UNIX))
    held[-1].bind(f"\\0autograder-uid-{uid}")
    for way in (os.listdir, lambda folder: held.append(open(f"{folder}/uid-{uid}", "a"))):
        try:
            way(folder)
            print("entered")
        except PermissionError:
            pass
print("done", flush=True)
sys.stdin.read()
"""


@as_root
def test_claim_succeeds_when_another_user_takes_every_name_within_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The nobody user holds all abstract socket names and cannot open the lock files."""
    first, last = LAST_UID + 1, LAST_UID + 4  # ids that no other grader uses
    monkeypatch.setattr(namespaces, "FIRST_UID", first)
    monkeypatch.setattr(namespaces, "LAST_UID", last)
    namespaces.Identity().release_user()
    words = [sys.executable, "-c", _TAKE_EVERY_NAME, str(first), str(last), str(namespaces.CLAIMS)]
    with subprocess.Popen(words, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as taker:
        assert taker.stdin
        assert taker.stdout
        said = taker.stdout.readline().strip()
        held = [namespaces.Identity() for _ in range(4)]
        taker.stdin.close()
    for identity in held:
        identity.release_user()
        (namespaces.CLAIMS / f"uid-{identity.uid}").unlink()
    assert "done" == said
    assert set(range(first, last + 1)) == {identity.uid for identity in held}


@as_root
def test_claim_is_free_again_when_its_holder_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All ids are taken, the holder is killed, and an id is available again."""
    monkeypatch.setattr(namespaces, "CLAIMS", tmp_path / "claims")
    monkeypatch.setattr(namespaces, "LAST_UID", FIRST_UID + 3)
    pid = os.fork()
    if pid == 0:
        _held = [namespaces.Identity() for _ in range(4)]
        signal.pause()
    try:
        while len(list((tmp_path / "claims").glob("uid-*"))) < 4 or not is_claimed(FIRST_UID + 3):
            time.sleep(0.01)
        assert all(is_claimed(FIRST_UID + index) for index in range(4))
        with pytest.raises(SandboxUnavailable, match="taken; end other graders first"):
            namespaces.Identity()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    namespaces.Identity().release_user()


@as_root
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        pytest.param("writable by others", "only root can write to, found owner 0 and mode 777", id="mode"),
        pytest.param("of another user", "only root can write to, found owner 65534", id="owner"),
        pytest.param("a link", "cannot be used: ", id="link"),
        pytest.param("below a file", "root must be able to write to", id="parent"),
    ],
)
def test_claims_are_refused_in_a_folder_that_others_control(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, message: str
) -> None:
    """The error names the folder, the problem and the remedy."""
    claims = tmp_path / "claims"
    monkeypatch.setattr(namespaces, "CLAIMS", claims)
    if fault == "a link":
        claims.symlink_to(tmp_path)
    elif fault == "below a file":
        (tmp_path / "file").touch()
        monkeypatch.setattr(namespaces, "CLAIMS", tmp_path / "file" / "claims")
    else:
        claims.mkdir()
        claims.chmod(0o777 if fault == "writable by others" else 0o755)
        if fault == "of another user":
            os.chown(claims, 65534, 65534)
    with pytest.raises(SandboxUnavailable, match=message):
        namespaces.Identity()


_BESIDE_A_HOG = """
import json, sys
from autograder.core.records import Cell, Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.pool import start_sandbox
from autograder.sandbox.session import Session

HOGS = {
    "descriptors under way": "import socket\\nheld = []\\ntry:\\n"
        "    while True:\\n"
        "        held += socket.socketpair()\\n"
        "        for _ in range(20): socket.send_fds(held[-1], [b'x'], [0] * 30)\\n"
        "except OSError: pass",
    "memory of pipes": "import fcntl, os\\npipes = []\\ntry:\\n"
        "    while True:\\n"
        "        pipes.append(os.pipe())\\n"
        "        try: fcntl.fcntl(pipes[-1][0], 1031, 1 << 20)\\n"
        "        except PermissionError: pass\\n"
        "except OSError: pass",
}
VICTIMS = {
    "waits": "import time; time.sleep(99)",
    "raises": "raise EOFError",
    "ends": "import os; os._exit(1)",
    "works": "x = 1",
}

def noted(cell):
    with Session(sandbox, (Cell(cell),), Limits(cell_seconds=0.3)) as session:
        session.run()
    return session.crowded

sandbox = start_sandbox(Environment())
found = {"nobody": {name: noted(cell) for name, cell in VICTIMS.items()}}
for hog, source in HOGS.items():
    # A classmate who opens many pipes; several, because one has only so many descriptors.
    boxes = [sandbox.open(Limits()) for _ in range(3)]
    for box in boxes:
        box.run_cell(source, seconds=9)
    found[hog] = {name: noted(cell) for name, cell in VICTIMS.items()}
    for box in boxes:
        box.close()
found["nobody any more"] = {name: noted(cell) for name, cell in VICTIMS.items()}
sandbox.close()
print(json.dumps(found))
"""


@as_root
def test_session_notices_that_a_neighbour_used_up_what_an_ordinary_user_is_granted() -> None:
    """The quota is measured outside, because a box that only waits for its timeout could not report it."""
    with tempfile.TemporaryDirectory(prefix="autograder-user-") as folder:
        Path(folder).chmod(0o777)
        done = as_user(Path(folder), "-c", _BESIDE_A_HOG)
    assert 0 == done.returncode, done.stderr
    nothing = {"waits": False, "raises": False, "ends": False, "works": False}
    crowded = {"waits": True, "raises": True, "ends": True, "works": False}
    assert {
        "nobody": nothing,
        "descriptors under way": crowded,
        "memory of pipes": crowded,
        "nobody any more": nothing,
    } == json.loads(done.stdout)


@as_root
def test_boxes_with_users_of_their_own_need_no_note(
    torch_sandbox: NamespaceSandbox, greedy: NamespaceBox
) -> None:
    """As root, each box uses up only its own quota."""
    greedy.run_cell("import socket\nheld = []", seconds=5)
    greedy.run_cell(
        "while True:\n    held += socket.socketpair()\n"
        "    for _ in range(20): socket.send_fds(held[-1], [b'x'], [0] * 30)",
        seconds=9,
    )
    assert not greedy.crowded
    with Session(torch_sandbox, (Cell("raise EOFError"),), Limits()) as session:
        session.run()
    assert [] == session.notes
