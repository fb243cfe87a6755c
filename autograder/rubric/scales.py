"""Grading scales: the exact grade of a number of points. Decimals and fractions, never floats.

The German steps are the usual linear ones: 4.0 begins at the pass threshold, and each of the nine better
grades a tenth of the rest further up, so with a threshold of 50 % at 50, 55, …, 95 %. The letters begin at
the percentages that are common in North America.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import msgspec
from msgspec import Struct

from autograder.core.errors import RubricError, extend_place
from autograder.core.tables import convert_table, suggest_name

GERMAN = ("1.0", "1.3", "1.7", "2.0", "2.3", "2.7", "3.0", "3.3", "3.7", "4.0")
LETTERS = {
    "A": 93,
    "A-": 90,
    "B+": 87,
    "B": 83,
    "B-": 80,
    "C+": 77,
    "C": 73,
    "C-": 70,
    "D+": 67,
    "D": 63,
    "D-": 60,
    "F": 0,
}
"""Grade → percent from which it is given."""
NAMED = ("german", "letter", "percent")
_USUAL_PASS = Decimal(50)
_FINEST = -4
"""Thresholds have at most four decimals."""

Rounding = Literal["exact", "up-to-half", "up-to-whole"]
Bonus = Literal["always", "when-passed"]


class Threshold(Struct, frozen=True, forbid_unknown_fields=True):
    """One grade of a scale that the course defines: an entry of ``scale``."""

    grade: str
    start: Decimal = msgspec.field(name="from")
    """The percentage (or points) from which it is given."""


class Grading(Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[assignment.grading]`` as it is written."""

    scale: str | tuple[dict[str, Any], ...] = "german"
    """A named one, or the course's own: a list of grades, the best one first."""
    unit: Literal["percent", "points"] = "percent"
    """Of ``pass`` and of the thresholds of the course's own scale."""
    passing: Decimal | None = msgspec.field(name="pass", default=None)
    """The pass threshold; default: 50 %, or the last grade but one of letters and of the course's own
    scale."""
    rounding: Rounding = "exact"
    bonus: Bonus = "always"
    """Whether bonus points also help to pass."""


class Grade(Struct, frozen=True):
    """A grade, and whether it is a pass."""

    name: str
    passed: bool


class Step(Struct, frozen=True):
    """A grade of a scale, and the least points that have it."""

    grade: str
    least: Decimal


class Scale(Struct, frozen=True):
    """The grades of one assignment.

    Every number of points has exactly one grade, and more points never have a worse one.
    """

    name: str
    """``"german"``, ``"letter"``, ``"percent"`` or ``"own"``."""
    possible: Decimal
    """All points except those of bonus questions."""
    passing: Decimal
    """The least points that pass."""
    steps: tuple[Step, ...]
    """The best one first, the last one from zero; empty on the percent scale."""
    rounding: Rounding = "exact"
    bonus: Bonus = "always"

    def find_grade(self, points: Decimal) -> Grade:
        """Return the grade of a number of points. Points below zero count as zero; there is no maximum."""
        rounded = self.round_points(points)
        passed = rounded >= self.passing
        if not self.steps:
            return Grade(f"{math.floor(Fraction(rounded) * 100 / Fraction(self.possible))} %", passed)
        return Grade(next(step.grade for step in self.steps if rounded >= step.least), passed)

    def count_points(self, points: Decimal, bonus: Decimal) -> Decimal:
        """Return the points that determine the grade: those with the bonus points.

        Under ``bonus = "when-passed"`` bonus points count only for students who pass without them.
        """
        alone = max(points, Decimal(0))
        counts = self.bonus == "always" or self.round_points(alone) >= self.passing
        return max(points + bonus, Decimal(0)) if counts else alone

    def round_points(self, points: Decimal) -> Decimal:
        """Return points by the rounding rule, none below zero."""
        points = max(points, Decimal(0))
        if self.rounding == "exact":
            return points
        part = 2 if self.rounding == "up-to-half" else 1
        return Decimal(math.ceil(Fraction(points) * part)) / part


def read_scale(table: Mapping[str, Any], possible: Decimal, place: str) -> Scale:
    """Return the scale of an assignment from its table ``[assignment.grading]``.

    Args:
        table: as in TOML; empty: the German scale with its usual threshold.
        possible: all points except those of bonus questions.
        place: how errors name the table.

    Raises:
        RubricError: a key or the scale is unknown (with a suggestion), or thresholds do not go down step by
            step to zero, or are outside of the possible points, or no grade begins at ``pass``.
    """
    grading = convert_table(table, Grading, place)
    if possible <= 0:
        raise RubricError("there are no points to grade; expected an assignment with points", place)
    name = grading.scale if isinstance(grading.scale, str) else "own"
    if isinstance(grading.scale, str) and grading.scale not in NAMED:
        raise RubricError(
            f"unknown scale {grading.scale!r}; {suggest_name(grading.scale, NAMED)}", place, "scale"
        )
    threshold = (
        None
        if grading.passing is None
        else _to_points(grading.passing, grading, possible, extend_place(place, ": pass", "pass"))
    )
    if threshold is not None and not 0 < threshold < possible:
        raise RubricError(
            f"expected more than nothing and less than all, got {grading.passing}",
            place,
            "pass",
        )
    passing, steps = threshold, _make_steps(grading, threshold, possible, place)
    if passing is None:
        usual = Fraction(possible) * Fraction(_USUAL_PASS) / 100
        passing = steps[-2].least if steps else _to_exact(usual, extend_place(place, ": pass", "pass"))
    # One grade would otherwise both pass and fail.
    if steps and passing not in {step.least for step in steps}:
        begins = ", ".join(f"{step.grade} at {step.least.normalize():f}" for step in steps[:-1])
        raise RubricError(
            f"no grade begins at {passing.normalize():f} points, so one grade would both pass "
            f"and fail; the grades begin here: {begins}",
            place,
            "pass",
        )
    # Grades on the percent scale are whole percent, so a threshold in between would split one.
    if not steps and (Fraction(passing) * 100 / Fraction(possible)).denominator != 1:
        raise RubricError(
            f"expected whole percent on the percent scale, got {grading.passing}",
            place,
            "pass",
        )
    return Scale(name, possible, passing, steps, grading.rounding, grading.bonus)


def _make_steps(grading: Grading, passing: Decimal | None, possible: Decimal, place: str) -> tuple[Step, ...]:
    """Return the grades of a scale with their least points, the best one first."""
    where = extend_place(place, ": scale", "scale")
    if grading.scale == "percent":
        return ()
    if grading.scale == "german":
        usual = Fraction(possible) * Fraction(_USUAL_PASS) / 100
        low = usual if passing is None else Fraction(passing)
        tenth = (Fraction(possible) - low) / 10
        least = [low + tenth * above for above in reversed(range(10))]
        steps = [Step(name, _to_exact(points, where)) for name, points in zip(GERMAN, least, strict=True)]
        return (*steps, Step("5.0", Decimal(0)))
    if grading.scale == "letter":
        whole = Fraction(possible) / 100
        return tuple(Step(name, _to_exact(whole * percent, where)) for name, percent in LETTERS.items())
    custom = _read_custom_steps(grading, possible, where)
    _check_order(custom, where)
    return custom


def _read_custom_steps(grading: Grading, possible: Decimal, place: str) -> tuple[Step, ...]:
    """Return the steps of a scale that the rubric defines."""
    written = () if isinstance(grading.scale, str) else grading.scale
    entries = [
        convert_table(entry, Threshold, extend_place(place, f", entry {number + 1}", number))
        for number, entry in enumerate(written)
    ]
    return tuple(
        Step(
            entry.grade.strip(),
            _to_points(
                entry.start, grading, possible, extend_place(place, f", {entry.grade!r}", number, "from")
            ),
        )
        for number, entry in enumerate(entries)
    )


def _check_order(steps: Sequence[Step], place: str) -> None:
    """Check that every number of points has exactly one grade."""
    if len(steps) < 2:
        raise RubricError(f"expected at least two grades, got {len(steps)}", place)
    names = [step.grade for step in steps]
    for name in names:
        if not name or names.count(name) > 1:
            raise RubricError(
                f"the grade {name!r} stands {names.count(name)} times; expected different names",
                place,
            )
    for better, worse in itertools.pairwise(steps):
        if worse.least >= better.least:
            raise RubricError(
                f"{worse.grade!r} begins at {worse.least.normalize():f} points, not below "
                f"{better.grade!r} at {better.least.normalize():f}; state the best grade first",
                place,
            )
    if steps[-1].least != 0:
        raise RubricError(
            f"the last grade {steps[-1].grade!r} begins at {steps[-1].least.normalize():f} points, "
            "so less has no grade; expected from = 0",
            place,
        )


def _to_points(value: Decimal, grading: Grading, possible: Decimal, place: str) -> Decimal:
    """Return a threshold in points."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < _FINEST:
        raise RubricError(f"expected a number with at most {-_FINEST} decimals, got {value}", place)
    most = possible if grading.unit == "points" else Decimal(100)
    if not 0 <= value <= most:
        raise RubricError(f"expected 0 to {most.normalize():f} {grading.unit}, got {value}", place)
    return value if grading.unit == "points" else _to_exact(Fraction(possible) * Fraction(value) / 100, place)


def _to_exact(value: Fraction, place: str) -> Decimal:
    """Return the same number as a decimal.

    Raises:
        RubricError: the number has too many decimals.
    """
    shown = Decimal(value.numerator) / Decimal(value.denominator)
    # The division rounds to the precision of the decimal context, which must not move a threshold.
    if Fraction(shown) != value:
        raise RubricError(
            f"the threshold {value} points has no exact decimal; state it with fewer decimals", place
        )
    return shown
