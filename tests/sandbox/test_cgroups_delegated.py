"""Version 2 as systemd delegates it: to root, to a user's services, to a delegated unit, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.sandbox.outside.cgroups import Driver, Version2, find_driver
from tests.sandbox.cgroup2_tree import Kernel

USER = "user.slice/user-1000.slice/user@1000.service"


@pytest.fixture
def patch() -> Iterator[pytest.MonkeyPatch]:
    """Return a monkeypatch that is undone before pytest's folders are used again."""
    with pytest.MonkeyPatch.context() as context:
        yield context


@pytest.fixture
def kernel(tmp_path: Path, patch: pytest.MonkeyPatch) -> Kernel:
    """Return a machine with version 2 only."""
    return Kernel(tmp_path, patch)


@pytest.fixture
def other() -> Iterator[int]:
    """Return another process, like that of a login shell."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def driver(kernel: Kernel) -> Driver:
    """Return the driver, which must exist."""
    found = find_driver(kernel.root)
    assert isinstance(found, Version2)
    return found


def check_box(kernel: Kernel, made: Driver, below: str) -> None:
    """Check that a box's group is below the given one, has its limits, and can be removed with a process."""
    group = made.create_group(memory_bytes=1 << 20, processes=7)
    (folder,) = (kernel.top / below).glob("autograder-*/box-0")
    read = {
        name: kernel.read(folder / name).strip() for name in ("memory.max", "pids.max", "memory.swap.max")
    }
    assert {"memory.max": "1048576", "pids.max": "7", "memory.swap.max": "0"} == read
    assert "1" == kernel.read(folder / "memory.oom.group")
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        group.add_process(process.pid)
        assert {process.pid} == kernel.processes(folder)
        group.remove()
        process.kill()
    assert not folder.exists()


def test_root_in_a_session(kernel: Kernel, other: int) -> None:
    """The group of the session contains processes, so its parent is used; nothing is left in it."""
    kernel.enter(kernel.slices("user.slice/user-0.slice/session-1.scope"), other)
    made = driver(kernel)
    check_box(kernel, made, "user.slice/user-0.slice")
    made.close()
    assert [] == kernel.made()


def test_root_at_the_top(kernel: Kernel) -> None:
    """The top group may contain processes and pass controllers on at the same time."""
    kernel.enter(kernel.top)
    made = driver(kernel)
    check_box(kernel, made, "")
    made.close()
    assert [] == kernel.made()


def test_a_user_in_a_service_of_their_own(kernel: Kernel, other: int) -> None:
    """The nearest slice of the user's tree is used; its parents are not changed."""
    scope = kernel.slices(f"{USER}/app.slice/run-1.scope")
    kernel.owned = {scope, scope.parent, scope.parents[1]}
    kernel.enter(scope, other)
    made = driver(kernel)
    check_box(kernel, made, f"{USER}/app.slice")
    assert {os.getpid(), other} == kernel.processes(scope)
    made.close()
    assert [] == kernel.made()


def test_a_slice_that_does_not_pass_controllers_on_is_made_to(kernel: Kernel) -> None:
    """systemd enables only the controllers that it needs; the driver enables the others."""
    scope = kernel.slices(f"{USER}/app.slice/run-1.scope")
    (kernel.top / USER / "app.slice/cgroup.subtree_control").unlink()
    kernel._write(kernel.top / USER / "app.slice/cgroup.subtree_control", "")
    kernel.owned = {scope, scope.parent, scope.parents[1]}
    kernel.enter(scope)
    check_box(kernel, driver(kernel), f"{USER}/app.slice")


def test_a_user_in_a_login_session(kernel: Kernel, other: int) -> None:
    """The session belongs to root and a process cannot leave it, so there is no driver."""
    service = kernel.slices(f"{USER}/app.slice")
    kernel.owned = {service, service.parent}
    kernel.enter(kernel.slices("user.slice/user-1000.slice/session-3.scope"), other)
    assert None is find_driver(kernel.root)
    assert [] == kernel.made()


def test_a_delegated_unit_of_our_own(kernel: Kernel) -> None:
    """With ``Delegate=yes`` the process moves into a leaf, and every later driver finds the same group."""
    unit = kernel.slices("system.slice/autograder.service")
    kernel.owned = {unit}
    kernel.enter(unit)
    first = driver(kernel)
    check_box(kernel, first, "system.slice/autograder.service")
    assert set() == kernel.processes(unit)
    second = driver(kernel)
    check_box(kernel, second, "system.slice/autograder.service")
    first.close()
    second.close()
    (leaf,) = kernel.made()
    assert {os.getpid()} == kernel.processes(kernel.top / leaf)
    assert leaf.startswith(f"system.slice/autograder.service/autograder-{os.getpid()}-")


def test_a_delegated_unit_that_holds_others(kernel: Kernel, other: int) -> None:
    """Processes of other programs are not moved."""
    unit = kernel.slices("system.slice/autograder.service")
    kernel.owned = {unit}
    kernel.enter(unit, other)
    assert None is find_driver(kernel.root)
    assert {os.getpid(), other} == kernel.processes(unit)
    assert [] == kernel.made()


def test_a_tree_without_the_controllers(kernel: Kernel) -> None:
    """A delegated tree that cannot limit memory is not used and left unchanged."""
    scope = kernel.slices(f"{USER}/app.slice/run-1.scope", passes_on="pids")
    kernel.owned = {scope, scope.parent, scope.parents[1]}
    kernel.enter(scope)
    assert None is find_driver(kernel.root)
    assert [] == kernel.made()


def test_a_delegated_unit_that_turns_out_useless(kernel: Kernel, patch: pytest.MonkeyPatch) -> None:
    """The process moves back and the leaf is removed."""
    unit = kernel.slices("system.slice/autograder.service")
    kernel.owned = {unit}
    kernel.enter(unit)

    def refuse(folder: Path, text: str) -> None:
        raise OSError(16, f"{text} in {folder}")

    patch.setattr(kernel, "_pass_on", refuse)
    assert None is find_driver(kernel.root)
    assert {os.getpid()} == kernel.processes(unit)
    assert [] == kernel.made()


def test_a_group_into_which_nothing_can_be_moved(kernel: Kernel, patch: pytest.MonkeyPatch) -> None:
    """Creating a group does not imply that processes can be moved into it: this is tried and cleaned up."""
    scope = kernel.slices(f"{USER}/app.slice/run-1.scope")
    kernel.enter(scope)

    def refuse(folder: Path, pid: int) -> None:
        raise PermissionError(13, f"{pid} into {folder}")

    patch.setattr(kernel, "_move", refuse)
    assert None is find_driver(kernel.root)
    assert [] == kernel.made()
    assert {os.getpid()} == kernel.processes(scope)


@pytest.mark.parametrize("own", ["../../somewhere", "not/mounted/here", ""])
def test_a_container(kernel: Kernel, own: str) -> None:
    """A path of /proc outside of the mounted tree is not followed: the top is used."""
    kernel.enter(kernel.top)
    kernel._write(kernel.root / "proc/self/cgroup", f"0::/{own}\n")
    made = driver(kernel)
    assert [""] == [str(Path(name).parent).strip(".") for name in kernel.made()]
    made.close()
    assert [] == kernel.made()


def test_a_box_whose_processes_will_not_go(kernel: Kernel, other: int) -> None:
    """The kernel is asked to kill the whole group before it is removed."""
    kernel.enter(kernel.top)
    made = driver(kernel)
    group = made.create_group(memory_bytes=1 << 20, processes=7)
    group.add_process(other)
    group.remove()
    assert 1 == len(kernel.made())
    made.close()
    assert [] == kernel.made()
