"""Test `student.read_file` in the process of an author."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from autograder.checking.loader import DefinedNames
from autograder.checking.outcomes import MissingFile, UnreadableFile


@pytest.fixture
def student() -> DefinedNames:
    """Return an answer that defines nothing."""
    return DefinedNames(lambda name: None, DefinedNames)  # type: ignore[arg-type]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], str]:
    """Write a file; return its path."""

    def write_file(name: str, data: bytes) -> str:
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return write_file


def npy(array: np.ndarray) -> bytes:
    """Return the file of an array; objects are pickled."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


READ: dict[str, tuple[str, bytes, type, Any]] = {
    "a column": ("a.csv", b"1\n2\n", int, [1, 2]),
    "rows of a spreadsheet": ("a.csv", b'\xef\xbb\xbf"x","y"\r\n"1","2.5"\r\n\r\n', float, [[1, 2.5]]),
    "texts": ("a.csv", b'cat\n"a, b"\n', str, ["cat", "a, b"]),
    "spaces": ("a.txt", b"1 2\n 3  4", float, [[1, 2], [3, 4]]),
    "an array": ("a.npy", npy(np.eye(2)), float, [[1, 0], [0, 1]]),
    "plain data": ("a.json", json.dumps({"a": [1]}).encode(), float, {"a": [1]}),
    "bytes": ("a.bin", b"\0", float, b"\0"),
}


@pytest.mark.parametrize("case", READ.values(), ids=READ)
def test_files_are_plain_data(
    student: DefinedNames, write: Callable[[str, bytes], str], case: tuple[str, bytes, type, Any]
) -> None:
    name, data, dtype, expected = case
    found = student.read_file(write(name, data), dtype)
    assert expected == (found.tolist() if isinstance(found, np.ndarray) else found)


def test_a_checkpoint_is_its_tensors(student: DefinedNames, write: Callable[[str, bytes], str]) -> None:
    found = student.read_file(write("a.safetensors", save({"w": np.ones((2, 3), np.float32)})))
    assert {"w": (2, 3)} == {name: tuple(one.shape) for name, one in found.items()}


UNREADABLE: dict[str, tuple[str, bytes, str]] = {
    "a word": ("a.csv", b"1\nx\n", ":2"),
    "a shorter row": ("a.csv", b"1,2\n1,2\n3\n", ":3"),
    "a header alone": ("a.csv", b"x\n", ""),
    "no text": ("a.csv", b"\xff\xfe", ""),
    "numbers too large for an integer": ("a.csv", b"9" * 400, ""),
    "pickled objects": ("a.npy", npy(np.array([object], object)), ""),
    "no array": ("a.npy", b"1,2", ""),
    "no JSON": ("a.json", b"{", ""),
    "nested JSON": ("a.json", b"[" * 100_000, ""),
    "no checkpoint": ("a.safetensors", b"\xff" * 100, ""),
}


@pytest.mark.parametrize(("name", "data", "line"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_such_file_is_named(
    student: DefinedNames, write: Callable[[str, bytes], str], name: str, data: bytes, line: str
) -> None:
    path = write(name, data)
    with pytest.raises(UnreadableFile) as raised:
        student.read_file(path, int)
    assert path + line == raised.value.path


def test_a_missing_file_is_told_apart(student: DefinedNames, tmp_path: Path) -> None:
    with pytest.raises(MissingFile):
        student.read_file(str(tmp_path / "none.csv"))
    with pytest.raises(UnreadableFile):
        student.read_file(str(tmp_path))
