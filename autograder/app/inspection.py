"""What can be said without grading: of a notebook before it is handed in, and of this machine's sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from autograder import atomic
from autograder.course import PRIVATE
from autograder.errors import CourseError, NotebookError
from autograder.messages import languages, sentence
from autograder.notebook.document import parse
from autograder.notebook.files import read_file
from autograder.notebook.student_check import FILE_NAME, read_specification
from autograder.notebook.timeleft import time_left
from autograder.paths import path_fault
from autograder.rubric.files import ALONG_BYTES
from autograder.sandbox.proof import doctor, selftest
from autograder.sandbox.proof.doctor import Layer
from autograder.student import saved_notebook
from autograder.student.rendering import MARKS, as_text, counted
from autograder.student.saved_notebook import NotebookReport

__all__ = [
    "Layer",
    "Machine",
    "NotebookInspection",
    "NotebookReport",
    "inspect_machine",
    "inspect_notebook",
    "languages",
]


class NotebookInspection(Struct, frozen=True):
    """What was found in a notebook. Nothing of it was run, and nothing is a mark."""

    paper: NotebookReport
    note: str
    """That it is not final, in words."""
    left: str
    """How much time is left; empty where there is no end."""
    language: str

    @property
    def text(self) -> str:
        """All of it as people read it."""
        cells = [f"{MARKS[line.state]} {line.text}" for line in self.paper.cells]
        cells += [f"{MARKS[line.state]} {line.text}" for line in self.paper.files]
        notes = (*cells, counted(self.paper.reports, self.language), self.note, *filter(None, [self.left]))
        return as_text(self.paper.reports, notes)


class Machine(Struct, frozen=True):
    """The sandbox of this machine."""

    layers: tuple[Layer, ...]
    healthy: bool
    remembered: str
    """What the course knows of its last self-test."""


def inspect_notebook(
    notebook: Path, check_file: Path | None = None, language: str = ""
) -> NotebookInspection:
    """Look at a saved notebook: which questions are answered, how formulas are read, what was changed.

    Args:
        notebook: as it is to be handed in.
        check_file: the coursecheck.py of the assignment; default: the one beside the notebook.
        language: of the sentences; empty: the release's.

    Raises:
        NotebookError: it is no notebook.
        CourseError: the check is missing, or is not one.
    """
    try:
        cells = parse(read_file(notebook)).cells
        specification = _specification(check_file or notebook.with_name(FILE_NAME))
        spoken = language or specification["language"]
        beside = _beside(notebook.parent, specification)
        found = saved_notebook.report_on(cells, specification, notebook.stem, spoken, beside)
    except NotebookError as error:
        raise NotebookError(error.code, f"{notebook}: {error}") from error
    return NotebookInspection(
        found, sentence("student.not-final", spoken), time_left(specification, spoken), spoken
    )


def _beside(folder: Path, specification: dict[str, Any]) -> dict[str, bytes | NotebookError]:
    """The files that are asked for, as far as they are there, or why they cannot be read."""
    asked = {one["path"]: one["most"] for files in specification["files"].values() for one in files}
    for entry in specification["questions"].values():
        asked.setdefault(entry["file"], ALONG_BYTES)
    found: dict[str, bytes | NotebookError] = {}
    for path, most in asked.items():
        for place in dict.fromkeys((path, path.rpartition("/")[2])):
            if place not in found and place and not path_fault(place):
                try:
                    found[place] = read_file(folder / place, most=min(most, ALONG_BYTES))
                except NotebookError as error:
                    if error.code != "missing":
                        found[place] = error
    return found


def _specification(path: Path) -> dict[str, Any]:
    """What is known of the assignment, read as data.

    Raises:
        CourseError: the file is missing, or is not one.
    """
    try:
        text = atomic.read(path).decode("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text"
        raise CourseError(
            f"{path}: cannot be read ({reason}). Put the notebook into the folder that you got, beside "
            "coursecheck.py, or name that file: --with FILE"
        ) from error
    return read_specification(text, str(path))


def inspect_machine(course: Path) -> Machine:
    """Test the sandbox of this machine afresh: each layer, what was found, and what to do.

    Args:
        course: whose remembered self-test is told.
    """
    layers = doctor.examine()
    return Machine(tuple(layers), doctor.healthy(layers), selftest.remembered(course / PRIVATE))
