"""Counting attempts with grace periods, penalties and slip days; a group shares one attempt."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from autograder import rubric as rubrics
from autograder.core.errors import CourseError
from autograder.core.records import Deduction
from autograder.course import Course, Handin
from autograder.course import schedule as schedules
from autograder.course.counting_attempts import CountingAttempts, find_counting_attempts
from autograder.course.schedule import BestOf, SlipBank
from autograder.rubric.lateness import Penalty
from autograder.rubric.timestamps import SlipUse, Timing

RUBRIC = """
version = 1
[assignment]
name = "{name}"
points = 4
{notebooks}
[[question]]
id = "essay"
kind = "written"
points = 4
{place}
[[question.item]]
id = "text"
points = 4
manual = true
text = {{ en = "The reason" }}
"""
HOMEWORK = """
[course]
zone = "Europe/Berlin"
grace_minutes = 10
late = "penalty"
penalty = { per_day = 10, cap = 50 }

[course.slip_days]
days = 3
most = 2

[one]
end = 2026-05-04T12:00:00
[two]
end = 2026-05-11T12:00:00
[three]
end = 2026-05-18T12:00:00
"""
ENDS = {"one": 4, "two": 11, "three": 18}
"""The days in May on which the assignments end, at 10:00 UTC."""


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Return a course of three assignments with slip days."""
    for folder in ("assignments", "rubrics", "submitted"):
        (tmp_path / folder).mkdir()
    for name in ENDS:
        (tmp_path / "rubrics" / f"{name}.toml").write_text(RUBRIC.format(name=name, notebooks="", place=""))
    (tmp_path / "exams.toml").write_text(HOMEWORK)
    return Course.from_folder(tmp_path)


def hand_in(
    course: Course, student: str, name: str, late: timedelta | None, place: str = "submitted"
) -> Path:
    """Create an attempt at a time relative to the common end, or without a time if it is None."""
    folder = course.root / place / student / name
    folder = folder / f"{late}".replace(":", ".") if place == "earlier" else folder
    folder.mkdir(parents=True)
    (folder / f"{name}.ipynb").write_text("{}")
    if late is not None:
        moment = datetime.fromisoformat(f"2026-05-{ENDS[name]:02} 10:00:00") + late
        (folder / "timestamp.txt").write_text(f"{moment} UTC")
    return folder


def group(course: Course, text: str) -> None:
    """Write the list of groups."""
    (course.root / "groups.csv").write_text("group,student,assignment\n" + text)


def counting(course: Course, name: str) -> CountingAttempts:
    """Return the counting attempts of an assignment."""
    return find_counting_attempts(course, rubrics.load_rubric(course.locate_rubric(name)))


def handins(course: Course, name: str) -> dict[str, Handin]:
    """Return the counting attempts by student."""
    return {one.student: one for one in counting(course, name).handins}


def timing(course: Course, name: str, student: str = "ada") -> Timing:
    """Return the timing of a student's attempt."""
    found = handins(course, name)[student].timing
    assert found
    return found


def stated(course: Course, old: str, new: str) -> None:
    """Write exams.toml with one change."""
    assert old in HOMEWORK
    course.exams.write_text(HOMEWORK.replace(old, new, 1))


MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NO_SLIP = "[course.slip_days]\ndays = 3\nmost = 2\n"


def test_what_is_said_for_all_is_said_of_homework(course: Course) -> None:
    """An exam with a start uses the course's zone, but not its rules about late submissions."""
    stated(course, "[one]\n", "[one]\nstart = 2026-05-04T10:00:00\n")
    found = schedules.load_schedule(course, rubrics.load_rubric(course.locate_rubric("one")))
    assert found
    assert ("review", timedelta(0), None) == (
        found.late,
        found.common.terms.grace,
        found.common.terms.slip,
    )
    assert "Europe/Berlin" == found.common.zone


def test_what_is_closed_is_not_graded(course: Course) -> None:
    """An attempt after closing is replaced by the last accepted one, with its penalty."""
    stated(course, "cap = 50", "closed_after_hours = 72")
    hand_in(course, "ada", "three", 6 * DAY)
    assert timing(course, "three").refused
    kept = hand_in(course, "ada", "three", 30 * HOUR, "earlier")
    found = handins(course, "three")["ada"]
    assert kept == found.folder
    assert found.timing
    assert [["slip-days", "earlier-attempt"], ["timing.slip-covered", "timing.earlier-late"]] == [
        [note.code for note in found.timing.list_notes()],
        [message.code for message in found.timing.list_messages()],
    ]


@pytest.mark.parametrize(
    ("length", "days"), [("", 1), ('late_days = "calendar"\n', 1), ('late_days = "24-hours"\n', 2)]
)
@pytest.mark.parametrize("has_slip_days", [True, False], ids=["slip days", "penalty"])
def test_a_day_over_the_clock_change_is_one_day(
    course: Course, length: str, days: int, has_slip_days: bool
) -> None:
    """Saturday 20:00 to Sunday 20:00 is one day despite the clock change, unless the course counts hours."""
    stated(course, "end = 2026-05-04T12:00:00", "end = 2026-10-24T20:00:00")
    text = course.exams.read_text().replace("[course]\n", f"[course]\n{length}", 1)
    course.exams.write_text(text if has_slip_days else text.replace(NO_SLIP, ""))
    folder = hand_in(course, "ada", "one", timedelta(0))
    (folder / "timestamp.txt").write_text("2026-10-25 19:00:00 UTC")
    found = timing(course, "one")
    slip, deduction = SlipUse(days, 3 - days, 3), Deduction(Decimal(10 * days))
    assert ((slip, None) if has_slip_days else (None, deduction)) == (found.slip, found.deduction)
    assert timedelta(hours=25) == found.late
    assert has_slip_days == (not found.uncovered)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('late = "penalty"', 'late = "penality"', "late"),
        ("per_day = 10, ", "", "penalty: state either points per day, per hour, or steps"),
        ("penalty = { per_day = 10, cap = 50 }", "", "penalty: state a penalty"),
        ("per_day = 10", "pre_day = 10", "pre_day"),
        ("days = 3", "days = 0", "days"),
        ("most = 2", 'assignments = ["tow"]', "'tow' has no end here; did you mean 'two'"),
        ("most = 2", 'assignments = ["two", "two"]', "'two' stands twice"),
        ("[one]\n", "[one]\nslip_days = { days = 9, most = 9, place = 0 }\n", "stands in [course.slip_days]"),
        ("grace_minutes", "grace_minute", "did you mean 'grace_minutes'"),
        ("[one]\n", '[one]\ncounts = "best"\n', "counts"),
        ("[two]", "[one.groups.red]\nextra_minutes = 5\n[two]", "there is no such group"),
    ],
)
def test_errors_are_told_with_their_place(course: Course, old: str, new: str, message: str) -> None:
    """The error is raised before grading and names the place."""
    stated(course, old, new)
    with pytest.raises(CourseError, match=r"exams\.toml") as caught:
        schedules.load_schedule(course, rubrics.load_rubric(course.locate_rubric("one")))
    assert message in str(caught.value)


def test_an_assignment_cannot_be_called_as_what_holds_for_all(course: Course) -> None:
    """The name 'course' is refused, because its table would be read as the course's."""
    (course.rubrics / "course.toml").write_text(RUBRIC.format(name="course", notebooks="", place=""))
    with pytest.raises(CourseError, match="an assignment cannot be called 'course'"):
        counting(course, "one")


def test_one_member_hands_in_for_the_group(course: Course) -> None:
    """The last attempt of any member counts for all members, including those without a submission."""
    group(course, "red,ada,\nred,bob,\nred,cleo,\n")
    hand_in(course, "ada", "one", -2 * HOUR)
    last = hand_in(course, "bob", "one", -HOUR)
    alone = hand_in(course, "zoe", "one", -HOUR)
    found = handins(course, "one")
    assert ["ada", "bob", "cleo", "zoe"] == list(found)
    assert {last} == {found[who].folder for who in ("ada", "bob", "cleo")}
    assert ["bob", "", "bob", ""] == [one.by for one in found.values()]
    assert ("ada", "bob", "cleo") == (found["cleo"].group.members if found["cleo"].group else None)
    assert (alone, None) == (found["zoe"].folder, found["zoe"].group)


def test_groups_may_change_from_one_assignment_to_the_next(course: Course) -> None:
    """A line for one assignment overrides a line for all; a trailing comma is optional."""
    group(course, "red,ada,\nred,bob\nblue,bob,two\nblue,cleo,two\n")
    groups = {name: {one.name: one.members for one in counting(course, name).groups} for name in ENDS}
    assert {"red": ("ada", "bob")} == groups["one"] == groups["three"]
    assert {"blue": ("bob", "cleo"), "red": ("ada",)} == groups["two"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("red,ada,\nblue,ada,\n", "'ada' stands twice for one; lines: 2 ('red'), 3 ('blue')"),
        ("red,ada,\nred,ada,\n", "stands twice for one"),
        ("red,ada,tow\n", "assignment: 'tow' is not in the course; did you mean 'two'"),
        ("red,,\n", "line 2: student: '' cannot be a name"),
        ("=red,ada,\n", "line 2: group: '=red' cannot be a name"),
    ],
)
def test_errors_in_the_list_of_groups_are_named(course: Course, text: str, message: str) -> None:
    """Contradicting lines raise an error that names them, so that their order does not matter."""
    group(course, text)
    with pytest.raises(CourseError, match=r"groups\.csv") as caught:
        counting(course, "one")
    assert message in str(caught.value)


def test_members_may_have_notebooks_of_their_own(course: Course) -> None:
    """The shared notebook comes from the last submission of the group, individual ones from each member."""
    notebooks = 'notebooks = [{ name = "shared" }, { name = "alone", individual = true }]'
    rubric = RUBRIC.format(name="one", notebooks=notebooks, place='notebook = "shared"')
    (course.rubrics / "one.toml").write_text(rubric)
    group(course, "red,ada,\nred,bob,\nred,cleo,\n")
    folders = {who: hand_in(course, who, "one", late) for who, late in (("ada", -2 * HOUR), ("bob", DAY))}
    for who, names in (("ada", ("shared", "alone")), ("bob", ("alone",))):
        (folders[who] / "one.ipynb").unlink()
        for name in names:
            (folders[who] / f"{name}.ipynb").write_text("{}")
    found = handins(course, "one")
    assert {folders["ada"]} == {one.folder for one in found.values()}
    assert [folders["ada"], folders["bob"], None] == [one.own for one in found.values()]
    assert [timedelta(0), DAY, timedelta(0)] == [one.timing.late for one in found.values() if one.timing]
    kept = course.root / "earlier" / "bob" / "one" / "1"
    kept.parent.mkdir(parents=True)
    folders["bob"].rename(kept)
    (hand_in(course, "bob", "one", 2 * DAY) / "one.ipynb").rename(folders["bob"] / "shared.ipynb")
    found = handins(course, "one")
    assert {"bob"} == {one.owner for one in found.values()}
    assert [folders["ada"], kept, None] == [one.own for one in found.values()]


def test_the_example_of_the_documentation_is_accepted(course: Course) -> None:
    """The example in docs/deadlines.md is valid and names every key."""
    page = (Path(__file__).parents[2] / "docs" / "deadlines.md").read_text("utf-8")
    (example,) = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    course.exams.write_text(example.replace("homework-1", "one").replace("homework-2", "two"))
    for name, late in (("one", 26 * HOUR), ("two", 50 * HOUR)):
        folder = hand_in(course, "ada", name, None)
        end = datetime.fromisoformat(f"2026-05-{4 if name == 'one' else 18:02} 21:59:00")
        (folder / "timestamp.txt").write_text(f"{end + late} UTC")
    assert (SlipUse(2, 3, 5), None) == (timing(course, "one").slip, timing(course, "one").deduction)
    assert (SlipUse(2, 1, 5), Deduction(Decimal(5))) == (
        timing(course, "two").slip,
        timing(course, "two").deduction,
    )
    assert (("one", "two"), 1) == schedules.load_best_of(course)
    keys = {*Penalty.__struct_fields__, *SlipBank.__struct_fields__, *BestOf.__struct_fields__} - {"place"}
    assert set() == {key for key in keys if not re.search(rf"`[a-z.]*{key}\b|`{key}`", page)}
