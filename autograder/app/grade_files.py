"""Marks of students as records, and as files for platforms: Moodle, Canvas, plain CSV.

No cell acts as a formula, whatever names students choose. Points are rounded only in these files.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

import msgspec
from msgspec import Struct

from autograder.core.errors import CourseError
from autograder.core.records import GradingResult, Status
from autograder.core.tables import join_names
from autograder.core.wording import get_text
from autograder.exchange.platforms import gradebooks
from autograder.exchange.platforms.csv_files import CsvTable, normalize_column, strip_guard, write_table
from autograder.exchange.platforms.student_matching import Identification, ListedStudent, Register
from autograder.exchange.platforms.worksheets import (
    Worksheet,
    check_fillable,
    format_grade,
    parse_number,
    read_worksheet,
)
from autograder.grading.assignment import Assignment
from autograder.grading.grades import Standing
from autograder.messages import build_localised_text
from autograder.pages.feedback.lines import RubricLine, list_rubric_lines
from autograder.pages.feedback.sanitise import render_sentence, to_printable_text
from autograder.rubric import Question, Rubric

FORMAT = 1
"""Raised when a key is removed or changes its meaning; new keys do not count."""
_MOST_COMMENT = 20_000
"""Characters."""


class ItemMark(Struct, frozen=True):
    """A line of the rubric."""

    id: str
    """Within the question."""
    title: str
    """What students read of the item."""
    possible: Decimal
    points: Decimal | None
    """Null where a person's mark is for several items."""
    status: Status
    """needs-review: a person has yet to decide."""
    marked: bool
    """A person gave the points."""
    mistake: str
    """The name of what was found; empty where it has none."""
    message: str
    """What the student reads about it."""


class QuestionMark(Struct, frozen=True):
    """A question."""

    id: str
    possible: Decimal
    points: Decimal
    """So far."""
    bonus: bool
    """Its points add to what was earned, not to what is possible."""
    open: bool
    """Some of it waits for a person."""
    comments: tuple[str, ...]
    """What people wrote about it."""
    items: tuple[ItemMark, ...]


class GradeLine(Struct, frozen=True):
    """The marks of one student in one assignment."""

    format: int
    """Of this line: 1."""
    assignment: str
    student: str
    """The id, as in the class list."""
    first_name: str
    last_name: str
    email: str
    possible: Decimal
    points: Decimal
    """So far, without bonus points."""
    bonus: Decimal
    """Bonus points, whether they count or not."""
    total: Decimal
    """What counts so far, bonus points included."""
    open: Decimal
    """Points that can still come."""
    grade: str | None
    """The worst that can come of it; null: there are no grades."""
    best_grade: str | None
    """The best; the same as grade where all is final."""
    passed: bool | None
    """Null while it is open, or where there are no grades."""
    state: Literal["final", "provisional"]
    """provisional: a person has yet to decide, or the rubric has changed since."""
    submitted_at: str | None
    """When it was handed in, in UTC (RFC 3339)."""
    questions: tuple[QuestionMark, ...]

    @property
    def final(self) -> bool:
        """Nothing is open."""
        return self.state == "final"


def make_grade_lines(
    assignment: Assignment,
    results: Mapping[str, GradingResult],
    standings: Mapping[str, Standing],
    *,
    register: Register,
    submitted: Mapping[str, datetime | None],
    language: str,
) -> Iterator[GradeLine]:
    """Yield the line of every student with a result.

    Args:
        assignment: loaded.
        results: by student.
        standings: of the same students.
        register: names and addresses.
        submitted: submission time of each student.
        language: of titles and messages.
    """
    for student, stands in standings.items():
        rubric = assignment.get_rubric(student)
        listed = register.get_student(student) or ListedStudent(student)
        moment = submitted.get(student)
        yield GradeLine(
            FORMAT,
            rubric.assignment.name,
            student,
            listed.first_name,
            listed.last_name,
            listed.email,
            rubric.assignment.points,
            stands.points,
            stands.bonus,
            stands.total,
            stands.pending,
            stands.worst.name if stands.worst else None,
            stands.best.name if stands.best else None,
            stands.passed,
            "final" if stands.final else "provisional",
            moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment else None,
            tuple(_make_question_marks(results[student], rubric, stands, language)),
        )


def _make_question_marks(
    graded: GradingResult, rubric: Rubric, stands: Standing, language: str
) -> Iterator[QuestionMark]:
    lines_by_question = list_rubric_lines(graded.score, rubric, stands)
    for question, points in zip(rubric.questions, stands.questions, strict=True):
        items = tuple(
            _make_item_mark(question, line, language, final=stands.final)
            for line in lines_by_question[question.id]
        )
        # Bounded and printable: people wrote these texts, and unknown programs read them.
        comments = tuple(to_printable_text(comment, _MOST_COMMENT) for comment in points.comments)
        possible = points.possible
        yield QuestionMark(
            question.id, possible, points.points, points.bonus, points.pending, comments, items
        )


def _make_item_mark(question: Question, line: RubricLine, language: str, *, final: bool) -> ItemMark:
    result, item = line.result, question.get_item(line.result.item)
    message = "" if line.silent else render_sentence(result.student, language)
    # One mark for several items cannot be divided between them.
    points = None if line.shared or result.status is Status.NEEDS_REVIEW else result.points
    return ItemMark(
        item.id,
        get_text(item.get_title(final=final), language) or item.id,
        result.possible,
        points,
        result.status,
        line.marked,
        result.code,
        message,
    )


def encode_json_lines(lines: Iterator[GradeLine] | tuple[GradeLine, ...]) -> bytes:
    """Encode the lines as JSON Lines: UTF-8, one object per line."""
    encoder = msgspec.json.Encoder(decimal_format="number")
    return b"".join(encoder.encode(line) + b"\n" for line in lines)


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
            cells[index] = (format_grade(points, row.maximum), feedback)
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
            maxima = {"most": f"{most.normalize():f}", "possible": f"{line.possible.normalize():f}"}
            raise CourseError(build_localised_text("fault.grade-maximum", **maxima))
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
