"""Grade lists in the formats of learning platforms, read back as those platforms do."""

from __future__ import annotations

import csv
import io
import zipfile
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autograder.app import grade_files
from autograder.app.grade_files import GradeLine, ItemMark, QuestionMark
from autograder.core.errors import CourseError
from autograder.core.records import Status
from autograder.exchange.platforms import filename_patterns
from autograder.exchange.platforms.class_lists import read_class_list
from autograder.exchange.platforms.csv_files import (
    CsvTable,
    guard_value,
    parse_table,
    strip_guard,
    write_table,
)
from autograder.exchange.platforms.student_matching import ListedStudent, Register
from autograder.exchange.platforms.worksheets import read_worksheet

REGISTER = Register(
    [
        ListedStudent("s1", "Ada", "Lovelace", "ada@example.org", "alovelace", "4001"),
        ListedStudent("s2", "=HYPERLINK(1)", "@Turing", "alan@example.org"),
        ListedStudent("s3", "Grace", "Hopper"),
    ]
)
ITEM = ItemMark(
    "formula", "Parameters", Decimal(4), Decimal("2.5"), Status.FAILED, False, "half", "Only <one> half."
)
QUESTION = QuestionMark(
    "mlp", Decimal(4), Decimal("2.5"), bonus=False, open=False, comments=("Well done",), items=(ITEM,)
)
LINE = GradeLine(
    1, "warmup", "s1", "Ada", "Lovelace", "ada@example.org", Decimal(13), Decimal("8.125"), Decimal(0),
    Decimal("8.125"), Decimal(0), "2.7", "2.7", True, "final", "2026-02-12T09:20:30Z", (QUESTION,),
)  # fmt: skip
OTHER = replace(LINE, student="s2", first_name="=HYPERLINK(1)", last_name="@Turing", total=Decimal("14.5"))
WORKSHEET = (
    'Identifier,"Full name","ID number","Email address",Status,Grade,"Maximum Grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\r\n'
    'Participant 71,"Ada Lovelace",s1,ada@example.org,"Submitted",,13.00,Yes,"-","-",""\r\n'
    'Participant 72,"=HYPERLINK(1) @Turing",,alan@example.org,"Submitted",,13.00,Yes,"-","-",""\r\n'
    'Participant 73,"Grace Hopper",s3,,"No submission",,13.00,Yes,"-","-",""\r\n'
    'Participant 74,"Nobody Known",s9,,"Submitted",,13.00,Yes,"-","-",""\r\n'
)
GERMAN = (
    "﻿ID;Vollständiger Name;Bewertung;Bestwertung;Bewertung kann geändert werden;Feedback als Kommentar\n"
    "Teilnehmer/in 71;Ada Lovelace;;26,00;Ja;alt\n"
    "Teilnehmer/in 72;=HYPERLINK(1) @Turing;1,00;26,00;Nein;\n"
)


def rows(data: bytes, separator: str = ",") -> list[list[str]]:
    """Return the rows as any CSV reader does."""
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=separator))


def test_moodle_s_worksheet_is_filled() -> None:
    """Only grades, comments and formula-like names change.

    Totals are capped at the maximum, unmatched rows stay empty, and no cell is a formula.
    """
    filled = grade_files.fill_moodle_worksheet(
        WORKSHEET.encode(), [LINE, OTHER], REGISTER, scaled=False, comments=True
    )
    before, after = rows(WORKSHEET.encode()), rows(filled.content)
    assert ["8.13", "13.00", "", ""] == [row[5] for row in after[1:]]
    assert "mlp: 2.5 / 4<br>– Parameters: Only &lt;one&gt; half.<br>– Well done" == after[1][10]
    assert "'=HYPERLINK(1) @Turing" == after[2][1]
    assert "-" == after[1][9]
    changed = {
        (at, column)
        for at, row in enumerate(after)
        for column, value in enumerate(row)
        if value != before[at][column]
    }
    assert {(1, 5), (1, 10), (2, 5), (2, 10), (2, 1)} == changed
    assert ("s1", "s2") == filled.entered
    assert () == filled.missing
    assert [
        "s2: 14.50 is more than the maximum, 13.00: entered as that",
        "Nobody Known: left as it is: nobody on the class list has a similar name",
        "without a mark, and left as they are: s3",
    ] == list(filled.remarks)


def test_a_german_worksheet_stays_german() -> None:
    """Semicolons, decimal commas and the byte order mark are kept.

    A different maximum is converted on request.
    """
    with pytest.raises(CourseError, match=r"maximum is 26, and the assignment has 13 points; .* --scale"):
        grade_files.fill_moodle_worksheet(GERMAN.encode(), [LINE], REGISTER, scaled=False, comments=False)
    filled = grade_files.fill_moodle_worksheet(
        GERMAN.encode(), [LINE, OTHER], REGISTER, scaled=True, comments=False
    )
    assert filled.content.startswith("﻿ID;Vollständiger Name;".encode())
    table = rows(filled.content, ";")
    assert ["16,25", "1,00"] == [row[2] for row in table[1:]]
    assert "alt" == table[1][5]
    assert ("s2",) == filled.missing
    assert "the worksheet says that it cannot be changed" in filled.remarks[0]
    with pytest.raises(CourseError, match="no line names the columns"):
        grade_files.fill_moodle_worksheet(b"a,b\n1,2\n", [LINE], REGISTER, scaled=True, comments=False)


def test_moodle_s_feedback_archive_has_its_own_names() -> None:
    """Folders are named as in a download of submissions, so that Moodle finds the students."""
    packed = grade_files.pack_moodle_feedback(
        read_worksheet(WORKSHEET.encode()), {"s1": b"<p>ada", "s2": b"<p>alan"}, REGISTER, "warmup"
    )
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        pages = {name: archive.read(name) for name in archive.namelist()}
    assert {
        "Ada Lovelace_71_assignsubmission_file_/warmup.html": b"<p>ada",
        "=HYPERLINK(1) @Turing_72_assignsubmission_file_/warmup.html": b"<p>alan",
    } == pages


def test_what_was_written_is_read_by_what_reads_downloads() -> None:
    """The archive, worksheet, gradebook and list are matched to the same students when they are read back."""
    sheet = read_worksheet(WORKSHEET.encode())
    packed = grade_files.pack_moodle_feedback(sheet, {"s1": b"", "s2": b""}, REGISTER, "warmup")
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        names = archive.namelist()
    moodle = filename_patterns.choose_pattern(names, (), "", lambda name: False)
    assert moodle is not None
    results = [filename_patterns.read_name(moodle, name, None) for name in names]
    assert [("71", "warmup.html"), ("72", "warmup.html")] == [
        (result.identity.number, result.file) for result in results if result
    ]
    filled = grade_files.fill_moodle_worksheet(
        WORKSHEET.encode(), [LINE, OTHER], REGISTER, scaled=False, comments=True
    )
    again = grade_files.fill_moodle_worksheet(
        filled.content, [LINE, OTHER], REGISTER, scaled=False, comments=True
    )
    assert filled == again
    assert [row.identity for row in sheet.rows] == [
        row.identity for row in read_worksheet(filled.content).rows
    ]
    for written_list in (
        grade_files.make_canvas_gradebook([LINE, OTHER], REGISTER, "Warmup"),
        grade_files.make_csv([LINE, OTHER], REGISTER),
        grade_files.make_csv([LINE, OTHER], REGISTER, separator=";", marked=True),
    ):
        listed = read_class_list(written_list.content).students
        assert [("s1", "Ada", "Lovelace"), ("s2", "=HYPERLINK(1)", "@Turing")] == [
            (student.id, student.first_name, student.last_name) for student in listed
        ]


def test_canvas_gets_a_gradebook() -> None:
    """The file has a row of possible points.

    Rows, numbers and the column name come from a downloaded gradebook.
    """
    alone = grade_files.make_canvas_gradebook([LINE, OTHER], REGISTER, "Warmup")
    assert [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Warmup"],
        ["    Points Possible", "", "", "", "", "13"],
        ["Lovelace, Ada", "4001", "s1", "alovelace", "", "8.13"],
        ["'@Turing, =HYPERLINK(1)", "", "s2", "", "", "14.50"],
    ] == rows(alone.content)
    downloaded = (
        "Student,ID,SIS User ID,SIS Login ID,Section,Other (1),WARMUP (4711)\n"
        ",,,,,Manual Posting,\n    Points Possible,,,,,5,13\n"
        '"Lovelace, Ada",4001,s1,alovelace,"One, early",3,\n"Kim, Alex",4009,s9,ak,One,,\n'
        '"Hopper, Grace",,,,One,,\n"Student, Test",5,,x,One,,\n'
    )
    filled = grade_files.make_canvas_gradebook([LINE, OTHER], REGISTER, "Warmup", downloaded.encode())
    assert [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "WARMUP (4711)"],
        ["    Points Possible", "", "", "", "", "13"],
        ["Lovelace, Ada", "4001", "s1", "alovelace", "One, early", "8.13"],
    ] == rows(filled.content)
    assert ("s2",) == filled.missing
    assert "without a mark, and left as they are: s3" in filled.remarks
    assert "Kim, Alex: left out: nobody on the class list has a similar name" in filled.remarks
    assert [] == [remark for remark in filled.remarks if remark.startswith(":") or "new assignment" in remark]


def test_canvas_counts_by_its_own_maximum_and_columns() -> None:
    """A different maximum is refused or converted.

    A student in two sections has two rows; no column is added.
    """
    downloaded = (
        "Student,ID,SIS User ID,SIS Login ID,Section,Warmup (4711)\n"
        ",,,,,Manual Posting\n    Punkte möglich,,,,,6.5\n"
        '"Lovelace, Ada",4001,s1,alovelace,One,\n"Lovelace, Ada",4001,s1,alovelace,Two,\n'
    ).encode()
    with pytest.raises(
        CourseError, match=r"the platform's maximum is 6\.5, and the assignment has 13 points"
    ):
        grade_files.make_canvas_gradebook([LINE], REGISTER, "Warmup", downloaded)
    half = grade_files.make_canvas_gradebook([LINE], REGISTER, "Warmup", downloaded, scaled=True)
    assert [("", "6.5"), ("One", "4.06"), ("Two", "4.06")] == [
        (row[4], row[5]) for row in rows(half.content)[1:]
    ]
    assert (("s1",), ()) == (half.entered, half.remarks)
    other = grade_files.make_canvas_gradebook([LINE], REGISTER, "Warmup 2", downloaded)
    assert ["Warmup 2", "13"] == [row[5] for row in rows(other.content)[:2]]
    assert "the gradebook has no column Warmup 2" in other.remarks[0]


CANVAS_HEAD = "Student,ID,SIS User ID,SIS Login ID,Section"


@pytest.mark.parametrize(
    ("title", "columns", "named"),
    [
        ("probe", ("probe (12)", "probe (13)"), ("probe (12)", "probe (13)")),
        ("Probe 1", ("probe-1 (12)", "Probe1 (13)"), ("probe-1 (12)", "Probe1 (13)")),
        ("Probe 1", ("Probe 1", "Probe 1"), ("Probe 1", "Probe 1")),
    ],
    ids=["numbers alone differ", "spelling differs", "the same twice"],
)
def test_canvas_refuses_to_guess_between_columns(
    title: str, columns: tuple[str, ...], named: tuple[str, ...]
) -> None:
    """Writing into the column of another assignment would overwrite its marks in Canvas."""
    downloaded = f"{CANVAS_HEAD},{','.join(columns)}\n" + '"Lovelace, Ada",4001,s1,alovelace,One,5,5\n'
    with pytest.raises(CourseError, match="the gradebook has 2 columns that may be") as caught:
        grade_files.make_canvas_gradebook([LINE], REGISTER, title, downloaded.encode())
    assert all(column in str(caught.value) for column in named)
    assert f'--title "{named[0]}"' in str(caught.value)


@pytest.mark.parametrize(
    ("title", "column"),
    [
        ("probe (13)", "probe (13)"),
        ("Probe (12)", "probe (12)"),
        ("probe", "probe"),
        ("probe (14)", ""),
    ],
    ids=["named with its number", "number in another spelling", "exactly this name", "another number"],
)
def test_canvas_takes_the_column_that_the_title_states(title: str, column: str) -> None:
    """The Canvas number or the exact name selects the column; an unknown number matches no column."""
    columns = ["probe (12)", "probe (13)", *(["probe"] if title == "probe" else [])]
    downloaded = f"{CANVAS_HEAD},{','.join(columns)}\n" + '"Lovelace, Ada",4001,s1,alovelace,One,5,5\n'
    gradebook = grade_files.make_canvas_gradebook([LINE], REGISTER, title, downloaded.encode())
    assert (column or title) == rows(gradebook.content)[0][5]
    assert bool(column) == (not any("has no column" in remark for remark in gradebook.remarks))


@pytest.mark.parametrize("cell", ["EX", "ex", " EX "])
def test_canvas_keeps_excused_students_excused(cell: str) -> None:
    """A mark would end the excuse, so the cell is kept and the student is listed as missing."""
    downloaded = (
        f"{CANVAS_HEAD},Warmup (4711)\n    Points Possible,,,,,13\n"
        f'"Lovelace, Ada",4001,s1,alovelace,One,{cell}\n"@Turing",,s2,,One,3\n'
    )
    gradebook = grade_files.make_canvas_gradebook([LINE, OTHER], REGISTER, "Warmup", downloaded.encode())
    assert [cell.strip(), "13.00"] == [row[5] for row in rows(gradebook.content)[2:]]
    assert (("s2",), ("s1",)) == (gradebook.entered, gradebook.missing)
    assert f"s1: left as it is: excused in Canvas ({cell.strip()}); clear it there first" in gradebook.remarks


@pytest.mark.parametrize(
    "above",
    [
        ",,,,,Manual Posting",
        "Due date,,,,,2026-02-12",
        "Assignment group,,,,,40",
        ",,,,,Manual Posting\nPublished,,,,,yes\nWeight,,,,,5",
    ],
    ids=["posting", "a date", "a number", "several rows"],
)
def test_canvas_rows_above_the_possible_points_are_of_no_student(above: str) -> None:
    """Rows above "Points Possible" are not students; students who were sorted above it are still found."""
    downloaded = (
        f"{CANVAS_HEAD},Warmup (4711)\n{above}\n"
        '"Lovelace, Ada",4001,s1,alovelace,One,\n    Points Possible,,,,,13\n"@Turing",,s2,,One,\n'
    )
    gradebook = grade_files.make_canvas_gradebook([LINE, OTHER], REGISTER, "Warmup", downloaded.encode())
    assert ["    Points Possible", "Lovelace, Ada", "'@Turing"] == [
        row[0] for row in rows(gradebook.content)[1:]
    ]
    assert "13" == rows(gradebook.content)[1][5]
    assert ("s1", "s2") == gradebook.entered
    assert not any("left out" in remark for remark in gradebook.remarks)
    assert ["s1", "s2"] == [student.id for student in read_class_list(downloaded.encode()).students]


def test_plain_lists_are_for_any_program() -> None:
    """Names that look like formulas are escaped; ILIAS uses semicolons and a byte order mark."""
    written = grade_files.make_csv([LINE, OTHER], REGISTER)
    assert [
        list(grade_files.PLAIN_COLUMNS),
        ["alovelace", "Lovelace", "Ada", "s1", "ada@example.org", "8.13", "13", "2.7", "yes", "final"],
        ["", "'@Turing", "'=HYPERLINK(1)", "s2", "ada@example.org", "14.50", "13", "2.7", "yes", "final"],
    ] == rows(written.content)
    ilias = grade_files.make_csv([LINE], REGISTER, separator=";", marked=True).content
    assert ilias.startswith("﻿login;last_name;".encode())


@given(st.lists(st.lists(st.text(max_size=12), min_size=2, max_size=2), max_size=5), st.sampled_from(",;\t"))
def test_no_cell_acts_and_every_cell_comes_back(cells: list[list[str]], separator: str) -> None:
    """No spreadsheet takes any cell for a formula, and every cell is read back unchanged."""
    kept = [[value.replace("\0", "").strip() for value in row] for row in cells]
    kept = [row for row in kept if any(row) and not row[0].casefold().startswith("endhissheet")]
    data = write_table(CsvTable(("Identifier", "Grade"), tuple(map(tuple, kept)), (), separator))
    for row in rows(data, separator):
        for cell in row:
            assert not cell.lstrip().startswith(("=", "@")), cell
    table = parse_table(data, {}, (("identifier",), ("grade",)))
    harmless = [
        [value if not value.startswith(("'", '="')) else strip_guard(guard_value(value)) for value in row]
        for row in kept
    ]
    assert harmless == [[strip_guard(value) for value in row] for row in table.rows]
