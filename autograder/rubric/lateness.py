"""The late rule of a course as data, the exact penalty, and sentences that explain it.

The only input from a submission is its delay, so the same delay always costs the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Literal

from msgspec import Meta, Struct

from autograder.core.records import Deduction, Unit
from autograder.core.wording import Phrase, format_number
from autograder.messages import build_localised_text, format_counted, format_sentence

Rule = Literal["review", "refuse", "accept", "penalty"]
"""Consequence of a late submission: manual decision, not graded, counts like any other, or `Penalty`."""
Counts = Literal["in-time", "last"]
"""The attempt that counts: the last one in time if there is one, or simply the last one."""
DayLength = Literal["calendar", "24-hours"]
"""The end of a day of lateness: the same time on the next date, which is 23 or 25 hours later when clocks
change, or 24 hours later."""
COUNTS: Mapping[Rule, Counts] = {
    "review": "in-time",
    "refuse": "in-time",
    "accept": "last",
    "penalty": "last",
}
"""Default for courses that do not choose."""
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
MOST_HOURS = 366 * 24
_Hours = Annotated[int, Meta(ge=0, le=MOST_HOURS)]
_WHOLE = Decimal(100)


class PenaltyStep(Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a penalty."""

    after_hours: _Hours
    """It applies to delays longer than that."""
    take: Decimal


class Penalty(Struct, frozen=True, forbid_unknown_fields=True):
    """The late penalty. TOML: ``penalty = { … }``; exactly one of the first three fields is set."""

    per_day: Decimal | None = None
    """For each day that has begun; `Terms.days` defines a day."""
    per_hour: Decimal | None = None
    steps: tuple[PenaltyStep, ...] = ()
    """Only the last one that applies counts, not the sum."""
    unit: Unit = "percent"
    cap: Decimal | None = None
    """Maximum penalty."""
    floor: Decimal = Decimal(0)
    """Minimum of the earned points that remains; in the same unit."""
    closed_after_hours: Annotated[int, Meta(ge=1, le=MOST_HOURS)] | None = None
    """Later submissions are not graded."""

    def find_fault(self) -> Phrase:
        """Return the first error in the settings; empty if there is none."""
        ways = [self.per_day is not None, self.per_hour is not None, bool(self.steps)]
        if sum(ways) != 1:
            return build_localised_text("fault.penalty-way")
        settings = [self.per_day, self.per_hour, self.cap, *(step.take for step in self.steps)]
        amounts = [amount for amount in settings if amount is not None]
        if bad := [amount for amount in amounts if not amount.is_finite() or amount <= 0]:
            return build_localised_text("fault.penalty-amount", given=str(bad[0]))
        if not self.floor.is_finite() or self.floor < 0:
            return build_localised_text("fault.penalty-floor", given=str(self.floor))
        if self.unit != "points" and (
            bad := [amount for amount in (*amounts, self.floor) if amount > _WHOLE]
        ):
            return build_localised_text("fault.penalty-percent", given=str(bad[0]))
        for amount, following in pairwise(self.steps):
            if not (amount.after_hours < following.after_hours and amount.take < following.take):
                return build_localised_text("fault.penalty-steps")
        return ""

    def is_closed(self, late: timedelta) -> bool:
        """Decide whether a submission this late is not graded any more."""
        return self.closed_after_hours is not None and late > self.closed_after_hours * HOUR

    def compute_deduction(self, late: timedelta, days: int) -> Deduction | None:
        """Return the late penalty; None if there is none.

        Args:
            late: delay after the deadline.
            days: number of days of lateness, including the one that has begun.
        """
        if self.per_day is not None:
            amount = self.per_day * days
        elif self.per_hour is not None:
            amount = self.per_hour * count_started_units(late, HOUR)
        else:
            reached = (step.take for step in self.steps if late > step.after_hours * HOUR)
            amount = max(reached, default=Decimal(0))
        # Without a cap, a percentage still cannot take more than everything.
        most = _WHOLE if self.cap is None and self.unit != "points" else self.cap
        amount = amount if most is None else min(amount, most)
        return Deduction(amount, self.unit, self.floor) if amount > 0 else None


class SlipDays(Struct, frozen=True):
    """Days of lateness that each student may use without penalty over the whole course."""

    days: int
    most: int
    """Maximum for one assignment."""


class Terms(Struct, frozen=True):
    """The late rules of a course for one assignment."""

    late: Rule = "review"
    grace: timedelta = timedelta(0)
    """Grace period; a later submission is late by its delay since the deadline itself."""
    penalty: Penalty | None = None
    slip: SlipDays | None = None
    days: DayLength = "calendar"

    def describe_terms(self, language: str) -> tuple[str, ...]:
        """Return sentences for students about the rules that differ from the default; empty if none do."""
        return (
            *self._describe_rule(language),
            *self._describe_grace(language),
            *self._describe_slip_days(language),
            *self._describe_day_length(language),
        )

    def _describe_day_length(self, language: str) -> list[str]:
        costs_by_day = self.late == "penalty" and self.penalty and self.penalty.per_day is not None
        matters = self.days == "24-hours" and (costs_by_day or self.slip)
        return [format_sentence("late.day-of-24-hours", language)] if matters else []

    def _describe_rule(self, language: str) -> list[str]:
        penalty = self.penalty
        if self.late != "penalty" or penalty is None:
            return []
        rate = penalty.per_day or penalty.per_hour
        if rate is not None:
            code = "late.per-day" if penalty.per_day else "late.per-hour"
            sentences = [format_sentence(code, language, take=format_amount(rate, penalty.unit, language))]
        else:
            steps = [
                format_sentence(
                    "late.step" if step.after_hours else "late.step-at-once",
                    language,
                    take=format_amount(step.take, penalty.unit, language),
                    hours=step.after_hours,
                )
                for step in penalty.steps
            ]
            sentences = [format_sentence("late.steps", language, steps="; ".join(steps))]
        if penalty.cap is not None:
            cap = format_amount(penalty.cap, penalty.unit, language)
            sentences.append(format_sentence("late.cap", language, take=cap))
        if penalty.floor:
            floor_text = format_amount(penalty.floor, penalty.unit, language)
            sentences.append(format_sentence("late.floor", language, left=floor_text))
        if penalty.closed_after_hours is not None:
            sentences.append(format_sentence("late.closed", language, hours=penalty.closed_after_hours))
        return sentences

    def _describe_grace(self, language: str) -> list[str]:
        minutes = int(self.grace.total_seconds()) // 60
        return [format_sentence("late.grace", language, minutes=minutes)] if minutes else []

    def _describe_slip_days(self, language: str) -> list[str]:
        if self.slip is None:
            return []
        days = format_counted("late.slip", language, Decimal(self.slip.days), days=self.slip.days)
        return [days, format_sentence("late.slip-most", language, most=self.slip.most)]


def compute_day_end(end: datetime, days: int, length: DayLength) -> datetime:
    """Return the moment until which a submission is late by this number of days.

    Args:
        end: the deadline, by the clock of its zone.
        days: number of days; 0 gives the deadline.
        length: when a day ends.
    """
    if length == "24-hours" or not days:
        return end.astimezone(UTC) + days * DAY
    local = end + timedelta(days=days)  # wall-clock time, as Python computes within one zone
    # A time that clocks skip or show twice on that date counts as the later moment, in favour of the student.
    return max(local.replace(fold=fold).astimezone(UTC) for fold in (0, 1))


def count_days(end: datetime, moment: datetime, length: DayLength) -> int:
    """Return by how many days a moment is after a deadline; a day that has begun counts."""
    # In UTC: subtracting local times of one zone ignores clock changes.
    late = moment.astimezone(UTC) - end.astimezone(UTC)
    days = max(late // DAY - 2, 0)  # clock changes are at most a day (date line); start early, then count up
    while compute_day_end(end, days, length) < moment:
        days += 1
    return days


def count_started_units(late: timedelta, unit: timedelta) -> int:
    """Return how many units of time have begun; a moment exactly at the end of one begins no other."""
    return -(-late // unit)


def format_amount(amount: Decimal, unit: Unit, language: str) -> str:
    """Format an amount with its unit: ``10 percent of the possible points``."""
    number = format_number(amount, language)
    if unit == "points":
        return format_counted("late.points", language, amount, number=number)
    return format_sentence(f"late.{unit}", language, number=number)
