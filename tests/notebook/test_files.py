"""Files are read without following links."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from autograder.core.errors import NotebookError
from autograder.notebook.document import MAX_BYTES
from autograder.notebook.files import read_below, read_file


def code_of(path: Path) -> str:
    """Return the code of the error raised when the path is read."""
    with pytest.raises(NotebookError) as caught:
        read_file(path)
    return caught.value.code


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    """The bytes come back unchanged."""
    path = tmp_path / "exam.ipynb"
    path.write_bytes(b"\x00\xff{}")
    assert read_file(path) == b"\x00\xff{}"


def test_links_are_refused_and_told_apart(tmp_path: Path) -> None:
    """Links to a file, to themselves and to nowhere are refused; only the last are called dangling."""
    solution = tmp_path / "solution.ipynb"
    solution.write_text("{}")
    pointing, dangling, loop = (tmp_path / name for name in ("a.ipynb", "b.ipynb", "c.ipynb"))
    pointing.symlink_to(solution)
    dangling.symlink_to(tmp_path / "nowhere")
    loop.symlink_to(loop)
    assert [code_of(path) for path in (pointing, dangling, loop)] == [
        "symlink",
        "dangling-symlink",
        "dangling-symlink",
    ]


def test_folders_and_missing_files_are_named(tmp_path: Path) -> None:
    """A directory and a missing notebook have distinct codes."""
    (tmp_path / "folder.ipynb").mkdir()
    (tmp_path / "file").write_text("")
    assert code_of(tmp_path / "folder.ipynb") == "directory"
    assert code_of(tmp_path / "nothing.ipynb") == "missing"
    assert code_of(tmp_path / "file" / "below.ipynb") == "not-readable"
    assert code_of(tmp_path / ("x" * 300)) == "not-readable"
    assert code_of(tmp_path / "a\x00b") == "not-readable"


def test_a_socket_is_not_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets, which cannot be opened, are refused like pipes and devices, not treated as our error."""
    monkeypatch.chdir(tmp_path)  # the path of a socket has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("exam.ipynb")
    assert "not-a-file" == code_of(tmp_path / "exam.ipynb")


def test_a_second_name_of_a_file_is_refused_where_only_one_is_allowed(tmp_path: Path) -> None:
    """A hard link to the answer key is not read as a submission, but the answer key can be read."""
    key, submission = tmp_path / "key.ipynb", tmp_path / "exam.ipynb"
    key.write_bytes(b"{}")
    submission.hardlink_to(key)
    with pytest.raises(NotebookError) as caught:
        read_file(submission, only_name=True)
    assert "hard-link" == caught.value.code
    assert b"{}" == read_file(key)
    key.unlink()
    assert b"{}" == read_file(submission, only_name=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: only root can give files to others")
@pytest.mark.parametrize("below", [False, True], ids=["by its path", "below a folder"])
def test_link_to_a_classmates_file_costs_its_author_and_not_the_classmate(
    tmp_path: Path, *, below: bool
) -> None:
    """A hard link to another student's file is refused in the linking folder, but not in the owner's."""
    ada, bob = tmp_path / "ada", tmp_path / "bob"
    for folder, uid in ((ada, 61_998), (bob, 61_999)):
        folder.mkdir()
        os.chown(folder, uid, uid)
    (bob / "exam.ipynb").write_bytes(b"{}")
    os.chown(bob / "exam.ipynb", 61_999, 61_999)
    (ada / "exam.ipynb").hardlink_to(bob / "exam.ipynb")

    def content(folder: Path) -> bytes:
        return read_below(folder, "exam.ipynb") if below else read_file(folder / "exam.ipynb", only_name=True)

    assert b"{}" == content(bob)
    with pytest.raises(NotebookError) as caught:
        content(ada)
    assert "hard-link" == caught.value.code


def test_a_named_pipe_does_not_block(tmp_path: Path) -> None:
    """A named pipe without a writer is refused instead of blocking."""
    path = tmp_path / "pipe.ipynb"
    os.mkfifo(path)
    assert code_of(path) == "not-a-file"


def test_devices_are_refused() -> None:
    """A device is not a notebook."""
    assert code_of(Path("/dev/zero")) == "not-a-file"


def test_a_sparse_file_over_the_cap_is_refused(tmp_path: Path) -> None:
    """The size is checked before the file is read."""
    path = tmp_path / "huge.ipynb"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert code_of(path) == "too-large"


@pytest.mark.skipif(os.geteuid() == 0, reason="not applicable: root reads every file")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    """A file without read permission raises the code not-readable."""
    path = tmp_path / "secret.ipynb"
    path.write_text("{}")
    path.chmod(0)
    assert code_of(path) == "not-readable"
