"""The folders of a course, what was handed in, and the secret."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autograder.course import Course, name_fault
from autograder.errors import CourseError


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """An empty course."""
    for folder in ("assignments", "rubrics", "reference", "submitted"):
        (tmp_path / folder).mkdir()
    return Course.at(tmp_path)


def test_a_folder_that_is_no_course_is_refused(tmp_path: Path) -> None:
    """The missing folder and the option to choose another are named."""
    with pytest.raises(CourseError, match=r"assignments.*--course"):
        Course.at(tmp_path)


def test_an_unknown_assignment_is_refused_with_the_known_ones(course: Course) -> None:
    """A slip in the name shows at once."""
    (course.rubrics / "exam.toml").touch()
    with pytest.raises(CourseError, match=r"eaxm\.toml.*known assignments: exam"):
        course.rubric("eaxm")


def test_handins_are_the_students_who_have_the_assignment(course: Course) -> None:
    """By name; links to folders count as handed in, other assignments, files and hidden folders do not."""
    submitted = course.root / "submitted"
    for path in ("bob/exam", "ada/exam", "eve/other", ".git/exam"):
        (submitted / path).mkdir(parents=True)
    (submitted / "notes.txt").touch()
    (submitted / "mallory").mkdir()
    (submitted / "mallory" / "exam").symlink_to(submitted / "ada" / "exam")
    (submitted / "trudy").symlink_to(submitted / "ada")
    assert ["ada", "bob", "mallory"] == [handin.student for handin in course.handins("exam")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-02-12 09:30:00 UTC", datetime(2026, 2, 12, 9, 30, tzinfo=UTC)),
        ("2026-02-12T10:30:00+01:00", datetime(2026, 2, 12, 9, 30, tzinfo=UTC)),
        ("yesterday", None),
        ("0001-01-01 00:00:00+14:00", None),
        ("9999-12-31 23:59:59-14:00", None),
        ("x" * 1000, None),
        (None, None),
    ],
)
def test_timestamps_are_read_as_nbgrader_writes_them(
    course: Course, text: str | None, expected: datetime | None
) -> None:
    """UTC unless a zone is given; what is no time is none."""
    folder = course.root / "submitted" / "ada" / "exam"
    folder.mkdir(parents=True)
    if text is not None:
        (folder / "timestamp.txt").write_text(text)
    assert expected == course.handins("exam")[0].submitted_at


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "it has 0 characters"),
        ("x" * 129, "it has 129 characters"),
        (os.fsdecode(b"ada\xff"), "it is not UTF-8"),
        ("ada\x1b[31m", "U+001B"),
        ("ada\nbob", "U+000A"),
        ("ada\u202e", "U+202E"),
        ("ada\u200b", "U+200B"),
        ("a\\b", "it holds '\\\\'"),
        ("<b>", "it holds '<'"),
        ('=HYPERLINK("x")', "it holds '\"'"),
        ("=1+1", "it begins with '='"),
        ("-rf", "it begins with '-'"),
        (".hidden", "it begins with a dot"),
        ("ada ", "begins or ends with a space"),
    ],
)
def test_names_that_would_act_somewhere_are_no_ids(name: str, fault: str) -> None:
    """In a path, a page, a terminal or a spreadsheet; and what is wrong is said."""
    assert fault in name_fault(name)


@pytest.mark.parametrize(
    "name", ["s1001", "ada.lovelace+dl@example.org", "o'neil", "Müller, Zoë", "Ада", "李", "a b"]
)
def test_names_that_people_have_are_ids(name: str) -> None:
    """Letters of any script, spaces inside, marks of addresses."""
    assert "" == name_fault(name)


def test_a_folder_whose_name_is_no_id_is_left_out_and_reported(course: Course) -> None:
    """Its neighbours are graded; the report is readable on every terminal."""
    for student in ("ada", "=1+1", "b\x1b[2J", os.fsdecode(b"c\xff")):
        (course.root / "submitted" / student / "exam").mkdir(parents=True)
    (course.root / "submitted" / ".git").mkdir()
    assert ["ada"] == [handin.student for handin in course.handins("exam")]
    assert {
        "'=1+1'": "it begins with '=', as a spreadsheet's formula does",
        "'b\\x1b[2J'": "it holds the invisible character U+001B",
        "'c\\udcff'": "it is not UTF-8",
    } == course.misnamed("exam")


def test_a_timestamp_that_is_a_link_is_not_followed(course: Course) -> None:
    """A student cannot point it elsewhere."""
    folder = course.root / "submitted" / "ada" / "exam"
    folder.mkdir(parents=True)
    other = course.root / "time"
    other.write_text(str(datetime.now(UTC) - timedelta(days=1)))
    (folder / "timestamp.txt").symlink_to(other)
    assert None is course.handins("exam")[0].submitted_at


def test_the_secret_is_made_once_and_private(course: Course) -> None:
    """32 random bytes, the same at every reading, readable by the owner alone."""
    first = course.secret()
    assert 32 == len(first)
    assert first == course.secret()
    assert 0o600 == stat.S_IMODE((course.private / "secret").stat().st_mode)
    assert 0o700 == stat.S_IMODE(course.private.stat().st_mode)


def test_a_damaged_secret_is_refused(course: Course) -> None:
    """Marks must not silently come to depend on another one."""
    course.secret()
    path = course.private / "secret"
    os.truncate(path, 5)
    with pytest.raises(CourseError, match="expected 32 bytes, found 5"):
        course.secret()


def test_the_reference_digest_follows_every_change(course: Course) -> None:
    """Content, names and new modules change it."""
    digests = [course.reference_digest()]
    (course.reference / "a.py").write_text("x = 1")
    digests.append(course.reference_digest())
    (course.reference / "a.py").write_text("x = 2")
    digests.append(course.reference_digest())
    (course.reference / "a.py").rename(course.reference / "b.py")
    digests.append(course.reference_digest())
    assert 4 == len(set(digests))
