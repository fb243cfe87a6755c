"""What one class turns out to be: its parameters, their roles, and the slip that explains its results."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct

from autograder.checks.base import Observations
from autograder.checks.judging.results import Finding, failed, review, trouble
from autograder.checks.kinds.behaviour.properties import outputs, same
from autograder.checks.kinds.implementation import formula, mapping
from autograder.checks.kinds.implementation.layer import Layer, hidden_numbers
from autograder.checks.kinds.implementation.mapping import Assignment, Passes, Place
from autograder.checks.kinds.implementation.options import Contract, ImplementationQuestion
from autograder.checks.kinds.implementation.slips import VALUES, WIRINGS
from autograder.checks.kinds.implementation.units import Unit, readings
from autograder.checks.planning.drawing import Inputs as Drawing
from autograder.records import Call, Ref, Tensor

MOST_PARAMETERS = 256
MOST_PAIRS = 4
MOST_READINGS = 12
"""Of parameters that hold several projections: the orders of projection, head and feature."""
MOST_GUESSED = 6
"""Readings in which a slip is looked for though no value and output were found."""

_SINGLE = {"query": (2, 1), "key": (2, 1), "value": (2, 1)}
_SEVERAL = {"query": (2, 4), "key": (2, 4), "value": (2, 4)}


class Recognised(Struct, frozen=True, eq=False):
    """What is known of a class."""

    parameters: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Name and shape, in order, as the class lists them."""
    assignment: Assignment | None = None
    """What its parameters are: by the contract, or because it explains the results, perhaps with a slip."""
    units: tuple[Unit, ...] = ()
    reading: int = 0
    """Which of the `readings` the units are; -1: those of the contract."""
    slip: str = ""
    """The code of the slip that explains the results; empty when they are right, or nothing does."""
    finding: Finding | None = None
    """Why nothing could be observed."""
    absent: tuple[str, ...] = ()
    """Names of the contract that the class lacks."""
    sure: bool = False
    """What is not explained is wrong: there is no doubt about how the parameters are stored."""

    def weights(self, n_heads: int) -> formula.Weights:
        """The projections by role; only where there is an assignment."""
        return mapping.projections(self.units, self.assignment or {}, n_heads)


def calls(layer: Layer, inputs: Drawing) -> tuple[Call, ...]:
    """Names and shapes of the parameters, a pass with several keys twice, and one with a single key."""
    return (
        *layer.prologue(inputs, weights=True),
        Call(Ref("model"), attribute="named_parameters", keep="named"),
        Call("@builtins", attribute="dict", args=(Ref("named"),)),
        *(
            layer.call(((), _arguments(inputs, sizes)), seed=seed)
            for seed, sizes in enumerate((_SEVERAL, _SEVERAL, _SINGLE))
        ),
    )


def recognise(
    observations: Observations, layer: Layer, inputs: Drawing, question: ImplementationQuestion, count: int
) -> Recognised:
    """Sort one class's answers to so many `calls`; total on any evidence."""
    what = layer.name
    finding = trouble(observations, count, what, what)
    start = count - 4
    parameters = _parameters(observations[start].value if len(observations) > start else None)
    missing = absent(parameters, question.contract, inputs.sizes)
    if finding is not None:
        return Recognised(parameters, finding=finding, absent=missing)
    results = outputs([layer.result(one.value) for one in observations[start + 1 : count]])
    if results is None:
        finding = failed("property.no-numbers", f"{what}: no finite numbers", what=what)
    elif not same(results[0], results[1]):
        finding = failed("attention.dropout-evaluation", f"{what}: two equal calls differ", what=what)
    if results is None or finding is not None:
        return Recognised(parameters, finding=finding, absent=missing)
    single, several = (
        formula.Inputs(
            **{role: one.array.astype(np.float64) for role, one in _arguments(inputs, sizes).items()}
        )
        for sizes in (_SINGLE, _SEVERAL)
    )
    passes = Passes(single, results[2], several, results[0])
    return _explained(parameters, passes, inputs, question)


def absent(
    parameters: Sequence[tuple[str, tuple[int, ...]]], contract: Contract | None, sizes: Mapping[str, int]
) -> tuple[str, ...]:
    """The contract's names that are missing, of another shape, or one too many."""
    if contract is None:
        return ()
    have = dict(parameters)
    d_model = sizes["d_model"]
    wrong = []
    for role in formula.ROLES:
        name = getattr(contract, role)
        if have.get(f"{name}.weight") != (d_model, d_model):
            wrong.append(f"{name}.weight")
        bias = have.get(f"{name}.bias")
        allowed = {"required": ((d_model,),), "none": (None,), "optional": ((d_model,), None)}
        if bias not in allowed[contract.bias]:
            wrong.append(f"{name}.bias")
    return tuple(wrong)


def filled(
    parameters: Sequence[tuple[str, tuple[int, ...]]], numbers: np.ndarray
) -> list[tuple[str, np.ndarray]] | None:
    """The parameters with the hidden numbers that were put into them; None when they hold more."""
    named, start = [], 0
    for name, shape in parameters:
        size = prod(shape)
        if start + size > numbers.size:
            return None
        named.append((name, numbers[start : start + size].reshape(shape)))
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
    parameters: tuple[tuple[str, tuple[int, ...]], ...],
    passes: Passes,
    inputs: Drawing,
    question: ImplementationQuestion,
) -> Recognised:
    d_model, n_heads = inputs.sizes["d_model"], inputs.sizes["n_heads"]
    named = filled(parameters, hidden_numbers(inputs).array.astype(np.float64))
    missing = absent(parameters, question.contract, inputs.sizes)
    if named is None:
        return Recognised(parameters, finding=review("more parameters than were filled"), absent=missing)
    if question.contract is not None and not any(name.endswith(".weight") for name in missing):
        units = _by_contract(dict(named), question.contract)
        agreed = {role: Place(number, 0) for number, role in enumerate(formula.ROLES)}
        weights: formula.Weights = mapping.projections(units, agreed, n_heads)
        right = mapping.near(passes.several_result, formula.attention(weights, n_heads, passes.several))
        slip = "" if right else _slip(units, [agreed], passes, n_heads)[1]
        return Recognised(parameters, agreed, units, -1, slip, absent=missing)
    read = list(itertools.islice(readings(named, d_model, n_heads), MOST_READINGS))
    for number, units in enumerate(read):
        for found in mapping.assignments(units, passes, n_heads):
            return Recognised(parameters, found, units, number, absent=missing)
    sure = sum(array.size for _, array in named) < len(formula.ROLES) * d_model * d_model
    for number, units in enumerate(read):
        pairs = list(itertools.islice(mapping.value_and_output(units, passes, n_heads), MOST_PAIRS))
        sure = sure or bool(pairs) or (len(read) == 1 and len(units) == len(formula.ROLES))
        candidates: Iterable[Assignment] = [
            one for pair in pairs for one in mapping.query_and_key(units, pair)
        ]
        if not pairs and number < MOST_GUESSED:
            candidates = mapping.guesses(units)
        assigned, slip = _slip(units, candidates, passes, n_heads)
        if slip:
            return Recognised(parameters, assigned, units, number, slip, absent=missing)
    return Recognised(parameters, absent=missing, sure=sure)


def _by_contract(named: Mapping[str, np.ndarray], contract: Contract | None) -> tuple[Unit, ...]:
    names = [getattr(contract, role) for role in formula.ROLES]
    return tuple(Unit(name, (named[f"{name}.weight"].T,), named.get(f"{name}.bias")) for name in names)


def _slip(
    units: Sequence[Unit], candidates: Iterable[Assignment], passes: Passes, n_heads: int
) -> tuple[Assignment | None, str]:
    """The assignment and the code of the slip with which it gives the results; empty when there is none."""
    given, result = passes.several, passes.several_result
    for candidate in candidates:
        weights: dict[str, Any] = mapping.projections(units, candidate, n_heads)
        slips = itertools.chain(
            ((code, weights, slip) for code, slip in VALUES.items()),
            ((code, weights, formula.Slip(inputs=wiring)) for wiring, code in WIRINGS.items()),
            ((code, other, formula.RIGHT) for code, other in _shared(weights)),
        )
        for code, used, slip in slips:
            if mapping.near(result, formula.attention(used, n_heads, given, slip)):
                return candidate, code
    return None, ""


def _shared(weights: Mapping[str, Any]) -> Iterator[tuple[str, formula.Weights]]:
    """The projections with one that stands for another, or is left out."""
    for role, other in itertools.permutations(("query", "key", "value"), 2):
        yield "attention.shared-weights", {**weights, role: weights[other]}
    for role in ("query", "key", "value"):
        yield "attention.not-projected", {**weights, role: None}
    yield "attention.not-projected", {**weights, "query": None, "key": None, "value": None}
    yield "attention.no-output", {**weights, "output": None}


def _arguments(inputs: Drawing, sizes: Mapping[str, tuple[int, int]]) -> dict[str, Tensor]:
    """Query, key and value of (batch, length) each."""
    forms = {role: {"draw": "normal", "shape": (*size, "d_model")} for role, size in sizes.items()}
    purpose = f"recognition: {sizes['key'][1]}"
    return inputs.arguments(purpose, (), forms)[1]


def _parameters(told: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Names and shapes, as far as they are what parameters have."""
    if not isinstance(told, Mapping):
        return ()
    found = [
        (name, tuple(one.array.shape))
        for name, one in itertools.islice(told.items(), MOST_PARAMETERS)
        if isinstance(name, str) and isinstance(one, Tensor) and isinstance(one.array, np.ndarray)
    ]
    return tuple(found)
