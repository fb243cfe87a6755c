"""Individual working time from the moment of opening: its end, extensions, groups and late rules."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import StudentGroup
from autograder.course.schedule import Schedule, read_schedule
from tests.course.test_schedule import handed, utc
from tests.support import small_course

RUBRIC = small_course.load_rubric()
COMMON = {"start": "2026-02-12T08:00:00Z", "end": "2026-02-12T18:00:00Z", "minutes": 90}
OPENED = "2026-02-12T10:00:00+00:00"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
TEAM = StudentGroup("red", ("ada", "bob"))


def schedule_of(ada: dict[str, Any] | None = None, **more: Any) -> Schedule:
    """Return the schedule of a day with a working time of 90 minutes."""
    table = {**COMMON, **({"students": {"ada": ada}} if ada is not None else {}), **more}
    return read_schedule(table, RUBRIC, "times", [TEAM])


@pytest.mark.parametrize(
    ("ada", "minutes", "end"),
    [
        (None, 90, "18:00"),
        ({"extra_minutes": 30}, 120, "18:30"),
        ({"opened": OPENED}, 0, "11:30"),
        ({"opened": OPENED, "extra_minutes": 30}, 0, "12:00"),
        ({"opened": "2026-02-12T17:30:00+00:00"}, 0, "18:00"),
        ({"opened": "2026-02-12T17:30:00+00:00", "extra_minutes": 30}, 0, "18:30"),
        ({"opened": OPENED, "end": "2026-02-12T17:00:00Z"}, 0, "17:00"),
        ({"end": "2026-02-12T17:00:00Z"}, 0, "17:00"),
    ],
)
def test_working_time_ends_after_its_minutes_or_with_the_window(
    ada: dict[str, Any] | None, minutes: int, end: str
) -> None:
    """Extra minutes extend window and working time; an individual end replaces the working time."""
    schedule = schedule_of(ada)
    assert minutes == schedule.get_unopened_minutes("ADA" if ada is None else "ada")
    assert utc(f"2026-02-12 {end}") == schedule.get_window("ada").end.astimezone(UTC)
    assert (90, utc("2026-02-12 18:00")) == (
        schedule.get_unopened_minutes("zoe"),
        schedule.get_window("zoe").end.astimezone(UTC),
    )


def test_an_extension_of_the_group_extends_the_working_time() -> None:
    """The longer of the two extensions counts."""
    group = {"red": {"extra_minutes": 20}}
    opened = schedule_of({"opened": OPENED}, groups=group)
    assert utc("2026-02-12 11:50") == opened.get_window("ada").end.astimezone(UTC)
    assert 110 == opened.get_unopened_minutes("bob")
    longer = schedule_of({"opened": OPENED, "extra_minutes": 60}, groups=group)
    assert utc("2026-02-12 12:30") == longer.get_window("ada").end.astimezone(UTC)


@pytest.mark.parametrize(("late", "refused"), [("refuse", True), ("accept", False)])
def test_late_rules_apply_to_the_individual_end(late: str, refused: bool) -> None:
    """An attempt within the common window is late if the student's working time is over."""
    schedule = schedule_of({"opened": OPENED}, late=late)
    timing = schedule.select_attempt([handed("ada", "2026-02-12 11:45")], NOW).timing
    assert timing is not None
    assert (15 * 60, refused) == (timing.late.total_seconds(), timing.refused)
    other = schedule.select_attempt([handed("zoe", "2026-02-12 11:45")], NOW).timing
    assert other is not None
    assert not other.late


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"minutes": 0}, "minutes"),
        ({"minutes": "x"}, "minutes"),
        ({"students": {"ada": {"opened": "2026-02-12T10:00:00"}}}, "opened"),
    ],
)
def test_impossible_working_times_are_refused(table: dict[str, Any], told: str) -> None:
    """The error names the key; the opening needs an UTC offset."""
    with pytest.raises(RubricError, match=told):
        schedule_of(**table)
