"""The command ``check``: what can be said of a saved notebook before it is handed in. Nothing is run."""

from __future__ import annotations

import json as encoder
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder import atomic
from autograder.cli.options import EXIT_FINDINGS, JsonOption
from autograder.errors import CourseError, NotebookError

if TYPE_CHECKING:
    from autograder.student.paper import Paper

NotebookArgument = Annotated[Path, typer.Argument(help="The notebook, as it is to be handed in.")]
WithOption = Annotated[
    Path | None,
    typer.Option(
        "--with",
        help="The coursecheck.py of the assignment.",
        show_default="the one beside the notebook",
    ),
]
LanguageOption = Annotated[str, typer.Option("--language", help="en or de; default: the release's.")]


def check(
    notebook: NotebookArgument,
    check_file: WithOption = None,
    language: LanguageOption = "",
    json: JsonOption = False,
) -> None:
    """Look at a notebook before it is handed in: nothing of it is run, and nothing here is a mark.

    Shows which questions are answered, how formulas are read, and which given cells were changed or deleted.
    What only running tells, check() in the notebook shows. Exits with 1 when something is missing.
    """
    from autograder.messages import languages
    from autograder.notebook.document import parse
    from autograder.notebook.files import read_file
    from autograder.notebook.student_check import FILE_NAME
    from autograder.notebook.timeleft import time_left
    from autograder.student.paper import look

    if language not in ("", *languages()):
        raise typer.BadParameter(f"--language: expected one of {', '.join(languages())}, got {language!r}")
    try:
        cells = parse(read_file(notebook)).cells
        specification = _specification(check_file or notebook.with_name(FILE_NAME))
        spoken = language or specification["language"]
        paper = look(cells, specification, notebook.stem, spoken)
    except NotebookError as error:
        raise NotebookError(error.code, f"{notebook}: {error}") from error
    left = time_left(specification, spoken)
    if json:
        sys.stdout.write(encoder.dumps(_object(paper, spoken, left), ensure_ascii=False) + "\n")
    else:
        _print(paper, spoken, left)
    raise typer.Exit(0 if paper.is_complete else EXIT_FINDINGS)


def _specification(path: Path) -> dict[str, Any]:
    """What is known of the assignment, read as data.

    Raises:
        CourseError: the file is missing, or is not one.
    """
    from autograder.notebook.student_check import read_specification

    try:
        text = atomic.read(path).decode("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text"
        raise CourseError(
            f"{path}: cannot be read ({reason}). Put the notebook into the folder that you got, beside "
            "coursecheck.py, or name that file: --with FILE"
        ) from error
    return read_specification(text, str(path))


def _object(paper: Paper, language: str, left: str) -> dict[str, Any]:
    from autograder.messages import sentence

    return {
        "assignment": paper.assignment,
        "notebook": paper.notebook,
        "complete": paper.is_complete,
        "questions": [
            {**report._asdict(), "lines": [line._asdict() for line in report.lines]}
            for report in paper.reports
        ],
        "cells": [line._asdict() for line in paper.cells],
        "note": sentence("student.not-final", language),
        "time": left,
    }


def _print(paper: Paper, language: str, left: str) -> None:
    from autograder.messages import sentence
    from autograder.student.showing import MARKS, as_text, counted

    cells = [f"{MARKS[line.state]} {line.text}" for line in paper.cells]
    notes = (
        *cells,
        counted(paper.reports, language),
        sentence("student.not-final", language),
        *filter(None, [left]),
    )
    sys.stdout.write(as_text(paper.reports, notes))
