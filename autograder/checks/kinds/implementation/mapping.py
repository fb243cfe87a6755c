"""Which unit is the projection of what: by the numbers that a class returned, never by its word.

The parameters were filled with hidden numbers before. With a single key every weight of attention is one,
so that the result is the projected value: this tells value and output. The queries and keys are what
then explains a whole pass. An assignment uses every unit at most once, so a class that projects two
things with one matrix is explained by none.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from autograder.checks.kinds.implementation.formula import ROLES, Inputs, Projection, Weights, attention
from autograder.checks.kinds.implementation.units import Unit

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


class Passes(Struct, frozen=True, eq=False):
    """What is known of a class without masks."""

    single: Inputs
    """With one key."""
    single_result: np.ndarray
    several: Inputs
    """As many keys as queries; query, key and value differ."""
    several_result: np.ndarray


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
    """Assignments that explain both passes."""
    for pair in value_and_output(units, passes, n_heads):
        for candidate in query_and_key(units, pair):
            weights: Weights = projections(units, candidate, n_heads)
            if near(passes.several_result, attention(weights, n_heads, passes.several)):
                yield candidate


def value_and_output(units: Sequence[Unit], passes: Passes, n_heads: int) -> Iterator[Assignment]:
    """Assignments of value and output that explain the pass with a single key."""
    for value, output in _pairs(units):
        first = _projection(units, value, "value", n_heads)
        second = _projection(units, output, "output", n_heads)
        right = second(first(passes.single.value))
        if near(passes.single_result, np.broadcast_to(right, passes.single.query.shape)):
            yield {"value": value, "output": output}


def query_and_key(units: Sequence[Unit], pair: Assignment) -> Iterator[Assignment]:
    """All ways of giving two of the other units to queries and keys."""
    taken = {place.unit for place in pair.values()}
    spread = pair["value"].spread
    left = [number for number in range(len(units)) if number not in taken]
    for query, key in itertools.permutations(left, 2):
        for one, other in itertools.product(range(len(units[query].forms)), range(len(units[key].forms))):
            yield {"query": Place(query, one, spread), "key": Place(key, other, spread), **pair}


def guesses(units: Sequence[Unit]) -> Iterator[Assignment]:
    """The most usual assignments: in the order of definition, stored one way or the other."""
    if len(units) < len(ROLES):
        return
    for first, last, spread in itertools.product((0, 1), (0, 1), (False, True)):
        forms = (first, first, first, last)
        yield {
            role: Place(number, form, spread)
            for number, (role, form) in enumerate(zip(ROLES, forms, strict=True))
            if form < len(units[number].forms)
        }


def _pairs(units: Sequence[Unit]) -> Iterator[tuple[Place, Place]]:
    for spread, later in itertools.product((False, True), repeat=2):
        for value, output in itertools.permutations(range(len(units)), 2):
            for one, other in itertools.product(
                range(len(units[value].forms)), range(len(units[output].forms))
            ):
                yield Place(value, one, spread), Place(output, other, later)


def _projection(units: Sequence[Unit], place: Place, role: str, n_heads: int) -> Projection:
    unit = units[place.unit]
    matrix, bias = unit.forms[place.form], unit.bias
    if not place.spread:
        return Projection(matrix, bias)
    order = np.arange(matrix.shape[0]).reshape(-1, n_heads).T.reshape(-1)
    if role == "output":
        return Projection(matrix[order], bias)
    return Projection(matrix[:, order], None if bias is None else bias[order])
