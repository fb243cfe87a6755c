"""Adopt courses of nbgrader and assignments of otter unchanged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from types import ModuleType

from msgspec import Struct

from autograder import rubric as rubrics
from autograder.core import atomic
from autograder.core.errors import AutograderError, CourseError, NotebookError, RubricError
from autograder.course import Course
from autograder.exchange.adoption import nbgrader, otter
from autograder.exchange.adoption.records import FoundAssignment
from autograder.exchange.adoption.rubric_text import format_rubric
from autograder.grading.assignment import load_assignment
from autograder.grading.release_generation import generate_release
from autograder.notebook.release_builder import check_agreement


class AdoptionResult(Struct, frozen=True):
    """Result of adopting one assignment; the same if it was adopted before."""

    name: str
    rubric: Path
    origin: str
    points: Decimal = Decimal(0)
    """Total of all questions."""
    written: tuple[Path, ...] = ()
    """Files written; empty: nothing was changed."""
    questions: int = 0
    manual: int = 0
    """Number of manually graded questions."""
    tests: int = 0
    not_outside: tuple[str, ...] = ()
    """The tests that cannot be judged outside the student's sandbox, each with its reason."""
    remarks: tuple[str, ...] = ()
    refused: str = ""
    """Why the assignment was not adopted; empty if it was."""


def adopt_assignments(folder: Path, name: str = "", *, inside: bool = False) -> tuple[AdoptionResult, ...]:
    """Write a rubric for each assignment without one, and its release if there is none.

    Notebooks, tests, gradebook and existing rubrics stay as they are.

    Args:
        folder: of an nbgrader course, or of an otter assignment.
        name: the only assignment to adopt; empty: all.
        inside: judge tests in the student's sandbox if they cannot be judged outside; else they are graded
            manually.

    Raises:
        CourseError: the folder has nothing to adopt; names the expected content.
        RubricError: the content does not make a valid rubric; names the position. If there are several
            assignments, the errors of each are reported in `AdoptionResult.refused` instead of raised.
        NotebookError: a source notebook is not usable.
    """
    root = folder.resolve()
    course = Course(root)
    names = _choose_assignments(root, name)
    done = []
    for assignment, program in names.items():
        try:
            done.append(_adopt_assignment(course, program.read_assignment(root, assignment), inside=inside))
        except (CourseError, RubricError, NotebookError) as error:
            # The only assignment: its error is the result. Of several, the others are still adopted.
            if len(names) == 1:
                raise
            origin = program.__name__.rpartition(".")[-1]
            done.append(
                AdoptionResult(assignment, course.rubrics / f"{assignment}.toml", origin, refused=str(error))
            )
    return tuple(done)


def _choose_assignments(root: Path, name: str) -> dict[str, ModuleType]:
    """Return the assignments to adopt, each with the module that reads it."""
    if not root.is_dir():
        raise CourseError(f"{root}: there is no such folder")
    of_otter = otter.list_assignments(root)
    # A name that both programs know is read as an assignment of otter.
    available = {**nbgrader.list_assignments(root), **of_otter}
    if name and name not in available:
        raise CourseError(f"{root}: no assignment {name!r}; found: {', '.join(available) or 'none'}")
    if not available:
        raise CourseError(
            f"{root}: expected an nbgrader course, with notebooks in source/<assignment>/ or "
            "release/<assignment>/, or an otter assignment: a notebook with # ASSIGNMENT CONFIG"
        )
    return {
        assignment: otter if assignment in of_otter else nbgrader
        for assignment in ((name,) if name else available)
    }


def _adopt_assignment(course: Course, assignment: FoundAssignment, *, inside: bool) -> AdoptionResult:
    path = course.rubrics / f"{assignment.name}.toml"
    text = format_rubric(assignment, inside=inside)
    written: list[Path] = []
    with _undo_on_error(written):
        if not path.exists():
            # Validate before writing: an invalid rubric must not be left in the course.
            rubrics.parse_rubric(text.encode(), str(path))
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_bytes(path, text.encode())
            written.append(path)
        if (
            course.locate_source(assignment.name).is_dir()
            and not course.locate_release(assignment.name).exists()
        ):
            written += generate_release(course, assignment.name)
        if written:
            _check_cells(course, assignment.name)
    reasons = tuple(f"{test}: {reason}" for test, reason in assignment.judged.items() if reason)
    return AdoptionResult(
        assignment.name,
        path,
        assignment.origin,
        sum((question.points for question in assignment.questions), Decimal(0)),
        tuple(written),
        len(assignment.questions),
        sum(not question.tests for question in assignment.questions),
        len(assignment.judged),
        reasons,
        (*assignment.remarks, *_warn_about_points(assignment, path)),
    )


@contextlib.contextmanager
def _undo_on_error(written: Sequence[Path]) -> Iterator[None]:
    """Remove the written files if they prove to be unusable, because an existing rubric is never replaced."""
    try:
        yield
    except AutograderError:
        for path in written:
            path.unlink()
        for folder in {path.parent for path in written}:
            with contextlib.suppress(OSError):  # other files are in it
                folder.rmdir()
        raise


def _check_cells(course: Course, name: str) -> None:
    """Refuse a question without a cell for its points, which would stop the first grading of the class.

    Raises:
        RubricError: the rubric and its release do not fit together; names the cell.
    """
    assignment = load_assignment(course, name)
    for release in assignment.releases.values():
        check_agreement(release, assignment.rubric)


def _warn_about_points(assignment: FoundAssignment, rubric: Path) -> Iterator[str]:
    """Warn if all points are 0, which would otherwise be noticed only when marks are published."""
    if assignment.questions and not any(question.points for question in assignment.questions):
        listed = ", ".join(question.id for question in assignment.questions[:5])
        more = ", …" if len(assignment.questions) > 5 else ""
        yield (
            f"all points are 0: no question states any ({listed}{more}), so every mark will be 0. State the "
            f"points of questions and items, and their sum in [assignment], in {rubric}; or add the source "
            "notebooks, remove this rubric and adopt again"
        )
