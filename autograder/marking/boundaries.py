"""Grades of a class, and the effect of moving grade boundaries. Exact and pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.grading.grades import NOTHING, Standing
from autograder.rubric.scales import Scale

_STEPS = 5
"""Number of steps by which a boundary is moved in either direction."""
_FINEST = Decimal("0.5")
"""Smallest step in points; steps are multiples of it."""
_SHARE = 100
"""A step is about this fraction (1 / _SHARE) of all points."""


class GradesIf(Struct, frozen=True):
    """The grades of a class if all boundaries are moved."""

    by: Decimal
    """Points by which every boundary is moved; below zero more students get the better grade."""
    counts: tuple[int, ...]
    """Students by grade, the best one first; none on the percent scale."""
    passed: int


class BoundaryIf(Struct, frozen=True):
    """The effect of moving a single boundary."""

    grade: str
    """The grade that begins there; empty on the percent scale, which only has the pass boundary."""
    least: Decimal
    """Current position of the boundary, in points."""
    reached: tuple[int, ...]
    """Students with this grade or a better one, for each of `GradeCurve.moves`."""


class GradeCurve(Struct, frozen=True):
    """The grades of students without open points."""

    grades: tuple[str, ...]
    """The best one first; none on the percent scale."""
    moves: tuple[Decimal, ...]
    """Points by which boundaries are moved, including zero."""
    together: tuple[GradesIf, ...]
    """All boundaries moved, for each of ``moves``."""
    alone: tuple[BoundaryIf, ...]
    """Each boundary moved alone."""
    provisional: int
    """Number of students with a grade that is not final: late, or graded by another version of the rubric."""


def compute_grade_curve(standings: Iterable[Standing], scale: Scale) -> GradeCurve:
    """Count the grades for every way to move one boundary or all of them.

    Rounding and the rule for bonus points are those of the scale: the pass mark moves with its boundary.

    Args:
        standings: standing of each student.
        scale: of the assignment.
    """
    class_ = list(standings)
    # Students with equal points have equal grades, so each distinct number is graded once per move.
    points = Counter(standing_or_step.certain for standing_or_step in class_)
    step = max(_FINEST, (scale.possible / _SHARE / _FINEST).to_integral_value() * _FINEST)
    moves = tuple(step * number for number in range(-_STEPS, _STEPS + 1))
    begins = [(standing_or_step.grade, standing_or_step.least) for standing_or_step in scale.steps[:-1]] or [
        ("", scale.passing)
    ]
    return GradeCurve(
        tuple(standing_or_step.grade for standing_or_step in scale.steps),
        moves,
        tuple(_count_grades(points, _move_boundaries(scale, by), by) for by in moves),
        tuple(
            BoundaryIf(
                grade,
                least,
                tuple(_count_reached(points, _move_boundaries(scale, by, grade), grade) for by in moves),
            )
            for grade, least in begins
        ),
        sum(not standing_or_step.final for standing_or_step in class_),
    )


def _move_boundaries(scale: Scale, by: Decimal, only: str | None = None) -> Scale:
    """Return the scale with all boundaries, or one, moved; the last grade still begins at zero."""
    passing = scale.passing
    steps = []
    for step in scale.steps:
        # The last grade begins at zero and must stay there: every student has a grade.
        moves = step.least > 0 and only in (None, step.grade)
        least = max(NOTHING, step.least + by) if moves else step.least
        if step.least == scale.passing:
            passing = least
        steps.append(replace(step, least=least))
    return replace(scale, steps=tuple(steps), passing=passing if steps else max(NOTHING, passing + by))


def _count_grades(points: Counter[tuple[Decimal, Decimal]], scale: Scale, by: Decimal) -> GradesIf:
    names, passed = Counter[str](), 0
    for (earned, bonus), students in points.items():
        grade = scale.find_grade(scale.count_points(earned, bonus))
        names[grade.name] += students
        passed += grade.passed * students
    return GradesIf(by, tuple(names[step.grade] for step in scale.steps), passed)


def _count_reached(points: Counter[tuple[Decimal, Decimal]], scale: Scale, grade: str) -> int:
    order = [step.grade for step in scale.steps]
    total = 0
    for (earned, bonus), students in points.items():
        grade_given = scale.find_grade(scale.count_points(earned, bonus))
        reached = order.index(grade_given.name) <= order.index(grade) if order else grade_given.passed
        total += reached * students
    return total
