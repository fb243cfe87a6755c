"""Find submissions more similar than chance and the task explain: a hint for staff, not a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autograder.app import SILENT, Listener, count_steps
from autograder.core import atomic
from autograder.core.errors import AutograderError, CourseError, NotebookError, describe_error
from autograder.core.paths import list_files_at
from autograder.core.wording import Phrase, join_phrases
from autograder.course import Course, Handin
from autograder.course.counting_attempts import find_counting_attempts
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.batch import read_handin
from autograder.grading.pipeline import SubmittedFiles
from autograder.marking.similarity.pairs import AlikePair, Weights, compute_weights, find_similar_pairs
from autograder.marking.similarity.side_by_side import render_similar
from autograder.marking.similarity.works import ComparedWork, FeatureExtractor, Work, WorkPiece, list_pieces
from autograder.messages import build_localised_text
from autograder.notebook.files import read_file
from autograder.notebook.release import Release, load_release
from autograder.notebook.submission_reader import read_notebook
from autograder.rubric import Rubric

_PYTHON = ".py"


class SimilarClass(Struct, frozen=True):
    """The most similar pairs of a class."""

    rubric: Rubric
    works: Mapping[str, ComparedWork]
    weights: Weights
    pairs: tuple[AlikePair, ...]
    """The most similar first."""
    remarks: tuple[Phrase, ...]
    """Sentences about everything that was not, or not completely, compared."""


def find_similar(
    course: Course,
    name: str,
    *,
    known_files: Sequence[Path] = (),
    most: int = 30,
    watch: Listener = SILENT,
) -> SimilarClass:
    """Compare all submissions that count with each other. Nothing is run, and no grading is needed.

    A shared submission of a group is compared once, as the work of the member who submitted it.

    Args:
        course: the course.
        name: of the assignment.
        known_files: other notebooks and ``.py`` files that all students had, such as those of a lecture.
        most: maximum number of pairs.
        watch: notified after each work.

    Raises:
        CourseError: there is nothing to compare, or a file of ``given`` cannot be read.
        RubricError: the rubric is not valid.
    """
    assignment = assignments.load_assignment(course, name)
    further, remarks = _read_given_pieces(known_files), list[Phrase]()
    fetchers = _list_works(assignment, find_counting_attempts(course, assignment.rubric).handins)
    similar_class = compare_works(assignment, fetchers, further=further, most=most, watch=watch)
    return replace(similar_class, remarks=(*similar_class.remarks, *remarks))


def _list_works(
    assignment: Assignment, counting: Sequence[Handin]
) -> dict[str, Callable[[], SubmittedFiles]]:
    """Return the works to compare by submitter, including late ones and individual parts of group members."""
    # Collecting a late submission would give no files; similarity concerns it all the same.
    untimed = [replace(handin, timing=None) for handin in counting]
    works = {
        handin.student: partial(_collect_individual_part, assignment, handin)
        for handin in untimed
        if handin.by and handin.own
    }
    for handin in sorted(untimed, key=lambda handin: not handin.by):  # individual works last
        works[handin.owner] = partial(
            read_handin, assignment, replace(handin, own=handin.folder) if handin.by else handin
        )
    return dict(sorted(works.items()))


def _collect_individual_part(assignment: Assignment, handin: Handin) -> SubmittedFiles:
    return select_individual_part(assignment.rubric, handin.student, read_handin(assignment, handin))


def select_individual_part(rubric: Rubric, student: str, handed: SubmittedFiles) -> SubmittedFiles:
    """Return a group member's individual notebooks, and the files that belong to them."""
    individual_notebooks = [notebook for notebook in rubric.assignment.notebooks if notebook.individual]
    return SubmittedFiles(
        student,
        {notebook.name: handed.notebooks[notebook.name] for notebook in individual_notebooks},
        {
            path: data
            for path, data in handed.files.items()
            if any(path in notebook.own for notebook in individual_notebooks)
        },
    )


def compare_works(
    assignment: Assignment,
    fetchers: Mapping[str, Callable[[], SubmittedFiles]],
    *,
    further: tuple[WorkPiece, ...] = (),
    most: int = 30,
    watch: Listener = SILENT,
) -> SimilarClass:
    """Compare works with each other, independent of where they are stored.

    Args:
        assignment: the assignment.
        fetchers: functions that fetch a work, by student; a failure is reported for that student only.
        further: pieces that all students had in addition to the release.
        most: maximum number of pairs.
        watch: notified after each work.
    """
    comparing, remarks = FeatureExtractor(), list[Phrase]()
    compared_works: dict[str, ComparedWork] = {}
    for student, fetch in count_steps(fetchers.items(), len(fetchers), watch):
        try:
            compared = comparing.extract_features(_make_work(assignment, student, fetch(), further, remarks))
        except Exception as error:  # noqa: BLE001 - one student's accident must not stop a class
            reason = build_localised_text("fault.alike-failed", error=describe_error(error))
            remarks.append(_explain(student, reason))
            continue
        if not compared.whole:
            remarks.append(_explain(student, build_localised_text("fault.alike-part")))
        compared_works[student] = compared
    works = list(compared_works.values())
    class_weights = compute_weights(works)
    pairs = find_similar_pairs(works, most, class_weights)
    return SimilarClass(assignment.rubric, compared_works, class_weights, pairs, tuple(remarks))


def _explain(student: str, reason: Phrase) -> Phrase:
    return join_phrases((student, reason), ": ")


def write_page(course: Course, similar_class: SimilarClass) -> Path:
    """Write the page for staff, ``staff/NAME-similar.html``, and return its path."""
    path = course.root / "staff" / f"{similar_class.rubric.assignment.name}-similar.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    page = render_similar(
        similar_class.rubric,
        similar_class.works,
        similar_class.pairs,
        similar_class.weights,
        remarks=[str(remark) for remark in similar_class.remarks],
    )
    atomic.write_bytes(path, page.encode())
    return path


def _make_work(
    assignment: Assignment,
    student: str,
    handed: SubmittedFiles,
    further: tuple[WorkPiece, ...],
    remarks: list[Phrase],
) -> Work:
    """Return the submission of one student, with the release that the student received."""
    releases = assignment.releases
    try:
        releases = assignment.derive_for_student(student).releases
    except AutograderError as error:
        # Without the personal release, its differences from the common one count as the student's work.
        reason = build_localised_text("fault.alike-release", reason=error.text)
        remarks.append(_explain(student, reason))
    pieces: list[WorkPiece] = []
    for notebook, data in handed.notebooks.items():
        if isinstance(data, NotebookError):
            reason = build_localised_text("fault.alike-unread", file=notebook, reason=data.text)
            remarks.append(_explain(student, reason))
            continue
        try:
            submission = read_notebook(
                data,
                releases[notebook],
                student=student,
                assignment=assignment.name,
                names_asked=assignment.list_required_names(notebook),
            )
        except NotebookError as error:
            reason = build_localised_text("fault.alike-unread", file=notebook, reason=error.text)
            remarks.append(_explain(student, reason))
            continue
        pieces += list_pieces(notebook, submission.cells, submission.answer_cells)
    for name, data in handed.files.items():
        if isinstance(data, NotebookError):
            reason = build_localised_text("fault.alike-unread", file=name, reason=data.text)
            remarks.append(_explain(student, reason))
        elif name.endswith(_PYTHON):
            pieces.append(WorkPiece(name, data.decode("utf-8", "replace"), is_code=True, label=name))
    return Work(student, tuple(pieces), (*_read_released_pieces(assignment, releases), *further))


def _read_released_pieces(assignment: Assignment, releases: Mapping[str, Release]) -> tuple[WorkPiece, ...]:
    """Return all released content: all cells, and the modules next to the notebooks."""
    cells = [
        WorkPiece("", cell.source, cell.cell_type == "code", name)
        for name, release in releases.items()
        for cell in release.cells
    ]
    folder = assignment.course.locate_release(assignment.name)
    file_names = [name for notebook in assignment.rubric.assignment.notebooks for name in notebook.given]
    modules = [
        WorkPiece("", path.read_text("utf-8", "replace"), is_code=True, label=name)
        for name, path in list_files_at(folder, file_names)
        if name.endswith(_PYTHON) and path.is_file()
    ]
    return (*cells, *modules)


def _read_given_pieces(paths: Sequence[Path]) -> tuple[WorkPiece, ...]:
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
