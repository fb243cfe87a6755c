"""Boxes beside one another: what the kernel grants to a user, no box takes from another's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from autograder.records import Call, Cell, Limits, Scenario
from autograder.sandbox import limit_notes
from autograder.sandbox.levels import Isolation
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.session import Session
from tests.conftest import Levels
from tests.redteam.attack import ATTACKS, PRELUDE
from tests.support.leftovers import fresh_seeds

pytestmark = pytest.mark.sandbox

SEEDS = fresh_seeds(2_000_000)
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
LEARNS = Scenario("learns", (Call("learns"),))
PASSES = Scenario("passes", (Call("passes"),))
as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="not applicable: an ordinary user's boxes share that user"
)


@pytest.fixture
def greedy(torch_sandbox: NamespaceSandbox) -> Iterator[NamespaceBox]:
    """The box of a classmate, who takes all that there is."""
    box = torch_sandbox.open(Limits(), seed=next(SEEDS))
    yield box
    box.close()


@as_root
@pytest.mark.parametrize("name", GREEDY)
def test_data_loaders_and_pipes_work_beside_whoever_takes_all(
    torch_sandbox: NamespaceSandbox, greedy: NamespaceBox, name: str
) -> None:
    """Two classmates beside every such attack: processes hand over tensors, pipes hold what pipes hold."""
    told = f"import os\nNUMBERS, LIMIT, SCRATCH, TARGETS = {{}}, 64, 64, {{}}\n{PRELUDE}"
    greedy.run_cell(told, seconds=5)
    for cell in ATTACKS[name].cells:
        greedy.run_cell(cell, seconds=9)
    assert greedy.alive()
    for _ in range(2):
        with Session(torch_sandbox, (Cell(LOADER),), Limits(), seed=next(SEEDS)) as session:
            answers = session.ask([LEARNS, PASSES])
        assert [780.0, 65536] == [one[0].value for one in answers]
        assert [] == session.notes


@as_root
@pytest.mark.parametrize("isolation", [Isolation.NAMESPACES, Isolation.REDUCED])
def test_no_two_boxes_have_the_same_user(levels: Levels, isolation: Isolation) -> None:
    """Nor one of the program that made them; and each is given back."""
    sandbox = levels.sandbox(isolation)
    boxes = [sandbox.open(Limits(), seed=next(SEEDS)) for _ in range(6)]
    users = [Path(f"/proc/{box.pid}").stat().st_uid for box in boxes]
    claims = [uid for uid in users if f"@autograder-uid-{uid}\n" in Path("/proc/net/unix").read_text()]
    for box in boxes:
        box.close()
    left = [uid for uid in users if f"@autograder-uid-{uid}\n" in Path("/proc/net/unix").read_text()]
    assert 6 == len(set(users))
    assert 0 not in users
    assert users == claims
    assert [] == left


def test_what_is_short_for_a_shared_user_is_noted(
    plain_sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A box that could send no descriptor when something was raised says so; not where that was itself."""
    crowded = Cell(
        "import os, socket\nheld = []\ntry:\n"
        "    while True:\n"
        "        one, other = socket.socketpair()\n"
        "        held += [one, other]\n"
        "        for _ in range(9): socket.send_fds(one, [b'x'], [0] * 9)\n"
        "except OSError: pass\n"
        "raise EOFError"
    )
    limits = msgspec.structs.replace(Limits(), descriptors=64)
    for shared in (False, True):
        if shared:
            monkeypatch.setattr("autograder.sandbox.outside.watch.Watch.shares_user", True)
        elif os.geteuid() != 0:
            continue
        with Session(plain_sandbox, (crowded, Cell("raise ValueError")), limits, seed=next(SEEDS)) as session:
            session.run()
        assert [limit_notes.SHARED_USER] * shared == [
            note.code for note in session.notes if note.code != limit_notes.MET
        ]
