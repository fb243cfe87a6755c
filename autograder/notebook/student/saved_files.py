"""Examine files submitted with a notebook: which are there, how large, readable, in which form.

Nothing in them is run or unpickled: of arrays only the headers are read, and modules are parsed.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from autograder.core.errors import NotebookError
from autograder.messages.catalogue import format_sentence
from autograder.notebook.document import normalize_source
from autograder.notebook.student.report import MISSING, PROBLEM, READY, ReportLine, format_size
from autograder.questions.base.values.literal import find_syntax_fault

Handed = Mapping[str, bytes | NotebookError]
"""Files next to a notebook: path → content, or why it cannot be read."""
_MOST_NAMED = 6
_MOST_HEADER = 64 << 10
_HEADER = re.compile(
    rb"\x93NUMPY[\x01-\x03]\x00.{2,4}?\{'descr': '[<>|=]?([a-zA-Z])([0-9]{0,6})', "
    rb"'fortran_order': (?:True|False), 'shape': \(([0-9, ]{0,200})\), \}[ ]*\n",
    re.DOTALL,
)
"""Header of an array with one type, as numpy writes it."""
_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex", "U": "text", "S": "bytes"}
_UNICODE_BYTES = 4


class _Unreadable(Exception):
    """The content is not in the format of its suffix."""


_FAULTS = (_Unreadable, ValueError, EOFError, OSError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""Exceptions of reading a damaged file, or an archive that is encrypted or compressed in another way."""


def find_content(path: str, handed: Handed) -> bytes | NotebookError:
    """Return a file at its path or, as browsers submit it, without its folders."""
    # The path as stated wins over the bare name.
    content = handed.get(path, handed.get(path.rpartition("/")[2]))
    return NotebookError("missing", f"{path}: not there") if content is None else content


def report_file(file_spec: Mapping[str, Any], handed: Handed, language: str) -> Iterator[ReportLine]:
    """Yield the lines about one file; none if it is optional and missing.

    Args:
        file_spec: entry of the file in the specification.
        handed: the files that are there.
        language: language of the lines.
    """
    path, most = file_spec["path"], file_spec["most"]
    content = find_content(path, handed)
    if isinstance(content, NotebookError) and content.code == "missing":
        if not file_spec["optional"]:
            yield ReportLine(MISSING, format_sentence("student.file-missing", language, name=path))
        return
    if isinstance(content, bytes) and len(content) > most:
        content = NotebookError("too-large", "")
    if isinstance(content, NotebookError):
        code = "student.file-too-large" if content.code == "too-large" else "student.file-unreadable"
        yield ReportLine(PROBLEM, format_sentence(code, language, name=path, limit=format_size(most)))
    elif file_spec["starter"] == compute_digest(content):
        # An unchanged starter file is no answer.
        yield ReportLine(MISSING, format_sentence("student.file-as-given", language, name=path))
    else:
        yield _describe_file(path, content, language)


def compute_digest(content: bytes) -> str:
    """Return the digest of a released file; blanks at the ends of lines do not count."""
    return hashlib.sha256(normalize_source(decode_text(content)).encode()).hexdigest()


def decode_text(content: bytes) -> str:
    """Return a file as text."""
    return content.decode(errors="replace").replace("\r\n", "\n")


def _describe_file(path: str, content: bytes, language: str) -> ReportLine:
    """Report size and form of a file, or that it is damaged."""
    size = format_size(len(content))
    if path.endswith(".py") and (fault := find_syntax_fault(decode_text(content))):
        line = fault.params.get("line", "–")
        return ReportLine(PROBLEM, format_sentence("student.file-not-python", language, name=path, line=line))
    try:
        contents = describe_contents(path, content)
    except _FAULTS:
        ending = path.rpartition(".")[2]
        return ReportLine(PROBLEM, format_sentence("student.file-broken", language, name=path, form=ending))
    summary = f"{size}: {contents}" if contents else size
    return ReportLine(READY, format_sentence("student.there", language, name=path, found=summary))


def describe_contents(path: str, content: bytes) -> str:
    """Return a file's content by its suffix: names, types and shapes of arrays; empty if it is unknown.

    Raises:
        One of `_FAULTS`: it is not in the format.
    """
    if path.endswith(".npy"):
        return _describe_array(content[:_MOST_HEADER], len(content))
    if path.endswith(".npz"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            members = [f"{name.removesuffix('.npy')} {_describe_member(archive, name)}" for name in names]
            return ", ".join(members[:_MOST_NAMED]) + (", …" if len(members) > _MOST_NAMED else "")
    if path.endswith(".json"):
        json.loads(content)
    return ""


def _describe_member(archive: zipfile.ZipFile, name: str) -> str:
    """Return type and shape of an array in an archive."""
    with archive.open(name) as file:
        # Read the header only: a small archive may unpack to gigabytes.
        return _describe_array(file.read(_MOST_HEADER), archive.getinfo(name).file_size)


def _describe_array(beginning: bytes, size: int) -> str:
    """Return type and shape of an array saved by numpy; arrays of Python objects are refused.

    Args:
        beginning: start of the file, with the whole header.
        size: size of the file.
    """
    match = _HEADER.match(beginning)
    if not match:
        raise _Unreadable
    kind, width, sizes = match[1].decode(), int(match[2] or 0), match[3].decode()
    shape = tuple(int(part) for part in sizes.split(",") if part.strip())
    each = width * (_UNICODE_BYTES if kind == "U" else 1)
    # The kind "O", Python objects, would have to be unpickled.
    if kind not in _KINDS or size < match.end() + each * math.prod(shape):
        raise _Unreadable
    bits = "" if kind in "bUS" else str(8 * width)
    return f"{_KINDS[kind]}{bits} {_format_shape(shape)}"


def _format_shape(shape: Any) -> str:
    """Return a shape in Python's notation."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
