"""What being late costs: the rule of a course as data, computed exactly, and told in sentences.

The rule knows nothing of a submission but how late it is, so the same delay always costs the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Literal

from msgspec import Meta, Struct

from autograder.messages import counted, sentence
from autograder.records import Deduction, Unit
from autograder.wording import written_number

Rule = Literal["review", "refuse", "accept", "penalty"]
"""What becomes of a late submission: a person decides, it is not graded, it counts like any other, or it
costs what `Penalty` says."""
Counts = Literal["in-time", "last"]
"""Which attempt counts: the last one in time where there is one, or the last one."""
DayLength = Literal["calendar", "24-hours"]
"""When a day of lateness ends: at the same time on the next date, which is 23 or 25 hours later when clocks
change, or 24 hours later."""
COUNTS: Mapping[Rule, Counts] = {
    "review": "in-time",
    "refuse": "in-time",
    "accept": "last",
    "penalty": "last",
}
"""Where the course does not say which."""
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
_MOST_HOURS = 366 * 24
_Hours = Annotated[int, Meta(ge=0, le=_MOST_HOURS)]
_WHOLE = Decimal(100)


class PenaltyStep(Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a penalty."""

    after_hours: _Hours
    """It is taken of what comes later than that."""
    take: Decimal


class Penalty(Struct, frozen=True, forbid_unknown_fields=True):
    """What is taken off for being late. TOML: ``penalty = { … }``; one of the first three is stated."""

    per_day: Decimal | None = None
    """For each day that has begun; how long one is, `Terms.days` says."""
    per_hour: Decimal | None = None
    steps: tuple[PenaltyStep, ...] = ()
    """The last one that applies is taken, not the sum."""
    unit: Unit = "percent"
    cap: Decimal | None = None
    """The most that is taken."""
    floor: Decimal = Decimal(0)
    """What it leaves at least, of what was earned; in the same unit."""
    closed_after_hours: Annotated[int, Meta(ge=1, le=_MOST_HOURS)] | None = None
    """What comes later than that is not graded."""

    def fault(self) -> str:
        """What is wrong with it; empty where nothing is."""
        ways = [self.per_day is not None, self.per_hour is not None, bool(self.steps)]
        if sum(ways) != 1:
            return "expected one of per_day, per_hour and steps"
        stated = [self.per_day, self.per_hour, self.cap, *(step.take for step in self.steps)]
        amounts = [one for one in stated if one is not None]
        if bad := [one for one in amounts if not one.is_finite() or one <= 0]:
            return f"expected numbers above 0, got {bad[0]}"
        if not self.floor.is_finite() or self.floor < 0:
            return f"floor: expected a number from 0 on, got {self.floor}"
        if self.unit != "points" and (bad := [one for one in (*amounts, self.floor) if one > _WHOLE]):
            return f"expected at most 100 percent, got {bad[0]}"
        for one, other in pairwise(self.steps):
            if not (one.after_hours < other.after_hours and one.take < other.take):
                return "steps: each must come later than the one before, and take more"
        return ""

    def closed(self, late: timedelta) -> bool:
        """Whether what comes so late is not graded any more."""
        return self.closed_after_hours is not None and late > self.closed_after_hours * HOUR

    def deduction(self, late: timedelta, days: int) -> Deduction | None:
        """What is taken off; None: nothing.

        Args:
            late: how long after the end.
            days: how many days of lateness that is, the last one begun.
        """
        if self.per_day is not None:
            amount = self.per_day * days
        elif self.per_hour is not None:
            amount = self.per_hour * started(late, HOUR)
        else:
            reached = (step.take for step in self.steps if late > step.after_hours * HOUR)
            amount = max(reached, default=Decimal(0))
        most = _WHOLE if self.cap is None and self.unit != "points" else self.cap
        amount = amount if most is None else min(amount, most)
        return Deduction(amount, self.unit, self.floor) if amount > 0 else None


class SlipDays(Struct, frozen=True):
    """Days of lateness that each student may spend over the whole course."""

    days: int
    most: int
    """For one assignment."""


class Terms(Struct, frozen=True):
    """What a course says about lateness in one assignment."""

    late: Rule = "review"
    grace: timedelta = timedelta(0)
    """So soon after the end is still in time; what comes later is late from the end on."""
    penalty: Penalty | None = None
    slip: SlipDays | None = None
    days: DayLength = "calendar"

    def texts(self, language: str) -> tuple[str, ...]:
        """Sentences for students about what is not the same everywhere; none where nothing is."""
        return (
            *self._rule(language),
            *self._grace(language),
            *self._slip(language),
            *self._day_length(language),
        )

    def _day_length(self, language: str) -> list[str]:
        costs_by_day = self.late == "penalty" and self.penalty and self.penalty.per_day is not None
        matters = self.days == "24-hours" and (costs_by_day or self.slip)
        return [sentence("late.day-of-24-hours", language)] if matters else []

    def _rule(self, language: str) -> list[str]:
        penalty = self.penalty
        if self.late != "penalty" or penalty is None:
            return []
        each = penalty.per_day or penalty.per_hour
        if each is not None:
            code = "late.per-day" if penalty.per_day else "late.per-hour"
            said = [sentence(code, language, take=amount_text(each, penalty.unit, language))]
        else:
            steps = [
                sentence(
                    "late.step" if step.after_hours else "late.step-at-once",
                    language,
                    take=amount_text(step.take, penalty.unit, language),
                    hours=step.after_hours,
                )
                for step in penalty.steps
            ]
            said = [sentence("late.steps", language, steps="; ".join(steps))]
        if penalty.cap is not None:
            cap = amount_text(penalty.cap, penalty.unit, language)
            said.append(sentence("late.cap", language, take=cap))
        if penalty.floor:
            left = amount_text(penalty.floor, penalty.unit, language)
            said.append(sentence("late.floor", language, left=left))
        if penalty.closed_after_hours is not None:
            said.append(sentence("late.closed", language, hours=penalty.closed_after_hours))
        return said

    def _grace(self, language: str) -> list[str]:
        minutes = int(self.grace.total_seconds()) // 60
        return [sentence("late.grace", language, minutes=minutes)] if minutes else []

    def _slip(self, language: str) -> list[str]:
        if self.slip is None:
            return []
        days = counted("late.slip", language, Decimal(self.slip.days), days=self.slip.days)
        return [days, sentence("late.slip-most", language, most=self.slip.most)]


def end_of_day(end: datetime, days: int, length: DayLength) -> datetime:
    """Return the moment until which somebody is late by so many days.

    Args:
        end: the deadline, by the clock of its zone.
        days: how many; 0 gives the deadline.
        length: when a day ends.
    """
    if length == "24-hours" or not days:
        return end.astimezone(UTC) + days * DAY
    local = end + timedelta(days=days)  # by the clock on the wall, as Python computes within one zone
    # A time that clocks skip or show twice on that date counts as the later moment, in favour of the student.
    return max(local.replace(fold=fold).astimezone(UTC) for fold in (0, 1))


def count_days(end: datetime, moment: datetime, length: DayLength) -> int:
    """Return by how many days a moment is after a deadline: a day that has begun is one."""
    late = moment.astimezone(UTC) - end.astimezone(UTC)
    days = max(late // DAY - 2, 0)  # clocks are changed by a day at the most
    while end_of_day(end, days, length) < moment:
        days += 1
    return days


def started(late: timedelta, unit: timedelta) -> int:
    """How many units of time have begun: a second is one, and so is a whole one."""
    return -(-late // unit)


def amount_text(amount: Decimal, unit: Unit, language: str) -> str:
    """An amount with its unit: ``10 percent of the possible points``."""
    number = written_number(amount, language)
    if unit == "points":
        return counted("late.points", language, amount, number=number)
    return sentence(f"late.{unit}", language, number=number)
