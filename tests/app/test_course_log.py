"""The log of a course folder: entries are appended, each once."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.app import course_log
from autograder.core.errors import CourseError
from autograder.course import Course


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Return a course with three entries."""
    new_course = Course(tmp_path)
    for number in range(3):
        course_log.add_entry(new_course, "publish", "small", {"number": number})
    return new_course


def test_an_entry_says_who_when_and_what(course: Course) -> None:
    """Entries are in order, with their facts unchanged; another assignment has no entries."""
    entries = course_log.read_entries(course, "small")
    assert [0, 1, 2] == [entry.facts["number"] for entry in entries]
    assert {("publish", "small", course_log.get_user())} == {
        (entry.action, entry.assignment, entry.who) for entry in entries
    }
    assert () == course_log.read_entries(course, "large")
    assert 0o600 == (course.private / "log.jsonl").stat().st_mode & 0o777


def test_the_same_entry_is_noted_once(course: Course) -> None:
    """Resuming after a kill adds no entry twice."""
    course_log.append_entry(course, course_log.read_entries(course)[0])
    assert 3 == len(course_log.read_entries(course))


def test_half_an_entry_is_removed_with_the_next(course: Course) -> None:
    """An incomplete line of a killed writer is removed."""
    path = course.private / "log.jsonl"
    path.write_bytes(path.read_bytes() + b'{"id": "half')
    course_log.add_entry(course, "publish", "small", {"number": 3})
    assert 4 == len(course_log.read_entries(course))


def test_a_log_that_cannot_be_read_stops_what_would_be_noted(course: Course) -> None:
    """Nothing is appended to a damaged log."""
    path = course.private / "log.jsonl"
    path.write_bytes(path.read_bytes() + b"no entry\n")
    with pytest.raises(CourseError, match="cannot be read"):
        course_log.add_entry(course, "publish", "small", {})
