"""The formats of files with grades, in one table for the command line and the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from autograder.app import grade_files
from autograder.app.grade_files import GradeFile, GradeLine
from autograder.core.errors import CourseError
from autograder.exchange.platforms.student_matching import Register


class FormatOptions(Struct, frozen=True):
    """Options of a format."""

    title: str
    """Title of the assignment on the platform."""
    fill: bytes | None = None
    """A file downloaded from the platform."""
    scaled: bool = False
    """Convert points if the platform's maximum differs."""
    comments: bool = False
    """Also enter the feedback if the format has a place for it."""


class GradeFormat(Struct, frozen=True):
    """A format: how its file is made, and whether it fills in a file of the platform."""

    make: Callable[[Sequence[GradeLine], Register, FormatOptions], GradeFile]
    name_end: str
    """End of the name under which the service offers the file, after the assignment's."""
    fills: bool = False
    """A file downloaded from the platform can be filled in."""
    fill_request: str = ""
    """Asks for such a file, because nothing can be written without; empty: the format needs none."""


def _fill_moodle(lines: Sequence[GradeLine], register: Register, options: FormatOptions) -> GradeFile:
    return grade_files.fill_moodle_worksheet(
        options.fill or b"", lines, register, scaled=options.scaled, comments=options.comments
    )


def _make_canvas(lines: Sequence[GradeLine], register: Register, options: FormatOptions) -> GradeFile:
    return grade_files.make_canvas_gradebook(
        lines, register, options.title, options.fill, scaled=options.scaled
    )


def _make_ilias(lines: Sequence[GradeLine], register: Register, _: FormatOptions) -> GradeFile:
    # German spreadsheet programs use the comma for decimals and expect semicolons as separators.
    return grade_files.make_csv(lines, register, separator=";", marked=True)


def _make_csv(lines: Sequence[GradeLine], register: Register, _: FormatOptions) -> GradeFile:
    return grade_files.make_csv(lines, register, separator=",", marked=False)


def _make_json_lines(lines: Sequence[GradeLine], _: Register, __: FormatOptions) -> GradeFile:
    content = grade_files.encode_json_lines(tuple(lines))
    return GradeFile(content, tuple(line.student for line in lines), ())


FORMATS: Mapping[str, GradeFormat] = {
    "moodle": GradeFormat(
        _fill_moodle,
        "moodle.csv",
        fills=True,
        fill_request=(
            "Moodle takes its own grading worksheet: download it there, and name it with --fill FILE"
        ),
    ),
    "canvas": GradeFormat(_make_canvas, "canvas.csv", fills=True),
    "ilias": GradeFormat(_make_ilias, "ilias.csv"),
    "csv": GradeFormat(_make_csv, "csv.csv"),
    "jsonl": GradeFormat(_make_json_lines, "grades.jsonl"),
}
"""All formats by name, in the order in which they are offered."""


def get_format(name: str) -> GradeFormat:
    """Return a format.

    Raises:
        CourseError: there is none of this name.
    """
    if name not in FORMATS:
        raise CourseError(f"--format: expected one of {', '.join(FORMATS)}, got {name!r}")
    return FORMATS[name]
