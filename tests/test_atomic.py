"""Files are written atomically; partial files of killed writers are removed, those of running ones kept."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autograder.core import atomic

PARTIAL = ".autograder-0123456789abcdef.partial"


def names(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_a_file_is_replaced_with_its_permissions(tmp_path: Path, mode: int) -> None:
    """Content and permissions are as requested, regardless of the old file and the umask."""
    path = tmp_path / "page.html"
    path.write_bytes(b"old")
    before = os.umask(0o077)
    try:
        atomic.write_bytes(path, b"new", mode=mode)
    finally:
        os.umask(before)
    assert b"new" == path.read_bytes()
    assert mode == path.stat().st_mode & 0o777
    assert ["page.html"] == names(tmp_path)


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """The target of the link is unchanged."""
    (tmp_path / "elsewhere").write_bytes(b"kept")
    path = tmp_path / "page.html"
    path.symlink_to("elsewhere")
    atomic.write_bytes(path, b"new")
    assert not path.is_symlink()
    assert b"kept" == (tmp_path / "elsewhere").read_bytes()


def test_a_write_that_fails_changes_nothing(tmp_path: Path) -> None:
    """If the target cannot be replaced, it is kept and no partial file remains."""
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(OSError, match="folder"):
        atomic.write_bytes(path, b"new")
    assert ["folder"] == names(tmp_path)


def test_a_name_of_any_length_can_be_written(tmp_path: Path) -> None:
    """The length of the partial file's name does not depend on the target."""
    path = tmp_path / ("ü" * 127)
    atomic.write_bytes(path, b"x")
    assert [path.name] == names(tmp_path)


WRITER = """
import os, sys, time
from pathlib import Path
from autograder.core import atomic
chmod = Path.chmod
def stop(path, mode):
    print("writing", flush=True)
    time.sleep(60)
Path.chmod = stop
atomic.write_bytes(Path(sys.argv[1]), b"half")
"""


def test_the_partial_file_of_a_killed_writer_is_removed_by_the_next(tmp_path: Path) -> None:
    """A running writer's partial file is kept; after a kill, the next writer removes it."""
    path = tmp_path / "page.html"
    root = str(Path(atomic.__file__).parents[1])
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root}) as writer:
        assert writer.stdout is not None
        assert b"writing\n" == writer.stdout.readline()
        partial = names(tmp_path)
        assert [] == atomic.sweep_partials(tmp_path)
        atomic.write_bytes(path, b"another writer")
        assert sorted([*partial, "page.html"]) == names(tmp_path)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    atomic.write_bytes(path, b"the next one")
    assert ["page.html"] == names(tmp_path)
    assert b"the next one" == path.read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "page.html",
        ".partial",
        ".autograder-1.partial",
        f"x{PARTIAL}",
        f"{PARTIAL}.html",
        ".autograder-" + "g" * 16,
    ],
)
def test_nothing_else_is_removed(tmp_path: Path, name: str) -> None:
    """Only files with names of partial files are removed."""
    (tmp_path / name).write_bytes(b"kept")
    assert [] == atomic.sweep_partials(tmp_path)
    assert [name] == names(tmp_path)


def test_links_folders_and_pipes_of_that_name_are_left(tmp_path: Path) -> None:
    """Links, folders and pipes are kept, because opening them could follow a link or block."""
    (tmp_path / "file").write_bytes(b"kept")
    (tmp_path / PARTIAL).symlink_to("file")
    (tmp_path / PARTIAL.replace("0", "1")).mkdir()
    os.mkfifo(tmp_path / PARTIAL.replace("0", "2"))
    assert [] == atomic.sweep_partials(tmp_path)
    assert 4 == len(names(tmp_path))


@pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: only root can give a file away")
def test_the_files_of_others_are_left(tmp_path: Path) -> None:
    """Files of other owners are kept despite their names."""
    (tmp_path / PARTIAL).write_bytes(b"theirs")
    os.chown(tmp_path / PARTIAL, 60_000, 60_000)
    assert [] == atomic.sweep_partials(tmp_path)
    os.chown(tmp_path / PARTIAL, os.geteuid(), -1)
    assert [tmp_path / PARTIAL] == atomic.sweep_partials(tmp_path)


def test_a_folder_that_is_not_there_is_clean(tmp_path: Path) -> None:
    """Sweeping a missing folder raises nothing."""
    assert [] == atomic.sweep_partials(tmp_path / "absent")


def test_many_writers_and_sweepers_do_not_disturb_one_another(tmp_path: Path) -> None:
    """All concurrent writes succeed and leave no partial files."""
    failures: list[OSError] = []

    def work(number: int) -> None:
        try:
            for turn in range(60):
                atomic.write_bytes(tmp_path / f"{number}", b"%d" % turn)
                atomic.sweep_partials(tmp_path)
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == failures
    assert [b"59"] * 6 == [(tmp_path / f"{number}").read_bytes() for number in range(6)]
    assert [str(number) for number in range(6)] == names(tmp_path)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """Pipes, sockets, devices, folders and links to them are refused immediately; files are read."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "linked-pipe").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name in ("pipe", "linked-pipe", "socket", "/dev/zero"):
            with pytest.raises(OSError, match="not a regular file"):
                atomic.read_bytes(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        atomic.read_bytes(tmp_path / "folder")
    with pytest.raises(FileNotFoundError):
        atomic.read_bytes(tmp_path / "nothing")
    assert b"text" == atomic.read_bytes(tmp_path / "link")


def test_no_more_is_read_than_is_wanted(tmp_path: Path) -> None:
    """A file longer than the limit is refused; one of exactly that length is read."""
    (tmp_path / "file").write_bytes(b"text")
    assert b"text" == atomic.read_bytes(tmp_path / "file", most=4)
    with pytest.raises(OSError, match="longer than 3 bytes"):
        atomic.read_bytes(tmp_path / "file", most=3)
