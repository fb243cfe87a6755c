"""The demo course, and the comparison of its marks with the expected ones."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograder.authoring.demo.students import EXAM, SUBJECTS, DemoStudent, format_exams, write_class
from autograder.authoring.shipped_course import CONFIGURATION, PARTS, find_shipped_course
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.batch import Outcome
from autograder.grading.release_generation import generate_release

MARKER = ".demo"


class MarkComparison(Struct, frozen=True):
    """Comparison of the marks given with the marks that each invented student must get."""

    students: int
    items: int
    differences: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether every automatic item got exactly the expected marks."""
        return not self.differences

    def to_figures(self) -> dict[str, Any]:
        """Return the figures for the summary."""
        return {
            "automatic items compared": self.items,
            "items with other marks than known beforehand": len(self.differences),
            **({"differences": list(self.differences[:10])} if self.differences else {}),
        }


@contextlib.contextmanager
def remove_on_failure(folder: Path, *, students: int, seed: int) -> Iterator[None]:
    """Remove a course that is made in this context if an error occurs, so that the next try starts clean.

    The course of an earlier run stays, and so does the course of an interrupted run: the same command resumes
    it. Any other content of the folder stays, too.
    """
    existed = folder.is_dir()
    is_resumed = _read_marker(folder) == _format_marker(students, seed)
    is_foreign = existed and any(folder.iterdir()) and not _read_marker(folder)
    try:
        yield
    # An interruption (KeyboardInterrupt) keeps the course on purpose: the same command resumes it.
    except Exception:
        if not is_resumed and not is_foreign:
            shutil.rmtree(folder, ignore_errors=True)
            if existed:
                # A folder that existed before, though empty, exists afterwards.
                folder.mkdir(parents=True, exist_ok=True)
        raise


def _format_marker(students: int, seed: int) -> str:
    return f"{students} students, seed {seed}\n"


def _read_marker(folder: Path) -> str:
    """Return the marker of the demo course in a folder; empty if there is no demo course."""
    marker = folder / MARKER
    return marker.read_text() if marker.is_file() else ""


def make_course(folder: Path, *, students: int, seed: int) -> tuple[Course, dict[str, list[DemoStudent]]]:
    """Make the course, or resume the one that was made there before for the same class.

    Returns:
        The course, and the submitted class by assignment.

    Raises:
        CourseError: the folder holds something else, or the shipped course cannot be found.
    """
    shipped = find_shipped_course()
    wanted = _format_marker(students, seed)
    if folder.exists() and any(folder.iterdir()):
        if not _read_marker(folder):
            raise CourseError(
                f"{folder}: the folder is not empty and not a demo; choose another with --folder"
            )
        if _read_marker(folder) != wanted:
            shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # Written first: a run that is interrupted from here on is recognised and resumed.
    (folder / MARKER).write_text(wanted)
    for name in PARTS:
        ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        shutil.copytree(shipped / name, folder / name, dirs_exist_ok=True, ignore=ignored)
    if (shipped / CONFIGURATION).is_file():
        shutil.copyfile(shipped / CONFIGURATION, folder / CONFIGURATION)
    course = Course.from_folder(folder)
    course.exams.write_text(format_exams(EXAM.assignment, students), encoding="utf-8")
    submitted = {}
    for subject in SUBJECTS:
        name = subject.assignment
        generate_release(course, name)
        release = assignments.load_assignment(course, name).release_bytes[name]
        submitted[name] = write_class(subject, release, course.root, students=students, seed=seed)
    return course, submitted


def compare_marks(people: Iterable[DemoStudent], outcomes: Sequence[Outcome]) -> MarkComparison:
    """Compare every automatic item of every readable submission with its expected points."""
    graded = {outcome.student: outcome.graded for outcome in outcomes}
    differences, items, students = [], 0, 0
    for person in people:
        students += 1
        if person.id not in graded:
            differences.append(f"{person.id}: not graded")
            continue
        results = {
            f"{result.question}.{result.item}": result.points for result in graded[person.id].score.items
        }
        for item, points in person.points.items():
            items += 1
            if results.get(item) != points:
                differences.append(f"{person.id} {item}: {results.get(item)} instead of {points}")
        if not person.readable and graded[person.id].notebooks:
            differences.append(f"{person.id}: was read, though the file is broken")
    return MarkComparison(students, items, tuple(differences))


def list_first_files(course: Course, outcomes: Mapping[str, Sequence[Outcome]]) -> list[str]:
    """List the files that a newcomer opens first, given the outcomes by assignment."""
    lines = []
    for name, graded in outcomes.items():
        ranked = sorted(graded, key=lambda outcome: outcome.graded.score.points)
        examples = {"the best": ranked[-1], "a middling": ranked[len(ranked) // 2]}
        lines += [
            f"{name}: feedback of {kind} student: {course.locate_feedback(outcome.student, name) / name}.html"
            for kind, outcome in examples.items()
        ]
        lines.append(f"{name}: summary for staff: {course.root / 'staff' / name}.html")
    nbgrader = Path(sys.executable).with_name("nbgrader")
    lines.append(f"gradebook: {course.gradebook} (try: cd {course.root} && {nbgrader} db student list)")
    return lines
