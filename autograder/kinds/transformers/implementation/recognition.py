"""Which weights of a student's layer are which projection, found by what the layer computes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from autograder.checks.base import Observations
from autograder.checks.judging.results import Finding, failed, first_failure, review
from autograder.checks.planning.drawing import Inputs as Drawing
from autograder.checks.properties import outputs, same
from autograder.checks.values.quoting import quote_names
from autograder.kinds.transformers.implementation import formula
from autograder.kinds.transformers.implementation.formula import (
    RIGHT,
    VALUES,
    WIRINGS,
    AttentionInputs,
    AttentionMisconception,
    Projection,
    Weights,
    WeightUnit,
    attention,
    readings,
    single_key_counts_once,
)
from autograder.kinds.transformers.implementation.layer import (
    AttentionLayer,
    ImplementationQuestion,
    LayerContract,
    Stored,
    hidden_numbers,
    stored,
)
from autograder.records import Call, Tensor

NEARNESS = 1e-4
"""Of two results that are the same up to rounding in single precision, relative to the largest entry."""


class UnitPlace(Struct, frozen=True):
    """Where the numbers of one projection stand."""

    unit: int
    form: int
    spread: bool = False
    """The features of a head lie ``n_heads`` apart, not side by side."""


Assignment = Mapping[str, UnitPlace]
"""Role → place."""


class Pass(Struct, frozen=True, eq=False):
    """One forward pass without a mask: what was given, and the result."""

    given: AttentionInputs
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
    misconception: AttentionMisconception = RIGHT

    def explains(self, result: Any, given: AttentionInputs, n_heads: int) -> bool:
        """Whether this is what came out."""
        if not isinstance(result, np.ndarray):
            return False
        try:
            return near(result, attention(self.weights, n_heads, given, self.misconception))
        except (ValueError, IndexError):  # the shapes of these inputs do not allow it
            return False


def near(result: np.ndarray, right: np.ndarray) -> bool:
    """Equal up to rounding."""
    if result.shape != right.shape:
        return False
    scale = max(1.0, float(np.abs(right).max(initial=0.0)))
    return bool(np.abs(result - right).max(initial=0.0) <= NEARNESS * scale)


def projections(units: Sequence[WeightUnit], assignment: Assignment, n_heads: int) -> dict[str, Projection]:
    """The projections of an assignment, heads side by side."""
    return {role: _projection(units, place, role, n_heads) for role, place in assignment.items()}


def assignments(units: Sequence[WeightUnit], passes: Passes, n_heads: int) -> Iterator[Assignment]:
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


def value_and_output(units: Sequence[WeightUnit], single: Pass, n_heads: int) -> Iterator[Assignment]:
    """Assignments of value and output that explain a pass with a single key."""
    for value, output in _pairs(units):
        first = _projection(units, value, "value", n_heads)
        second = _projection(units, output, "output", n_heads)
        right = second(first(single.given.value))
        if near(single.result, np.broadcast_to(right, single.given.query.shape)):
            yield {"value": value, "output": output}


def query_and_key(units: Sequence[WeightUnit], pair: Assignment) -> Iterator[Assignment]:
    """All ways of giving two of the other units to queries and keys."""
    taken = {place.unit for place in pair.values()}
    spread = pair["value"].spread
    left = [number for number in range(len(units)) if number not in taken]
    for query, key in itertools.permutations(left, 2):
        for one, other in itertools.product(range(len(units[query].forms)), range(len(units[key].forms))):
            yield {"query": UnitPlace(query, one, spread), "key": UnitPlace(key, other, spread), **pair}


def explained(weights: Weights, passes: Passes, n_heads: int) -> Explanation | None:
    """What attention with these projections becomes by a mistake, by confused arguments, or by both.

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
    for code, misconception in (("", RIGHT), *VALUES):
        found = Explanation(code, weights, misconception)
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
        other = Explanation(found.code or code, found.weights, replace(found.misconception, inputs=wiring))
        if other.explains(several.result, several.given, n_heads):
            return other
    return found


def searched(
    units: Sequence[WeightUnit], passes: Passes, n_heads: int
) -> tuple[Assignment | None, Explanation] | None:
    """An assignment with which some misconception explains the passes, whatever the order of the units.

    Where a unit stands in two places, or in none, there is an explanation and no assignment.
    """
    single, several = passes.single_equal or passes.single, passes.several_equal or passes.several
    if single is None or several is None:
        return None
    for code, misconception in VALUES:
        for pair in _pairs_with(misconception, units, single, n_heads, told=single_key_counts_once(code)):
            for candidate in query_and_key(units, pair):
                found = Explanation(code, projections(units, candidate, n_heads), misconception)
                if found.explains(several.result, several.given, n_heads):
                    return candidate, wired(found, passes, n_heads)
    for loose in _loosely(units, single, n_heads):
        if loose.explains(several.result, several.given, n_heads):
            return None, wired(loose, passes, n_heads)
    return None


def _pairs_with(
    misconception: AttentionMisconception,
    units: Sequence[WeightUnit],
    single: Pass,
    n_heads: int,
    *,
    told: bool,
) -> Iterator[Assignment]:
    """Value and output that explain a pass with a single key and this mistake; all, if it says nothing."""
    for value, output in _plain_pairs(units):
        pair = {"value": value, "output": output}
        if told:
            weights = {**projections(units, pair, n_heads), "query": None, "key": None}
            try:
                right = attention(weights, n_heads, single.given, misconception)
            except ValueError:
                continue
            if not near(single.result, right):
                continue
        yield pair


def _loosely(units: Sequence[WeightUnit], single: Pass, n_heads: int) -> Iterator[Explanation]:
    """Projections that are left out, or made with one unit."""
    free: list[UnitPlace | None] = [
        None,
        *(UnitPlace(number, form) for number, unit in enumerate(units) for form in range(len(unit.forms))),
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


def _code_of(inputs: Sequence[UnitPlace | None], output: UnitPlace | None) -> str:
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


def _pairs(units: Sequence[WeightUnit]) -> Iterator[tuple[UnitPlace, UnitPlace]]:
    for spread, later in itertools.product((False, True), repeat=2):
        for value, output in _plain_pairs(units):
            yield replace(value, spread=spread), replace(output, spread=later)


def _plain_pairs(units: Sequence[WeightUnit]) -> Iterator[tuple[UnitPlace, UnitPlace]]:
    for value, output in itertools.permutations(range(len(units)), 2):
        for one, other in itertools.product(range(len(units[value].forms)), range(len(units[output].forms))):
            yield UnitPlace(value, one), UnitPlace(output, other)


def _projection(units: Sequence[WeightUnit], place: UnitPlace, role: str, n_heads: int) -> Projection:
    unit = units[place.unit]
    matrix, bias = unit.forms[place.form], unit.bias
    if not place.spread:
        return Projection(matrix, bias)
    order = np.arange(matrix.shape[0]).reshape(-1, n_heads).T.reshape(-1)
    if role == "output":
        return Projection(matrix[order], bias)
    return Projection(matrix[:, order], None if bias is None else bias[order])


MOST_READINGS = 12
"""Of parameters that hold several projections: the orders of projection, head and feature."""
MOST_GUESSED = 6
"""Readings in which a misconception is looked for."""

_SINGLE = {"query": (2, 1), "key": (2, 1), "value": (2, 1)}
_SEVERAL = {"query": (2, 4), "key": (2, 4), "value": (2, 4)}
_ASKED = (
    *((_SEVERAL, False, seed) for seed in (0, 1, 0)),
    (_SINGLE, False, 2),
    (_SEVERAL, True, 3),
    (_SINGLE, True, 4),
)
"""Sizes, whether query, key and value are the same, and seed of each pass."""
PASSES = len(_ASKED)


class Recognised(Struct, frozen=True, eq=False):
    """What is known of a class."""

    parameters: tuple[Stored, ...] = ()
    """In order, as the class lists them."""
    assignment: Assignment | None = None
    """What its parameters are: by the contract, or because it explains the results, perhaps with a
    mistake."""
    units: tuple[WeightUnit, ...] = ()
    reading: int = 0
    """Which of the `readings` the units are; -1: those of the contract."""
    explanation: Explanation | None = None
    """The misconception that explains the results; None when they are right, or nothing does."""
    finding: Finding | None = None
    """Why nothing could be observed."""
    unlike: Finding | None = None
    """How the parameters differ from the contract."""
    sure: bool = False
    """What is not explained is wrong: there is no doubt about how the parameters are stored."""

    def weights(self, n_heads: int) -> formula.Weights:
        """The projections by role; only where there is an assignment."""
        return projections(self.units, self.assignment or {}, n_heads)


def calls(layer: AttentionLayer, inputs: Drawing) -> tuple[Call, ...]:
    """The passes: those that matter most come first, so that they stand when a later one fails."""
    return (
        *layer.prologue(inputs, weights=True),
        *(
            layer.call(((), _arguments(inputs, sizes, equal=equal)), seed=seed)
            for sizes, equal, seed in _ASKED
        ),
    )


def recognise(
    observations: Observations,
    layer: AttentionLayer,
    inputs: Drawing,
    question: ImplementationQuestion,
    count: int,
) -> Recognised:
    """Sort one class's answers to so many `calls`; total on any evidence."""
    what = layer.what(observations)
    start = count - PASSES
    parameters = stored(observations)
    unlike = unlike_contract(parameters, question.contract, inputs.sizes, layer.name)
    finding = first_failure(observations, count, layer.name, what)
    results = [
        outputs([layer.result(one.value)]) if one.ok else None for one in observations[start : start + PASSES]
    ]
    results += [None] * (PASSES - len(results))
    several = results[:3]
    if several[0] is None:
        if finding is None or (len(observations) > start and observations[start].ok):
            finding = failed("property.no-numbers", f"{what}: no finite numbers", what=what)
        return Recognised(parameters, finding=finding, unlike=unlike)
    finding = _steady([one[0] for one in several if one is not None], layer)
    if finding is not None:
        return Recognised(parameters, finding=finding, unlike=unlike)
    given = [
        formula.AttentionInputs(
            **{
                role: one.array.astype(np.float64)
                for role, one in _arguments(inputs, sizes, equal=equal).items()
            }
        )
        for sizes, equal, _ in _ASKED
    ]
    seen = [
        None if one is None else Pass(arguments, one[0])
        for arguments, one in zip(given, results, strict=True)
    ]
    passes = Passes(seen[0], seen[3], seen[4], seen[5])
    with np.errstate(all="ignore"):
        return _explained(parameters, unlike, passes, inputs, question)


def _steady(results: Sequence[np.ndarray], layer: AttentionLayer) -> Finding | None:
    """Equal calls give equal results; where they do not, what makes them differ: the seed, or nothing."""
    first, what = results[0], layer.name
    if len(results) > 2 and not same(first, results[2]):
        return failed("attention.state", f"{what}: two equal calls with equal seeds differ", what=what)
    if len(results) > 1 and not same(first, results[1]):
        return failed("attention.dropout-evaluation", f"{what}: two equal calls differ", what=what)
    return None


def unlike_contract(
    parameters: Sequence[Stored], contract: LayerContract | None, sizes: Mapping[str, int], what: str
) -> Finding | None:
    """How parameters differ from the contract: missing names, other shapes, one map for two, others."""
    if contract is None or not parameters:
        return None
    have = {one.name: one for one in parameters}
    d_model = sizes["d_model"]
    shapes: dict[str, tuple[int, ...]] = {}
    for role in formula.ROLES:
        name = getattr(contract, role)
        shapes[f"{name}.weight"] = (d_model, d_model)
        if contract.bias != "none":
            shapes[f"{name}.bias"] = (d_model,)
    missing = [
        name
        for name in shapes
        if name not in have and (name.endswith(".weight") or contract.bias == "required")
    ]
    other = [name for name, shape in shapes.items() if name in have and have[name].shape != shape]
    one = [name for name in shapes if name in have and have[name].of not in (name, "")]
    extra = [name for name in have if name not in shapes]
    for code, names in (
        ("weights.missing", missing),
        ("weights.shape", other),
        ("weights.shared", [f"{name} = {have[name].of}" for name in one]),
        ("weights.extra", extra),
    ):
        if names:
            quoted = quote_names(names)
            return failed(code, f"{what}: not as stated: {code}: {quoted}", what=what, names=quoted)
    return None


def filled(parameters: Sequence[Stored], numbers: np.ndarray) -> list[tuple[str, np.ndarray]] | None:
    """The parameters with the hidden numbers that were put into them; None when they hold more."""
    named, start = [], 0
    for one in parameters:
        size = prod(one.shape)
        if not one.filled:
            if not one.of:
                return None
            continue
        if size < 0 or start + size > numbers.size:
            return None
        named.append((one.name, numbers[start : start + size].reshape(one.shape)))
        start += size
    return named


def read_as(
    recognised: Recognised,
    named: Sequence[tuple[str, np.ndarray]],
    contract: LayerContract | None,
    n_heads: int,
) -> tuple[WeightUnit, ...]:
    """Other numbers of the same parameters (gradients), read as the class's weights were."""
    if recognised.reading < 0:
        return _by_contract(dict(named), contract)
    d_model = recognised.units[0].forms[0].shape[0]
    return next(itertools.islice(readings(named, d_model, n_heads), recognised.reading, None))


def _explained(
    parameters: tuple[Stored, ...],
    unlike: Finding | None,
    passes: Passes,
    inputs: Drawing,
    question: ImplementationQuestion,
) -> Recognised:
    d_model, n_heads = inputs.sizes["d_model"], inputs.sizes["n_heads"]
    named = filled(parameters, hidden_numbers(inputs).array.astype(np.float64))
    if named is None:
        return Recognised(parameters, finding=review("more parameters than were filled"), unlike=unlike)
    if question.contract is not None and _as_stated(dict(named), question.contract, d_model):
        units = _by_contract(dict(named), question.contract)
        agreed = {role: UnitPlace(number, 0) for number, role in enumerate(formula.ROLES)}
        explanation = explained(projections(units, agreed, n_heads), passes, n_heads)
        if explanation is not None and not explanation.code:
            explanation = None
        return Recognised(parameters, agreed, units, -1, explanation, unlike=unlike)
    read = list(itertools.islice(readings(named, d_model, n_heads), MOST_READINGS))
    for number, units in enumerate(read):
        for found in assignments(units, passes, n_heads):
            right = Explanation("", projections(units, found, n_heads))
            explanation = wired(right, passes, n_heads)
            explanation = explanation if explanation.code else None
            return Recognised(parameters, found, units, number, explanation, unlike=unlike)
    sure = sum(array.size for _, array in named) < len(formula.ROLES) * d_model * d_model
    sure = sure or (len(read) == 1 and len(read[0]) == len(formula.ROLES))
    single = passes.single_equal or passes.single
    for number, units in enumerate(read[:MOST_GUESSED]):
        guessed = searched(units, passes, n_heads)
        if guessed is not None:
            assigned, misconception = guessed
            return Recognised(parameters, assigned, units, number, misconception, unlike=unlike, sure=True)
        sure = sure or (single is not None and any(value_and_output(units, single, n_heads)))
    return Recognised(parameters, unlike=unlike, sure=sure)


def _as_stated(named: Mapping[str, np.ndarray], contract: LayerContract, d_model: int) -> bool:
    """Whether the four matrices are there by name, each one of its own, and biases fit, if there are any."""
    for role in formula.ROLES:
        name = getattr(contract, role)
        weight, bias = named.get(f"{name}.weight"), named.get(f"{name}.bias")
        if weight is None or weight.shape != (d_model, d_model):
            return False
        if bias is not None and bias.shape != (d_model,):
            return False
    return True


def _by_contract(named: Mapping[str, np.ndarray], contract: LayerContract | None) -> tuple[WeightUnit, ...]:
    names = [getattr(contract, role) for role in formula.ROLES]
    return tuple(WeightUnit(name, (named[f"{name}.weight"].T,), named.get(f"{name}.bias")) for name in names)


def _arguments(inputs: Drawing, sizes: Mapping[str, tuple[int, int]], *, equal: bool) -> dict[str, Tensor]:
    """Query, key and value of (batch, length) each; all three the same, where that is wanted."""
    forms: dict[str, object] = {
        role: {"draw": "normal", "shape": (*size, "d_model")} for role, size in sizes.items()
    }
    if equal:
        forms |= {"key": {"same": "query"}, "value": {"same": "query"}}
    purpose = f"recognition: {sizes['key'][1]}{' equal' if equal else ''}"
    return inputs.arguments(purpose, (), forms)[1]
