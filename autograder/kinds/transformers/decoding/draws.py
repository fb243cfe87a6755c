"""Drawn tokens against exact probabilities. Pure and total.

An outcome whose probability is 0 is a proof of a mistake. For every other outcome the number of times it
was drawn is compared with its binomial distribution, summed up exactly and not approximated; the tails of
all outcomes together are bounded by `FALSE_ALARM` (Bonferroni), so a right function is refused at most
that often, whatever the number of draws.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from autograder.checks.values.arrays import Difference, numbers
from autograder.checks.values.quoting import quote_shape, type_name

FALSE_ALARM = 1e-9
"""Probability, for one item, that a right function is said to draw from another distribution."""
_FEW = 4096
"""Token ids below this are counted without sorting them."""
RARE = 1e-12
"""An outcome with less is neither a proof when it is drawn nor missed when it is not."""

Outcome = tuple[int, ...]


class Drawn(Struct, frozen=True, eq=False):
    """What one call drew: outcome → how often."""

    counts: Counter[Outcome]

    @property
    def total(self) -> int:
        """The number of draws."""
        return sum(self.counts.values())


def read_right(value: Any) -> dict[Outcome, float] | None:
    """Outcome → probability; None when the reference said nothing of the kind."""
    if not isinstance(value, dict):
        return None
    outcomes, chances = value.get("outcomes"), numbers(value.get("chances"))
    if not isinstance(outcomes, list) or chances is None or chances.kind not in ("float", "int"):
        return None
    found = {}
    if chances.array.shape != (len(outcomes),) or not outcomes:
        return None
    for outcome, chance in zip(outcomes, chances.array.astype(np.float64).tolist(), strict=True):
        entry = numbers(outcome)
        if entry is None or entry.kind != "int" or entry.array.ndim != 1 or not 0 <= chance <= 1 + 1e-9:
            return None
        found[tuple(entry.array.tolist())] = min(chance, 1.0)
    return found


def read(value: Any, draws: int, width: int) -> tuple[Drawn, Difference | None]:
    """The tokens of so many rows, or why there are none.

    Args:
        value: what was returned.
        draws: how many rows were handed in.
        width: how many tokens one row has.
    """
    empty = Drawn(Counter())
    found = numbers(value)
    if found is None or found.kind != "int":
        came = type_name(value) if found is None else found.dtype or found.kind
        return empty, Difference("decoding.no-tokens", {"form": came}, f"no token ids: {came}")
    shape = found.array.shape
    if not shape or shape[0] != draws or found.array.size != draws * width:
        text = quote_shape(shape)
        return empty, Difference("decoding.rows", {"shape": text}, f"shape {text}, expected ({draws}, …)")
    rows = found.array.reshape(draws, width)
    if width == 1 and rows.min() >= 0 and rows.max() < _FEW:  # without sorting
        tally = enumerate(np.bincount(rows[:, 0].astype(np.int64)).tolist())
        return Drawn(Counter({(token,): count for token, count in tally if count})), None
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    pairs = zip(distinct.tolist(), counts.tolist(), strict=True)
    return Drawn(Counter({tuple(row): count for row, count in pairs})), None


def differs(
    calls: Sequence[Drawn], chances: Mapping[Outcome, float], *, tests: int, support: bool = False
) -> Difference | None:
    """How what was drawn contradicts a distribution; None when it does not.

    Args:
        calls: what each call drew; together they are one sample.
        chances: outcome → probability.
        tests: how many such comparisons the item makes; they share `FALSE_ALARM`.
        support: only ask whether everything that was drawn is possible, and whether anything was drawn
            at random.
    """
    counts: Counter[Outcome] = sum((call.counts for call in calls), Counter())
    total = sum(counts.values())
    if total == 0:
        return Difference("decoding.no-tokens", {"form": "[]"}, "nothing was drawn")
    impossible = sum(count for outcome, count in counts.items() if outcome not in chances)
    if impossible:
        params = {"count": str(impossible), "total": str(total)}
        return Difference("decoding.impossible", params, f"{impossible} of {total} draws are impossible")
    bound = FALSE_ALARM / (2 * max(len(chances), 1) * max(tests, 1))
    if _constant(calls, chances, bound):
        first = {next(iter(call.counts)) for call in calls}
        code = "decoding.one-draw" if len(first) > 1 else "decoding.not-random"
        return Difference(code, {"total": str(total)}, "every row of a call is the same")
    if support:
        return None
    worst, least = None, 1.0
    for outcome, chance in chances.items():
        tail = rarer(counts[outcome], total, chance)
        if tail < least:
            worst, least = outcome, tail
    if worst is None or least >= bound:
        return None
    staff = (
        f"{list(worst)} was drawn {counts[worst]} times of {total}, expected {chances[worst] * total:.1f}; "
        f"a tail of {least:.1e}"
    )
    return Difference("decoding.distribution", {"total": str(total)}, staff)


def _constant(calls: Sequence[Drawn], chances: Mapping[Outcome, float], bound: float) -> bool:
    """Whether all rows of each call are the same, which is less likely than the bound."""
    if any(len(call.counts) != 1 for call in calls):
        return False
    logarithm = sum(
        count * math.log(max(chances[outcome], 1e-300))
        for call in calls
        for outcome, count in call.counts.items()
    )
    return logarithm < math.log(bound)


def rarer(count: int, total: int, chance: float) -> float:
    """The smaller of P(X ≤ count) and P(X ≥ count), for X binomial; exact up to rounding.

    Args:
        count: from 0 to total.
        total: number of draws.
        chance: of one draw.
    """
    if chance <= RARE:
        return 1.0
    if chance >= 1 - RARE:
        return 1.0 if count == total else 0.0
    steps = np.arange(1, total + 1)
    choices = np.concatenate([[0.0], np.cumsum(np.log((total - steps + 1) / steps))])
    places = np.arange(total + 1)
    terms = np.exp(choices + places * math.log(chance) + (total - places) * math.log1p(-chance))
    return float(min(terms[: count + 1].sum(), terms[count:].sum(), 1.0))
