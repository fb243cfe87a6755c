"""What one class turns out to be: its parameters, their roles, and the slip that explains its results."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from msgspec import Struct

from autograder.checks.base import Observations
from autograder.checks.judging.results import Finding, failed, review, trouble
from autograder.checks.planning.drawing import Inputs as Drawing
from autograder.checks.values.quoting import quote
from autograder.kinds.general.behaviour.properties import outputs, same
from autograder.kinds.transformers.implementation import formula, mapping
from autograder.kinds.transformers.implementation.layer import Layer, Stored, hidden_numbers, stored
from autograder.kinds.transformers.implementation.mapping import Assignment, Explanation, Pass, Passes, Place
from autograder.kinds.transformers.implementation.options import Contract, ImplementationQuestion
from autograder.kinds.transformers.implementation.units import Unit, readings
from autograder.records import Call, Tensor

MOST_READINGS = 12
"""Of parameters that hold several projections: the orders of projection, head and feature."""
MOST_GUESSED = 6
"""Readings in which a slip is looked for."""

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
    """What its parameters are: by the contract, or because it explains the results, perhaps with a slip."""
    units: tuple[Unit, ...] = ()
    reading: int = 0
    """Which of the `readings` the units are; -1: those of the contract."""
    explanation: Explanation | None = None
    """The slip that explains the results; None when they are right, or nothing does."""
    finding: Finding | None = None
    """Why nothing could be observed."""
    unlike: Finding | None = None
    """How the parameters differ from the contract."""
    sure: bool = False
    """What is not explained is wrong: there is no doubt about how the parameters are stored."""

    def weights(self, n_heads: int) -> formula.Weights:
        """The projections by role; only where there is an assignment."""
        return mapping.projections(self.units, self.assignment or {}, n_heads)


def calls(layer: Layer, inputs: Drawing) -> tuple[Call, ...]:
    """The passes: those that matter most come first, so that they stand when a later one fails."""
    return (
        *layer.prologue(inputs, weights=True),
        *(
            layer.call(((), _arguments(inputs, sizes, equal=equal)), seed=seed)
            for sizes, equal, seed in _ASKED
        ),
    )


def recognise(
    observations: Observations, layer: Layer, inputs: Drawing, question: ImplementationQuestion, count: int
) -> Recognised:
    """Sort one class's answers to so many `calls`; total on any evidence."""
    what = layer.what(observations)
    start = count - PASSES
    parameters = stored(observations)
    unlike = unlike_contract(parameters, question.contract, inputs.sizes, layer.name)
    finding = trouble(observations, count, layer.name, what)
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
        formula.Inputs(
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


def _steady(results: Sequence[np.ndarray], layer: Layer) -> Finding | None:
    """Equal calls give equal results; where they do not, what makes them differ: the seed, or nothing."""
    first, what = results[0], layer.name
    if len(results) > 2 and not same(first, results[2]):
        return failed("attention.state", f"{what}: two equal calls with equal seeds differ", what=what)
    if len(results) > 1 and not same(first, results[1]):
        return failed("attention.dropout-evaluation", f"{what}: two equal calls differ", what=what)
    return None


def unlike_contract(
    parameters: Sequence[Stored], contract: Contract | None, sizes: Mapping[str, int], what: str
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
            quoted = quote(", ".join(names))
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
    recognised: Recognised, named: Sequence[tuple[str, np.ndarray]], contract: Contract | None, n_heads: int
) -> tuple[Unit, ...]:
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
        agreed = {role: Place(number, 0) for number, role in enumerate(formula.ROLES)}
        explanation = mapping.explained(mapping.projections(units, agreed, n_heads), passes, n_heads)
        if explanation is not None and not explanation.code:
            explanation = None
        return Recognised(parameters, agreed, units, -1, explanation, unlike=unlike)
    read = list(itertools.islice(readings(named, d_model, n_heads), MOST_READINGS))
    for number, units in enumerate(read):
        for found in mapping.assignments(units, passes, n_heads):
            right = Explanation("", mapping.projections(units, found, n_heads))
            explanation = mapping.wired(right, passes, n_heads)
            explanation = explanation if explanation.code else None
            return Recognised(parameters, found, units, number, explanation, unlike=unlike)
    sure = sum(array.size for _, array in named) < len(formula.ROLES) * d_model * d_model
    sure = sure or (len(read) == 1 and len(read[0]) == len(formula.ROLES))
    single = passes.single_equal or passes.single
    for number, units in enumerate(read[:MOST_GUESSED]):
        guessed = mapping.searched(units, passes, n_heads)
        if guessed is not None:
            assigned, slip = guessed
            return Recognised(parameters, assigned, units, number, slip, unlike=unlike, sure=True)
        sure = sure or (single is not None and any(mapping.value_and_output(units, single, n_heads)))
    return Recognised(parameters, unlike=unlike, sure=sure)


def _as_stated(named: Mapping[str, np.ndarray], contract: Contract, d_model: int) -> bool:
    """Whether the four matrices are there by name, each one of its own, and biases fit, if there are any."""
    for role in formula.ROLES:
        name = getattr(contract, role)
        weight, bias = named.get(f"{name}.weight"), named.get(f"{name}.bias")
        if weight is None or weight.shape != (d_model, d_model):
            return False
        if bias is not None and bias.shape != (d_model,):
            return False
    return True


def _by_contract(named: Mapping[str, np.ndarray], contract: Contract | None) -> tuple[Unit, ...]:
    names = [getattr(contract, role) for role in formula.ROLES]
    return tuple(Unit(name, (named[f"{name}.weight"].T,), named.get(f"{name}.bias")) for name in names)


def _arguments(inputs: Drawing, sizes: Mapping[str, tuple[int, int]], *, equal: bool) -> dict[str, Tensor]:
    """Query, key and value of (batch, length) each; all three the same, where that is wanted."""
    forms: dict[str, object] = {
        role: {"draw": "normal", "shape": (*size, "d_model")} for role, size in sizes.items()
    }
    if equal:
        forms |= {"key": {"same": "query"}, "value": {"same": "query"}}
    purpose = f"recognition: {sizes['key'][1]}{' equal' if equal else ''}"
    return inputs.arguments(purpose, (), forms)[1]
