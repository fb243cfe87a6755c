"""Exam schedules: windows, extra time, and which attempt counts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autograder.core.errors import CourseError
from autograder.course import Course, Handin
from autograder.course.counting_attempts import find_counting_attempts, select_attempts
from autograder.course.schedule import IndividualTimes, Schedule, Times, load_schedule
from autograder.rubric import Rubric, load_rubric
from tests.rubric.test_exam import GOOD as RUBRIC

GOOD = """
[exam]
start = 2026-02-12T10:00:00
zone = "Europe/Berlin"
[exam.students.ada]
extra_minutes = 30
[exam.students.bob]
start = 2026-02-13T10:00:00
[exam.students.eve]
end = 2026-02-12T13:00:00
"""
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Return a course with the rubric of an exam of 90 minutes and 10 for reading."""
    (tmp_path / "assignments").mkdir()
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics" / "exam.toml").write_text(RUBRIC)
    return Course.from_folder(tmp_path)


def rubric_of(course: Course) -> Rubric:
    """Return the exam's rubric."""
    return load_rubric(course.locate_rubric("exam"))


def schedule_of(course: Course, text: str = GOOD) -> Schedule:
    """Return the schedule that a file states."""
    course.exams.write_text(text, encoding="utf-8")
    found = load_schedule(course, rubric_of(course))
    assert found is not None
    return found


def utc(text: str) -> datetime:
    """Return a moment in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def handed(student: str, text: str, name: str = "x") -> Handin:
    """Return an attempt submitted at a moment."""
    return Handin(student, Path(name), utc(text))


def test_everybody_has_a_window(course: Course) -> None:
    """Extra minutes extend the common end, another start keeps the length, a stated end overrides both."""
    schedule = schedule_of(course)
    ends = {
        student: schedule.get_window(student).end.astimezone(UTC) for student in ("zoe", "ada", "bob", "eve")
    }
    assert {
        "zoe": utc("2026-02-12 10:40"),
        "ada": utc("2026-02-12 11:10"),
        "bob": utc("2026-02-13 10:40"),
        "eve": utc("2026-02-12 12:00"),
    } == ends
    assert "Europe/Berlin" == schedule.get_window("zoe").zone


def test_offsets_need_no_zone(course: Course) -> None:
    """A start with an UTC offset needs no zone; a zone only changes how it is shown."""
    alone = schedule_of(course, "[exam]\nstart = 2026-02-12T10:00:00+01:00\n")
    with_zone = schedule_of(course, '[exam]\nstart = 2026-02-12T09:00:00Z\nzone = "Europe/Berlin"\n')
    assert utc("2026-02-12 10:40") == alone.common.end == with_zone.common.end
    assert ("UTC+01:00", 10) == (alone.common.zone, with_zone.common.start.hour)


def test_an_accent_may_be_encoded_either_way(course: Course) -> None:
    """Extra time is found in both Unicode normal forms of a folder name."""
    schedule = schedule_of(course, GOOD.replace("students.ada", 'students."\u00e9mile"'))
    assert schedule.get_window("\u00e9mile") == schedule.get_window("e\u0301mile") != schedule.common


def test_a_course_without_the_file_or_the_assignment_has_no_times(course: Course) -> None:
    """Without the file or an entry for the assignment, nothing is late."""
    assert None is load_schedule(course, rubric_of(course))
    (course.rubrics / "other.toml").write_text("")
    course.exams.write_text("[other]\nstart = 2026-02-12T10:00:00Z\n")
    assert None is load_schedule(course, rubric_of(course))
    handins = [handed("ada", "2030-01-01")]
    assert handins == select_attempts({"ada": handins}, None, (), {}, NOW)


def test_the_example_of_the_documentation_is_accepted(course: Course) -> None:
    """The example in docs/exams.md is valid, has the stated ends, and names every key."""
    page = (Path(__file__).parents[2] / "docs" / "exams.md").read_text("utf-8")
    (example,) = re.findall(r"^```toml\n(\[final-exam\]\n.*?)^```", page, re.DOTALL | re.MULTILINE)
    schedule = schedule_of(course, example.replace("final-exam", "exam"))
    ends = [schedule.get_window(student).end.astimezone(UTC) for student in ("other", "s1006", "s1010")]
    assert [utc("2026-02-12 10:40"), utc("2026-02-12 11:10"), utc("2026-02-19 14:40")] == ends
    names = {*Times.__struct_fields__, *IndividualTimes.__struct_fields__}
    assert [] == [name for name in names if f"`{name}" not in page]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[exam]", "[exma]", "unknown key 'exma'; did you mean 'exam'?"),
        ("start = 2026-02-12T10:00:00\nzone", "strat = 2026-02-12T10:00:00\nzone", "did you mean 'start'"),
        ("start = 2026-02-12T10:00:00\nzone", 'start = "10:00"\nzone', "start"),
        ("start = 2026-02-12T10:00:00\nzone", "start = 2026-02-12\nzone", "start"),
        ('zone = "Europe/Berlin"', "", "has no zone; state a zone such as Europe/Berlin"),
        ("Europe/Berlin", "Europe/Berlim", "the zone 'Europe/Berlim' cannot be told"),
        ("Europe/Berlin", "../../etc/passwd", "cannot be told"),
        ("2026-02-12T10:00:00", "2026-10-25T02:30:00", "happens twice"),
        ("2026-02-12T10:00:00", "2026-03-29T02:30:00", "does not exist"),
        ('"Europe/Berlin"\n', '"Europe/Berlin"\nlate = "never"\n', "late"),
        ('"Europe/Berlin"\n', '"Europe/Berlin"\nend = 2026-02-12T09:00:00\n', "is not after the start"),
        (
            '"Europe/Berlin"\n',
            '"Europe/Berlin"\nend = 2026-02-12T11:30:00\n',
            "1 h 30 min from start to end, but",
        ),
        ("extra_minutes = 30", "extra_minutes = -30", "student 'ada': "),
        (
            "extra_minutes = 30",
            "extra_minute = 30",
            "unknown key 'extra_minute'; did you mean 'extra_minutes'",
        ),
        ("end = 2026-02-12T13", "end = 2026-02-12T10", "student 'eve'"),
        (
            "extra_minutes = 30",
            "extra_minutes = 30\nend = 2026-02-12T13:00:00",
            "either an end or extra minutes",
        ),
        (
            "[exam.students.ada]\nextra_minutes = 30",
            "[exam.students]\nada = 30",
            "student 'ada': expected a table",
        ),
        ("[exam]", "[exam", "not valid TOML"),
        ("start = 2026-02-12T10:00:00", "start = 9999-12-31T23:30:00", "outside of the years 1 to 9999"),
        ("start = 2026-02-12T10:00:00", "start = 0001-01-01T00:00:00", "outside of the years 1 to 9999"),
        ("end = 2026-02-12T13:00:00", "end = 9999-12-31T23:59:59-10:00", "outside of the years 1 to 9999"),
    ],
)
def test_an_error_is_refused(course: Course, old: str, new: str, message: str) -> None:
    """The message names the place, the expected value and the actual one."""
    assert old in GOOD
    with pytest.raises(CourseError, match=r"exams\.toml: ") as caught:
        schedule_of(course, GOOD.replace(old, new, 1))
    assert message in str(caught.value)


def test_an_end_is_needed_where_the_rubric_states_no_minutes(course: Course) -> None:
    """An assignment without minutes in the rubric needs a stated deadline."""
    path = course.locate_rubric("exam")
    before, _, after = RUBRIC.partition("[assignment.exam]")
    path.write_text(before + after[after.index("[[assignment.task]]") :])
    with pytest.raises(CourseError, match="end: is needed"):
        schedule_of(course)
    stated = 'zone = "Europe/Berlin"\nend = 2026-02-12T11:00:00'
    assert (
        utc("2026-02-12 10:00")
        == schedule_of(course, GOOD.replace('zone = "Europe/Berlin"', stated)).common.end
    )


DEADLINE = """
[exam]
end = 2026-02-12T11:40:00
zone = "Europe/Berlin"
[exam.students.ada]
extra_minutes = 30
[exam.students.eve]
start = 2026-02-12T12:00:00
end = 2026-02-12T14:00:00
"""


def test_an_end_suffices(course: Course) -> None:
    """A deadline alone allows extra time and late submissions, and nothing is too early."""
    schedule = schedule_of(course, DEADLINE)
    assert (None, utc("2026-02-12 10:40")) == (schedule.common.start, schedule.common.end)
    assert utc("2026-02-12 11:10") == schedule.get_window("ada").end
    assert utc("2026-02-12 13:00") == schedule.get_window("eve").end
    for moment, codes in (("2025-01-01 00:00", []), ("2026-02-12 10:40", []), ("2026-02-12 10:41", ["late"])):
        timing = schedule.select_attempt([handed("zoe", moment)], NOW).timing
        assert timing
        assert codes == [note.code for note in timing.list_notes()]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("end = 2026-02-12T11:40:00\n", "", "expected start, end, or both; neither is stated"),
        (
            "start = 2026-02-12T12:00:00\nend = 2026-02-12T14:00:00",
            "start = 2026-02-12T12:00:00",
            "no common start",
        ),
        ("end = 2026-02-12T14:00:00", "end = 2026-02-12T11:00:00", "is not after the start"),
    ],
)
def test_an_error_beside_a_deadline_is_refused(course: Course, old: str, new: str, message: str) -> None:
    """Values that cannot be derived from the end alone must be stated."""
    assert old in DEADLINE
    with pytest.raises(CourseError, match=message):
        schedule_of(course, DEADLINE.replace(old, new, 1))


def test_extra_time_for_a_name_that_nobody_has_is_refused(course: Course) -> None:
    """A misspelt id in an extension raises an error instead of being ignored."""
    schedule = schedule_of(course)
    schedule.check_students(["ada", "bob", "eve", "zoe"])
    with pytest.raises(CourseError, match=r"'ada' has an extension, .*; did you mean 'adah'"):
        schedule.check_students(["adah", "bob", "eve"])


@pytest.mark.parametrize(
    ("moment", "doubt"),
    [
        (None, "There is no timestamp.txt."),
        ("2026-02-12 08:59:59", "before the start"),
        ("0001-01-01 00:00:00", "before the start"),
        ("2026-03-01 00:06:00", "in the future"),
        ("9999-12-31 23:59:59", "in the future"),
    ],
)
@pytest.mark.parametrize("rule", ["review", "refuse"])
def test_a_time_that_cannot_be_believed_costs_nothing(
    course: Course, moment: str | None, doubt: str, rule: str
) -> None:
    """A missing or implausible time needs manual review; the submission is neither late nor refused."""
    schedule = schedule_of(course, GOOD.replace("[exam]", f'[exam]\nlate = "{rule}"', 1))
    attempt = Handin("zoe", Path("x"), utc(moment) if moment else None, "" if moment else doubt)
    timing = schedule.select_attempt([attempt], NOW).timing
    assert timing
    assert doubt in timing.doubt
    assert (timedelta(0), False) == (timing.late, timing.refused)
    assert ["time-not-known"] == [note.code for note in timing.list_notes()]


def test_an_accepted_one_needs_no_earlier_attempt_and_no_time(course: Course) -> None:
    """With the rule "accept", the last attempt counts, and an unknown time is accepted."""
    accepting = schedule_of(course, GOOD + '\n[exam.students.zoe]\nlate = "accept"\n')
    attempts = [handed("zoe", "2026-02-12 10:50", "late"), handed("zoe", "2026-02-12 10:30", "kept")]
    assert Path("late") == accepting.select_attempt(attempts, NOW).folder
    unknown = Handin("zoe", Path("x"), None, "There is no timestamp.txt.")
    timing = accepting.select_attempt([unknown], NOW).timing
    assert timing
    assert ["time-accepted"] == [note.code for note in timing.list_notes()]


def test_the_last_attempt_in_time_counts(course: Course) -> None:
    """A late attempt is replaced by the last kept one in time; if there is none, it counts as late."""
    schedule = schedule_of(course)
    late = handed("zoe", "2026-02-12 10:50", "late")
    kept = [handed("zoe", f"2026-02-12 {hour}", hour) for hour in ("09:30", "10:30", "10:45", "08:00")]
    chosen = schedule.select_attempt([late, *kept], NOW)
    assert Path("10:30") == chosen.folder
    assert chosen.timing
    assert "Another one was submitted 10 min after the deadline" in chosen.timing.list_notes()[0].text
    assert Path("late") == schedule.select_attempt([late, kept[2], kept[3]], NOW).folder
    for moment in ("10:35", "10:15"):  # kept attempts are considered only if the collected one is late
        chosen = schedule.select_attempt([handed("zoe", f"2026-02-12 {moment}", "last"), *kept], NOW)
        assert (Path("last"), ()) == (chosen.folder, chosen.timing.list_notes() if chosen.timing else None)


def test_earlier_attempts_lie_beside_what_was_collected(course: Course) -> None:
    """Staff keep earlier attempts in folders below earlier/; a submission cannot add files there."""
    schedule_of(course)
    for place, moment in (
        ("submitted/zoe/exam", "2026-02-12 11:00"),
        ("submitted/zoe/exam/earlier/zoe/exam/1", "2026-02-12 10:20"),
        ("earlier/zoe/exam/first", "2026-02-12 10:10"),
    ):
        (course.root / place).mkdir(parents=True)
        (course.root / place / "timestamp.txt").write_text(f"{moment} UTC")
    (course.root / "earlier/zoe/exam/link").symlink_to(course.root / "submitted/zoe/exam/earlier/zoe/exam/1")
    (chosen,) = find_counting_attempts(course, rubric_of(course)).handins
    assert course.root / "earlier/zoe/exam/first" == chosen.folder
