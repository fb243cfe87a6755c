"""Reading of files next to a student's notebook, submitted or written by it. Nothing is unpickled."""

from __future__ import annotations

import csv
import importlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograder.checking.outcomes import MissingFile, UnreadableFile

READER = "def read(path):\n    with open(path, 'rb') as file:\n        return file.read()\n"
"""Runs in the student's sandbox, so their code can change it: it affects only that student's file."""
TABLES = ("csv", "txt")


def read_file(read: Callable[[str], Any], path: str, dtype: type = float) -> Any:
    """Return the contents of a file; see `autograder.checking.loader.DefinedNames.read_file`.

    Args:
        read: returns the bytes of a file in the student's sandbox.
        path: of the file.
        dtype: of the entries of a table.

    Raises:
        UnreadableFile: there is no such file, or it is not what its name says.
    """
    try:
        data = read(path)
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    except OSError as error:
        raise UnreadableFile(path, str(error)) from error
    if type(data) is not bytes:
        raise UnreadableFile(path, "it does not hold bytes")
    ending = path.rpartition(".")[2].lower()
    if ending == "safetensors":  # outside of `try`: a library that is not there is no fault of the file
        importlib.import_module(_name_tensor_library())
    try:
        return _parse_data(data, path, ending, dtype)
    except UnreadableFile:
        raise
    except Exception as error:  # parsers raise many kinds of exceptions for hostile files
        raise UnreadableFile(path, f"{type(error).__name__}: {error}") from error


def _name_tensor_library() -> str:
    return f"safetensors.{'torch' if 'torch' in sys.modules else 'numpy'}"


def _parse_data(data: bytes, path: str, ending: str, dtype: type) -> Any:
    if ending == "npy":
        return np.load(io.BytesIO(data), allow_pickle=False)
    if ending == "json":
        return json.loads(data)
    if ending == "safetensors":
        return importlib.import_module(_name_tensor_library()).load(data)
    if ending not in TABLES:
        return data
    lines = data.decode("utf-8-sig").splitlines()  # spreadsheets write a byte order mark
    rows = list(_read_rows(csv.reader(lines) if ending == "csv" else map(str.split, lines), path, dtype))
    if not rows:
        raise UnreadableFile(path, "it has no rows")
    table: np.ndarray = np.array(rows, dtype)
    return table[:, 0] if table.shape[1] == 1 else table


def _read_rows(rows: Iterator[list[str]], path: str, dtype: type) -> Iterator[list[Any]]:
    width = 0
    for number, cells in enumerate(rows, 1):
        if not cells:
            continue
        try:
            row = [dtype(cell) for cell in cells]
        except ValueError as error:
            if number == 1 and not any(map(_is_number, cells)):  # a header
                continue
            raise UnreadableFile(f"{path}:{number}", str(error)) from error
        width = width or len(row)
        if len(row) != width:
            raise UnreadableFile(f"{path}:{number}", f"{len(row)} columns, and {width} before")
        yield row


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
