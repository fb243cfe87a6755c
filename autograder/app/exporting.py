"""Grades as files for learning platforms: who is in them, who is not yet, and where the files lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autograder import assignment as assignments
from autograder import atomic
from autograder.app import SILENT, Listener, grade_files
from autograder.app.classes import standings
from autograder.app.collecting import class_register
from autograder.app.grade_files import GradeFile
from autograder.app.grade_lines import GradeLine, grade_lines, json_lines
from autograder.app.handins import collect
from autograder.app.stores import OpenStore, open_store
from autograder.course import Course
from autograder.errors import CourseError
from autograder.platforms.people import Register
from autograder.platforms.worksheets import read_worksheet
from autograder.tables import name_list
from autograder.wording import text_in

Form = Literal["moodle", "canvas", "gradescope", "ilias", "csv", "jsonl"]
FORMS: tuple[Form, ...] = ("moodle", "canvas", "gradescope", "ilias", "csv", "jsonl")
FILLED: tuple[Form, ...] = ("moodle", "canvas")
"""Forms that fill a file of the platform's."""


class ExportOptions(Struct, frozen=True):
    """What is exported, and how."""

    fill: Path | None = None
    """A file as it was downloaded from the platform; Moodle's worksheet is needed."""
    provisional: bool = False
    """Marks about which a person has yet to decide are exported as well."""
    scaled: bool = False
    """Points are converted where the platform's maximum is another one."""
    comments: bool = False
    """What students are told is entered as well, where the form has a place for it."""
    feedback: Path | None = None
    """Where the archive of feedback pages for Moodle is written to."""
    title: str = ""
    """Of the assignment on the platform; default: the rubric's, or its name."""


class ExportReport(Struct, frozen=True):
    """What was written."""

    files: tuple[Path, ...]
    entered: tuple[str, ...]
    """Students whose marks are in them."""
    provisional: tuple[str, ...]
    """Students whose marks are not final, and were left out therefore."""
    remarks: tuple[str, ...]
    """A sentence each."""
    missing: tuple[str, ...] = ()
    """Students whose marks have no place in the platform's file."""


def export_grades(
    course: Course,
    name: str,
    form: Form,
    to: Path,
    options: ExportOptions | None = None,
    *,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> ExportReport:
    """Write everybody's marks as a platform takes them.

    Args:
        course: whose class.
        name: of the assignment.
        form: of the platform.
        to: the file; for Gradescope the folder, which gets ``<student>/results.json``.
        options: what and how.
        watch: hears what staff should know.
        store: opens the course's.

    Raises:
        CourseError: nobody was graded yet, a file of the platform is needed or not usable, or it cannot be
            written; nothing is written then.
        RubricError: the rubric is not valid.
        GradebookError: the store refused.
    """
    options = options or ExportOptions()
    _check(form, options)
    register = class_register(course)
    assignment = assignments.load(course, name)
    stand = standings(course, name, watch=watch, store=store)
    every = tuple(
        grade_lines(
            assignment,
            stand.roll.results,
            stand.rows,
            register=register,
            submitted={one.student: one.submitted_at for one in collect(course, assignment).handins},
            language=assignment.language,
        )
    )
    lines = tuple(one for one in every if one.final or options.provisional)
    left = tuple(one.student for one in every if not one.final and not options.provisional)
    title = options.title or text_in(assignment.rubric.assignment.title, assignment.language) or name
    fill = _read(options.fill) if options.fill else None
    contents, made = _contents(form, lines, register, title=title, fill=fill, options=options, to=to)
    if options.feedback is not None and fill is not None:
        pages = _pages(course, name, [line.student for line in lines])
        archive = grade_files.moodle_feedback(read_worksheet(fill), pages, register, name)
        contents[options.feedback] = archive.content
        missing = [line.student for line in lines if line.student not in pages]
        told = f"no page yet: {name_list(missing)}; run: autograder feedback {name}"
        made = replace(made, remarks=(*made.remarks, *archive.remarks, *[told] * bool(missing)))
    _write(contents)
    remarks = (*made.remarks, *stand.roll.remarks)
    return ExportReport(tuple(contents), made.entered, left, tuple(dict.fromkeys(remarks)), made.missing)


def _check(form: Form, options: ExportOptions) -> None:
    """Refuse what does not go together.

    Raises:
        CourseError: an option is missing for a form, or is for another one.
    """
    if form == "moodle" and options.fill is None:
        raise CourseError(
            "Moodle takes its own grading worksheet: download it there, and name it with --fill FILE"
        )
    if options.fill is not None and form not in FILLED:
        raise CourseError(f"--fill: nothing is filled for {form}; expected one of {', '.join(FILLED)}")
    if options.feedback is not None and form != "moodle":
        raise CourseError(f"--feedback: an archive of pages is for moodle, not for {form}")


def _contents(
    form: Form,
    lines: Sequence[GradeLine],
    register: Register,
    *,
    title: str,
    fill: bytes | None,
    options: ExportOptions,
    to: Path,
) -> tuple[dict[Path, bytes], GradeFile]:
    """The files by their places, and what is said of them."""
    entered = tuple(line.student for line in lines)
    if form == "gradescope":
        files = {to / line.student / "results.json": grade_files.gradescope(line) for line in lines}
        return files, GradeFile(b"", entered, ())
    try:
        if form == "moodle":
            made = grade_files.moodle(
                fill or b"", lines, register, scaled=options.scaled, comments=options.comments
            )
        elif form == "canvas":
            made = grade_files.canvas(lines, register, title, fill, scaled=options.scaled)
        elif form == "jsonl":
            made = GradeFile(json_lines(tuple(lines)), entered, ())
        else:
            german = form == "ilias"
            made = grade_files.plain(lines, register, separator=";" if german else ",", marked=german)
    except CourseError as error:
        raise CourseError(f"{options.fill}: {error}" if options.fill else str(error)) from error
    return {to: made.content}, made


def _read(path: Path) -> bytes:
    try:
        return atomic.read(path)
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error


def _pages(course: Course, name: str, students: Sequence[str]) -> dict[str, bytes]:
    """The feedback pages that there are."""
    places = {student: course.feedback(student, name) / f"{name}.html" for student in students}
    return {student: _read(path) for student, path in places.items() if path.is_file()}


def _write(contents: dict[Path, bytes]) -> None:
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write(path, content)
    except OSError as error:
        raise CourseError(f"{error.filename}: cannot be written: {error.strerror}") from error
