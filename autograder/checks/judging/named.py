"""Which named mistake gives the same wrong results as a student's answer.

Trials of the reference may say which mistake they are (`checks.base.Trial`). They were called with the same
hidden inputs, so a wrong answer is told by the mistake whose results are its own: compared as right results
are, in every call that an item is about. What many mistakes could give tells nothing: numbers that are not
finite, constants, a single truth value. And where several mistakes fit, none is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from autograder.checks.base import TrialResults
from autograder.checks.judging.results import Finding
from autograder.checks.options import Rules
from autograder.checks.values.arrays import Numbers, compare_values, numbers
from autograder.records import Message, Status

ENOUGH = 3
"""So many wrong whole numbers that differ, truth values or texts tell a mistake; of others one does."""
LARGE = 1000
"""From here on a whole number tells as much as one with a fraction."""
NO_POINTS = Decimal(0)


class ScenarioResults(Struct, frozen=True, eq=False):
    """What the calls of one scenario returned; nothing where one of them returned nothing."""

    given: tuple[Any, ...]
    """The student's."""
    right: tuple[Any, ...]
    """Nothing where no result is right by itself, as with properties."""
    trials: Sequence[tuple[Any, ...]]
    """Those of each named trial."""

    def fits(self, trial: int, rules: Rules) -> bool:
        """Whether a trial gives what the student's answer gives."""
        theirs = self.trials[trial]
        return bool(self.given) and len(self.given) == len(theirs) and _equal(self.given, theirs, rules)

    def telling(self, rules: Rules) -> int:
        """How many wrong results there are that are not everybody's; `ENOUGH` tell a mistake."""
        rights = self.right or (None,) * len(self.given)
        return max((_telling(*pair, rules) for pair in zip(self.given, rights, strict=False)), default=0)


def told_as_named(
    finding: Finding,
    item: str,
    trials: Sequence[TrialResults],
    own: Sequence[ScenarioResults],
    *,
    others: Sequence[ScenarioResults],
    rules: Rules,
    enough: int = ENOUGH,
) -> Finding:
    """The finding, told as the named mistake that gives the same results; as it is when there is none.

    Args:
        finding: of the item.
        item: its id.
        trials: the named mistakes.
        own: the scenarios that the item is about.
        others: the question's other cases, which decide where several mistakes fit.
        rules: how results are compared.
        enough: so many wrong whole numbers that differ tell a mistake.
    """
    if finding.status is not Status.FAILED or finding.message.text:  # the rubric has a sentence already
        return finding
    fitting = [at for at in range(len(trials)) if all(one.fits(at, rules) for one in own)]
    if not fitting or sum(one.telling(rules) for one in own) < enough:
        return finding
    if len({trials[at].code for at in fitting}) > 1:
        everywhere = [at for at in fitting if all(one.fits(at, rules) for one in others)]
        fitting = everywhere or fitting
    codes = sorted({trials[at].code for at in fitting})
    if len(codes) > 1:
        staff = f"{finding.staff}; cannot be told apart here: {', '.join(codes)}"
        return msgspec.structs.replace(finding, staff=staff)
    mistake = trials[fitting[0]]
    return msgspec.structs.replace(
        finding,
        message=Message(mistake.code, {"what": finding.message.params.get("what", "")}, mistake.text),
        staff=f"{finding.staff}; the same results as mistake {mistake.code}",
        points=max(finding.points, mistake.points.get(item, NO_POINTS)),
    )


def _equal(given: Sequence[Any], theirs: Sequence[Any], rules: Rules) -> bool:
    """Equal as right results are, NaN where the other has NaN."""
    alike = msgspec.structs.replace(rules, nan="equal")
    pairs = zip(given, theirs, strict=True)
    return all(compare_values(one, other, alike) is None for one, other in pairs)


def _telling(given: Any, right: Any, rules: Rules) -> int:
    """How much of a wrong result is unlikely to come from anything else than one mistake."""
    if right is not None and compare_values(given, right, rules) is None:
        return 0
    if isinstance(given, str):
        return 1
    found = numbers(given)
    if found is not None:
        return _telling_numbers(found, numbers(right), rules)
    if isinstance(given, Mapping):
        others = right if isinstance(right, Mapping) else {}
        return sum(_telling(part, others.get(name), rules) for name, part in given.items())
    if isinstance(given, list | tuple):
        alike = isinstance(right, list | tuple) and len(right) == len(given)
        parts = zip(given, right if alike else (None,) * len(given), strict=True)
        return sum(_telling(part, other, rules) for part, other in parts)
    return 0


def _telling_numbers(given: Numbers, right: Numbers | None, rules: Rules) -> int:
    array = given.array
    wrong = np.isfinite(array)
    if right is not None and right.array.shape == array.shape:
        with np.errstate(all="ignore"):
            wrong &= ~np.isclose(array, right.array, rtol=rules.rtol, atol=rules.atol)
    left = array[wrong]
    if given.kind == "bool":
        return int(left.size)
    different = np.unique(left)
    small = bool(np.all((different == np.round(different)) & (np.abs(different) < LARGE)))
    return min(different.size, ENOUGH) if small else ENOUGH
