"""What a measure earns, and what is told with it. Pure; nothing in it depends on how long anything took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from msgspec import Struct

from autograder.checks.judging.results import Finding, failed
from autograder.kinds.general.score.options import ScoreItem, Tier
from autograder.kinds.general.score.words import exactly, in_words, joined, remark
from autograder.records import Message, Status
from autograder.wording import LocalisedText, Phrase

SURE = (0.025, 0.975)
"""The part of the resampled measures between which the measure is certain."""
WORSE = 3.0
"""What is known by heart is worse on changed examples by at least so many times that uncertainty."""
APART = 0.1
"""Relative: numbers that are nearer to the measured one than this are no other ones."""


class Measurement(Struct, frozen=True, eq=False):
    """What the reference measured.

    Attributes:
        values: (1 + resamples,) of all examples; then of examples drawn with replacement.
        changed: of the examples with changes that make no difference; None: there are none.
        count: of the examples.
        floor: what an untrained model or a constant gets, as the reference says; None: it does not.
        distribution: whether the outputs are probabilities.
        reported: the number that the notebook arrives at.
    """

    values: np.ndarray
    changed: float | None
    count: int
    floor: float | None
    distribution: bool
    reported: float | None

    @property
    def value(self) -> float:
        """Of all examples."""
        return float(self.values[0])

    @property
    def certain(self) -> tuple[float, float] | None:
        """Between what the measure is certain; None where that cannot be told."""
        finite = self.values[1:][np.isfinite(self.values[1:])]
        if not math.isfinite(self.value) or 2 * len(finite) <= len(self.values):
            return None
        low, high = (float(one) for one in np.quantile(finite, SURE))
        return min(low, self.value), max(high, self.value)

    @property
    def staff(self) -> str:
        """For staff, in one line."""
        parts = [f"measured {self.value!r} on {self.count} examples, certain between {self.certain}"]
        if self.changed is not None:
            parts.append(f"{self.changed!r} on the changed ones")
        if self.floor is not None:
            parts.append(f"the reference's floor is {self.floor!r}")
        if self.reported is not None:
            parts.append(f"the notebook says {self.reported!r}")
        return "; ".join(parts)


def verdict_on(measure: Measurement, options: ScoreItem, what: str) -> Finding | Message:
    """What a measure earns: the message of full points, or what is missing.

    Args:
        measure: as the reference has it.
        options: of the item.
        what: was measured, for the student.
    """
    if measure.distribution and math.isinf(measure.value):
        return failed("score.infinite", f"{what}: {measure.staff}", what=what)
    steps, floor = options.steps, _floor(measure, options)
    earned = _earned(measure.value, options, floor)
    by_heart = None
    if measure.changed is not None and _is_far(measure, measure.changed, options, floor):
        changed = _earned(measure.changed, options, floor)
        by_heart = measure.changed if changed.points < earned.points else None
        earned = changed if by_heart is not None else earned
    ats = [float(step.at) for step in steps]
    params: dict[str, Phrase] = {
        "what": what,
        "measured": in_words(measure.value, [*ats, *([] if floor is None else [floor])]),
        "count": str(measure.count),
        "remarks": joined(_remarks(measure, options)),
    }
    if by_heart is not None:
        code, more = "score.memorised", {"changed": in_words(by_heart, ats)}
    elif floor is not None and not earned.beaten:
        code, more = "score.floor", {"floor": in_words(floor)}
    elif earned.reached == steps:
        return Message("score.top", params)
    else:
        code, more = _step(earned.reached, steps[len(earned.reached)])
    return Finding(
        Status.FAILED, Message(code, {**params, **more}), f"{what}: {measure.staff}", earned.points
    )


class Earned(Struct, frozen=True):
    """What one number earns."""

    reached: tuple[Tier, ...]
    beaten: bool
    """Whether it is better than the floor."""
    points: Decimal


def _earned(value: float, options: ScoreItem, floor: float | None) -> Earned:
    reached = tuple(step for step in options.steps if options.reaches(value, float(step.at)))
    beaten = floor is None or options.beats(value, floor)
    return Earned(reached, beaten, reached[-1].points if reached and beaten else Decimal(0))


def _step(reached: Sequence[Tier], later: Tier) -> tuple[str, dict[str, LocalisedText]]:
    if not reached:
        return "score.below", {"next": exactly(later.at)}
    return "score.tier", {"at": exactly(reached[-1].at), "next": exactly(later.at)}


def _is_far(measure: Measurement, changed: float, options: ScoreItem, floor: float | None) -> bool:
    """Whether the changed examples are answered so much worse that chance does not explain it."""
    value, certain = measure.value, measure.certain
    if certain is None:
        return False
    lower = options.better == "lower"
    uncertain = certain[1] - value if lower else value - certain[0]
    scale = max(abs(value), 0.0 if floor is None else abs(floor - value))
    return (changed - value if lower else value - changed) > max(WORSE * uncertain, APART * scale)


def _floor(measure: Measurement, options: ScoreItem) -> float | None:
    """What has to be beaten: the rubric's, or the reference's."""
    return measure.floor if options.floor is None else float(options.floor)


def _remarks(measure: Measurement, options: ScoreItem) -> list[LocalisedText]:
    """What is said besides: a step that is near, and a number of the notebook's that is another one."""
    remarks, certain = [], measure.certain
    if certain is not None:
        low, high = certain
        inside = [step for step in options.steps if low <= float(step.at) <= high and low < high]
        if inside:
            near = min(inside, key=lambda step: abs(float(step.at) - measure.value))
            bounds = {"low": in_words(low, [high]), "high": in_words(high, [low])}
            remarks.append(remark("score.near", at=exactly(near.at), **bounds))
    told = measure.reported
    if told is not None and abs(told - measure.value) > APART * abs(measure.value):
        low, high = certain or (measure.value, measure.value)
        if not low <= told <= high:
            remarks.append(remark("score.reported", reported=in_words(told)))
    return remarks
