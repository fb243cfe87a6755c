"""Late penalties: exact amounts, invalid rules, and messages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autograder.core.records import Deduction, Unit
from autograder.messages import list_languages
from autograder.rubric.lateness import (
    DAY,
    HOUR,
    DayLength,
    Penalty,
    PenaltyStep,
    SlipDays,
    Terms,
    compute_day_end,
    count_days,
    count_started_units,
)

D = Decimal
STEPS = Penalty(steps=(PenaltyStep(0, D(5)), PenaltyStep(24, D(20)), PenaltyStep(72, D("33.3"))))


@pytest.mark.parametrize(
    ("penalty", "late", "amount"),
    [
        (Penalty(per_day=D(10)), timedelta(microseconds=1), 10),
        (Penalty(per_day=D(10)), DAY, 10),
        (Penalty(per_day=D(10)), DAY + timedelta(microseconds=1), 20),
        (Penalty(per_day=D(10)), 40 * DAY, 100),
        (Penalty(per_day=D(10), cap=D(50)), 40 * DAY, 50),
        (Penalty(per_day=D("0.1"), unit="points"), 3 * DAY, D("0.3")),
        (Penalty(per_day=D(40), unit="points"), 3 * DAY, 120),
        (Penalty(per_hour=D("2.5")), HOUR + timedelta(seconds=1), 5),
        (STEPS, timedelta(seconds=1), 5),
        (STEPS, DAY, 5),
        (STEPS, DAY + timedelta(seconds=1), 20),
        (STEPS, 400 * DAY, D("33.3")),
    ],
)
def test_a_delay_costs_what_the_rule_says(penalty: Penalty, late: timedelta, amount: Decimal | int) -> None:
    """Each started unit counts as a whole, the last reached step applies, and a cap limits the penalty."""
    assert "" == penalty.find_fault()
    assert Deduction(D(amount), penalty.unit) == penalty.compute_deduction(
        late, count_started_units(late, DAY)
    )


def test_before_the_first_step_nothing_is_taken() -> None:
    """A rule may begin later than the deadline."""
    assert Penalty(steps=(PenaltyStep(2, D(5)),)).compute_deduction(2 * HOUR, 1) is None


@given(st.timedeltas(timedelta(microseconds=1), 90 * DAY), st.timedeltas(timedelta(0), 30 * DAY))
def test_later_never_costs_less(late: timedelta, more: timedelta) -> None:
    """A longer delay never costs less, and percentages never exceed 100."""
    for penalty in (Penalty(per_day=D(7)), Penalty(per_hour=D(1), cap=D(30)), STEPS):
        one, other = (
            penalty.compute_deduction(late, count_started_units(late, DAY)),
            penalty.compute_deduction(late + more, count_started_units(late + more, DAY)),
        )
        assert one
        assert other
        assert one.amount <= other.amount <= 100


def test_a_rule_may_close() -> None:
    """A rule with a closing time refuses later submissions; without one, none are refused."""
    closing = Penalty(per_day=D(10), closed_after_hours=72)
    assert [False, True] == [closing.is_closed(late) for late in (3 * DAY, 3 * DAY + timedelta(seconds=1))]
    assert not Penalty(per_day=D(10)).is_closed(400 * DAY)


@pytest.mark.parametrize(
    ("penalty", "fault"),
    [
        (Penalty(), "either points per day, per hour, or steps"),
        (Penalty(per_day=D(1), per_hour=D(1)), "either points per day"),
        (Penalty(per_day=D(0)), "numbers above 0, got 0"),
        (Penalty(per_day=D(-5)), "numbers above 0, got -5"),
        (Penalty(per_day=D("NaN")), "numbers above 0, got NaN"),
        (Penalty(per_day=D(101)), "at most 100 percent, got 101"),
        (Penalty(per_day=D(10), cap=D(0)), "numbers above 0, got 0"),
        (Penalty(per_day=D(10), floor=D(-1)), "that remains: expected a number from 0 on"),
        (Penalty(per_day=D(10), floor=D(101)), "at most 100 percent"),
        (Penalty(steps=(PenaltyStep(24, D(10)), PenaltyStep(24, D(20)))), "each step must come later"),
        (Penalty(steps=(PenaltyStep(24, D(10)), PenaltyStep(48, D(10)))), "and take more"),
    ],
)
def test_a_rule_that_makes_no_sense_is_told(penalty: Penalty, fault: str) -> None:
    """An inconsistent rule is reported before it is used for grading."""
    assert fault in str(penalty.find_fault())


def test_units_begin() -> None:
    """A second starts a day, and a whole day counts as one."""
    assert [0, 1, 1, 2] == [
        count_started_units(late, DAY) for late in (0 * DAY, timedelta(seconds=1), DAY, 2 * DAY)
    ]


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("end", "moment", "calendar", "periods"),
    [
        ("2026-10-24T20:00", "2026-10-25T20:00", 1, 2),
        ("2026-10-24T20:00", "2026-10-25T19:00", 1, 1),
        ("2026-10-24T20:00", "2026-10-25T20:01", 2, 2),
        ("2026-03-28T20:00", "2026-03-29T20:00", 1, 1),
        ("2026-03-28T20:00", "2026-03-29T20:30", 2, 1),
        ("2026-10-18T20:00", "2026-11-01T20:00", 14, 15),
        ("2026-05-04T23:59", "2026-05-05T23:59", 1, 1),
        ("2026-05-04T23:59", "2026-05-05T00:00", 1, 1),
        ("2026-05-04T23:59", "2026-05-04T23:59", 0, 0),
        ("2026-03-28T02:30", "2026-03-29T03:30", 1, 1),
    ],
    ids=[
        "clocks put back",
        "clocks put back, an hour before",
        "clocks put back, a minute after",
        "clocks put forward",
        "clocks put forward, half an hour after",
        "two weeks over the change",
        "an ordinary day",
        "a minute over midnight",
        "in time",
        "an hour that does not exist",
    ],
)
def test_days_end_at_the_same_time_or_after_24_hours(
    end: str, moment: str, calendar: int, periods: int
) -> None:
    """Days end at the same local time, despite changes of the clock, or after 24 hours."""
    deadline, now = (datetime.fromisoformat(one).replace(tzinfo=BERLIN) for one in (end, moment))
    for where in (BERLIN, UTC):
        counted: dict[DayLength, int] = {
            "calendar": count_days(deadline, now.astimezone(where), "calendar"),
            "24-hours": count_days(deadline, now.astimezone(where), "24-hours"),
        }
        assert {"calendar": calendar, "24-hours": periods} == counted


@example(timedelta(days=9794, minutes=30), timedelta(minutes=1), "Europe/Berlin", "calendar")
@given(
    st.timedeltas(timedelta(0), 30 * 366 * DAY),
    st.timedeltas(timedelta(microseconds=1), 400 * DAY),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "UTC"]),
    st.sampled_from(["calendar", "24-hours"]),
)
def test_a_moment_lies_in_the_day_it_is_counted_in(
    since: timedelta, late: timedelta, zone: str, length: DayLength
) -> None:
    """A delay of n days is after the end of day n − 1 and not after the end of day n."""
    end = (datetime(2000, 1, 1, tzinfo=UTC) + since).astimezone(ZoneInfo(zone))
    moment = end.astimezone(UTC) + late
    days = count_days(end, moment, length)
    assert days >= 1
    assert compute_day_end(end, days - 1, length) < moment <= compute_day_end(end, days, length)


def test_students_are_told_of_days_that_last_24_hours() -> None:
    """Students are informed of days with 24 hours only if days cost something."""
    said = "A day has 24 hours"
    for terms, is_told in (
        (Terms("penalty", penalty=Penalty(per_day=D(10)), days="24-hours"), True),
        (Terms("refuse", slip=SlipDays(5, 2), days="24-hours"), True),
        (Terms("penalty", penalty=Penalty(per_hour=D(10)), days="24-hours"), False),
        (Terms("penalty", penalty=Penalty(per_day=D(10))), False),
    ):
        assert is_told == (said in " ".join(terms.describe_terms("en")))


UNITS: tuple[Unit, ...] = ("percent", "percent-of-earned", "points")


@pytest.mark.parametrize(
    ("unit", "amount"),
    list(
        zip(
            UNITS,
            ("10 percent of the possible points", "10 percent of the points earned", "10 points"),
            strict=True,
        )
    ),
)
def test_students_are_told_the_rule(unit: Unit, amount: str) -> None:
    """Every part of the rule has a sentence in every language."""
    penalty = Penalty(per_day=D(10), unit=unit, cap=D(50), floor=D(20), closed_after_hours=72)
    terms = Terms("penalty", timedelta(minutes=10), penalty, SlipDays(5, 2))
    told = " ".join(terms.describe_terms("en"))
    for part in (
        f"Late penalty: {amount} for each day",
        "at most 50",
        "below 20",
        "72 h",
        "10 min",
    ):
        assert part in told
    assert "5 slip days" in told
    assert "At most 2 " in told
    for language in list_languages():
        assert len(terms.describe_terms("en")) == len(terms.describe_terms(language))


def test_where_nothing_is_particular_nothing_is_told() -> None:
    """Rules that need manual review or refuse submissions are not announced in advance."""
    assert () == Terms().describe_terms("en") == Terms("refuse").describe_terms("de")


def test_steps_are_told() -> None:
    """Steps are listed in order, starting at the deadline."""
    (told,) = Terms("penalty", penalty=STEPS).describe_terms("en")
    assert "5 percent of the possible points from the deadline on; 20 percent" in told
    assert "33.3 percent of the possible points if more than 72 h late" in told
