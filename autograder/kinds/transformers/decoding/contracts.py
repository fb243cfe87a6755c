"""How the answers of the three contracts are judged: filters of logits, searches, and draws. Pure and total.

Of draws, an outcome whose probability is 0 is a proof of a mistake. For every other outcome the number of
times it was drawn is compared with its binomial distribution, summed up exactly and not approximated; the
tails of all outcomes together are bounded by `FALSE_ALARM` (Bonferroni), so a right function is refused at
most that often, whatever the number of draws.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from autograder.checks.values.arrays import Mismatch, numbers
from autograder.checks.values.quoting import quote_shape, type_name

REMOVED = -1e9
"""A logit from here down is as good as -inf: its probability is 0 beside any that is kept."""
ROW_SUM = 1e-6
"""How far the sum of a row of probabilities may be from 1."""
RTOL, ATOL = 1e-6, 1e-9
FALSE_ALARM = 1e-9
"""Probability, for one item, that a right function is said to draw from another distribution."""
_FEW = 4096
"""Token ids below this are counted without sorting them."""
RARE = 1e-12
"""An outcome with less is neither a proof when it is drawn nor missed when it is not."""

Row = tuple[int, ...]
"""Token ids of one row: a sequence that a search gives, or an outcome that was drawn."""


class DecodingContract(Protocol):
    """How the answers of one contract are judged; nothing here raises on any value."""

    def right(self, value: Any) -> Any | None:
        """What the reference said, read; None when it is nothing of the kind."""

    def read(self, values: Sequence[Any], right: Any) -> tuple[Any, Mismatch | None]:
        """What equal calls returned, read, or why it cannot be."""

    def differs(self, given: Any, right: Any, tests: int, *, support: bool = False) -> Mismatch | None:
        """The first way in which what was read is not right.

        Args:
            given: what was read.
            right: what is right.
            tests: how many such comparisons the item makes; they share `FALSE_ALARM`.
            support: of draws only ask whether everything that was drawn is possible, and whether anything
                was drawn at random.
        """

    def same(self, given: Any, mistake: Any, tests: int) -> bool:
        """Whether what was read is what a mistake gives."""


class FilterTarget(Struct, frozen=True, eq=False):
    """What is right.

    Attributes:
        values: (rows, n_vocab), the logits of whatever is kept.
        must: (rows, n_vocab) bool, what is kept in any case.
        may: (rows, n_vocab) bool, what is kept by some who break ties otherwise.
        least: (rows,), how many are kept at least.
    """

    values: np.ndarray
    must: np.ndarray
    may: np.ndarray
    least: np.ndarray


class Filters:
    """Logits in, logits or probabilities out.

    Args:
        returns: ``"logits"``, ``"probabilities"`` or ``"either"``.
    """

    def __init__(self, returns: str) -> None:
        self._returns = returns

    def right(self, value: Any) -> FilterTarget | None:
        """What the reference said; None when it is nothing of the kind."""
        if not isinstance(value, dict):
            return None
        parts = [numbers(value.get(name)) for name in ("values", "must", "may", "least")]
        if any(part is None for part in parts):
            return None
        values, must, may, least = (part.array for part in parts if part is not None)
        if values.ndim != 2 or must.shape != values.shape or may.shape != values.shape:
            return None
        return FilterTarget(values.astype(np.float64), must.astype(bool), may.astype(bool), least)

    def read(self, values: Sequence[Any], right: FilterTarget) -> tuple[np.ndarray, Mismatch | None]:
        """The answer as an array of the right shape, or why it is none."""
        value, shape = values[0], right.values.shape
        found = numbers(value)
        if found is None or found.kind == "complex":
            came = type_name(value)
            return np.empty(0), Mismatch("value.form", {"form": came, "place": ""}, came)
        if found.array.shape != shape:
            came = quote_shape(found.array.shape)
            code = "value.dimensions" if found.array.ndim != len(shape) else "value.shape"
            wrong = ", ".join(
                str(axis) for axis, (a, b) in enumerate(zip(found.array.shape, shape, strict=False)) if a != b
            )
            params = {"shape": came, "count": str(found.array.ndim), "axes": wrong}
            return np.empty(0), Mismatch(code, params, f"shape {came}, expected {quote_shape(shape)}")
        array = found.array.astype(np.float64)
        missing = int(np.isnan(array).sum())
        if missing:
            params = {"count": str(missing), "total": str(array.size)}
            return array, Mismatch("value.nan", params, f"{missing} NaN")
        return array, None

    def differs(
        self, given: np.ndarray, right: FilterTarget, tests: int, *, support: bool = False
    ) -> Mismatch | None:
        """The first way in which an answer without NaN is not right."""
        del tests, support
        array, returns = given, self._returns
        chances = are_probabilities(array)
        if chances and returns == "logits" and not are_probabilities(right.values):
            return Mismatch("decoding.probabilities", {}, "probabilities instead of logits")
        if returns == "probabilities" and not chances:
            return Mismatch("decoding.not-normalised", {}, f"row sums {_sums(array)}")
        as_chances = chances and returns != "logits"
        kept = array > 0 if as_chances else array > REMOVED
        if not kept.any(-1).all():
            return Mismatch("decoding.row-empty", {}, "a row keeps nothing")
        extra, lost = int((kept & ~right.may).sum()), int((right.must & ~kept).sum())
        few = int((kept.sum(-1) < right.least).sum())
        staff = f"{extra} kept that may not be, {lost} removed that must stay, {few} rows with too few"
        if extra:
            return Mismatch("decoding.kept-too-many", {"count": str(extra)}, staff)
        if lost or few:
            return Mismatch("decoding.kept-too-few", {"count": str(max(lost, few))}, staff)
        expected = softmax(right.values, kept) if as_chances else right.values
        wrong = int((~_close(array, expected) & kept).sum())
        if wrong:
            params = {"count": str(wrong), "total": str(int(kept.sum()))}
            return Mismatch("decoding.values", params, f"{wrong} of {int(kept.sum())} kept values differ")
        return None

    def same(self, given: np.ndarray, mistake: Any, tests: int) -> bool:
        """Whether an answer is what some mistake gives."""
        del tests
        found = numbers(mistake)
        if found is None or found.kind == "complex" or found.array.shape != given.shape:
            return False
        wrong = found.array.astype(np.float64)
        removed = given <= REMOVED
        if not np.array_equal(removed, wrong <= REMOVED) or np.isnan(wrong).any():
            return False
        return bool((_close(given, wrong) | removed).all())


class Searches:
    """Tokens in, longer sequences out."""

    def right(self, value: Any) -> list[set[Row]] | None:
        """For each row the sequences that are right; None when the reference said nothing of the kind."""
        rows = value.get("rows") if isinstance(value, dict) else None
        if not isinstance(rows, list) or not rows:
            return None
        found = []
        for ways in rows:
            read_ways = [_row(way) for way in ways] if isinstance(ways, list) else []
            if not read_ways or None in read_ways:
                return None
            found.append({way for way in read_ways if way is not None})
        return found

    def read(self, values: Sequence[Any], right: list[set[Row]]) -> tuple[list[Row], Mismatch | None]:
        """The answer as so many sequences of token ids, or why it is none."""
        value, rows = values[0], len(right)
        found = numbers(value)
        if found is None or found.kind != "int":
            came = type_name(value) if found is None else found.dtype or found.kind
            return [], Mismatch("decoding.no-tokens", {"form": came}, f"no token ids: {came}")
        if found.array.ndim != 2 or found.array.shape[0] != rows:
            shape = quote_shape(found.array.shape)
            return [], Mismatch("decoding.rows", {"shape": shape}, f"shape {shape}, expected {rows} rows")
        return [tuple(row) for row in found.array.tolist()], None

    def differs(
        self, given: Sequence[Row], right: Sequence[set[Row]], tests: int, *, support: bool = False
    ) -> Mismatch | None:
        """The first row that is no outcome, and the first place where it leaves all outcomes."""
        del tests, support
        for number, (row, ways) in enumerate(zip(given, right, strict=True)):
            if row in ways:
                continue
            staff = f"row {number}: {list(row)[:60]}, right: {[list(way)[:60] for way in sorted(ways)[:4]]}"
            if row and any(way[-len(row) :] == row for way in ways):
                return Mismatch("decoding.prompt-missing", {}, staff)
            place = max(_shared(row, way) for way in ways)
            if any(row[: len(way)] == way for way in ways):
                return Mismatch("decoding.too-long", {"row": str(number)}, staff)
            if place == len(row):
                return Mismatch("decoding.too-short", {"row": str(number)}, staff)
            return Mismatch("decoding.sequence", {"row": str(number), "place": str(place)}, staff)
        return None

    def same(self, given: Sequence[Row], mistake: Any, tests: int) -> bool:
        """Whether an answer is what some mistake gives."""
        del tests
        wrong, difference = self.read([mistake], [set() for _ in given])
        return difference is None and list(given) == wrong


class Tally(Struct, frozen=True, eq=False):
    """What one call drew: outcome → how often."""

    counts: Counter[Row]

    @property
    def total(self) -> int:
        """The number of draws."""
        return sum(self.counts.values())


class Samples:
    """Many equal rows in, a token or sequence drawn for each out.

    Args:
        draws: how many rows are handed in.
    """

    def __init__(self, draws: int) -> None:
        self._draws = draws

    def right(self, value: Any) -> dict[Row, float] | None:
        """Row → probability; None when the reference said nothing of the kind."""
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

    def read(self, values: Sequence[Any], right: Mapping[Row, float]) -> tuple[Any, Mismatch | None]:
        """What each call drew, or why there is nothing."""
        width = len(next(iter(right)))
        calls = []
        for value in values:
            drawn, difference = tallied(value, self._draws, width)
            if difference is not None:
                return (), difference
            calls.append(drawn)
        return tuple(calls), None

    def differs(
        self, given: Sequence[Tally], right: Mapping[Row, float], tests: int, *, support: bool = False
    ) -> Mismatch | None:
        """How what was drawn contradicts a distribution; None when it does not."""
        counts: Counter[Row] = sum((call.counts for call in given), Counter())
        total = sum(counts.values())
        if total == 0:
            return Mismatch("decoding.no-tokens", {"form": "[]"}, "nothing was drawn")
        impossible = sum(count for outcome, count in counts.items() if outcome not in right)
        if impossible:
            params = {"count": str(impossible), "total": str(total)}
            return Mismatch("decoding.impossible", params, f"{impossible} of {total} draws are impossible")
        bound = FALSE_ALARM / (2 * max(len(right), 1) * max(tests, 1))
        if _constant(given, right, bound):
            first = {next(iter(call.counts)) for call in given}
            code = "decoding.one-draw" if len(first) > 1 else "decoding.not-random"
            return Mismatch(code, {"total": str(total)}, "every row of a call is the same")
        if support:
            return None
        worst, least = None, 1.0
        for outcome, chance in right.items():
            tail = rarer(counts[outcome], total, chance)
            if tail < least:
                worst, least = outcome, tail
        if worst is None or least >= bound:
            return None
        staff = (
            f"{list(worst)} was drawn {counts[worst]} times of {total}, expected {right[worst] * total:.1f}; "
            f"a tail of {least:.1e}"
        )
        return Mismatch("decoding.distribution", {"total": str(total)}, staff)

    def same(self, given: Sequence[Tally], mistake: Any, tests: int) -> bool:
        """Whether what was drawn may come from what a mistake gives."""
        chances = self.right(mistake)
        return chances is not None and self.differs(given, chances, tests) is None


def tallied(value: Any, draws: int, width: int) -> tuple[Tally, Mismatch | None]:
    """The tokens of so many rows, or why there are none.

    Args:
        value: what was returned.
        draws: how many rows were handed in.
        width: how many tokens one row has.
    """
    empty = Tally(Counter())
    found = numbers(value)
    if found is None or found.kind != "int":
        came = type_name(value) if found is None else found.dtype or found.kind
        return empty, Mismatch("decoding.no-tokens", {"form": came}, f"no token ids: {came}")
    shape = found.array.shape
    if not shape or shape[0] != draws or found.array.size != draws * width:
        text = quote_shape(shape)
        return empty, Mismatch("decoding.rows", {"shape": text}, f"shape {text}, expected ({draws}, …)")
    rows = found.array.reshape(draws, width)
    if width == 1 and rows.min() >= 0 and rows.max() < _FEW:  # without sorting
        tally = enumerate(np.bincount(rows[:, 0].astype(np.int64)).tolist())
        return Tally(Counter({(token,): count for token, count in tally if count})), None
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    pairs = zip(distinct.tolist(), counts.tolist(), strict=True)
    return Tally(Counter({tuple(row): count for row, count in pairs})), None


def _constant(calls: Sequence[Tally], chances: Mapping[Row, float], bound: float) -> bool:
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


def are_probabilities(array: np.ndarray) -> bool:
    """Whether every row is a distribution."""
    with np.errstate(all="ignore"):
        return bool((array >= 0).all() and (np.abs(array.sum(-1) - 1) <= ROW_SUM).all())


def softmax(logits: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Probabilities of what is kept, 0 elsewhere; each row keeps something."""
    shown = np.where(kept, logits, -np.inf)
    with np.errstate(all="ignore"):
        weights = np.exp(shown - shown.max(-1, keepdims=True))
        return np.asarray(weights / weights.sum(-1, keepdims=True))


def _close(given: np.ndarray, right: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        near = np.abs(given - right) <= ATOL + RTOL * np.abs(right)
    return np.asarray(np.where(np.isfinite(given) & np.isfinite(right), near, given == right))


def _sums(array: np.ndarray) -> str:
    with np.errstate(all="ignore"):
        return f"from {array.sum(-1).min():.6g} to {array.sum(-1).max():.6g}"


def _row(value: Any) -> Row | None:
    found = numbers(value)
    if found is None or found.kind != "int" or found.array.ndim != 1:
        return None
    return tuple(found.array.tolist())


def _shared(row: Row, way: Row) -> int:
    """How many tokens agree from the beginning."""
    pairs = enumerate(zip(row, way, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(row), len(way)))
