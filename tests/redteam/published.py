"""The published results, written by the command line, and checks of each part."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from autograder.core.records import GradingResult
from autograder.course import Course
from tests.redteam.entrants import Entrant
from tests.redteam.exam import Exam
from tests.redteam.lab import Lab
from tests.redteam.pages import comment_faults, notebook_faults, page_faults, terminal_faults
from tests.redteam.tables import exported, table_faults

FAILURE = "grader failures"
Fault = tuple[str, str, str]
"""Student (empty: none), column, finding."""


class Published(Struct, frozen=True):
    """The output of the commands."""

    course: Course
    feedback: subprocess.CompletedProcess[str]
    exported: subprocess.CompletedProcess[str]
    table: Path
    """nbgrader's export."""
    again: subprocess.CompletedProcess[str]
    """A second grading, which finds everything in the ledger and prints the table."""

    @classmethod
    def by_command_line(
        cls, course: Course, assignment: str, students: Collection[str], folder: Path
    ) -> Published:
        """Write the pages, print the table, export the marks.

        Args:
            course: a course with a gradebook.
            assignment: name of the assignment.
            students: all students; the table is limited to those with odd names to keep it short.
            folder: folder of the exported table.
        """
        odd = [name for name in students if not name.startswith("p")]
        chosen = [word for name in odd for word in ("--student", name)]
        table = folder / "marks.csv"
        return cls(
            course=course,
            feedback=_autograder("feedback", assignment, course=course),
            again=_autograder("grade", assignment, *chosen, course=course),
            exported=exported(course.root, table),
            table=table,
        )


def _autograder(*words: str, course: Course) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from autograder.cli import main; main()"]
    return subprocess.run(
        [*command, *words, "--course", str(course.root)],
        env={**os.environ, "COLUMNS": "200", "LANG": "C.UTF-8"},
        cwd=Path(__file__).parents[2],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def faults_of_everything(
    published: Published, exam: Exam | Lab, graded: Mapping[str, GradingResult], entrants: Collection[Entrant]
) -> Iterator[Fault]:
    """Return all faults of pages, notebooks, comments, marks and tables."""
    course, name = exam.course, exam.assignment.name
    yield from _commands(published, refused=any(not one.graded for one in entrants))
    for entrant in entrants:
        if not entrant.graded:
            if entrant.student in graded or ascii(entrant.student) not in published.again.stderr:
                yield entrant.student, FAILURE, "the folder's name was not refused"
            continue
        if entrant.student not in graded:
            yield entrant.student, FAILURE, "not graded"
            continue
        for fault in _files_of(course, name, entrant.student):
            yield entrant.student, FAILURE, fault
    yield from _strangers(course, name, graded)
    yield from _gradebook(course, graded)
    for fault in _file_faults(course.root / "staff" / f"{name}.html", _page):
        yield "", FAILURE, f"staff page {name}.html: {fault}"


def _commands(published: Published, *, refused: bool) -> Iterator[Fault]:
    """Check output and exit codes of the commands; refused names change the exit code."""
    expected = ((published.feedback, 0), (published.again, int(refused)), (published.exported, 0))
    for done, code in expected:
        if done.returncode != code:
            yield "", FAILURE, f"{done.args[1:4]} ended with {done.returncode}: {done.stderr[-300:]}"
        for fault in terminal_faults(done.stdout + done.stderr):
            yield "", FAILURE, fault
    if published.table.is_file():
        yield from (("", FAILURE, fault) for fault in table_faults(published.table))


def _files_of(course: Course, name: str, student: str) -> Iterator[str]:
    yield from _file_faults(course.locate_feedback(student, name) / f"{name}.html", _page)
    executed = course.root / "autograded" / student / name / f"{name}.ipynb"
    released = (course.locate_release(name) / f"{name}.ipynb").read_bytes()
    yield from _file_faults(executed, lambda data: () if data == released else notebook_faults(data))


def _file_faults(path: Path, faults: Callable[[bytes], Iterable[str]]) -> Iterator[str]:
    if path.is_symlink() or not path.is_file():
        yield f"no {path.name}"
    else:
        yield from (f"{path.name}: {fault}" for fault in faults(path.read_bytes()))


def _page(data: bytes) -> Iterator[str]:
    return page_faults(data.decode())


def _strangers(course: Course, name: str, students: Collection[str]) -> Iterator[Fault]:
    """Check that exactly one file per student was written."""
    for folder, ending in (("feedback", "html"), ("autograded", "ipynb")):
        wanted = {course.root / folder / student / name / f"{name}.{ending}" for student in students}
        found = {path for path in (course.root / folder).rglob("*") if path.is_symlink() or not path.is_dir()}
        for path in found - wanted:
            yield "", "files touched outside", f"{str(path.relative_to(course.root))!a} was written"


def _gradebook(course: Course, graded: Mapping[str, GradingResult]) -> Iterator[Fault]:
    """Check that nbgrader's tables contain each student's points and nobody else's data."""
    marks = (
        "SELECT s.student_id, g.auto_score, g.manual_score, g.extra_credit FROM grade g"
        " JOIN submitted_notebook n ON n.id = g.notebook_id"
        " JOIN submitted_assignment s ON s.id = n.assignment_id"
    )
    comments = (
        "SELECT s.student_id, c.auto_comment FROM comment c JOIN submitted_notebook n ON n.id = c.notebook_id"
        " JOIN submitted_assignment s ON s.id = n.assignment_id WHERE c.auto_comment IS NOT NULL"
    )
    database = sqlite3.connect(f"file:{course.gradebook}?mode=ro", uri=True)
    try:
        sums = dict.fromkeys(graded, Decimal(0))
        for student, automatic, manual, extra in database.execute(marks):
            if student not in sums or manual is not None or extra:
                yield student, "marks changed", f"the gradebook holds a mark nobody gave: {manual or extra}"
            sums[student] = sums.get(student, Decimal(0)) + Decimal(str(automatic or 0))
        for student, text in database.execute(comments):
            yield from ((student, FAILURE, fault) for fault in comment_faults(text))
    finally:
        database.close()
    for student, total in sums.items():
        if student in graded and total != graded[student].score.points:
            yield (
                student,
                "marks changed",
                f"the gradebook holds {total}, graded was {graded[student].score.points}",
            )
