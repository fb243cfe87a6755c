"""Moodle's grading worksheet: participants, submission times, and grades to fill in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import CourseError
from autograder.exchange.platforms.csv_files import CsvTable, parse_table
from autograder.exchange.platforms.student_matching import Identification
from autograder.messages import build_localised_text
from autograder.rubric.timestamps import resolve_local_time

COLUMNS: Mapping[str, Sequence[str]] = {
    "identifier": ("identifier", "id", "bezeichner", "kennung"),
    "full name": ("fullname", "vollstandigername"),
    "ID number": ("idnumber", "idnummer", "matrikelnummer"),
    "email": ("emailaddress", "emailadresse", "email"),
    "login": ("username", "anmeldename"),
    "grade": ("grade", "bewertung"),
    "maximum": ("maximumgrade", "bestwertung", "hochstebewertung", "maximalebewertung"),
    "changeable": ("gradecanbechanged", "bewertungkanngeandertwerden"),
    "handed in": ("lastmodifiedsubmission", "zuletztgeandertabgabe", "zuletztgeandertabgegeben"),
    "comment": ("feedbackcomments", "feedbackalskommentar", "feedbackkommentare"),
}
"""Names of columns, as `normalize_column` spells them, in English and German. Their selection varies."""
_PARTICIPANT = re.compile(r"\D*([0-9]+)")
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january januar jan jän", "february februar feb", "march märz mar mär", "april apr", "may mai",
            "june juni jun", "july juli jul", "august aug", "september sep sept", "october oktober oct okt",
            "november nov", "december dezember dec dez",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_TIME = re.compile(
    r"(?:(?P<day>\d{1,2})\.?\s+(?P<month>\w+)|(?P<month2>\w+)\s+(?P<day2>\d{1,2}),)\s+(?P<year>\d{4}),?\s+"
    r"(?P<hour>\d{1,2}):?(?P<minute>\d\d)(?!\d)(?::(?P<second>\d\d))?\s*(?P<half>[ap])?\.?m?",
    re.IGNORECASE,
)


class WorksheetRow(Struct, frozen=True):
    """One participant of a worksheet."""

    identity: Identification
    handed_in: str
    """Submission time in the platform's words; empty: it is not stated, or there is no submission."""
    maximum: str
    changeable: bool


class Worksheet(Struct, frozen=True):
    """Worksheet as it was downloaded."""

    table: CsvTable
    rows: tuple[WorksheetRow, ...]
    """In the order of the table."""

    def find_index(self, kind: str) -> int:
        """Return the index of a column of `COLUMNS`; -1: there is none."""
        return self.table.find_index(COLUMNS[kind])

    def map_participants(self) -> dict[str, WorksheetRow]:
        """Return the rows by number, as it occurs in the names of downloaded files."""
        return {row.identity.number: row for row in self.rows if row.identity.number}

    def fill_grades(self, cells: Mapping[int, tuple[str, str]]) -> CsvTable:
        """Return the table with grades and comments filled in.

        Args:
            cells: row → grade and comment; an empty comment changes nothing.
        """
        grade, comment = self.find_index("grade"), self.find_index("comment")
        rows = [list(row) for row in self.table.rows]
        for row, (points, said) in cells.items():
            rows[row][grade] = points
            if said and comment >= 0:
                rows[row][comment] = said
        return replace(self.table, rows=tuple(map(tuple, rows)))


def read_worksheet(data: bytes) -> Worksheet:
    """Read a worksheet.

    Raises:
        CourseError: it is no worksheet of Moodle's.
    """
    table = parse_table(data, COLUMNS, (COLUMNS["identifier"], COLUMNS["grade"]))

    def get_value(row: Sequence[str], kind: str) -> str:
        """Return a row's value in a column; empty if there is no such column."""
        return table.get_value(row, COLUMNS[kind])

    rows = []
    for row in table.rows:
        number = _PARTICIPANT.fullmatch(get_value(row, "identifier"))
        identity = Identification(
            get_value(row, "ID number"),
            get_value(row, "full name"),
            get_value(row, "email"),
            get_value(row, "login"),
            number[1] if number else "",
        )
        # Unless the sheet denies it, a grade can be changed: the column may be missing.
        may = get_value(row, "changeable").casefold() not in {"no", "nein"}
        rows.append(
            WorksheetRow(
                identity,
                get_value(row, "handed in"),
                get_value(row, "maximum"),
                may,
            )
        )
    return Worksheet(table, tuple(rows))


def parse_moment(text: str, zone: tzinfo | None) -> datetime | None:
    """Return a time as Moodle writes it: ``Thursday, 12 February 2026, 10:20 AM``, or in German.

    It has minutes only; seconds are dropped, in favour of the student.

    Args:
        text: text of the worksheet.
        zone: zone of the platform's clock; None: it is unknown, so that no time follows.
    """
    local = parse_time(text)
    if local is None or zone is None:
        return None
    try:
        return resolve_local_time(local, zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def parse_time(text: str) -> datetime | None:
    """Return the time of a clock to the minute, from a text with the month in words; None: it is no time.

    The colon between hours and minutes may be missing, because file names cannot contain one: ``Feb 12, 2026
    1020 AM``.
    """
    match = _TIME.search(text)
    if match is None:
        return None
    month = _MONTHS.get((match["month"] or match["month2"]).casefold().rstrip("."))
    hour = int(match["hour"])
    if match["half"]:
        # 12 AM is midnight, and 12 PM noon.
        hour = hour % 12 + (12 if match["half"].casefold() == "p" else 0)
    try:
        day = int(match["day"] or match["day2"])
        return datetime(int(match["year"]), month or 0, day, hour, int(match["minute"]))  # noqa: DTZ001
    except (ValueError, OverflowError):
        return None


def parse_number(text: str) -> Decimal | None:
    """Return a number as Moodle writes it, ``100.00`` or ``100,00``; None if it is none."""
    said = text.strip().replace(",", ".")
    return Decimal(said) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", said) else None


def format_grade(value: Decimal, form: str) -> str:
    """Return a number with two decimals, and a decimal comma if the form has one."""
    said = f"{value:.2f}"
    return said.replace(".", ",") if "," in form else said


def check_fillable(sheet: Worksheet) -> None:
    """Check that grades can be filled in.

    Raises:
        CourseError: the worksheet has no column for them.
    """
    if sheet.find_index("grade") < 0:
        raise CourseError(build_localised_text("fault.worksheet-grade"))
