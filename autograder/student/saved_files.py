"""Looks at files that are handed in beside a notebook: which are there, how large, readable, of what form.

Nothing of them is run or unpickled: of arrays only the descriptions are read, and modules are parsed.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograder.checks.values.literal import syntax_fault
from autograder.errors import NotebookError
from autograder.messages.catalogue import sentence
from autograder.notebook.match import canonical
from autograder.student.report import MISSING, PROBLEM, READY, ReportLine, written_size

Handed = Mapping[str, bytes | NotebookError]
"""What lies beside a notebook: path → content, or why it cannot be read."""
_MOST_NAMED = 6
_MOST_DESCRIPTION = 1 << 20
_LENGTH_BYTES = 8
_PICTURES = {".png": b"\x89PNG\r\n\x1a\n", ".jpg": b"\xff\xd8\xff", ".jpeg": b"\xff\xd8\xff"}


class _Unreadable(Exception):
    """The content is not in the format of its ending."""


def content_of(path: str, handed: Handed) -> bytes | NotebookError:
    """A file at its path or, as browsers hand it in, without its folders."""
    found = handed.get(path, handed.get(path.rpartition("/")[2]))
    return NotebookError("missing", f"{path}: not there") if found is None else found


def look_at(asked: Mapping[str, Any], handed: Handed, language: str) -> Iterator[ReportLine]:
    """What is said of one file; nothing where it may be missing and is.

    Args:
        asked: what the specification says of it.
        handed: what is there.
        language: of the lines.
    """
    path, most = asked["path"], asked["most"]
    content = content_of(path, handed)
    if isinstance(content, NotebookError) and content.code == "missing":
        if not asked["optional"]:
            yield ReportLine(MISSING, sentence("student.file-missing", language, name=path))
        return
    if isinstance(content, bytes) and len(content) > most:
        content = NotebookError("too-large", "")
    if isinstance(content, NotebookError):
        code = "too-large" if content.code == "too-large" else "unreadable"
        limit = written_size(most)
        yield ReportLine(PROBLEM, sentence(f"student.file-{code}", language, name=path, limit=limit))
    elif asked["starter"] == digest(content):
        yield ReportLine(MISSING, sentence("student.file-as-given", language, name=path))
    else:
        yield _described(path, content, language)


def digest(content: bytes) -> str:
    """Of a file as it was given out; blanks at the ends of lines do not count."""
    return hashlib.sha256(canonical(text_of(content)).encode()).hexdigest()


def text_of(content: bytes) -> str:
    """A file as text."""
    return content.decode(errors="replace").replace("\r\n", "\n")


def _described(path: str, content: bytes, language: str) -> ReportLine:
    size = written_size(len(content))
    if path.endswith(".py") and (fault := syntax_fault(text_of(content))):
        line = fault.params.get("line", "–")
        return ReportLine(PROBLEM, sentence("student.file-not-python", language, name=path, line=line))
    try:
        found = form_of(path, content)
    except (_Unreadable, ValueError, EOFError, OSError, RecursionError, zipfile.BadZipFile):
        ending = path.rpartition(".")[2]
        return ReportLine(PROBLEM, sentence("student.file-broken", language, name=path, form=ending))
    told = f"{size}: {found}" if found else size
    return ReportLine(READY, sentence("student.there", language, name=path, found=told))


def form_of(path: str, content: bytes) -> str:
    """What a file holds, by its ending: names, types and shapes of arrays; empty where nothing is known.

    Raises:
        ValueError: it is not in the format (or `_Unreadable`, `EOFError`, `OSError`, `zipfile.BadZipFile`).
    """
    if path.endswith(".npy"):
        return _array(io.BytesIO(content))
    if path.endswith(".npz"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _listed(
                f"{name.removesuffix('.npy')} {_member(archive, name)}" for name in archive.namelist()
            )
    if path.endswith(".safetensors"):
        return _listed(_tensors(content))
    if path.endswith(".csv"):
        table = np.loadtxt(io.BytesIO(content), delimiter=",", ndmin=2)
        return _shape(table.shape)
    if path.endswith(".json"):
        json.loads(content)
    beginning = _PICTURES.get(f".{path.rpartition('.')[2].lower()}")
    if beginning and not content.startswith(beginning):
        raise _Unreadable
    return ""


def _member(archive: zipfile.ZipFile, name: str) -> str:
    with archive.open(name) as file:
        return _array(file)


def _array(file: Any) -> str:
    """Type and shape of an array as numpy saves it; of Python's objects there is none to be read."""
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read:
        raise _Unreadable
    shape, _, dtype = read[version](file)
    if dtype.hasobject:
        raise _Unreadable
    return f"{dtype.name} {_shape(shape)}"


def _tensors(content: bytes) -> Iterator[str]:
    length = int.from_bytes(content[:_LENGTH_BYTES], "little")
    if not 0 < length <= min(_MOST_DESCRIPTION, len(content) - _LENGTH_BYTES):
        raise _Unreadable
    described = json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + length])
    if not isinstance(described, dict):
        raise _Unreadable
    room = len(content) - _LENGTH_BYTES - length
    for name, one in described.items():
        if name == "__metadata__":
            continue
        if not isinstance(one, dict) or not _is_place(one.get("data_offsets"), room):
            raise _Unreadable
        yield f"{name} {one.get('dtype')} {_shape(one.get('shape', ()))}"


def _is_place(offsets: Any, room: int) -> bool:
    numbers = isinstance(offsets, list) and len(offsets) == 2 and all(isinstance(one, int) for one in offsets)
    return numbers and 0 <= offsets[0] <= offsets[1] <= room


def _shape(shape: Any) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _listed(parts: Iterator[str]) -> str:
    known = list(parts)
    return ", ".join(known[:_MOST_NAMED]) + (", …" if len(known) > _MOST_NAMED else "")
