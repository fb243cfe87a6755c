"""Export grades as files for learning platforms, and report who is not in them yet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autograder.app import SILENT, Listener, grade_files
from autograder.app.class_roll import collect_handins
from autograder.app.classes import collect_standings
from autograder.app.collection import load_class_register
from autograder.app.grade_files import make_grade_lines
from autograder.app.grade_formats import FORMATS, FormatOptions, get_format
from autograder.app.stores import OpenStore, open_store
from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.core.tables import join_names
from autograder.core.wording import get_text
from autograder.course import Course
from autograder.exchange.platforms.worksheets import read_worksheet
from autograder.grading import assignment as assignments


class ExportOptions(Struct, frozen=True):
    """Options of an export."""

    fill: Path | None = None
    """A file downloaded from the platform; required for Moodle."""
    provisional: bool = False
    """Also export marks that still need manual review."""
    scaled: bool = False
    """Convert points if the platform's maximum differs."""
    comments: bool = False
    """Also enter the feedback if the format has a place for it."""
    feedback: Path | None = None
    """Output path of the archive of feedback pages for Moodle."""
    title: str = ""
    """Title of the assignment on the platform; default: the rubric's title, or the name."""


class ExportReport(Struct, frozen=True):
    """The files written, and the students in them."""

    files: tuple[Path, ...]
    entered: tuple[str, ...]
    """Students with marks in the files."""
    provisional: tuple[str, ...]
    """Students left out because their marks are not final."""
    remarks: tuple[str, ...]
    """A sentence each."""
    missing: tuple[str, ...] = ()
    """Students without a row in the platform's file."""


def export_grades(
    course: Course,
    name: str,
    form: str,
    to: Path,
    options: ExportOptions | None = None,
    *,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> ExportReport:
    """Write the marks of a class in the format of a platform.

    Args:
        course: the course.
        name: of the assignment.
        form: the format, one of `autograder.app.grade_formats.FORMATS`.
        to: the file.
        options: see `ExportOptions`.
        watch: receives warnings for staff.
        store: opens the store of the course.

    Raises:
        CourseError: there is no such format, no student was graded yet, a file of the platform is needed or
            not usable, or the output cannot be written; nothing is written in these cases.
        RubricError: the rubric is not valid.
        GradebookError: the store reported an error.
    """
    options = options or ExportOptions()
    _check_options(form, options)
    register = load_class_register(course)
    assignment = assignments.load_assignment(course, name)
    stand = collect_standings(course, name, watch=watch, store=store)
    every = tuple(
        make_grade_lines(
            assignment,
            stand.roll.results,
            stand.rows,
            register=register,
            submitted={
                grade_line.student: grade_line.submitted_at
                for grade_line in collect_handins(course, assignment).handins
            },
            language=assignment.language,
        )
    )
    # Provisional marks may still change, and platforms would show them as final.
    lines = tuple(grade_line for grade_line in every if grade_line.final or options.provisional)
    left = tuple(
        grade_line.student for grade_line in every if not grade_line.final and not options.provisional
    )
    title = options.title or get_text(assignment.rubric.assignment.title, assignment.language) or name
    fill = _read_bytes(options.fill) if options.fill else None
    format_options = FormatOptions(title, fill, options.scaled, options.comments)
    try:
        grade_file = get_format(form).make(lines, register, format_options)
    except CourseError as error:
        raise CourseError(f"{options.fill}: {error}" if options.fill else str(error)) from error
    contents = {to: grade_file.content}
    if options.feedback is not None and fill is not None:
        pages = _read_pages(course, name, [line.student for line in lines])
        archive = grade_files.pack_moodle_feedback(read_worksheet(fill), pages, register, name)
        contents[options.feedback] = archive.content
        missing = [line.student for line in lines if line.student not in pages]
        remark = f"no page yet: {join_names(missing)}; run: autograder feedback {name}"
        grade_file = replace(
            grade_file, remarks=(*grade_file.remarks, *archive.remarks, *[remark] * bool(missing))
        )
    # All contents are computed before the first file is written.
    _write_files(contents)
    remarks = (*grade_file.remarks, *stand.roll.remarks)
    return ExportReport(
        tuple(contents), grade_file.entered, left, tuple(dict.fromkeys(remarks)), grade_file.missing
    )


def _check_options(form: str, options: ExportOptions) -> None:
    """Refuse an unknown format and incompatible options.

    Raises:
        CourseError: there is no such format, or an option is missing for it or belongs to another one.
    """
    chosen_format = get_format(form)
    if chosen_format.fill_request and options.fill is None:
        raise CourseError(chosen_format.fill_request)
    if options.fill is not None and not chosen_format.fills:
        fillable = [name for name, entry in FORMATS.items() if entry.fills]
        raise CourseError(f"--fill: nothing is filled for {form}; expected one of {', '.join(fillable)}")
    if options.feedback is not None and form != "moodle":
        raise CourseError(f"--feedback: an archive of pages is for moodle, not for {form}")


def _read_bytes(path: Path) -> bytes:
    try:
        return atomic.read_bytes(path)
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error


def _read_pages(course: Course, name: str, students: Sequence[str]) -> dict[str, bytes]:
    """Read the existing feedback pages."""
    places = {student: course.locate_feedback(student, name) / f"{name}.html" for student in students}
    return {student: _read_bytes(path) for student, path in places.items() if path.is_file()}


def _write_files(contents: dict[Path, bytes]) -> None:
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_bytes(path, content)
    except OSError as error:
        raise CourseError(f"{error.filename}: cannot be written: {error.strerror}") from error
