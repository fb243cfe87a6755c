"""The memory of a tree of processes: own pages only, children included."""

from __future__ import annotations

import os
from pathlib import Path

from autograder.sandbox.watchdog import tree_bytes


def process(root: Path, pid: int, anonymous: int, shared: int, children: str = "") -> None:
    """One process of a faked /proc; sizes in kB."""
    task = root / str(pid) / "task" / str(pid)
    task.mkdir(parents=True)
    (task / "children").write_text(children)
    (root / str(pid) / "smaps_rollup").write_text(
        f"Rss: 9999 kB\nPss: 9999 kB\nPss_Anon: {anonymous} kB\nPss_File: 77777 kB\nPss_Shmem: {shared} kB\n"
    )


def test_own_and_shared_pages_of_all_descendants_are_added(tmp_path: Path) -> None:
    """File pages, which the zygote shares, do not count."""
    process(tmp_path, 1, 10, 1, "2 3")
    process(tmp_path, 2, 20, 2, "4 ")
    process(tmp_path, 3, 30, 3)
    process(tmp_path, 4, 40, 4)
    process(tmp_path, 5, 99, 9)
    assert (10 + 1 + 20 + 2 + 30 + 3 + 40 + 4) << 10 == tree_bytes(1, tmp_path)


def test_children_of_every_thread_are_found(tmp_path: Path) -> None:
    """A thread may fork too."""
    process(tmp_path, 1, 10, 0)
    (tmp_path / "1/task/7").mkdir()
    (tmp_path / "1/task/7/children").write_text("2")
    process(tmp_path, 2, 20, 0)
    assert 30 << 10 == tree_bytes(1, tmp_path)


def test_a_process_that_has_ended_counts_nothing(tmp_path: Path) -> None:
    """It may end between two looks."""
    process(tmp_path, 1, 10, 0, "2")
    assert 10 << 10 == tree_bytes(1, tmp_path)
    assert 0 == tree_bytes(77, tmp_path)


def test_this_process_has_memory_of_its_own() -> None:
    """The real /proc has the lines that are read."""
    assert tree_bytes(os.getpid()) > 1 << 20
