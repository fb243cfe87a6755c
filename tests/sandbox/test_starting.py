"""A sandbox that cannot be started: nothing is left behind, and the fault can be retried."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.core.errors import SandboxFault, SandboxUnavailable
from autograder.sandbox.base import Environment
from autograder.sandbox.inside import jail
from autograder.sandbox.levels import Isolation
from autograder.sandbox.outside import namespaces
from autograder.sandbox.outside.namespaces import ZygoteSandbox
from autograder.sandbox.pool import Pool, start_sandbox
from autograder.sandbox.retry import MAX_FAULTS
from tests.sandbox.contract import LIMITS
from tests.support.leftovers import settled, traces

pytestmark = pytest.mark.sandbox
NO_MEMORY = OSError(12, "Cannot allocate memory")

STEPS: dict[str, tuple[Any, str]] = {
    "claiming a user": (ZygoteSandbox, "_claim_identity"),
    "finding control groups": (namespaces.cgroups, "find_driver"),
    "making the socket": (namespaces.socket, "socketpair"),
    "starting the program": (namespaces.subprocess, "Popen"),
    "telling it what to do": (ZygoteSandbox, "_configure"),
}
FOLDER: dict[str, tuple[Any, str]] = {"making the folder": (namespaces.tempfile, "mkdtemp")}


def remembering(made: list[str]) -> Callable[..., str]:
    """Create folders and remember their names, because other programs create such folders, too."""
    original = tempfile.mkdtemp

    def make(*arguments: Any, **options: Any) -> str:
        made.append(original(*arguments, **options))
        return made[-1]

    return make


@pytest.fixture(scope="module", autouse=True)
def works() -> None:
    """Return the levels that start on this machine without a planted failure."""
    for isolation in Isolation:
        try:
            start_sandbox(Environment(), isolation).close()
        except SandboxUnavailable as error:
            pytest.skip(str(error))


def cases() -> Iterator[Any]:
    """Return every step of every level that has it."""
    for isolation in Isolation:
        for name, (owner, attribute) in {**STEPS, **(FOLDER if isolation != "namespaces" else {})}.items():
            yield pytest.param(isolation, owner, attribute, id=f"{isolation}: {name}")


@pytest.mark.slow
@pytest.mark.parametrize("error", [NO_MEMORY, RuntimeError("nobody foresaw it"), KeyboardInterrupt()])
@pytest.mark.parametrize(("isolation", "owner", "attribute"), list(cases()))
def test_a_start_that_fails_leaves_nothing(
    isolation: Isolation, owner: Any, attribute: str, error: BaseException
) -> None:
    """No process, descriptor, control group or folder stays; errors of the system are our fault."""
    before = traces()
    made: list[str] = []

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    expected: type[BaseException] = SandboxFault if error is NO_MEMORY else type(error)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(namespaces.tempfile, "mkdtemp", remembering(made))
        patch.setattr(owner, attribute, fail)
        with pytest.raises(expected) as raised:
            start_sandbox(Environment(), isolation)
    if error is NO_MEMORY:
        assert "Cannot allocate memory" in str(raised.value)
    assert before == settled(before)
    assert [] == [folder for folder in made if Path(folder).exists()]
    assert bool(made) is (isolation != "namespaces" and attribute != "mkdtemp")


def fails_first(original: Callable[..., Any], times: int) -> Callable[..., Any]:
    """Return a function that fails this many times, and then works."""
    turns = itertools.count()

    def sometimes(*arguments: Any, **options: Any) -> Any:
        if next(turns) < times:
            raise NO_MEMORY
        return original(*arguments, **options)

    return sometimes


def test_a_machine_that_is_short_for_a_moment_is_made_up_for() -> None:
    """The pool starts it again, as after other faults of ours; then boxes open."""
    before = traces()
    with pytest.MonkeyPatch.context() as patch, Pool() as pool:
        patch.setattr(subprocess, "Popen", fails_first(subprocess.Popen, MAX_FAULTS))
        box = pool.get_sandbox(Environment()).open(LIMITS)
        assert "" == box.run_cell("x = 1", seconds=5).error
        box.close()
    assert before == settled(before)


def test_one_that_neither_goes_on_nor_ends_is_our_fault() -> None:
    """Nonsense and a hang say nothing about the layers of this machine."""
    before = traces()

    def hangs(*_: Any, **__: Any) -> Any:
        raise subprocess.TimeoutExpired("zygote", 5)

    def nonsense(text: bytes) -> Any:
        raise ValueError(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(namespaces.json, "loads", nonsense)
        patch.setattr(subprocess.Popen, "communicate", hangs)
        with pytest.raises(SandboxFault, match="ended while it started"):
            start_sandbox(Environment())
    assert before == settled(before)


@pytest.mark.parametrize("asked", [False, True], ids=["before it is asked", "while it maps"])
def test_a_start_whose_helper_is_killed_ends_in_silence(asked: bool) -> None:
    """If the process that maps ids is killed, no layer is reported as missing and the start is retried."""
    if (starting := os.fork()) == 0:
        try:
            jail._write_maps = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            hold = jail._fork_id_mapper(os.open("/proc", os.O_PATH), 1, 2)
            if not asked:
                (helper,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
                os.kill(int(helper), signal.SIGKILL)
            hold()
        finally:
            os._exit(99)
    assert 1 == os.waitstatus_to_exitcode(os.waitpid(starting, 0)[1])


@pytest.mark.parametrize("isolation", list(Isolation))
def test_a_box_that_nobody_could_watch_leaves_no_group(isolation: Isolation) -> None:
    """An error between creating the control group and the box removes the group."""
    before = traces()
    sandbox = start_sandbox(Environment(), isolation)
    with_sandbox = traces()

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("nobody foresaw it")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(namespaces, "Watch", fail)
        with pytest.raises(RuntimeError):
            sandbox.open(LIMITS)
    assert with_sandbox == settled(with_sandbox)
    sandbox.close()
    assert before == settled(before)


def test_a_pipe_is_not_given_to_boxes(tmp_path: Path) -> None:
    """A FIFO in a release is refused by name, because the zygote would wait for its writer."""
    place = tmp_path / "corpus.txt"
    os.mkfifo(place)
    with pytest.raises(SandboxUnavailable, match=r"corpus\.txt: not a regular file"):
        start_sandbox(Environment(files=(("corpus.txt", place),)))
