"""Control groups of killed graders are removed, those of running ones and others stay."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from autograder.sandbox.outside import cgroups
from autograder.sandbox.outside.cgroups import build_group_name, sweep_groups

NAMESPACE = 4026531836
HOUR = 3_600_000_000_000


class Machine:
    """A fake /proc and tree of control groups, an hour after its start."""

    def __init__(self, root: Path, own: str = "/user/session-3") -> None:
        self.root = root
        self.top = root / "sys/fs/cgroup"
        (root / "proc/self/ns").mkdir(parents=True)
        (root / "proc/self/ns/pid").symlink_to(f"pid:[{NAMESPACE}]")
        (root / "proc/self/cgroup").write_text(f"0::{own}\n")
        mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
        (root / "proc/self/mountinfo").write_text("1 1 0:1 / / rw - ext4 /dev/vda rw\n" + mount)
        (self.top / own.strip("/")).mkdir(parents=True)

    def process(self, pid: int, *, started: int, state: str = "S") -> None:
        """Add a process that started this many nanoseconds after the machine."""
        folder = self.root / "proc" / str(pid)
        folder.mkdir()
        ticks = started * os.sysconf("SC_CLK_TCK") // 1_000_000_000
        (folder / "stat").write_text(f"{pid} (a) b) {state} " + "0 " * 18 + f"{ticks} 0\n")

    def group(self, place: str, pid: int = 77, made: int = HOUR, namespace: int = NAMESPACE) -> Path:
        """Add a grader's folder with the folder of a box in it."""
        folder = self.top / place / f"autograder-{pid}-{namespace}-{made}"
        (folder / "box-0").mkdir(parents=True)
        return folder


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine without processes."""
    return Machine(tmp_path)


@pytest.mark.parametrize("place", ["", "user", "user/session-3", "user/session-2"])
def test_the_groups_of_the_dead_are_removed(machine: Machine, place: str) -> None:
    """Groups at the top, in our own group, in its parent and in its siblings (other sessions) are removed."""
    orphan = machine.group(place)
    assert [orphan] == sweep_groups(machine.root)
    assert not orphan.exists()
    assert (machine.top / "user/session-3").is_dir()


def test_the_group_of_a_living_grader_stays(machine: Machine) -> None:
    """Its owner is older than the group."""
    machine.process(77, started=HOUR - 1_000_000_000)
    living = machine.group("user")
    assert [] == sweep_groups(machine.root)
    assert (living / "box-0").is_dir()


def test_a_number_given_out_again_does_not_protect(machine: Machine) -> None:
    """A process younger than the group did not create it."""
    machine.process(77, started=HOUR + 1_000_000_000)
    orphan = machine.group("user")
    assert [orphan] == sweep_groups(machine.root)


@pytest.mark.parametrize("state", ["Z", "X"])
def test_a_dead_process_that_nobody_has_collected_does_not_protect(machine: Machine, state: str) -> None:
    """A zombie counts as ended."""
    machine.process(77, started=0, state=state)
    assert [machine.group("user")] == sweep_groups(machine.root)


def test_the_groups_of_another_process_namespace_stay(machine: Machine) -> None:
    """A container's process ids mean nothing here."""
    theirs = machine.group("user", namespace=NAMESPACE + 1)
    assert [] == sweep_groups(machine.root)
    assert theirs.is_dir()


@pytest.mark.parametrize(
    "name",
    ["autograder", "autograder-77", "autograder-77-1", "autograder-77-1-2-3", "autograder-x-1-2", "box-0"],
)
def test_other_names_stay(machine: Machine, name: str) -> None:
    """Only names in the grader's format are removed."""
    (machine.top / name).mkdir()
    assert [] == sweep_groups(machine.root)
    assert (machine.top / name).is_dir()


def test_a_process_that_cannot_be_read_protects(machine: Machine) -> None:
    """If in doubt, a group stays."""
    (machine.root / "proc/77").mkdir()
    (machine.root / "proc/77/stat").write_text("77 (cut")
    machine.group("user")
    assert [] == sweep_groups(machine.root)


@pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: only root can give a folder away")
def test_the_groups_of_other_users_stay(machine: Machine) -> None:
    """Only its owner removes it."""
    os.chown(machine.group("user"), 60_000, 60_000)
    assert [] == sweep_groups(machine.root)


def test_links_are_not_followed(machine: Machine, tmp_path: Path) -> None:
    """A link with one of our names is not followed."""
    (tmp_path / "elsewhere").mkdir()
    (machine.top / f"autograder-77-{NAMESPACE}-1").symlink_to(tmp_path / "elsewhere")
    assert [] == sweep_groups(machine.root)
    assert (tmp_path / "elsewhere").is_dir()


@pytest.mark.parametrize("own", ["/../../elsewhere", "/not/there"])
def test_a_group_that_is_not_mounted_is_no_place(tmp_path: Path, own: str) -> None:
    """The kernel shows unmounted groups with dots; then only the top is searched."""
    machine = Machine(tmp_path, own="/user")
    (tmp_path / "proc/self/cgroup").write_text(f"0::{own}\n")
    orphan = machine.group("")
    assert [orphan] == sweep_groups(machine.root)


def test_a_machine_without_control_groups_is_clean(tmp_path: Path) -> None:
    """A missing /proc raises no error."""
    assert [] == sweep_groups(tmp_path)


def test_names_are_ours_and_differ() -> None:
    """The name contains this process's id, and all names differ."""
    first, second = build_group_name(), build_group_name()
    assert first != second
    assert first.startswith(f"autograder-{os.getpid()}-")
    assert not cgroups._is_orphan(first, Path("/"))


@pytest.mark.sandbox
def test_a_killed_grader_leaves_nothing_after_the_next_sweep() -> None:
    """A child creates groups, adds a process and is killed: group and process are removed; ours stay."""
    ours = cgroups.find_driver()
    if ours is None:
        pytest.skip("not applicable: this user may not make control groups")
    sweep_groups()  # left by others
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        theirs = cgroups.find_driver()
        assert theirs is not None
        group = theirs.create_group(memory_bytes=64 << 20, processes=8)
        if os.fork() == 0:
            group.add_process(os.getpid())
            os.write(writer, b"%d\n" % os.getpid())
            time.sleep(60)
            os._exit(0)
        time.sleep(60)
        os._exit(0)
    inmate = int(os.read(reader, 100))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    removed = sweep_groups()
    assert {f"autograder-{child}"} == {"-".join(folder.name.split("-")[:2]) for folder in removed}
    assert not any(folder.exists() for folder in removed)
    state = Path(f"/proc/{inmate}/stat")
    assert not state.exists() or state.read_text().rpartition(") ")[2][0] in "ZX"
    box = ours.create_group(memory_bytes=64 << 20, processes=8)
    box.remove()
    ours.close()
