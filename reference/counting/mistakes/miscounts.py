"""Known mistakes of counting, as data: each computes the wrong numbers it leads to.

A mistake takes the task and the setting of a question. Most count another setting, as if the model had other
sizes; some leave a part out of the total, or take another formula. Codes and families are those of the
sentences for students, which the autograder has; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reference.counting.setting import Numbers

Task = Callable[[Any], Numbers]
"""What a question asks for, of a `Setting` or of the sizes of another family."""
Miscount = Callable[[Task, Any], Numbers]


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    Attributes:
        code: its stable name.
        family: what it is a sort of: ``less``, ``more``, ``heads`` or ``factors``.
        numbers: the numbers it leads to, by entry; entries it does not change may be left out.
    """

    code: str
    family: str
    numbers: Miscount


def sized(**sizes: Any) -> Miscount:
    """Counted as if the model had other sizes."""
    return lambda task, setting: task(setting.resized(**sizes))


def other(**changes: Any) -> Miscount:
    """Counted as if the model were used in another way, or were of other sizes of its family."""
    return lambda task, setting: task(replace(setting, **changes))


def without(*lost: str) -> Miscount:
    """Parts are left out of the total."""

    def numbers(task: Task, setting: Any) -> Numbers:
        right = task(setting)
        return {"total": right["total"] - sum(right[part] for part in lost)}

    return numbers


def formula(numbers: Callable[[Any], Numbers]) -> Miscount:
    """Another formula."""
    return lambda _, setting: numbers(setting)


def times(factor: int, divisor: int, *names: str) -> Miscount:
    """Entries are off by a factor; without names all of them."""

    def numbers(task: Task, setting: Any) -> Numbers:
        right = task(setting)
        return {name: right[name] * factor // divisor for name in names or right}

    return numbers


def less(*names: str, by: Callable[[Any], int]) -> Miscount:
    """Something is left out of entries."""

    def numbers(task: Task, setting: Any) -> Numbers:
        right, lost = task(setting), by(setting)
        return {name: right[name] - lost for name in names}

    return numbers


def wrong_numbers(task: Task, setting: Any, mistake: Mistake) -> Mapping[str, int]:
    """The entries that a mistake changes, with the numbers it leads to."""
    right = task(setting)
    return {name: number for name, number in mistake.numbers(task, setting).items() if number != right[name]}
