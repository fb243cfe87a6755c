"""Lists of grades in the formats of platforms: Moodle, Canvas, Gradescope's results.json, plain CSV.

No cell acts as a formula, whatever names students choose. Points are rounded only in these files.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from autograder.app.grade_lines import GradeLine, QuestionMark
from autograder.core.errors import CourseError
from autograder.core.tables import join_names
from autograder.exchange.platforms import gradebooks
from autograder.exchange.platforms.csvfiles import CsvTable, normalize_column, strip_guard, write_table
from autograder.exchange.platforms.people import Identification, Register
from autograder.exchange.platforms.worksheets import (
    Worksheet,
    check_fillable,
    format_number,
    parse_number,
    read_worksheet,
)
from autograder.pages.feedback.sanitise import to_printable_text

PLAIN_COLUMNS = (
    "login",
    "last_name",
    "first_name",
    "id",
    "email",
    "points",
    "possible",
    "grade",
    "passed",
    "state",
)
# Canvas recognises this row by its exact text, including the leading spaces.
_POSSIBLE = "    Points Possible"
_CENT = Decimal("0.01")


class GradeFile(Struct, frozen=True):
    """A file for a platform, and everything that is not in it."""

    content: bytes
    entered: tuple[str, ...]
    """Students with marks in it."""
    remarks: tuple[str, ...]
    """Sentences about rows without a student, and about marks that differ from the earned ones."""
    missing: tuple[str, ...] = ()
    """Students without a row in it."""


def fill_moodle_worksheet(
    data: bytes, lines: Sequence[GradeLine], register: Register, *, scaled: bool, comments: bool
) -> GradeFile:
    """Fill in a downloaded worksheet; everything except grades and comments stays as it is.

    Args:
        data: of the worksheet.
        lines: to be entered.
        register: the identities of the class.
        scaled: convert points to the worksheet's maximum if it differs.
        comments: also enter the feedback of every question.

    Raises:
        CourseError: it is not a worksheet, has no column for grades, or another maximum than the assignment.
    """
    sheet = read_worksheet(data)
    check_fillable(sheet)
    by_student = {line.student: line for line in lines}
    cells: dict[int, tuple[str, str]] = {}
    entered, remarks, without = [], [], []
    for index, row in enumerate(sheet.rows):
        match = register.find_student(row.identity)
        line = by_student.get(match.student)
        if not match.student:
            remarks.append(to_printable_text(f"{row.identity.label}: left as it is: {match.suggestion}"))
        elif line is None:
            without.append(match.student)
        elif not row.changeable:
            remarks.append(f"{line.student}: left as it is: the worksheet says that it cannot be changed")
        else:
            points, notes = _scale_points(line, row.maximum, scaled=scaled)
            remarks += notes
            feedback = format_feedback(line) if comments else ""
            cells[index] = (format_number(points, row.maximum), feedback)
            entered.append(line.student)
    return _make_grade_file(
        write_table(sheet.fill_grades(cells)), by_student, entered, [*remarks, *_report_unmarked(without)]
    )


def _make_grade_file(
    content: bytes, lines: Mapping[str, GradeLine], entered: Sequence[str], remarks: Sequence[str]
) -> GradeFile:
    """Make a grade file that also reports students without a row in it."""
    missing = tuple(student for student in lines if student not in set(entered))
    notes = [f"these marks have no place in the file: {join_names(missing)}"] if missing else []
    return GradeFile(content, tuple(entered), (*remarks, *notes), missing)


def _report_unmarked(students: Sequence[str]) -> list[str]:
    return [f"without a mark, and left as they are: {join_names(students)}"] if students else []


def _scale_points(line: GradeLine, maximum: str, *, scaled: bool) -> tuple[Decimal, list[str]]:
    """Convert points to the platform's maximum.

    Raises:
        CourseError: the maximum differs, and conversion was not requested.
    """
    most = parse_number(maximum)
    if most is None:
        return _round_points(line.total), []
    total = line.total
    if most != line.possible:
        if not scaled:
            raise CourseError(
                f"the platform's maximum is {most.normalize():f}, and the assignment has "
                f"{line.possible.normalize():f} points; set the same there, or convert with --scale"
            )
        total = total * most / line.possible
    # Bonus points may exceed the platform's maximum; the mark is capped and reported.
    if total > most:
        return _round_points(most), [
            f"{line.student}: {_round_points(total)} is more than the maximum, {most}: entered as that"
        ]
    return _round_points(total), []


def _round_points(points: Decimal) -> Decimal:
    # Half up, as people round: Decimal's default rounds 0.125 to 0.12.
    return points.quantize(_CENT, ROUND_HALF_UP)


def format_feedback(line: GradeLine) -> str:
    """Format the feedback as minimal HTML, because platforms show comments as HTML."""
    return "<br>".join(html.escape(line_text) for line_text in list_feedback_sentences(line))


def list_feedback_sentences(line: GradeLine) -> list[str]:
    """Return the feedback of a student, a line for each question and each remark."""
    return [
        text
        for question in line.questions
        for text in (_format_heading(question), *_format_remarks(question))
    ]


def _format_heading(question: QuestionMark) -> str:
    return f"{question.id}: {_format_points(question.points)} / {_format_points(question.possible)}"


def _format_remarks(question: QuestionMark) -> list[str]:
    remarks = [f"– {item.title}: {item.message}" for item in question.items if item.message]
    return [*remarks, *(f"– {comment}" for comment in question.comments)]


def _format_points(points: Decimal) -> str:
    return f"{points.normalize():f}"


def pack_moodle_feedback(
    sheet: Worksheet, pages: Mapping[str, bytes], register: Register, name: str
) -> GradeFile:
    """Return pages as an archive for Moodle's *feedback files*, in folders named as Moodle names them.

    Args:
        sheet: the worksheet, which has the participants' numbers.
        pages: by student.
        register: the identities of the class.
        name: of each file, without the suffix.
    """
    buffer = io.BytesIO()
    entered, remarks = [], []
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for row in sheet.rows:
            student = register.find_student(row.identity).student
            if student not in pages:
                continue
            if not row.identity.number:
                remarks.append(f"{student}: the worksheet has no participant's number; the page is left out")
                continue
            # Moodle finds the participant by the number after the first underscore, so the name must have
            # none.
            name_in_archive = (
                re.sub(r'[\\/:*?"<>|_\x00-\x1f]', " ", row.identity.name).strip() or "Participant"
            )
            path = f"{name_in_archive}_{row.identity.number}_assignsubmission_file_/{name}.html"
            # A fixed date makes the archive reproducible; ZIP cannot store dates before 1980.
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), pages[student])
            entered.append(student)
    return GradeFile(buffer.getvalue(), tuple(entered), tuple(remarks))


def make_canvas_gradebook(
    lines: Sequence[GradeLine],
    register: Register,
    title: str,
    filled: bytes | None = None,
    *,
    scaled: bool = False,
) -> GradeFile:
    """Return a gradebook for Canvas: its five identifying columns, and the column of the assignment.

    Args:
        lines: to be entered.
        register: the identities of the class, with the numbers of accounts.
        title: the assignment's title in Canvas: ``Warmup (4711)``.
        filled: a downloaded gradebook; if given, its rows and columns are used.
        scaled: convert points to the maximum in ``filled`` if it differs.

    Raises:
        CourseError: the download is not a gradebook, has several columns of this title, or has another
            maximum than the assignment.
    """
    by_student = {line.student: line for line in lines}
    possible = f"{lines[0].possible.normalize():f}" if lines else ""
    if filled is None:
        rows = [_make_canvas_row(line, register) for line in lines]
        remarks = [
            f"{to_printable_text(row[0])}: neither the account's number nor a login is known; fill a "
            "downloaded "
            "gradebook"
            for row in rows
            if not row[1] and not row[3]
        ]
        entered = list(by_student)
    else:
        table = gradebooks.read_gradebook(filled)
        column = gradebooks.find_column(table.columns, title)
        grades = table.columns.index(column) if column else -1
        possible = gradebooks.find_maximum(table, grades) or possible
        rows, entered, remarks = _fill_canvas_rows(
            table, grades, by_student, register, possible, scaled=scaled
        )
        if not column:
            remarks.append(
                f"the gradebook has no column {to_printable_text(title)}, and Canvas will make a new "
                "assignment "
                "of it; name the one that is meant with --title"
            )
        title = column or title
    body = [tuple(row) for row in ([_POSSIBLE, "", "", "", "", possible], *rows)]
    return _make_grade_file(
        write_table(CsvTable((*gradebooks.COLUMNS, title), tuple(body), ())), by_student, entered, remarks
    )


def _fill_canvas_rows(
    table: CsvTable,
    grades: int,
    lines: Mapping[str, GradeLine],
    register: Register,
    maximum: str,
    *,
    scaled: bool,
) -> tuple[list[list[str]], list[str], list[str]]:
    """Return the rows of students, one for each section; the students with marks; and the remarks.

    Args:
        table: the downloaded gradebook.
        grades: index of the assignment's column in it; -1: none.
        lines: to be entered, by student.
        register: the identities of the class.
        maximum: the points possible in the gradebook.
        scaled: convert points to that maximum.
    """
    rows: list[list[str]] = []
    remarks: list[str] = []
    entered: dict[str, None] = {}
    without: dict[str, None] = {}
    for row in gradebooks.list_student_rows(table):
        values = [table.get_value(row, [normalize_column(column)]) for column in gradebooks.COLUMNS]
        match = register.find_student(Identification(values[2], values[0], login=values[3], number=values[1]))
        line = lines.get(match.student)
        present = strip_guard(row[grades]) if grades >= 0 else ""
        # Importing a mark would silently end the excuse.
        if line is not None and present.casefold() == gradebooks.EXCUSED:
            rows.append([*values, present])
            remarks.append(
                f"{line.student}: left as it is: excused in Canvas ({present}); clear it there first"
            )
        elif line is not None:
            points, notes = _scale_points(line, maximum, scaled=scaled)
            rows.append([*values, f"{points:f}"])
            entered[line.student] = None
            remarks += notes
        elif match.student:
            without[match.student] = None
        else:
            remarks.append(to_printable_text(f"{values[0]}: left out: {match.suggestion}"))
    return rows, list(entered), [*dict.fromkeys(remarks), *_report_unmarked(list(without))]


def _make_canvas_row(line: GradeLine, register: Register) -> list[str]:
    listed = register.get_student(line.student)
    number, login = (listed.platform_id, listed.login) if listed else ("", "")
    name = ", ".join(filter(None, (line.last_name, line.first_name))) or line.student
    return [name, number, line.student, login, "", f"{_round_points(line.total):f}"]


def make_csv(
    lines: Sequence[GradeLine], register: Register, *, separator: str = ",", marked: bool = False
) -> GradeFile:
    """Return a CSV list for any program; ILIAS and office programs in Germany need semicolons.

    Args:
        lines: to be entered.
        register: the identities of the class.
        separator: of values.
        marked: add a byte order mark, by which spreadsheet programs recognise UTF-8.
    """
    rows = []
    for line in lines:
        listed = register.get_student(line.student)
        passed = "" if line.passed is None else "yes" if line.passed else "no"
        grade = " to ".join(dict.fromkeys(filter(None, (line.grade, line.best_grade))))
        rows.append(
            (
                listed.login if listed else "",
                line.last_name,
                line.first_name,
                line.student,
                line.email,
                f"{_round_points(line.total):f}",
                _format_points(line.possible),
                grade,
                passed,
                line.state,
            )
        )
    table = CsvTable(PLAIN_COLUMNS, tuple(rows), (), separator, marked)
    return GradeFile(write_table(table), tuple(line.student for line in lines), ())


class GradescopeTest(Struct, frozen=True):
    """One entry of ``results.json``: a question."""

    name: str
    number: str
    score: Decimal
    max_score: Decimal
    output: str
    status: str | UnsetType = UNSET
    """``passed`` or ``failed``; unset while it is open."""
    output_format: str = "text"
    visibility: str = "after_published"


class GradescopeResults(Struct, frozen=True):
    """``results.json`` in Gradescope's format for autograders."""

    score: Decimal
    output: str
    visibility: str
    stdout_visibility: str
    tests: tuple[GradescopeTest, ...]
    extra_data: dict[str, str]


def format_gradescope_results(line: GradeLine) -> bytes:
    """Return one student's ``results.json``. Students see the score when marks are published."""
    tests = tuple(
        GradescopeTest(
            question.id,
            str(number),
            question.points,
            # A bonus question adds points, but nothing to the maximum.
            Decimal(0) if question.bonus else question.possible,
            "\n".join(_format_remarks(question)),
            UNSET if question.open else "passed" if question.points >= question.possible else "failed",
        )
        for number, question in enumerate(line.questions, start=1)
    )
    results = GradescopeResults(
        line.total,
        "" if line.final else "Provisional: a person has yet to decide about some of it.",
        "after_published",
        "hidden",
        tests,
        {"student": line.student, "state": line.state, "grade": line.grade or ""},
    )
    # Gradescope expects numbers, but msgspec encodes Decimals as strings by default.
    return msgspec.json.format(msgspec.json.Encoder(decimal_format="number").encode(results)) + b"\n"


def pack_gradescope_archive(lines: Sequence[GradeLine]) -> bytes:
    """Return an archive of ``<student>/results.json`` for all students."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for line in lines:
            path = f"{line.student}/results.json"
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), format_gradescope_results(line))
    return buffer.getvalue()
