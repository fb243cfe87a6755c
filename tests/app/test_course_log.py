"""The log of a folder course: entries are added, and whoever changes one is found out."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.app import course_log
from autograder.app.roll import read_roll
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.grading.assignment import Assignment, load_assignment
from autograder.store.memory import MemoryStore
from tests.grading.test_batch import NAME, make_course


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with three entries."""
    made = Course(tmp_path)
    for number in range(3):
        course_log.add_entry(made, "publish", "small", {"number": number})
    return made


def test_an_entry_says_who_when_and_what(course: Course) -> None:
    """In order, with facts as they were given; another assignment has none."""
    found = course_log.read_entries(course, "small")
    assert [0, 1, 2] == [one.facts["number"] for one in found]
    assert {("publish", "small", course_log.get_user())} == {
        (one.action, one.assignment, one.who) for one in found
    }
    assert () == course_log.read_entries(course, "large")
    assert 0o600 == (course.private / "log.jsonl").stat().st_mode & 0o777


def test_the_same_entry_is_noted_once(course: Course) -> None:
    """Whoever goes on after a kill adds nothing twice."""
    first = course_log.read_entries(course)[0]
    course_log.append_entry(course, replace(first, previous="", digest=""))
    assert (3, 0) == (len(course_log.read_entries(course)), course_log.find_broken_entry(course))


def test_the_log_shows_where_it_was_changed(course: Course) -> None:
    """An entry that is changed or taken away breaks the chain; half an entry at the end is not there."""
    path = course.private / "log.jsonl"
    whole = path.read_bytes()
    assert 0 == course_log.find_broken_entry(course)
    path.write_bytes(whole + b'{"id": "half')
    course_log.add_entry(course, "publish", "small", {"number": 3})
    assert (4, 0) == (len(course_log.read_entries(course)), course_log.find_broken_entry(course))
    path.write_bytes(whole.replace(b'"number": 1', b'"number": 9'))
    assert 2 == course_log.find_broken_entry(course)
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[1:]))
    assert 1 == course_log.find_broken_entry(course)


def test_a_log_that_cannot_be_read_stops_what_would_be_noted(course: Course) -> None:
    """Nothing is added behind a line that is none."""
    path = course.private / "log.jsonl"
    path.write_bytes(path.read_bytes() + b"no entry\n")
    with pytest.raises(CourseError, match="cannot be read"):
        course_log.add_entry(course, "publish", "small", {})


def test_whoever_asks_for_a_class_hears_of_it(tmp_path: Path) -> None:
    """A log that was changed, or that cannot be read, waits for somebody; a whole one is not spoken of."""
    assignment = load_assignment(make_course(tmp_path / "course"), NAME)
    course_log.add_entry(assignment.course, "publish", NAME, {"students": ["ada"]})
    assert ((), False) == told(assignment)
    path = assignment.course.private / "log.jsonl"
    path.write_bytes(path.read_bytes().replace(b"ada", b"bob"))
    (changed,), attention = told(assignment)
    assert attention
    assert "log.jsonl: entry 1 does not fit the one before" in changed
    path.write_bytes(b"no entry\n")
    (unread,), attention = told(assignment)
    assert attention
    assert "log.jsonl: cannot be read" in unread


def told(assignment: Assignment) -> tuple[tuple[str, ...], bool]:
    """What staff hear of the class, and whether somebody has to look at it."""
    roll = read_roll(assignment, MemoryStore())
    return roll.remarks, roll.attention
