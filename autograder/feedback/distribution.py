"""How the grades of a class are spread, and how many pass."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from autograder.feedback.grade import rules
from autograder.feedback.labels import Labels
from autograder.grades import Standing
from autograder.rubric.scales import Grade, Scale

_TENS = 10


class Bar(Struct, frozen=True):
    """One grade: how many students have it."""

    grade: str
    least: str
    """The points it begins at; empty on the percent scale."""
    final: int
    provisional: int
    """Students who would have it if they earned nothing of what is open."""
    final_percent: int
    provisional_percent: int
    """Of the largest bar."""


class Distribution(Struct, frozen=True):
    """The grades of a class."""

    bars: tuple[Bar, ...]
    students: int
    passed: int
    """Whatever comes of what is open."""
    may_pass: int
    """Those, and who can still pass."""
    provisional: int
    rules: tuple[str, ...]


def distribution(standings: Sequence[Standing], scale: Scale, labels: Labels) -> Distribution:
    """The spread of the grades; what is open counts as not earned, and is shown as such."""
    names = [_name(standing.worst, scale) for standing in standings]
    final = [name for name, standing in zip(names, standings, strict=True) if standing.final]
    most = max((names.count(name) for name in names), default=1)
    ranges = [f"{10 * tens}–{10 * tens + 9} %" for tens in reversed(range(_TENS))]
    steps = [(step.grade, labels.number(step.least)) for step in scale.steps] or [
        (name, "") for name in ("100 % +", *ranges)
    ]
    bars = tuple(
        Bar(
            labels.grade(name),
            least,
            final.count(name),
            names.count(name) - final.count(name),
            round(100 * final.count(name) / most),
            round(100 * (names.count(name) - final.count(name)) / most),
        )
        for name, least in steps
    )
    return Distribution(
        bars,
        students=len(standings),
        passed=sum(standing.passed is True for standing in standings),
        may_pass=sum(bool(standing.best and standing.best.passed) for standing in standings),
        provisional=len(names) - len(final),
        rules=rules(scale, labels, bonus=any(standing.bonus for standing in standings)),
    )


def _name(grade: Grade | None, scale: Scale) -> str:
    """The bar a grade belongs to: of the percent scale, its ten."""
    if grade is None or scale.steps:
        return grade.name if grade else ""
    tens = int(grade.name.removesuffix(" %")) // _TENS
    return "100 % +" if tens >= _TENS else f"{10 * tens}–{10 * tens + 9} %"
