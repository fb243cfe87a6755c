"""nbgrader and otter run as programs, and the marks that they gave.

They run students' code as whoever calls them, without a sandbox: nothing here is done unless it is asked for.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from autograder.errors import CourseError

_SECONDS = 3600
"""For one command."""
_LONGEST = 2000
"""Characters of a program's output that an error quotes."""
_CONFIG = "nbgrader_config.py"
_FAILED = re.compile(r"There was an error processing assignment: .*?([^/\n]+)/[^/\n]+$")
_EXCEPTION = re.compile(r"^ {4}([\w.]+(?:: .*)?)$")
PeerMarks = Mapping[str, Mapping[str, float]]
"""By student and by grade cell (nbgrader) or question (otter). What was not graded is not there."""


class PeerProgram(Struct, frozen=True):
    """A command line of nbgrader's or otter's."""

    path: Path
    """Of the file, or a bare name to be looked for as shells do."""

    def run(self, folder: Path, *words: str | Path, may_fail: bool = False) -> str:
        """What it printed.

        Args:
            folder: in which it runs.
            words: of its command.
            may_fail: whether exit 1 is an answer as well, as after a student's notebook that failed.

        Raises:
            CourseError: it is not there, or could not do its work; quotes its last lines.
        """
        program = Path(shutil.which(self.path) or self.path).absolute()
        path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"  # nbgrader needs alembic
        command = [str(program), *map(str, words)]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "PATH": path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CourseError(f"{self.path}: cannot be run: {error}") from error
        said = done.stdout.decode(errors="replace")
        if done.returncode not in ((0, 1) if may_fail else (0,)):
            raise CourseError(
                f"{' '.join(command)} ended with {done.returncode}; it said:\n{said[-_LONGEST:].strip()}"
            )
        return said


def nbgrader_marks(
    program: Path, course: Path, source: Path, assignment: str, submitted: Mapping[str, Path]
) -> tuple[PeerMarks, Mapping[str, str]]:
    """Have nbgrader autograde what was handed in, in a copy of the course, with the course's configuration.

    Args:
        program: nbgrader's command.
        course: the course's folder; its gradebook is taken along where there is no source.
        source: the folder of the assignment's sources, which need not exist.
        assignment: its name.
        submitted: the folder of what each student handed in.

    Returns:
        The marks, and of students at whom nbgrader stopped the exception.

    Raises:
        CourseError: nbgrader could not do its work; quotes what it said.
    """
    nbgrader = PeerProgram(program)
    with tempfile.TemporaryDirectory(prefix="compare-") as name:
        copy = Path(name)
        inside = _inside(copy)
        if (course / _CONFIG).is_file():
            shutil.copy(course / _CONFIG, copy)
        if source.is_dir():
            shutil.copytree(source, copy / "source" / assignment)
            nbgrader.run(copy, "generate_assignment", assignment, *inside)
        else:
            shutil.copytree(course / "release" / assignment, copy / "release" / assignment)
            shutil.copy(course / "gradebook.db", copy)
        for student, folder in submitted.items():
            shutil.copytree(folder, copy / "submitted" / student / assignment)
        # The class list is not copied, so whoever handed something in is new.
        options = ("--force", "--Autograde.create_student=True", *inside)
        said = nbgrader.run(copy, "autograde", assignment, *options, may_fail=True)
        if not (copy / "gradebook.db").is_file():
            raise CourseError(f"{program} autograde graded nobody; it said:\n{said[-_LONGEST:].strip()}")
        return gradebook_marks(copy / "gradebook.db", assignment), exceptions_of(said)


def _inside(copy: Path) -> tuple[str, ...]:
    """Return options that keep nbgrader in a copy, whatever folders and gradebook a configuration names."""
    steps = ("source", "release", "submitted", "autograded")
    return (
        f"--CourseDirectory.root={copy}",
        f"--CourseDirectory.db_url=sqlite:///{copy / 'gradebook.db'}",
        "--CourseDirectory.directory_structure={nbgrader_step}/{student_id}/{assignment_id}",
        *(f"--CourseDirectory.{step}_directory={step}" for step in steps),
    )


def exceptions_of(said: str) -> Mapping[str, str]:
    """Return the last exception of each student at whom nbgrader stopped, from what it printed."""
    found: dict[str, str] = {}
    student = ""
    for line in said.splitlines():
        if failed := _FAILED.search(line):
            student = failed.group(1)
        elif line.startswith("[") and "Traceback" not in line:
            student = ""
        elif student and (raised := _EXCEPTION.match(line)):
            found[student] = raised.group(1)[:_LONGEST]
    return found


def gradebook_marks(gradebook: Path, assignment: str) -> PeerMarks:
    """The automatic marks in a gradebook of nbgrader's.

    Raises:
        CourseError: it is not one.
    """
    query = (
        "select submitted_assignment.student_id, base_cell.name, grade.auto_score from grade"
        " join base_cell on base_cell.id = grade.cell_id"
        " join submitted_notebook on submitted_notebook.id = grade.notebook_id"
        " join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id"
        " join assignment on assignment.id = submitted_assignment.assignment_id"
        " where assignment.name = ? and grade.auto_score is not null"
    )
    marks: dict[str, dict[str, float]] = {}
    try:
        with contextlib.closing(sqlite3.connect(f"{gradebook.resolve().as_uri()}?mode=ro", uri=True)) as book:
            for student, cell, score in book.execute(query, (assignment,)):
                marks.setdefault(student, {})[cell] = float(score)
    except sqlite3.Error as error:
        raise CourseError(
            f"{gradebook}: expected a gradebook of nbgrader's (SQLite), got: {error}"
        ) from error
    return marks


def otter_marks(program: Path, archive: Path, submitted: Mapping[str, Path]) -> PeerMarks:
    """Have ``otter run`` grade what was handed in, notebook by notebook.

    Args:
        program: otter's command.
        archive: the autograder that ``otter assign`` made.
        submitted: the notebook of each student.

    Raises:
        CourseError: otter graded none of them. One that it stops at, as where a kernel dies, has no marks.
    """
    otter = PeerProgram(program)
    marks = {}
    stopped: CourseError | None = None
    for student, notebook in submitted.items():
        with tempfile.TemporaryDirectory(prefix="compare-") as name:
            folder = Path(name)
            shutil.copy(notebook, folder / notebook.name)
            try:
                otter.run(folder, "run", "--no-logo", "-a", archive.resolve(), "-o", folder, notebook.name)
                marks[student] = results_marks(folder / "results.json")
            except CourseError as error:
                stopped = error
    if stopped and not marks:
        raise stopped
    return marks


def otter_archive(program: Path, source: Path, folder: Path) -> Path:
    """The autograder of a source, made by ``otter assign`` in a folder of one's own.

    Raises:
        CourseError: otter could not make one.
    """
    shutil.copytree(source.parent, folder / "source", ignore=shutil.ignore_patterns("dist"))
    PeerProgram(program).run(
        folder / "source", "assign", "--no-run-tests", "--no-pdfs", source.name, folder / "made"
    )
    archives = sorted((folder / "made" / "autograder").glob("*.zip"))
    if not archives:
        raise CourseError(f"{source}: otter assign made no autograder")
    return archives[0]


def results_marks(path: Path) -> Mapping[str, float]:
    """What a results.json says of each question. Cases of one question are added up.

    Raises:
        CourseError: it is no results.json.
    """
    try:
        tests = json.loads(path.read_bytes())["tests"]
        found: dict[str, float] = {}
        for one in tests:
            name = str(one.get("name", "")).partition(" - ")[0]
            if name != "Public Tests" and one.get("score") is not None:
                found[name] = found.get(name, 0.0) + float(one["score"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CourseError(f"{path}: expected a results.json with a list 'tests': {error!r}") from error
    return found
