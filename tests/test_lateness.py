"""What being late costs: exact amounts, refused rules, and sentences."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from autograder.lateness import DAY, HOUR, Penalty, PenaltyStep, SlipDays, Terms, started
from autograder.messages import languages
from autograder.records import Deduction, Unit
from tests.support.cases import each

D = Decimal
STEPS = Penalty(steps=(PenaltyStep(0, D(5)), PenaltyStep(24, D(20)), PenaltyStep(72, D("33.3"))))


@each(
    "penalty, late, amount",
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
    """A unit that has begun counts whole; of steps the last one that is reached is taken; a cap holds."""
    assert "" == penalty.fault()
    assert Deduction(D(amount), penalty.unit) == penalty.deduction(late)


def test_before_the_first_step_nothing_is_taken() -> None:
    """A rule may begin later than the end."""
    assert Penalty(steps=(PenaltyStep(2, D(5)),)).deduction(2 * HOUR) is None


@given(st.timedeltas(timedelta(microseconds=1), 90 * DAY), st.timedeltas(timedelta(0), 30 * DAY))
def test_later_never_costs_less(late: timedelta, more: timedelta) -> None:
    """Whatever the rule, a longer delay takes at least as much, and percent never more than all."""
    for penalty in (Penalty(per_day=D(7)), Penalty(per_hour=D(1), cap=D(30)), STEPS):
        one, other = penalty.deduction(late), penalty.deduction(late + more)
        assert one
        assert other
        assert one.amount <= other.amount <= 100


def test_a_rule_may_close() -> None:
    """To the last moment it is taken, and not after it; without a limit, always."""
    closing = Penalty(per_day=D(10), closed_after_hours=72)
    assert [False, True] == [closing.closed(late) for late in (3 * DAY, 3 * DAY + timedelta(seconds=1))]
    assert not Penalty(per_day=D(10)).closed(400 * DAY)


@each(
    "penalty, fault",
    [
        (Penalty(), "expected one of per_day, per_hour and steps"),
        (Penalty(per_day=D(1), per_hour=D(1)), "expected one of per_day"),
        (Penalty(per_day=D(0)), "numbers above 0, got 0"),
        (Penalty(per_day=D(-5)), "numbers above 0, got -5"),
        (Penalty(per_day=D("NaN")), "numbers above 0, got NaN"),
        (Penalty(per_day=D(101)), "at most 100 percent, got 101"),
        (Penalty(per_day=D(10), cap=D(0)), "numbers above 0, got 0"),
        (Penalty(per_day=D(10), floor=D(-1)), "floor: expected a number from 0 on"),
        (Penalty(per_day=D(10), floor=D(101)), "at most 100 percent"),
        (Penalty(steps=(PenaltyStep(24, D(10)), PenaltyStep(24, D(20)))), "each must come later"),
        (Penalty(steps=(PenaltyStep(24, D(10)), PenaltyStep(48, D(10)))), "and take more"),
    ],
)
def test_a_rule_that_makes_no_sense_is_told(penalty: Penalty, fault: str) -> None:
    """Before anybody is graded by it."""
    assert fault in penalty.fault()


def test_units_begin() -> None:
    """A second begins a day; a whole day is one."""
    assert [0, 1, 1, 2] == [started(late, DAY) for late in (0 * DAY, timedelta(seconds=1), DAY, 2 * DAY)]


UNITS: tuple[Unit, ...] = ("percent", "percent-of-earned", "points")


@each(
    "unit, amount",
    zip(
        UNITS,
        ("10 percent of the possible points", "10 percent of the points earned", "10 points"),
        strict=True,
    ),
)
def test_students_are_told_the_rule(unit: Unit, amount: str) -> None:
    """Each part of it in a sentence, in every language."""
    penalty = Penalty(per_day=D(10), unit=unit, cap=D(50), floor=D(20), closed_after_hours=72)
    terms = Terms("penalty", timedelta(minutes=10), penalty, SlipDays(5, 2))
    told = " ".join(terms.texts("en"))
    for part in (
        f"costs {amount} for each day",
        "never costs more than 50",
        "less than 20",
        "72 h",
        "10 min",
    ):
        assert part in told
    assert "5 slip days" in told
    assert "At most 2 " in told
    for language in languages():
        assert len(terms.texts("en")) == len(terms.texts(language))


def test_where_nothing_is_particular_nothing_is_told() -> None:
    """What a person decides, and what is refused, is told when it happens."""
    assert () == Terms().texts("en") == Terms("refuse").texts("de")


def test_steps_are_told() -> None:
    """In order, the first one from the end on."""
    (told,) = Terms("penalty", penalty=STEPS).texts("en")
    assert "5 percent of the possible points from the end on; 20 percent" in told
    assert "33.3 percent of the possible points more than 72 h after the end" in told
