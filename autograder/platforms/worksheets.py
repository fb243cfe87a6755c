"""Moodle's grading worksheet: who is who there, when they handed in, and their grades to be filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.errors import CourseError
from autograder.platforms.csvfiles import CsvTable, parsed, unguarded
from autograder.platforms.people import Naming
from autograder.timestamps import local_moment

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
"""What columns are called, as `column_name` spells it, in English and German. Which there are varies."""
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

    identity: Naming
    handed_in: str
    """When, in the words of the platform; empty: it does not say, or nothing was."""
    maximum: str
    changeable: bool


class Worksheet(Struct, frozen=True):
    """A worksheet as it was downloaded."""

    table: CsvTable
    rows: tuple[WorksheetRow, ...]
    """In the order of the table's."""

    def at(self, what: str) -> int:
        """Where a column of `COLUMNS` stands; -1: there is none."""
        return self.table.column(COLUMNS[what])

    def participants(self) -> dict[str, WorksheetRow]:
        """By number, as it stands in the names of downloaded files."""
        return {row.identity.number: row for row in self.rows if row.identity.number}

    def filled(self, cells: Mapping[int, tuple[str, str]]) -> CsvTable:
        """The table with grades and comments entered.

        Args:
            cells: row → grade and comment; an empty comment changes nothing.
        """
        grade, comment = self.at("grade"), self.at("comment")
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
    table = parsed(data, COLUMNS, (COLUMNS["identifier"], COLUMNS["grade"]))

    def value(row: Sequence[str], what: str) -> str:
        at = table.column(COLUMNS[what])
        return unguarded(row[at]) if at >= 0 else ""

    rows = []
    for row in table.rows:
        number = _PARTICIPANT.fullmatch(value(row, "identifier"))
        identity = Naming(
            value(row, "ID number"),
            value(row, "full name"),
            value(row, "email"),
            value(row, "login"),
            number[1] if number else "",
        )
        may = value(row, "changeable").casefold() not in {"no", "nein"}
        rows.append(WorksheetRow(identity, value(row, "handed in"), value(row, "maximum"), may))
    return Worksheet(table, tuple(rows))


def moment_said(text: str, zone: tzinfo | None) -> datetime | None:
    """When something was, by what Moodle writes: ``Thursday, 12 February 2026, 10:20 AM``, or in German.

    Minutes are all it tells; seconds are left out, in favour of whoever handed in.

    Args:
        text: of the worksheet.
        zone: of the platform's clock; None: it is not known, and then no time follows.
    """
    local = spelled_time(text)
    if local is None or zone is None:
        return None
    try:
        return local_moment(local, zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def spelled_time(text: str) -> datetime | None:
    """Return what a clock showed, from a time with the month in words, to the minute; None: it is no time.

    Between hours and minutes a colon may be missing, as file names cannot have one: ``Feb 12, 2026 1020 AM``.
    """
    found = _TIME.search(text)
    if found is None:
        return None
    month = _MONTHS.get((found["month"] or found["month2"]).casefold().rstrip("."))
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].casefold() == "p" else 0)
    try:
        day = int(found["day"] or found["day2"])
        return datetime(int(found["year"]), month or 0, day, hour, int(found["minute"]))  # noqa: DTZ001
    except (ValueError, OverflowError):
        return None


def number_said(text: str) -> Decimal | None:
    """A number as Moodle writes it, ``100.00`` or ``100,00``; None where it is none."""
    said = text.strip().replace(",", ".")
    return Decimal(said) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", said) else None


def number_in_form(value: Decimal, form: str) -> str:
    """A number with two decimals, and a comma where the form has one."""
    said = f"{value:.2f}"
    return said.replace(".", ",") if "," in form else said


def check_fillable(sheet: Worksheet) -> None:
    """See that grades can be entered.

    Raises:
        CourseError: the worksheet has no column for them.
    """
    if sheet.at("grade") < 0:
        raise CourseError("the worksheet has no column for grades; download it again, with all columns")
