"""Attacks without code: in the folder, the file, its metadata, and names.

Each is a function that creates a submission, given the folder and the exam.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from msgspec import Struct

from tests.redteam.exam import NAME, Exam, Notebook, written
from tests.redteam.injections import INJECTIONS
from tests.redteam.metadata import METADATA
from tests.redteam.names import NAMES

FILE = f"{NAME}.ipynb"


class Case(Struct, frozen=True):
    """The material from which an upload can be made."""

    exam: Exam

    @property
    def wrong(self) -> bytes:
        """Return a paper with wrong answers."""
        return written(self.exam.wrong())

    @property
    def solution(self) -> Path:
        """Return the answer key of the course, which students may not submit."""
        return self.exam.course.sources / NAME / FILE


class Upload(Struct, frozen=True):
    """One attack."""

    kind: str
    title: str
    hand_in: Callable[[Path, Case], None]
    student: str = ""
    """The name of the student's folder; if empty, any name."""
    graded: bool = True
    """False if the name is refused, which must be reported."""

    @property
    def name(self) -> str:
        """Return class and title."""
        return f"{self.kind}: {self.title}"


# ---------------------------------------------------------------- attacks in the folder


def _entry(make: Callable[[Path, Case], object]) -> Callable[[Path, Case], None]:
    """Put a special file in the notebook's place."""

    def hand_in(folder: Path, case: Case) -> None:
        folder.mkdir(parents=True)
        make(folder / FILE, case)

    return hand_in


def _beside(make: Callable[[Path, Case], object]) -> Callable[[Path, Case], None]:
    """Submit the wrong paper and an additional entry."""

    def hand_in(folder: Path, case: Case) -> None:
        folder.mkdir(parents=True)
        (folder / FILE).write_bytes(case.wrong)
        make(folder, case)

    return hand_in


def _linked_folder(folder: Path, case: Case) -> None:
    folder.parent.mkdir(parents=True)
    folder.symlink_to(case.solution.parent)


def _linked_student(folder: Path, case: Case) -> None:
    """Link the student's folder to a classmate's.

    It is not graded, so the wrong paper is submitted separately.
    """
    _beside(lambda _folder, _case: None)(folder, case)
    (folder.parent / "exam-link").symlink_to(case.exam.course.root / "submitted" / "p000")


def _socket(path: Path, _case: Case) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path has at most 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def _device(path: Path, case: Case) -> None:
    if os.geteuid() == 0:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    else:
        path.symlink_to("/dev/zero")


def _shadows(folder: Path, _case: Case) -> None:
    for name in (
        "torch.py",
        "coursecheck.py",
        "numpy.py",
        "sitecustomize.py",
        "nbgrader_config.py",
        "conftest.py",
    ):
        (folder / name).write_text("raise SystemExit(0)")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / FILE).write_text("{}")
    (folder / "reference").symlink_to("/")


def _strange_names(folder: Path, _case: Case) -> None:
    names = ["..\\..\\x", "a\nb", "x" * 255, "CON", "-rf", "*", "=1+1", "\x1b[2J", "$(id)", "%s%n"]
    for name in (*names, os.fsdecode(b"\xff\xfe")):
        (folder / name).write_text("x")


def _many_files(folder: Path, _case: Case) -> None:
    for number in range(300):
        (folder / f"{number}.py").touch()


def _timestamp(text: str) -> Callable[[Path, Case], None]:
    return _beside(lambda folder, _: (folder / "timestamp.txt").write_text(text))


FOLDERS: tuple[tuple[str, Callable[[Path, Case], None]], ...] = (
    ("a link to the answer key", _entry(lambda path, case: path.symlink_to(case.solution))),
    ("a hard link to the answer key", _entry(lambda path, case: path.hardlink_to(case.solution))),
    ("a link to the gradebook", _entry(lambda path, case: path.symlink_to(case.exam.course.gradebook))),
    ("a link to a classmate's paper", _entry(lambda path, _: path.symlink_to(f"../../p000/{NAME}/{FILE}"))),
    ("a link that leads nowhere", _entry(lambda path, _: path.symlink_to("nowhere"))),
    ("a link to itself", _entry(lambda path, _: path.symlink_to(path.name))),
    ("a folder that is a link to the answer key's", _linked_folder),
    ("a link to a classmate beside one's folder", _linked_student),
    ("a named pipe", _entry(lambda path, _: os.mkfifo(path))),
    ("a socket", _entry(_socket)),
    ("a device without end", _entry(_device)),
    ("a folder in the notebook's place", _entry(lambda path, _: path.mkdir())),
    ("a sparse file of a terabyte", _entry(lambda path, _: (path.touch(), os.truncate(path, 1 << 40)))),
    ("a file nobody may read", _entry(lambda path, case: (path.write_bytes(case.wrong), path.chmod(0)))),
    ("files that shadow modules", _beside(_shadows)),
    ("files with strange names", _beside(_strange_names)),
    ("three hundred files", _beside(_many_files)),
    (
        "a named pipe as the time of submission",
        _beside(lambda folder, _: os.mkfifo(folder / "timestamp.txt")),
    ),
    ("a time before the beginning", _timestamp("0001-01-01 00:00:00+14:00")),
    ("a time after the end", _timestamp("9999-12-31 23:59:59-14:00")),
    ("a time that is no time", _timestamp("<script>alert(1)</script>")),
)

# ---------------------------------------------------------------- attacks in the file


def _bytes(make: Callable[[bytes], bytes]) -> Callable[[Path, Case], None]:
    return _entry(lambda path, case: path.write_bytes(make(case.wrong)))


def _zip_bomb(_paper: bytes) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../../gradebook.db", bytes(50 << 20))
        archive.writestr(FILE, bytes(50 << 20))
    return file.getvalue()


def _cells(number: int) -> Callable[[bytes], bytes]:
    def made(paper: bytes) -> bytes:
        notebook = json.loads(paper)
        extra = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": "1"}
        notebook["cells"] += [{**extra, "id": f"c{place}"} for place in range(number)]
        return json.dumps(notebook).encode()

    return made


def _notes(kind: str, text: str) -> Callable[[bytes], bytes]:
    """Add cells with texts of several megabytes each, forty megabytes in total."""

    def made(paper: bytes) -> bytes:
        notebook = json.loads(paper)
        extra = {"cell_type": kind, "metadata": {}, "source": "# " + text * ((2 << 20) // len(text))}
        if kind == "code":
            extra |= {"outputs": [], "execution_count": None}
        notebook["cells"] += [extra] * 19
        return json.dumps(notebook, ensure_ascii=False).encode()

    return made


def _huge_metadata(paper: bytes) -> bytes:
    notebook = json.loads(paper)
    notebook["metadata"]["widgets"] = {str(number): "x" * 1000 for number in range(20_000)}
    for cell in notebook["cells"]:
        cell["metadata"]["x" * 10_000] = "y" * 10_000
    return json.dumps(notebook).encode()


def _twice(paper: bytes) -> bytes:
    """Duplicate keys, because parsers differ in which one they use."""
    text = paper.decode().replace('"points": ', '"points": 1000, "points": ')
    text = text.replace('"grade_id": ', '"grade_id": "mha", "grade_id": ')
    return text.replace("{", '{"cells": [], "nbformat": 3, ', 1).encode()


def _binary_in_text(paper: bytes) -> bytes:
    return paper.replace(b"7*n_voc", b"7*n_voc\xff\xfe\xc0\x80")


CONTENTS: tuple[tuple[str, Callable[[Path, Case], None]], ...] = (
    ("an archive with a bomb in it", _bytes(_zip_bomb)),
    ("a hundred thousand cells", _bytes(_cells(100_000))),
    ("nearly two thousand cells", _bytes(_cells(1900))),
    ("forty megabytes of notes", _bytes(_notes("markdown", "my notes "))),
    ("forty megabytes of comments in code", _bytes(_notes("code", "x"))),
    ("forty megabytes of accents", _bytes(_notes("markdown", "a\u0316\u0301\u0327"))),
    ("forty megabytes of pages that are quotes", _bytes(_notes("markdown", "> - `<b>&amp;$\\frac{"))),
    ("forty megabytes of metadata", _bytes(_huge_metadata)),
    (
        "JSON nested without end",
        _bytes(
            lambda paper: paper.replace(
                b'"metadata": {', b'"metadata": {"a": ' + b"[" * 200_000 + b"]" * 200_000 + b", ", 1
            )
        ),
    ),
    ("nothing but opening brackets", _bytes(lambda _: b"[" * (30 << 20))),
    ("keys that stand twice", _bytes(_twice)),
    ("bytes that are no text", _bytes(_binary_in_text)),
    ("UTF-16 without a mark", _bytes(lambda paper: paper.decode().encode("utf-16-le"))),
    (
        "an integer of a million digits",
        _bytes(lambda paper: paper.replace(b'"nbformat": 4', b'"nbformat": ' + b"4" * 1_000_000)),
    ),
    (
        "numbers that are no numbers",
        _bytes(lambda paper: paper.replace(b'"nbformat": 4', b'"nbformat": NaN')),
    ),
    ("lone surrogates everywhere", _bytes(lambda paper: paper.replace(b"7*n_voc", b"\\ud800\\udfff7*n_voc"))),
    (
        "a source of sixty megabytes",
        _bytes(lambda paper: paper.replace(b"7*n_voc", b"7*n_voc" + b" " * (60 << 20))),
    ),
    ("a pickle", _bytes(lambda _: b"\x80\x04\x95\x1d\x00cos\nsystem\n(S'touch /tmp/owned'\ntR.")),
    (
        "cells that are no cells",
        _bytes(lambda paper: paper.replace(b'"cell_type": "code"', b'"cell_type": ["code"]')),
    ),
)


def edited(change: Callable[[Notebook], object]) -> Callable[[Path, Case], None]:
    """Return the wrong paper with its JSON changed."""

    def hand_in(folder: Path, case: Case) -> None:
        notebook = json.loads(case.wrong)
        change(notebook)
        folder.mkdir(parents=True)
        (folder / FILE).write_bytes(json.dumps(notebook).encode())

    return hand_in


def _listed() -> tuple[Upload, ...]:
    by_kind = {"folder": FOLDERS, "content": CONTENTS}
    found = [Upload(kind, title, hand_in) for kind, entries in by_kind.items() for title, hand_in in entries]
    found += [Upload("metadata", title, edited(change)) for title, change in METADATA]
    found += [Upload("injection", title, edited(change)) for title, change in INJECTIONS]
    found += [Upload("names", title, _beside(lambda _folder, _case: None), *rest) for title, *rest in NAMES]
    return tuple(found)


UPLOADS: tuple[Upload, ...] = _listed()
"""All uploads."""
