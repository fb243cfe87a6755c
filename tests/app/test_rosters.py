"""Class lists of Moodle, Canvas and HISinOne are imported without losing data of the course's list."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.app.class_lists import import_roster, read_roster, read_students
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.grading.store import Student
from tests.support.downloads import make_course

MOODLE = "First name,Last name,ID number,Email address,Groups\nAda,Lovelace,s1,ada@example.org,A\n"
MOODLE_GERMAN = '﻿Vorname,Nachname,ID-Nummer,E-Mail-Adresse\nÄnne,"von der Höh",s1,a@example.org\n'
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Warmup (17)
,,,,,Manual Posting
    Points Possible,,,,,10
"Lovelace, Ada",4001,s1,alovelace,One,
"Student, Test",9999,,abc,One,
"""
HISINONE = (
    "startHISsheet\nMatrikelnummer;Nachname;Vorname;E-Mail\n0012345;Höh;Änne;a@example.org\nendHISsheet\n"
)
EXCEL = 'Matrikelnr.\tName\tVorname\n="0012345"\tHöh\tÄnne\n'


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Return a course without a class list."""
    return make_course(tmp_path / "course", roster="")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (MOODLE.encode(), Student("s1", "Ada", "Lovelace", "ada@example.org")),
        (MOODLE_GERMAN.encode(), Student("s1", "Änne", "von der Höh", "a@example.org")),
        (CANVAS.encode(), Student("s1", "Ada", "Lovelace", "")),
        (CANVAS.encode("utf-16"), Student("s1", "Ada", "Lovelace", "")),
        (HISINONE.encode("cp1252"), Student("0012345", "Änne", "Höh", "a@example.org")),
        (EXCEL.encode(), Student("0012345", "Änne", "Höh", "")),
        (b"id,first_name,last_name,email\ns1,=cmd,O'Hara,\n", Student("s1", "'=cmd", "O'Hara", "")),
        (b"Username,Full name\nada,Ada King Lovelace\n", Student("ada", "Ada King", "Lovelace", "")),
    ],
)
def test_lists_of_platforms_are_read(data: bytes, expected: Student) -> None:
    """Any language, separator and encoding is read.

    Rows without a student are left out, leading zeros are kept.
    """
    assert (expected,) == read_students(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04", "save the list as CSV"),
        (b"colour,size\nred,1\n", "no line names the columns"),
        (
            b"First name,Last name,ID number\nA,B,1\nC,D,1\n",
            "line 3: '1' stands twice in the column 'ID number'",
        ),
        (
            b"First name,Last name,ID number,Email address\nA,B,,a@b\nC,D,2,c@d\n",
            "no column states an id for everybody",
        ),
        (b"id,first_name\n=1+1,A\n", "line 2: '=1+1' cannot be an id"),
    ],
)
def test_lists_that_cannot_be_are_refused(data: bytes, message: str) -> None:
    """The error gives the line and the remedy."""
    with pytest.raises(CourseError) as caught:
        read_students(data)
    assert message in str(caught.value)


def test_a_list_is_entered_into_the_course_s_own(course: Course, tmp_path: Path) -> None:
    """Missing columns keep their values, and missing students stay until removed.

    Importing again changes nothing.
    """
    course.roster.write_text(
        "id,first_name,last_name,email,group\ns1,Ada,King,,A\ns9,Old,One,o@example.org,B\n"
    )
    (tmp_path / "canvas.csv").write_text(CANVAS)
    before = course.roster.read_bytes()
    tried = import_roster(course, tmp_path / "canvas.csv", dry_run=True)
    assert before == course.roster.read_bytes()
    done = import_roster(course, tmp_path / "canvas.csv")
    assert tried == done
    assert ("SIS User ID", ()) == (done.id_column, done.left_out)
    assert [("King", "Lovelace")] == [(old.last_name, new.last_name) for old, new in done.change.changed]
    assert ["s9"] == [student.id for student in done.change.absent]
    assert (
        "id,first_name,last_name,email,group,login,platform_id\n"
        "s1,Ada,Lovelace,,A,alovelace,4001\n"
        "s9,Old,One,o@example.org,B,,\n"
    ) == course.roster.read_text()
    assert () == import_roster(course, tmp_path / "canvas.csv").change.changed
    import_roster(course, tmp_path / "canvas.csv", replace=True)
    assert (Student("s1", "Ada", "Lovelace", ""),) == read_roster(course.roster)


def test_the_column_of_ids_can_be_chosen(course: Course, tmp_path: Path) -> None:
    """The id column is chosen by name.

    An unknown one is reported with the closest; formula-like names are escaped.
    """
    path = tmp_path / "moodle.csv"
    path.write_text("First name,Last name,Username,Email address\n=1+2,B,ada,a@example.org\n")
    assert "Username" == import_roster(course, path).id_column
    assert "ada,'=1+2,B,a@example.org,ada,\n" == course.roster.read_text().splitlines(keepends=True)[1]
    with pytest.raises(CourseError, match="no column 'Usrname'; did you mean 'Username'"):
        import_roster(course, path, id_column="Usrname")
    course.roster.unlink()
    assert "Email address" == import_roster(course, path, id_column="email address").id_column
    assert ["a@example.org"] == [student.id for student in read_roster(course.roster)]
