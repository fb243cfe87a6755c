"""The kills: at a random moment, or at a chosen step of the grading process."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograder.core import atomic
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.proof import selftest
from autograder.store.gradebook import Gradebook, book, results
from tests.support.thorough import THOROUGH

OF_COMMANDS = 50 if THOROUGH else 5
"""How often a command is killed at a random moment, in the tests of commands."""
VICTIMS = ("broker", "outer", "zygote", "box")
POINTS: dict[str, tuple[Any, str]] = {
    "starting a zygote": (NamespaceSandbox, "_configure"),
    "asking for a box": (NamespaceSandbox, "_send"),
    "opening a box": (NamespaceBox, "__init__"),
    "running a cell": (NamespaceBox, "run_cell"),
    "asking a question": (NamespaceBox, "ask"),
    "closing a box": (NamespaceBox, "close"),
    "preparing the gradebook": (Gradebook, "prepare_assignment"),
    "recording a group": (Gradebook, "record_results"),
    "writing the marks": (Gradebook, "_write_marks"),
    "writing the result": (results, "keep_results"),
    "writing nbgrader's copy": (book, "write_autograded"),
    "writing a file": (atomic, "_create_locked_partial"),
    "testing the sandbox": (selftest, "ensure"),
    "ending the run": (Gradebook, "finish_run"),
}


class Kill(Struct, frozen=True):
    """One kill of a plan."""

    victim: str
    point: str = ""
    """A step of `POINTS`; empty: after ``seconds``."""
    turn: int = 0
    """Before or after which call of the step."""
    after: bool = False
    seconds: float = 0.0


def draw(chance: random.Random, victim: str, seconds: float) -> Kill:
    """Draw a kill of this victim: half of them at a random time, half at a step."""
    if chance.random() < 0.5:
        return Kill(victim, seconds=chance.uniform(0.0, seconds))
    point = chance.choice(sorted(POINTS))
    single = {"preparing the gradebook", "testing the sandbox", "ending the run", "starting a zygote"}
    turn = 0 if point in single else chance.randrange(12)
    return Kill(victim, point=point, turn=turn, after=chance.random() < 0.5)


def find(victim: str, broker: int) -> int | None:
    """Find a process of this kind below a grading process; of boxes the youngest, or None."""
    if victim == "broker":
        return broker
    outer = _children(broker)
    zygotes = [child for one in outer for child in _children(one)]
    boxes = [child for one in zygotes for child in _children(one)]
    found = {"outer": outer, "zygote": zygotes, "box": boxes}[victim]
    return found[-1] if found else None


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):  # it may end during the search
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += [int(child) for child in (thread / "children").read_text().split()]
    return sorted(found)


def strike(victim: str, broker: int) -> bool:
    """Kill one process; return False if there is none."""
    pid = find(victim, broker)
    if pid is None:
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def arm(kills: list[Kill], report: Callable[[str], None]) -> None:
    """Wrap the steps at which the grading process is killed; ``report`` is called before each kill."""
    for kill in kills:
        if kill.point:
            _wrap(kill, report)


def _wrap(kill: Kill, report: Callable[[str], None]) -> None:
    owner, name = POINTS[kill.point]
    original = getattr(owner, name)
    lock, calls = threading.Lock(), iter(range(1 << 30))

    def wrapped(*arguments: Any, **options: Any) -> Any:
        with lock:
            mine = next(calls) == kill.turn
        if mine and not kill.after:
            _report_and_strike(kill, report)
        result = original(*arguments, **options)
        if mine and kill.after:
            _report_and_strike(kill, report)
        return result

    setattr(owner, name, wrapped)


def _report_and_strike(kill: Kill, report: Callable[[str], None]) -> None:
    if find(kill.victim, os.getpid()) is None:
        return
    report(f"killed {kill.victim} {'after' if kill.after else 'before'} {kill.point}")
    strike(kill.victim, os.getpid())
