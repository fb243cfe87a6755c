"""Memory and processor time of a process tree: private pages only, children included."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from autograder.sandbox.outside.watch import Watchdog


def process(root: Path, pid: int, anonymous: int, shared: int, children: str = "") -> None:
    """Write one process of a fake /proc; sizes in kB."""
    task = root / str(pid) / "task" / str(pid)
    task.mkdir(parents=True)
    (task / "children").write_text(children)
    (root / str(pid) / "smaps_rollup").write_text(
        f"Rss: 9999 kB\nPss: 9999 kB\nPss_Anon: {anonymous} kB\nPss_File: 77777 kB\nPss_Shmem: {shared} kB\n"
    )


def tree_bytes(pid: int, proc: Path = Path("/proc")) -> int:
    """Return private and shared-anonymous memory of a process and all its descendants."""
    return Watchdog(pid, proc).measure_tree(enough=-1).memory_bytes


def test_own_and_shared_pages_of_all_descendants_are_added(tmp_path: Path) -> None:
    """File pages, which are shared with the zygote, are not counted."""
    process(tmp_path, 1, 10, 1, "2 3")
    process(tmp_path, 2, 20, 2, "4 ")
    process(tmp_path, 3, 30, 3)
    process(tmp_path, 4, 40, 4)
    process(tmp_path, 5, 99, 9)
    assert (10 + 1 + 20 + 2 + 30 + 3 + 40 + 4) << 10 == tree_bytes(1, tmp_path)


def test_children_of_every_thread_are_found(tmp_path: Path) -> None:
    """A thread may fork, too."""
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


def busy(root: Path, pid: int, own: int, waited_for: int = 0, started: int = 100) -> None:
    """Write the processor ticks of a fake process."""
    fields = [*"0123456789", str(own), "0", str(waited_for), "0", "20", "0", "1", "0", str(started)]
    (root / str(pid) / "stat").write_text(f"{pid} (a) b) S {' '.join(fields)} 0\n")


TICKS = os.sysconf("SC_CLK_TCK")


def test_processor_time_of_all_descendants_is_added(tmp_path: Path) -> None:
    """The time of processes that they have waited for is included."""
    process(tmp_path, 1, 1, 0, "2")
    process(tmp_path, 2, 1, 0)
    busy(tmp_path, 1, TICKS, 2 * TICKS)
    busy(tmp_path, 2, 3 * TICKS)
    dog = Watchdog(1, tmp_path)
    assert (6.0, 2) == (dog.measure_tree().processor_seconds, dog.measure_tree().tasks)
    assert (6.0, 2) == (dog.processor_seconds, dog.most_tasks)


def test_what_a_process_used_is_remembered_when_nobody_waited_for_it(tmp_path: Path) -> None:
    """The time stays counted; a new process with the same number is counted separately."""
    process(tmp_path, 1, 1, 0, "2")
    process(tmp_path, 2, 1, 0)
    busy(tmp_path, 1, 0)
    busy(tmp_path, 2, 4 * TICKS)
    dog = Watchdog(1, tmp_path)
    dog.measure_tree()
    busy(tmp_path, 2, TICKS, started=200)
    dog.measure_tree()
    assert 5.0 == dog.processor_seconds
    (tmp_path / "1/task/1/children").write_text("")
    assert (0.0, 1) == (dog.measure_tree().processor_seconds, dog.measure_tree().tasks)
    assert (5.0, 2) == (dog.processor_seconds, dog.most_tasks)


def test_this_process_has_used_a_processor() -> None:
    """The real /proc has the fields that are read."""
    spent = time.process_time()
    dog = Watchdog(os.getpid())
    assert spent - 0.1 <= dog.measure_tree().processor_seconds
    assert dog.most_tasks >= 1


@pytest.mark.parametrize(("enough", "seen"), [(-1, 33), (59, 33), (60, 60), (1000, 60)])
def test_an_upper_bound_does_where_it_is_small_enough(tmp_path: Path, enough: int, seen: int) -> None:
    """Shared pages are counted exactly only if the upper bound exceeds the limit."""
    for pid, children in ((1, "2"), (2, "")):
        process(tmp_path, pid, 10 + pid, 5, children)
        (tmp_path / str(pid) / "status").write_text("RssAnon:\t 20 kB\nRssFile:\t 999 kB\nRssShmem: 10 kB\n")
    assert (
        seen << 10
        == Watchdog(1, tmp_path).measure_tree(enough=enough << 10 if enough > 0 else -1).memory_bytes
    )


def test_the_real_upper_bound_is_no_less_than_the_number() -> None:
    """The kernel's two files agree about this process, up to changes in the meantime."""
    dog = Watchdog(os.getpid())
    exact, most = (dog.measure_tree(enough=enough).memory_bytes for enough in (-1, 1 << 62))
    assert 0 < exact <= most * 1.1
