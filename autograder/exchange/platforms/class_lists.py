"""Class lists of Moodle, Canvas and HISinOne, and the course's own with further columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from autograder.core.errors import CourseError
from autograder.core.tables import join_names, suggest_name
from autograder.core.wording import Phrase
from autograder.course import find_name_fault
from autograder.exchange.platforms import gradebooks
from autograder.exchange.platforms.csv_files import (
    CsvTable,
    normalize_column,
    parse_table,
    strip_guard,
    write_table,
)
from autograder.exchange.platforms.student_matching import ListedStudent
from autograder.messages import build_localised_text
from autograder.rubric.variants.draws import normalise_id

COLUMNS: Mapping[str, Sequence[str]] = {
    "id": ("id", "studentid"),
    "student number": (
        "idnumber", "idnummer", "idnumber", "matrikelnummer", "matrikelnr", "matnr", "mtknr", "sisuserid",
        "studentnumber", "registrationnumber",
    ),
    "login": (
        "login", "username", "sisloginid", "anmeldename", "nutzername", "benutzername", "kennung",
        "benutzerkennung", "rzkennung",
    ),
    "email": ("email", "emailaddress", "emailadresse", "mail", "emailanschrift", "hochschulemail"),
    "first name": ("firstname", "vorname", "vornamen", "givenname"),
    "last name": ("lastname", "surname", "nachname", "familienname", "familyname", "name"),
    "full name": ("fullname", "vollstandigername", "student", "fullnamewithgroup"),
    "platform id": ("platformid", "canvasid", "userid"),
}  # fmt: skip
"""Names of columns, as `normalize_column` spells them: in English and German, by the supported platforms."""
OUR_COLUMNS = ("id", "first_name", "last_name", "email", "login", "platform_id")
"""Columns of roster.csv as it is written here; all but the id may be empty, and others keep their place."""
_NOBODY = ("points possible", "student, test", "test student", "manual posting")
"""Start of rows in Canvas that belong to no student."""
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


class ClassList(Struct, frozen=True):
    """Class list as a platform exports it."""

    students: tuple[ListedStudent, ...]
    id_column: str
    """Column that ids were taken from, as the file names it."""
    left_out: tuple[Phrase, ...] = ()
    """Rows of no student who could be listed, a sentence each."""


def read_class_list(data: bytes, id_column: str = "") -> ClassList:
    """Read the class list of a platform, or the course's own.

    Args:
        data: content of a CSV file.
        id_column: name of the column with ids; empty: the first of id, student number and login that states
            one for every student.

    Raises:
        CourseError: it is no such list, has no such column, or an id occurs twice; names the line.
    """
    people = [*COLUMNS["last name"], *COLUMNS["full name"], *COLUMNS["email"], *COLUMNS["id"]]
    ids = [entry for kind in ("id", "student number", "login", "email") for entry in COLUMNS[kind]]
    chosen = [normalize_column(id_column)] if id_column else ids
    try:
        table = parse_table(data, COLUMNS, (people, ids))
    except CourseError:
        # A chosen column need not be one of the known id columns.
        if not id_column:
            raise
        table = parse_table(data, COLUMNS, (people, chosen))
    canvas = table.find_index(("sisuserid", "sisloginid")) >= 0
    # Canvas exports the class list as a gradebook, with its own rows between the students.
    is_gradebook = canvas and table.find_index(("student",)) >= 0
    of_students = set(gradebooks.list_student_rows(table) if is_gradebook else table.rows)
    rows = [
        (line, row)
        for line, row in zip(table.lines, table.rows, strict=True)
        if row in of_students and not _is_nobody(table, row)
    ]
    id_index = _find_id_column(table, [row for _, row in rows], id_column, canvas=canvas)
    students: dict[str, ListedStudent] = {}
    left_out: list[Phrase] = []
    for line, row in rows:
        entry = _read_student(table, row, id_index, canvas=canvas)
        if entry.email and not _EMAIL.fullmatch(entry.email):
            raise CourseError(build_localised_text("fault.list-email", line=line, address=ascii(entry.email)))
        if fault := find_name_fault(entry.id):
            left_out.append(
                build_localised_text("fault.list-bad-id", line=line, name=ascii(entry.id), reason=fault)
            )
        elif normalise_id(entry.id) in students:
            # Compared in canonical form, because file systems may change the Unicode form of a name.
            column = repr(table.columns[id_index])
            raise CourseError(
                build_localised_text("fault.list-twice", line=line, name=repr(entry.id), column=column)
            )
        else:
            students[normalise_id(entry.id)] = entry
    return ClassList(tuple(students.values()), table.columns[id_index], tuple(left_out))


def _is_nobody(table: CsvTable, row: Sequence[str]) -> bool:
    """Decide whether a row belongs to no student, like some of Canvas's, with names in the first column."""
    indices = (table.find_index(names) for names in COLUMNS.values())
    blank = not any(row[index].strip() for index in indices if index >= 0)
    return blank or strip_guard(row[0]).casefold().startswith(_NOBODY)


def _find_id_column(table: CsvTable, rows: Sequence[Sequence[str]], chosen: str, *, canvas: bool) -> int:
    """Return the index of the column of ids.

    Canvas's own ``ID`` is the number of an account, which people do not know.

    Raises:
        CourseError: there is no column with this name, or none states an id for every student.
    """
    if chosen:
        index = table.find_index([normalize_column(chosen)])
        if index < 0:
            raise CourseError(f"there is no column {chosen!r}; {suggest_name(chosen, table.columns)}")
        return index
    kinds = ("student number", "login", "id") if canvas else ("id", "student number", "login")
    there = [index for kind in kinds if (index := table.find_index(COLUMNS[kind])) >= 0]
    for index in there:
        # An id column with gaps would lose students, so the next candidate is tried.
        if all(strip_guard(row[index]) for row in rows):
            return index
    said = join_names([table.columns[index] for index in there] or table.columns)
    raise CourseError(build_localised_text("fault.list-no-ids", columns=said))


def _read_student(table: CsvTable, row: Sequence[str], id_index: int, *, canvas: bool) -> ListedStudent:
    """Read one student from a row."""

    def get_value(kind: str) -> str:
        """Return the value in the column of a kind; empty if there is none."""
        return table.get_value(row, COLUMNS[kind])

    first, last = get_value("first name"), get_value("last name")
    if not first and (full := get_value("full name") or last):
        first, last = _divide_name(full)
    number = get_value("id") if canvas else get_value("platform id")
    return ListedStudent(
        strip_guard(row[id_index]), first, last, get_value("email"), get_value("login"), number
    )


def _divide_name(full: str) -> tuple[str, str]:
    """Split a full name, ``Lovelace, Ada`` or ``Ada Lovelace``, into first and last names."""
    # A comma marks the last name first; otherwise the last word is taken as the last name.
    last, comma, first = full.partition(",")
    if comma:
        return first.strip(), last.strip()
    first, _, last = full.rpartition(" ")
    return first.strip(), last.strip()


class ListChange(Struct, frozen=True):
    """Changes that a list makes to the course's own."""

    added: tuple[ListedStudent, ...]
    changed: tuple[tuple[ListedStudent, ListedStudent], ...]
    """Before and after."""
    absent: tuple[ListedStudent, ...]
    """On the course's list, but not on the new one."""
    content: bytes
    """The updated course list."""


def merge_lists(existing: bytes | None, new: Sequence[ListedStudent], *, replace: bool = False) -> ListChange:
    """Merge another class list into the course's; values that the new list does not state are kept.

    Args:
        existing: the course's roster.csv; None: there is none yet.
        new: students on the platform's list.
        replace: remove students who are not on the new list.

    Raises:
        CourseError: the course's own list is not usable.
    """
    table = parse_table(existing, COLUMNS, (COLUMNS["id"],)) if existing else CsvTable(OUR_COLUMNS, (), ())
    before = {normalise_id(entry.id): entry for entry in _read_existing(existing)} if existing else {}
    listed = {normalise_id(entry.id): entry for entry in new}
    after = {
        key: _update_student(before[key], entry) if key in before else entry for key, entry in listed.items()
    }
    # Rows are kept as read, because the course may have added columns of its own.
    kept = dict(zip(before, table.rows, strict=True))
    columns = (
        *table.columns,
        *(entry for entry in OUR_COLUMNS if table.find_index([normalize_column(entry)]) < 0),
    )
    # Existing students keep their order; new ones are appended.
    keys = [key for key in dict.fromkeys((*before, *listed)) if key in listed or not replace]
    rows = tuple(_build_row(columns, kept.get(key, ()), after.get(key) or before[key]) for key in keys)
    return ListChange(
        tuple(entry for key, entry in after.items() if key not in before),
        tuple((before[key], entry) for key, entry in after.items() if key in before and before[key] != entry),
        tuple(entry for key, entry in before.items() if key not in listed),
        write_table(CsvTable(columns, rows, ()), ends="\n"),
    )


def _read_existing(data: bytes) -> tuple[ListedStudent, ...]:
    """Read the course's own list.

    Raises:
        CourseError: a row is not usable.
    """
    class_list = read_class_list(data, "id")
    if class_list.left_out:
        raise CourseError(f"the course's class list is not usable: {class_list.left_out[0]}")
    return class_list.students


def _update_student(before: ListedStudent, now: ListedStudent) -> ListedStudent:
    """Return a student with the new values, and the old ones if a new one is empty."""
    values = (getattr(now, name) or getattr(before, name) for name in OUR_COLUMNS[1:])
    return ListedStudent(before.id, *values)


def _build_row(columns: Sequence[str], kept: Sequence[str], student: ListedStudent) -> tuple[str, ...]:
    """Return a student's row, with the values of further columns kept."""
    ours = {normalize_column(name): getattr(student, name) for name in OUR_COLUMNS}
    padded = [*kept, *[""] * (len(columns) - len(kept))]
    return tuple(ours.get(normalize_column(name), old) for name, old in zip(columns, padded, strict=False))
