"""Which unit is the projection of what: by the numbers that a class returned, never by its word.

The parameters were filled with hidden numbers before. With a single key every weight of attention is one,
so that the result is the projected value: this tells value and output. The queries and keys are what
then explains a whole pass. Both are asked with equal inputs as well, where it does not matter which of them
is projected to what. Every unit is tried in every role, so that nothing hangs on the order of declaration.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from autograder.kinds.transformers.implementation.formula import (
    RIGHT,
    Inputs,
    Projection,
    Slip,
    Weights,
    attention,
)
from autograder.kinds.transformers.implementation.slips import VALUES, WIRINGS, single_key_counts_once
from autograder.kinds.transformers.implementation.units import Unit

NEARNESS = 1e-4
"""Of two results that are the same up to rounding in single precision, relative to the largest entry."""


class Place(Struct, frozen=True):
    """Where the numbers of one projection stand."""

    unit: int
    form: int
    spread: bool = False
    """The features of a head lie ``n_heads`` apart, not side by side."""


Assignment = Mapping[str, Place]
"""Role → place."""


class Pass(Struct, frozen=True, eq=False):
    """One forward pass without a mask: what was given, and the result."""

    given: Inputs
    result: np.ndarray


class Passes(Struct, frozen=True, eq=False):
    """What is known of a class without masks. None: that pass failed."""

    several: Pass | None = None
    """As many keys as queries; query, key and value differ."""
    single: Pass | None = None
    """With one key."""
    several_equal: Pass | None = None
    """As `several`; query, key and value are the same."""
    single_equal: Pass | None = None


class Explanation(Struct, frozen=True, eq=False):
    """What a class does instead of attention: exactly, on every pass that it is asked to explain."""

    code: str
    weights: Weights
    slip: Slip = RIGHT

    def explains(self, result: Any, given: Inputs, n_heads: int) -> bool:
        """Whether this is what came out."""
        if not isinstance(result, np.ndarray):
            return False
        try:
            return near(result, attention(self.weights, n_heads, given, self.slip))
        except (ValueError, IndexError):  # the shapes of these inputs do not allow it
            return False


def near(result: np.ndarray, right: np.ndarray) -> bool:
    """Equal up to rounding."""
    if result.shape != right.shape:
        return False
    scale = max(1.0, float(np.abs(right).max(initial=0.0)))
    return bool(np.abs(result - right).max(initial=0.0) <= NEARNESS * scale)


def projections(units: Sequence[Unit], assignment: Assignment, n_heads: int) -> dict[str, Projection]:
    """The projections of an assignment, heads side by side."""
    return {role: _projection(units, place, role, n_heads) for role, place in assignment.items()}


def assignments(units: Sequence[Unit], passes: Passes, n_heads: int) -> Iterator[Assignment]:
    """Assignments with which attention gives the results: those of equal inputs, where others do not fit."""
    for single, several in (
        (passes.single, passes.several),
        (passes.single_equal, passes.several_equal),
    ):
        if single is None or several is None:
            continue
        for pair in value_and_output(units, single, n_heads):
            for candidate in query_and_key(units, pair):
                weights: Weights = projections(units, candidate, n_heads)
                if near(several.result, attention(weights, n_heads, several.given)):
                    yield candidate


def value_and_output(units: Sequence[Unit], single: Pass, n_heads: int) -> Iterator[Assignment]:
    """Assignments of value and output that explain a pass with a single key."""
    for value, output in _pairs(units):
        first = _projection(units, value, "value", n_heads)
        second = _projection(units, output, "output", n_heads)
        right = second(first(single.given.value))
        if near(single.result, np.broadcast_to(right, single.given.query.shape)):
            yield {"value": value, "output": output}


def query_and_key(units: Sequence[Unit], pair: Assignment) -> Iterator[Assignment]:
    """All ways of giving two of the other units to queries and keys."""
    taken = {place.unit for place in pair.values()}
    spread = pair["value"].spread
    left = [number for number in range(len(units)) if number not in taken]
    for query, key in itertools.permutations(left, 2):
        for one, other in itertools.product(range(len(units[query].forms)), range(len(units[key].forms))):
            yield {"query": Place(query, one, spread), "key": Place(key, other, spread), **pair}


def explained(weights: Weights, passes: Passes, n_heads: int) -> Explanation | None:
    """What attention with these projections becomes by one slip, or by a confusion of arguments, or by both.

    Args:
        weights: the projections by role.
        passes: of the class.
        n_heads: how many heads it has.

    Returns:
        None where nothing explains the passes.
    """
    asked = passes.several_equal or passes.several
    if asked is None:
        return None
    for code, slip in (("", RIGHT), *VALUES):
        found = Explanation(code, weights, slip)
        if found.explains(asked.result, asked.given, n_heads):
            return wired(found, passes, n_heads)
    for code, others in _modified(weights):
        found = Explanation(code, others)
        if found.explains(asked.result, asked.given, n_heads):
            return wired(found, passes, n_heads)
    return None


def wired(found: Explanation, passes: Passes, n_heads: int) -> Explanation:
    """The same, with the arguments as they are projected where they differ; as it is, where nothing tells."""
    several = passes.several
    if several is None or found.explains(several.result, several.given, n_heads):
        return found
    for wiring, code in WIRINGS.items():
        other = Explanation(found.code or code, found.weights, replace(found.slip, inputs=wiring))
        if other.explains(several.result, several.given, n_heads):
            return other
    return found


def searched(
    units: Sequence[Unit], passes: Passes, n_heads: int
) -> tuple[Assignment | None, Explanation] | None:
    """An assignment with which some slip explains the passes, whatever the order of the units.

    Where a unit stands in two places, or in none, there is an explanation and no assignment.
    """
    single, several = passes.single_equal or passes.single, passes.several_equal or passes.several
    if single is None or several is None:
        return None
    for code, slip in VALUES:
        for pair in _pairs_with(slip, units, single, n_heads, told=single_key_counts_once(code)):
            for candidate in query_and_key(units, pair):
                found = Explanation(code, projections(units, candidate, n_heads), slip)
                if found.explains(several.result, several.given, n_heads):
                    return candidate, wired(found, passes, n_heads)
    for loose in _loosely(units, single, n_heads):
        if loose.explains(several.result, several.given, n_heads):
            return None, wired(loose, passes, n_heads)
    return None


def _pairs_with(
    slip: Slip, units: Sequence[Unit], single: Pass, n_heads: int, *, told: bool
) -> Iterator[Assignment]:
    """Value and output that explain a pass with a single key with the slip made; all, if it tells nothing."""
    for value, output in _plain_pairs(units):
        pair = {"value": value, "output": output}
        if told:
            weights = {**projections(units, pair, n_heads), "query": None, "key": None}
            try:
                right = attention(weights, n_heads, single.given, slip)
            except ValueError:
                continue
            if not near(single.result, right):
                continue
        yield pair


def _loosely(units: Sequence[Unit], single: Pass, n_heads: int) -> Iterator[Explanation]:
    """Projections that are left out, or made with one unit."""
    free: list[Place | None] = [
        None,
        *(Place(number, form) for number, unit in enumerate(units) for form in range(len(unit.forms))),
    ]
    for value, output in itertools.product(free, free):
        weights: dict[str, Projection | None] = {
            role: None if place is None else _projection(units, place, role, n_heads)
            for role, place in (("value", value), ("output", output))
        }
        right = single.given.value
        for projection in (weights["value"], weights["output"]):
            right = right if projection is None else projection(right)
        if not near(single.result, np.broadcast_to(right, single.given.query.shape)):
            continue
        for query, key in itertools.product(free, free):
            code = _code_of((query, key, value), output)
            if code:
                others = {
                    role: None if place is None else _projection(units, place, role, n_heads)
                    for role, place in (("query", query), ("key", key))
                }
                yield Explanation(code, {**weights, **others})


def _code_of(inputs: Sequence[Place | None], output: Place | None) -> str:
    """What is wrong with projections that are left out, or that are one; empty for nothing."""
    if output is None:
        return "attention.no-output"
    if None in inputs:
        return "attention.not-projected"
    units = [place.unit for place in inputs if place is not None]
    return "attention.shared-weights" if len(set(units)) < len(units) and output.unit not in units else ""


def _modified(weights: Weights) -> Iterator[tuple[str, Weights]]:
    """The projections with one that stands for another, or is left out."""
    for role, other in itertools.permutations(("query", "key", "value"), 2):
        yield "attention.shared-weights", {**weights, role: weights[other]}
    for role in ("query", "key", "value"):
        yield (
            "attention.shared-weights",
            {**weights, **dict.fromkeys(("query", "key", "value"), weights[role])},
        )
    for many in (1, 2, 3):
        for left_out in itertools.combinations(("query", "key", "value"), many):
            yield "attention.not-projected", {**weights, **dict.fromkeys(left_out)}
    yield "attention.no-output", {**weights, "output": None}


def _pairs(units: Sequence[Unit]) -> Iterator[tuple[Place, Place]]:
    for spread, later in itertools.product((False, True), repeat=2):
        for value, output in _plain_pairs(units):
            yield replace(value, spread=spread), replace(output, spread=later)


def _plain_pairs(units: Sequence[Unit]) -> Iterator[tuple[Place, Place]]:
    for value, output in itertools.permutations(range(len(units)), 2):
        for one, other in itertools.product(range(len(units[value].forms)), range(len(units[output].forms))):
            yield Place(value, one), Place(output, other)


def _projection(units: Sequence[Unit], place: Place, role: str, n_heads: int) -> Projection:
    unit = units[place.unit]
    matrix, bias = unit.forms[place.form], unit.bias
    if not place.spread:
        return Projection(matrix, bias)
    order = np.arange(matrix.shape[0]).reshape(-1, n_heads).T.reshape(-1)
    if role == "output":
        return Projection(matrix[order], bias)
    return Projection(matrix[:, order], None if bias is None else bias[order])
