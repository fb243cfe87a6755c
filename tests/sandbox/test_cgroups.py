"""Control groups on a fake file tree: version 2, version 1, and none."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.sandbox.outside import cgroups
from autograder.sandbox.outside.cgroups import Counts, Version1, Version2, find_driver

V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1_MOUNTS = (
    "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 23 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
)


class Tree:
    """A machine's /proc and /sys in a folder."""

    def __init__(self, root: Path, mounts: str, own: str) -> None:
        self.root = root
        (root / "proc/self").mkdir(parents=True)
        (root / "proc/self/mountinfo").write_text("1 1 0:1 / / rw - ext4 /dev/vda rw\n" + mounts)
        (root / "proc/self/cgroup").write_text(own)

    def folder(self, path: str, **files: str) -> Path:
        """Create a group with these files."""
        folder = self.root / "sys/fs/cgroup" / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(text)
        return folder


@pytest.fixture(autouse=True)
def _removable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the files first: in the real tree a group's files vanish with it."""
    remove = cgroups.remove_folder

    def with_files(folder: Path) -> None:
        if folder.is_dir():
            for file in folder.iterdir():
                if file.is_file():
                    file.unlink()
        remove(folder)

    monkeypatch.setattr(cgroups, "remove_folder", with_files)


def version_2(root: Path, controllers: str = "cpu memory pids") -> Tree:
    """Return a machine with version 2 and a delegated group of our own."""
    tree = Tree(root, V2_MOUNT, "0::/user/app\n")
    tree.folder("", cgroup__controllers=controllers)
    tree.folder("user/app", cgroup__controllers=controllers)
    return tree


def version_1(root: Path, own: str = "4:memory:/ours\n5:pids:/ours\n") -> Tree:
    """Return a machine with version 1."""
    tree = Tree(root, V1_MOUNTS, own)
    for name in ("memory", "pids", "memory/ours", "pids/ours"):
        tree.folder(name)
    return tree


def test_version_2_sets_every_bound(tmp_path: Path) -> None:
    """Memory, processes, swap and killing as a group are set in a group below our own."""
    version_2(tmp_path)
    driver = find_driver(tmp_path)
    assert isinstance(driver, Version2)
    assert "cgroup v2" == driver.name
    group = driver.create_group(memory_bytes=1 << 20, processes=7)
    (folder,) = (tmp_path / "sys/fs/cgroup/user/app").glob("autograder-*/box-0")
    group.add_process(4711)
    read = {file.name: file.read_text() for file in folder.iterdir()}
    assert {
        "memory.max": "1048576",
        "pids.max": "7",
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "cgroup.procs": "4711",
    } == read
    group.remove()
    assert not folder.exists()
    driver.close()
    assert [] == list((tmp_path / "sys/fs/cgroup/user/app").glob("autograder-*"))


def test_version_2_reads_what_the_kernel_counts(tmp_path: Path) -> None:
    """Kills for lack of memory and the peak are read; zero if the kernel does not report them."""
    version_2(tmp_path)
    driver = find_driver(tmp_path)
    assert driver is not None
    group = driver.create_group(memory_bytes=1, processes=1)
    assert (Counts(), 0) == (group.read_counts(), group.read_peak_bytes())
    (folder,) = tmp_path.glob("sys/fs/cgroup/user/app/autograder-*/box-0")
    (folder / "memory.events").write_text("low 0\noom 3\noom_kill 1\n")
    (folder / "pids.events").write_text("max 4\n")
    (folder / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n")
    (folder / "memory.peak").write_text("12345\n")
    assert (Counts(4, 1), 2.5, 12345) == (
        group.read_counts(),
        group.read_processor_seconds(),
        group.read_peak_bytes(),
    )


def test_version_2_without_the_controllers_is_not_used(tmp_path: Path) -> None:
    """A hierarchy that cannot limit memory is not used."""
    version_2(tmp_path, controllers="cpu io")
    assert find_driver(tmp_path) is None


def test_version_1_sets_every_bound_in_two_hierarchies(tmp_path: Path) -> None:
    """Memory with swap and processes are limited."""
    version_1(tmp_path)
    driver = find_driver(tmp_path)
    assert isinstance(driver, Version1)
    assert "cgroup v1" == driver.name
    group = driver.create_group(memory_bytes=1 << 20, processes=7)
    group.add_process(4711)
    read = {
        f"{file.relative_to(tmp_path / 'sys/fs/cgroup').parts[0]}/{file.name}": file.read_text()
        for file in tmp_path.glob("sys/fs/cgroup/*/ours/autograder-*/box-0/*")
    }
    assert {
        "memory/memory.limit_in_bytes": "1048576",
        "memory/memory.memsw.limit_in_bytes": "1048576",
        "memory/cgroup.procs": "4711",
        "pids/pids.max": "7",
        "pids/cgroup.procs": "4711",
    } == read
    group.remove()
    driver.close()
    assert [] == list(tmp_path.glob("sys/fs/cgroup/*/ours/autograder-*"))


def test_version_1_reads_what_the_kernel_counts(tmp_path: Path) -> None:
    """The counters have different file names in version 1."""
    version_1(tmp_path)
    driver = find_driver(tmp_path)
    assert driver is not None
    group = driver.create_group(memory_bytes=1, processes=1)
    assert (Counts(), 0) == (group.read_counts(), group.read_peak_bytes())
    (folder,) = tmp_path.glob("sys/fs/cgroup/memory/ours/autograder-*/box-0")
    (folder / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    (folder / "memory.max_usage_in_bytes").write_text("678\n")
    (pids,) = tmp_path.glob("sys/fs/cgroup/pids/ours/autograder-*/box-0")
    (pids / "pids.events").write_text("max 3\n")
    assert (Counts(3, 2), None, 678) == (
        group.read_counts(),
        group.read_processor_seconds(),
        group.read_peak_bytes(),
    )


def test_groups_that_nobody_removed_go_with_the_driver(tmp_path: Path) -> None:
    """Closing first the driver and then a group leaves nothing behind either."""
    for make, root in ((version_1, tmp_path / "1"), (version_2, tmp_path / "2")):
        make(root)
        driver = find_driver(root)
        assert driver is not None
        group = driver.create_group(memory_bytes=1, processes=1)
        driver.close()
        group.remove()
        driver.close()
        assert [] == list(root.rglob("autograder-*"))


def test_processors_are_shared_out_where_the_kernel_can(tmp_path: Path) -> None:
    """With a processor hierarchy each box is also a group there; without one all else is the same."""
    tree = version_1(tmp_path, own="4:memory:/ours\n5:pids:/ours\n6:cpu,cpuacct:/ours\n")
    mounts = tmp_path / "proc/self/mountinfo"
    mounts.write_text(
        mounts.read_text() + "33 23 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    )
    tree.folder("cpu/ours")
    driver = find_driver(tmp_path)
    assert driver is not None
    group = driver.create_group(memory_bytes=1, processes=1)
    group.add_process(4711)
    (processes,) = tmp_path.glob("sys/fs/cgroup/cpu/ours/autograder-*/box-0/cgroup.procs")
    assert "4711" == processes.read_text()
    group.remove()
    driver.close()
    assert [] == list(tmp_path.rglob("autograder-*"))


@pytest.mark.parametrize(
    ("version", "file", "expected"), [("v1", "cpu.shares", "110"), ("v2", "cpu.weight.nice", "10")]
)
def test_boxes_of_a_grader_in_the_background_get_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, file: str, expected: str
) -> None:
    """The group of all boxes gets the niceness of the grader, in each version's format."""
    make_folder = Path.mkdir

    def make_with_file(folder: Path, *arguments: object, **options: object) -> None:
        make_folder(folder, *arguments, **options)  # type: ignore[arg-type]
        if folder.name.startswith("autograder-"):
            (folder / file).write_text("as by default")

    (version_1 if version == "v1" else version_2)(tmp_path)
    monkeypatch.setattr(Path, "mkdir", make_with_file)
    monkeypatch.setattr("os.nice", lambda _: 10)
    assert find_driver(tmp_path) is not None
    assert {expected} == {path.read_text() for path in tmp_path.rglob(f"autograder-*/{file}")}


def test_version_2_shares_out_processors_only_where_it_may(tmp_path: Path) -> None:
    """The controller is enabled if it is delegated, and not used otherwise."""
    for controllers, wanted in (("cpu memory pids", "+cpu"), ("memory pids", "+memory +pids")):
        version_2(tmp_path / wanted, controllers=controllers)
        assert isinstance(find_driver(tmp_path / wanted), Version2)
        (control,) = (tmp_path / wanted).rglob("autograder-*/cgroup.subtree_control")
        assert wanted == control.read_text()


def test_version_1_needs_both_hierarchies(tmp_path: Path) -> None:
    """If one of them is missing, the folder created in the other is removed."""
    version_1(tmp_path)
    for name in ("pids/ours", "pids"):
        (tmp_path / "sys/fs/cgroup" / name).rmdir()
    assert find_driver(tmp_path) is None
    assert [] == list(tmp_path.rglob("autograder-*"))


def test_an_unknown_own_group_falls_back_to_the_top(tmp_path: Path) -> None:
    """In a container the path in /proc may be outside of the mounted tree."""
    version_1(tmp_path, own="4:memory:/elsewhere\n5:pids:/elsewhere\n")
    assert isinstance(find_driver(tmp_path), Version1)
    assert 2 == len(list(tmp_path.glob("sys/fs/cgroup/*/autograder-*")))


def test_no_hierarchy_is_no_driver(tmp_path: Path) -> None:
    """Neither an empty machine nor one without /proc raises an error."""
    Tree(tmp_path, "", "")
    assert find_driver(tmp_path) is None
    assert find_driver(tmp_path / "absent") is None
