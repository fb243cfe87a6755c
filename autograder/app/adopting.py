"""Courses of nbgrader and assignments of otter taken over as they are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from types import ModuleType

from msgspec import Struct

from autograder import atomic
from autograder import rubric as rubrics
from autograder.adopting import nbgrader, otter
from autograder.adopting.found import FoundAssignment
from autograder.adopting.rubric_text import rubric_text
from autograder.assignment import load
from autograder.course import Course
from autograder.errors import AutograderError, CourseError, NotebookError, RubricError
from autograder.generate import generate
from autograder.notebook.build import check_agreement


class Adopted(Struct, frozen=True):
    """One assignment that was taken over, or had been before."""

    name: str
    rubric: Path
    origin: str
    points: Decimal = Decimal(0)
    """Of all questions."""
    written: tuple[Path, ...] = ()
    """Empty: nothing was changed."""
    questions: int = 0
    manual: int = 0
    """Questions that a person decides on."""
    tests: int = 0
    not_outside: tuple[str, ...] = ()
    """The tests that cannot be judged outside of the student's box, each with its reason."""
    remarks: tuple[str, ...] = ()
    refused: str = ""
    """Why nothing was taken over; empty where it was."""


def adopt(folder: Path, name: str = "", *, inside: bool = False) -> tuple[Adopted, ...]:
    """Write a rubric for each assignment that has none yet, and its release where there is none.

    Notebooks, tests and gradebook stay as they are, and so does every rubric that is there.

    Args:
        folder: of an nbgrader course, or of an otter assignment.
        name: the one assignment to take over; empty: all.
        inside: tests that cannot be judged outside are judged in the student's box; else a person decides.

    Raises:
        CourseError: nothing that can be adopted lies there; says what was expected.
        RubricError: what was read makes no rubric; names the place. Of several assignments one that cannot
            be adopted is told with the others (`Adopted.refused`); so for all errors.
        NotebookError: a source notebook is not usable.
    """
    root = folder.resolve()
    course = Course(root)
    names = _names(root, name)
    done = []
    for one, program in names.items():
        try:
            done.append(_adopt(course, program.read_assignment(root, one), inside=inside))
        except (CourseError, RubricError, NotebookError) as error:
            if len(names) == 1:
                raise
            origin = program.__name__.rpartition(".")[-1]
            done.append(Adopted(one, course.rubrics / f"{one}.toml", origin, refused=str(error)))
    return tuple(done)


def _names(root: Path, name: str) -> dict[str, ModuleType]:
    """The assignments to take over, each with the module that reads it."""
    if not root.is_dir():
        raise CourseError(f"{root}: there is no such folder")
    of_otter = otter.assignments(root)
    known = {**nbgrader.assignments(root), **of_otter}
    if name and name not in known:
        raise CourseError(f"{root}: no assignment {name!r}; found: {', '.join(known) or 'none'}")
    if not known:
        raise CourseError(
            f"{root}: expected an nbgrader course, with notebooks in source/<assignment>/ or "
            "release/<assignment>/, or an otter assignment: a notebook with # ASSIGNMENT CONFIG, or dist/"
        )
    return {one: otter if one in of_otter else nbgrader for one in ((name,) if name else known)}


def _adopt(course: Course, found: FoundAssignment, *, inside: bool) -> Adopted:
    path = course.rubrics / f"{found.name}.toml"
    text = rubric_text(found, inside=inside)
    written: list[Path] = []
    with _taken_back_on_error(written):
        if not path.exists():
            rubrics.parse(text.encode(), str(path))
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write(path, text.encode())
            written.append(path)
        if course.source(found.name).is_dir() and not course.release(found.name).exists():
            written += generate(course, found.name)
        if written:
            _check_cells(course, found.name)
    reasons = tuple(f"{test}: {reason}" for test, reason in found.judged.items() if reason)
    return Adopted(
        found.name,
        path,
        found.origin,
        sum((one.points for one in found.questions), Decimal(0)),
        tuple(written),
        len(found.questions),
        sum(not one.tests for one in found.questions),
        len(found.judged),
        reasons,
        (*found.remarks, *_without_points(found, path)),
    )


@contextlib.contextmanager
def _taken_back_on_error(written: Sequence[Path]) -> Iterator[None]:
    """Remove what was written if it proves to be unusable: a rubric that is there is never written over."""
    try:
        yield
    except AutograderError:
        for path in written:
            path.unlink()
        for folder in {path.parent for path in written}:
            with contextlib.suppress(OSError):  # other files lie there
                folder.rmdir()
        raise


def _check_cells(course: Course, name: str) -> None:
    """Refuse a question without a cell for its points, which would stop the first grading of the class.

    Raises:
        RubricError: the rubric and its release do not fit together; names the cell.
    """
    assignment = load(course, name)
    for release in assignment.releases.values():
        check_agreement(release, assignment.rubric)


def _without_points(found: FoundAssignment, rubric: Path) -> Iterator[str]:
    """Say so if nothing is worth anything, which no class notices before its marks are out."""
    if found.questions and not any(one.points for one in found.questions):
        listed = ", ".join(one.id for one in found.questions[:5])
        more = ", …" if len(found.questions) > 5 else ""
        yield (
            f"all points are 0: no question states any ({listed}{more}), so every mark will be 0. State the "
            f"points of questions and items, and their sum in [assignment], in {rubric}; or add the source "
            "notebooks, remove this rubric and adopt again"
        )
