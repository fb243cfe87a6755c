"""Find submissions more similar than chance and the task explain: a hint for staff, not a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autograder import assignment as assignments
from autograder import atomic
from autograder.app import SILENT, Listener, counted
from autograder.assignment import Assignment
from autograder.course import Course, Handin
from autograder.course.counting import everybody
from autograder.errors import AutograderError, CourseError, NotebookError, describe_error
from autograder.grading.batch import collect
from autograder.grading.pipeline import SubmittedFiles
from autograder.marking.similarity.page import render_similar
from autograder.marking.similarity.pairs import AlikePair, Weights, alike_pairs, weights
from autograder.marking.similarity.works import ComparedWork, Comparing, Work, WorkPiece, pieces_of
from autograder.notebook.files import read_file
from autograder.notebook.read import read
from autograder.notebook.release import Release, load_release
from autograder.paths import files_in
from autograder.rubric import Rubric

_PYTHON = ".py"


class SimilarClass(Struct, frozen=True):
    """The most similar pairs of a class."""

    rubric: Rubric
    works: Mapping[str, ComparedWork]
    weights: Weights
    pairs: tuple[AlikePair, ...]
    """The most similar first."""
    remarks: tuple[str, ...]
    """Sentences about everything that was not, or not completely, compared."""


def similar(
    course: Course,
    name: str,
    *,
    given: Sequence[Path] = (),
    most: int = 30,
    watch: Listener = SILENT,
) -> SimilarClass:
    """Compare all submissions that count with each other. Nothing is run, and no grading is needed.

    A shared submission of a group is compared once, as the work of the member who submitted it.

    Args:
        course: the course.
        name: of the assignment.
        given: other notebooks and ``.py`` files that all students had, such as those of a lecture.
        most: maximum number of pairs.
        watch: notified after each work.

    Raises:
        CourseError: there is nothing to compare, or a file of ``given`` cannot be read.
        RubricError: the rubric is not valid.
    """
    assignment = assignments.load(course, name)
    further, remarks = _given(given), list[str]()
    handed = _works(assignment, everybody(course, assignment.rubric).handins)
    found = compare(assignment, handed, further=further, most=most, watch=watch)
    return replace(found, remarks=(*found.remarks, *remarks))


def _works(assignment: Assignment, counting: Sequence[Handin]) -> dict[str, Callable[[], SubmittedFiles]]:
    """Return the works to compare by submitter, including late ones and individual parts of group members."""
    # Collecting a late submission would give no files; similarity concerns it all the same.
    untimed = [replace(one, timing=None) for one in counting]
    works = {one.student: partial(_alone, assignment, one) for one in untimed if one.by and one.own}
    for one in sorted(untimed, key=lambda one: not one.by):  # individual works last
        works[one.owner] = partial(collect, assignment, replace(one, own=one.folder) if one.by else one)
    return dict(sorted(works.items()))


def _alone(assignment: Assignment, handin: Handin) -> SubmittedFiles:
    return part_alone(assignment.rubric, handin.student, collect(assignment, handin))


def part_alone(rubric: Rubric, student: str, handed: SubmittedFiles) -> SubmittedFiles:
    """Return a group member's individual notebooks, and the files that belong to them."""
    own = [one for one in rubric.assignment.notebooks if one.individual]
    return SubmittedFiles(
        student,
        {one.name: handed.notebooks[one.name] for one in own},
        {path: data for path, data in handed.files.items() if any(path in one.own for one in own)},
    )


def compare(
    assignment: Assignment,
    handed_in: Mapping[str, Callable[[], SubmittedFiles]],
    *,
    further: tuple[WorkPiece, ...] = (),
    most: int = 30,
    watch: Listener = SILENT,
) -> SimilarClass:
    """Compare works with each other, independent of where they are stored.

    Args:
        assignment: the assignment.
        handed_in: functions that fetch a work, by student; a failure is reported for that student only.
        further: pieces that all students had in addition to the release.
        most: maximum number of pairs.
        watch: notified after each work.
    """
    comparing, remarks = Comparing(), list[str]()
    found: dict[str, ComparedWork] = {}
    for student, fetch in counted(handed_in.items(), len(handed_in), watch):
        try:
            compared = comparing.compared(_work(assignment, student, fetch(), further, remarks))
        except Exception as error:  # noqa: BLE001 - one student's accident must not stop a class
            remarks.append(f"{student}: not compared: {describe_error(error)}")
            continue
        if not compared.whole:
            remarks.append(f"{student}: there is too much of it; only a part was compared")
        found[student] = compared
    works = list(found.values())
    weighed = weights(works)
    pairs = alike_pairs(works, most, weighed)
    return SimilarClass(assignment.rubric, found, weighed, pairs, tuple(remarks))


def write_page(course: Course, found: SimilarClass) -> Path:
    """Write the page for staff, ``staff/NAME-similar.html``, and return its path."""
    path = course.root / "staff" / f"{found.rubric.assignment.name}-similar.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    page = render_similar(found.rubric, found.works, found.pairs, found.weights, remarks=found.remarks)
    atomic.write(path, page.encode())
    return path


def _work(
    assignment: Assignment,
    student: str,
    handed: SubmittedFiles,
    further: tuple[WorkPiece, ...],
    remarks: list[str],
) -> Work:
    """Return the submission of one student, with the release that the student received."""
    releases = assignment.releases
    try:
        releases = assignment.for_student(student).releases
    except AutograderError as error:
        # Without the personal release, its differences from the common one count as the student's work.
        remarks.append(f"{student}: compared with the common release: {error}")
    pieces: list[WorkPiece] = []
    for notebook, data in handed.notebooks.items():
        if isinstance(data, NotebookError):
            remarks.append(f"{student}: {notebook} is not compared: {data}")
            continue
        try:
            submission = read(
                data,
                releases[notebook],
                student=student,
                assignment=assignment.name,
                names_asked=assignment.names_asked(notebook),
            )
        except NotebookError as error:
            remarks.append(f"{student}: {notebook} is not compared: {error}")
            continue
        pieces += pieces_of(notebook, submission.cells, submission.answer_cells)
    for name, data in handed.files.items():
        if isinstance(data, NotebookError):
            remarks.append(f"{student}: {name} is not compared: {data}")
        elif name.endswith(_PYTHON):
            pieces.append(WorkPiece(name, data.decode("utf-8", "replace"), is_code=True, label=name))
    return Work(student, tuple(pieces), (*_released(assignment, releases), *further))


def _released(assignment: Assignment, releases: Mapping[str, Release]) -> tuple[WorkPiece, ...]:
    """Return all released content: all cells, and the modules next to the notebooks."""
    cells = [
        WorkPiece("", cell.source, cell.cell_type == "code", name)
        for name, release in releases.items()
        for cell in release.cells
    ]
    folder = assignment.course.release(assignment.name)
    given = [name for one in assignment.rubric.assignment.notebooks for name in one.given]
    modules = [
        WorkPiece("", path.read_text("utf-8", "replace"), is_code=True, label=name)
        for name, path in files_in(folder, given)
        if name.endswith(_PYTHON) and path.is_file()
    ]
    return (*cells, *modules)


def _given(paths: Sequence[Path]) -> tuple[WorkPiece, ...]:
    """Read files that staff declare as known to all students.

    Raises:
        CourseError: a file cannot be read, or is neither a notebook nor a module.
    """
    pieces: list[WorkPiece] = []
    for path in paths:
        try:
            data = read_file(path)
        except NotebookError as error:
            raise CourseError(f"--given: {path}: {error}") from error
        if path.suffix == _PYTHON:
            pieces.append(WorkPiece("", data.decode("utf-8", "replace"), is_code=True, label=path.name))
        elif path.suffix == ".ipynb":
            cells = load_release(data, path.stem).cells
            pieces += [WorkPiece("", cell.source, cell.cell_type == "code", path.name) for cell in cells]
        else:
            raise CourseError(f"--given: {path}: expected a notebook (.ipynb) or a module (.py)")
    return tuple(pieces)
