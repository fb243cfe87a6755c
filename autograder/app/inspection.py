"""Inspect a notebook before it is submitted, and this machine's sandbox, without grading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from autograder.core import atomic
from autograder.core.errors import CourseError, NotebookError
from autograder.core.paths import find_path_fault
from autograder.course import PRIVATE
from autograder.messages import format_sentence, list_languages
from autograder.notebook.document import parse_notebook
from autograder.notebook.files import read_file
from autograder.notebook.student import saved_notebook
from autograder.notebook.student.rendering import MARKS, as_text, describe_progress
from autograder.notebook.student.saved_notebook import NotebookReport
from autograder.notebook.student_check import FILE_NAME, read_specification
from autograder.rubric.notebook_files import ALONG_BYTES
from autograder.sandbox.proof import selftest
from autograder.sandbox.proof.selftest import Layer

__all__ = [
    "Layer",
    "MachineReport",
    "NotebookInspection",
    "NotebookReport",
    "inspect_machine",
    "inspect_notebook",
    "list_languages",
]


class NotebookInspection(Struct, frozen=True):
    """Findings in a notebook. Nothing of it was run, and nothing is a mark."""

    paper: NotebookReport
    note: str
    """The sentence that the report is not final."""
    language: str

    @property
    def text(self) -> str:
        """The whole report as text."""
        cells = [f"{MARKS[line.state]} {line.text}" for line in self.paper.cells]
        cells += [f"{MARKS[line.state]} {line.text}" for line in self.paper.files]
        progress = describe_progress(self.paper.reports, self.language)
        return as_text(self.paper.reports, (*cells, progress, self.note))


class MachineReport(Struct, frozen=True):
    """The sandbox of this machine."""

    layers: tuple[Layer, ...]
    healthy: bool
    remembered: str
    """The last self-test recorded in the course."""


def inspect_notebook(
    notebook: Path, check_file: Path | None = None, language: str = ""
) -> NotebookInspection:
    """Inspect a saved notebook: answered questions, interpretations of formulas, and changed cells.

    Args:
        notebook: the file to be submitted.
        check_file: the coursecheck.py of the assignment; default: the one in the same folder.
        language: of the sentences; empty: the release's.

    Raises:
        NotebookError: it is not a notebook.
        CourseError: the check is missing, or is not one.
    """
    try:
        cells = parse_notebook(read_file(notebook)).cells
        specification = _load_specification(check_file or notebook.with_name(FILE_NAME))
        spoken = language or specification["language"]
        files = _read_files(notebook.parent, specification)
        report = saved_notebook.report_on(cells, specification, notebook.stem, spoken, files)
    except NotebookError as error:
        raise NotebookError(error.code, f"{notebook}: {error}") from error
    return NotebookInspection(report, format_sentence("student.not-final", spoken), spoken)


def _read_files(folder: Path, specification: dict[str, Any]) -> dict[str, bytes | NotebookError]:
    """Return the requested files that exist, or the reason why they cannot be read."""
    limits = {
        entry_asked["path"]: entry_asked["most"]
        for files in specification["files"].values()
        for entry_asked in files
    }
    for entry in specification["questions"].values():
        limits.setdefault(entry["file"], ALONG_BYTES)
    contents: dict[str, bytes | NotebookError] = {}
    for path, most in limits.items():
        # Students often save a file next to the notebook instead of in the requested folder.
        for candidate in dict.fromkeys((path, path.rpartition("/")[2])):
            if candidate not in contents and candidate and not find_path_fault(candidate):
                try:
                    contents[candidate] = read_file(folder / candidate, most=min(most, ALONG_BYTES))
                except NotebookError as error:
                    # A missing file is no error here: the report lists it as not submitted.
                    if error.code != "missing":
                        contents[candidate] = error
    return contents


def _load_specification(path: Path) -> dict[str, Any]:
    """Read the specification of the assignment as data, without running the file.

    Raises:
        CourseError: the file is missing, or is not one.
    """
    try:
        text = atomic.read_bytes(path).decode("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text"
        raise CourseError(
            f"{path}: cannot be read ({reason}). Put the notebook into the folder that you got, beside "
            "coursecheck.py, or name that file: --with FILE"
        ) from error
    return read_specification(text, str(path))


def inspect_machine(course: Path) -> MachineReport:
    """Test the sandbox of this machine: each layer, its state, and how to repair it.

    Args:
        course: the course with the recorded self-test.
    """
    layers = selftest.examine()
    return MachineReport(
        tuple(layers), selftest.is_healthy(layers), selftest.describe_last_proof(course / PRIVATE)
    )
