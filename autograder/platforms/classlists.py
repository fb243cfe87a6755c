"""Class lists of Moodle, Canvas and HISinOne, and the course's own with further columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from autograder.course import name_fault
from autograder.errors import CourseError
from autograder.platforms import gradebooks
from autograder.platforms.csvfiles import CsvTable, column_name, parsed, unguarded, written
from autograder.platforms.people import ListedStudent
from autograder.tables import hint, name_list
from autograder.variants.drawing import canonical_id

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


class ClassList(Struct, frozen=True):
    """Class list as a platform exports it."""

    students: tuple[ListedStudent, ...]
    id_column: str
    """Column that ids were taken from, as the file names it."""
    left_out: tuple[str, ...] = ()
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
    ids = [one for what in ("id", "student number", "login", "email") for one in COLUMNS[what]]
    chosen = [column_name(id_column)] if id_column else ids
    try:
        table = parsed(data, COLUMNS, (people, ids))
    except CourseError:
        # A chosen column need not be one of the known id columns.
        if not id_column:
            raise
        table = parsed(data, COLUMNS, (people, chosen))
    canvas = table.column(("sisuserid", "sisloginid")) >= 0
    # Canvas exports the class list as a gradebook, with its own rows between the students.
    is_gradebook = canvas and table.column(("student",)) >= 0
    of_students = set(gradebooks.student_rows(table) if is_gradebook else table.rows)
    rows = [
        (line, row)
        for line, row in zip(table.lines, table.rows, strict=True)
        if row in of_students and not _is_nobody(table, row)
    ]
    at = _id_column(table, [row for _, row in rows], id_column, canvas=canvas)
    students: dict[str, ListedStudent] = {}
    left_out = []
    for line, row in rows:
        one = _student(table, row, at, canvas=canvas)
        if fault := name_fault(one.id):
            left_out.append(f"line {line}: {one.id!a} cannot be an id: {fault}")
        elif canonical_id(one.id) in students:
            # Compared in canonical form, because file systems may change the Unicode form of a name.
            raise CourseError(f"line {line}: {one.id!r} stands twice in the column {table.columns[at]!r}")
        else:
            students[canonical_id(one.id)] = one
    return ClassList(tuple(students.values()), table.columns[at], tuple(left_out))


def _is_nobody(table: CsvTable, row: Sequence[str]) -> bool:
    """Decide whether a row belongs to no student, like some of Canvas's, with names in the first column."""
    known = (table.column(names) for names in COLUMNS.values())
    blank = not any(row[at].strip() for at in known if at >= 0)
    return blank or unguarded(row[0]).casefold().startswith(_NOBODY)


def _id_column(table: CsvTable, rows: Sequence[Sequence[str]], stated: str, *, canvas: bool) -> int:
    """Return the index of the column of ids.

    Canvas's own ``ID`` is the number of an account, which people do not know.

    Raises:
        CourseError: there is no column with this name, or none states an id for every student.
    """
    if stated:
        at = table.column([column_name(stated)])
        if at < 0:
            raise CourseError(f"there is no column {stated!r}; {hint(stated, table.columns)}")
        return at
    kinds = ("student number", "login", "id") if canvas else ("id", "student number", "login")
    there = [at for kind in kinds if (at := table.column(COLUMNS[kind])) >= 0]
    for at in there:
        # An id column with gaps would lose students, so the next candidate is tried.
        if all(unguarded(row[at]) for row in rows):
            return at
    said = name_list([table.columns[at] for at in there] or table.columns)
    raise CourseError(f"no column states an id for everybody (looked at: {said}); choose one: --id COLUMN")


def _student(table: CsvTable, row: Sequence[str], at: int, *, canvas: bool) -> ListedStudent:
    """Read one student from a row."""

    def value(what: str) -> str:
        """Return the value in the column of a kind; empty if there is none."""
        place = table.column(COLUMNS[what])
        return unguarded(row[place]) if place >= 0 else ""

    first, last = value("first name"), value("last name")
    if not first and (full := value("full name") or last):
        first, last = _divided(full)
    number = value("id") if canvas else value("platform id")
    return ListedStudent(unguarded(row[at]), first, last, value("email"), value("login"), number)


def _divided(full: str) -> tuple[str, str]:
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


def merged(own: bytes | None, new: Sequence[ListedStudent], *, replace: bool = False) -> ListChange:
    """Merge another class list into the course's; values that the new list does not state are kept.

    Args:
        own: the course's roster.csv; None: there is none yet.
        new: students on the platform's list.
        replace: remove students who are not on the new list.

    Raises:
        CourseError: the course's own list is not usable.
    """
    table = parsed(own, COLUMNS, (COLUMNS["id"],)) if own else CsvTable(OUR_COLUMNS, (), ())
    before = {canonical_id(one.id): one for one in _own(own)} if own else {}
    listed = {canonical_id(one.id): one for one in new}
    after = {key: _updated(before[key], one) if key in before else one for key, one in listed.items()}
    # Rows are kept as read, because the course may have added columns of its own.
    kept = dict(zip(before, table.rows, strict=True))
    columns = (*table.columns, *(one for one in OUR_COLUMNS if table.column([column_name(one)]) < 0))
    # Existing students keep their order; new ones are appended.
    keys = [key for key in dict.fromkeys((*before, *listed)) if key in listed or not replace]
    rows = tuple(_row(columns, kept.get(key, ()), after.get(key) or before[key]) for key in keys)
    return ListChange(
        tuple(one for key, one in after.items() if key not in before),
        tuple((before[key], one) for key, one in after.items() if key in before and before[key] != one),
        tuple(one for key, one in before.items() if key not in listed),
        written(CsvTable(columns, rows, ()), ends="\n"),
    )


def _own(data: bytes) -> tuple[ListedStudent, ...]:
    """Read the course's own list.

    Raises:
        CourseError: a row is not usable.
    """
    found = read_class_list(data, "id")
    if found.left_out:
        raise CourseError(f"the course's class list is not usable: {found.left_out[0]}")
    return found.students


def _updated(before: ListedStudent, now: ListedStudent) -> ListedStudent:
    """Return a student with the new values, and the old ones if a new one is empty."""
    values = (getattr(now, name) or getattr(before, name) for name in OUR_COLUMNS[1:])
    return ListedStudent(before.id, *values)


def _row(columns: Sequence[str], kept: Sequence[str], student: ListedStudent) -> tuple[str, ...]:
    """Return a student's row, with the values of further columns kept."""
    ours = {column_name(name): getattr(student, name) for name in OUR_COLUMNS}
    padded = [*kept, *[""] * (len(columns) - len(kept))]
    return tuple(ours.get(column_name(name), old) for name, old in zip(columns, padded, strict=False))
