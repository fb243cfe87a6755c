"""Properties of a student's own code: what is asked and what it says, whatever the reference computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
from msgspec import Struct

from autograder.checks.base import Draw, Observations
from autograder.checks.judging.results import Finding, failed, first_failure, review, same_value
from autograder.checks.options import Case, CaseItem
from autograder.checks.planning.drawing import SAMPLE, Arguments, Inputs
from autograder.checks.planning.subject import MODEL, Callee, CalleeOptions, Construct, argument, changed
from autograder.checks.values.arrays import numbers
from autograder.checks.values.quoting import quote, quote_names
from autograder.errors import RubricError
from autograder.records import Call, Ref, Tensor
from autograder.wording import Phrase

Variants = Callable[[Arguments, Sequence[str | int], "str | int", Inputs, str], list[Arguments]]
"""Arguments of the case, names that move, the mask's name, inputs, purpose → changed arguments."""

Verdict = Callable[[Sequence[np.ndarray]], str]
"""Results: of the case, then of each variant → a code of the vocabulary, empty when it holds."""

TOLERANCE = 1e-5
"""Relative to the result's largest entry; wide enough for single precision."""


class Property(Struct, frozen=True):
    """How a property is asked and judged."""

    variants: Variants
    verdict: Verdict
    moves: bool = True
    """The item has to say what moves."""
    needs_mask: bool = False


class UnsuitableCase(Exception):
    """A case cannot show the property, e.g. its mask blocks nothing. An error in the rubric."""


# ---------------------------------------------------------------- what is asked


def _masked(
    arguments: Arguments, move: Sequence[str | int], mask: str | int, inputs: Inputs, purpose: str
) -> list[Arguments]:
    """Keys changed where the mask blocks them, then where it does not."""
    mask_array = _array(arguments, mask)
    generator = inputs.generator(purpose)
    variants = []
    for blocked in (True, False):
        replacements: dict[str | int, Any] = {}
        for name in move:
            array = _array(arguments, name)
            where = _key_positions(mask_array, array.shape[:2], blocked=blocked)
            if not where.any():
                raise UnsuitableCase(f"the mask {'blocks' if blocked else 'opens'} no key everywhere")
            other = _moved(array, generator)
            replacements[name] = _like(arguments, name, np.where(_widen(where, array), other, array))
        variants.append(changed(arguments, replacements))
    return variants


def _batch(
    arguments: Arguments, move: Sequence[str | int], mask: str | int, inputs: Inputs, purpose: str
) -> list[Arguments]:
    """The first sequence of the batch changed."""
    del mask
    generator = inputs.generator(purpose)
    replacements: dict[str | int, Any] = {}
    for name in move:
        array = _array(arguments, name)
        if array.shape[0] < 2:
            raise UnsuitableCase("a batch of at least two is needed")
        other = array.copy()
        other[0] = _moved(array[0], generator)
        replacements[name] = _like(arguments, name, other)
    return [changed(arguments, replacements)]


def _reordered(
    arguments: Arguments, move: Sequence[str | int], mask: str | int, inputs: Inputs, purpose: str
) -> list[Arguments]:
    """Keys, values and mask columns in another order; then the keys changed."""
    generator = inputs.generator(purpose)
    length = _array(arguments, move[0]).shape[1]
    if length < 2:
        raise UnsuitableCase("at least two keys are needed")
    order = np.roll(np.arange(length), int(generator.integers(1, length)))
    reordered: dict[str | int, Any] = {
        name: _like(arguments, name, _array(arguments, name)[:, order]) for name in move
    }
    if mask != "" and argument(arguments, mask) is not None:
        mask_array = _array(arguments, mask)
        if mask_array.shape[-1] == length:
            reordered[mask] = _like(arguments, mask, mask_array[..., order])
    moved = {name: _like(arguments, name, _moved(_array(arguments, name), generator)) for name in move}
    return [changed(arguments, reordered), changed(arguments, moved)]


def _later(
    arguments: Arguments, move: Sequence[str | int], mask: str | int, inputs: Inputs, purpose: str
) -> list[Arguments]:
    """The later half of the positions changed."""
    del mask
    generator = inputs.generator(purpose)
    replacements: dict[str | int, Any] = {}
    for name in move:
        array = _array(arguments, name)
        if array.shape[1] < 2:
            raise UnsuitableCase("at least two positions are needed")
        other = array.copy()
        half = array.shape[1] // 2
        other[:, half:] = _moved(array[:, half:], generator)
        replacements[name] = _like(arguments, name, other)
    return [changed(arguments, replacements)]


def _nothing(
    arguments: Arguments, move: Sequence[str | int], mask: str | int, inputs: Inputs, purpose: str
) -> list[Arguments]:
    del arguments, move, mask, inputs, purpose
    return []


# ---------------------------------------------------------------- how it is judged


def _masked_verdict(results: Sequence[np.ndarray]) -> str:
    base, blocked, opened = results
    if not same(base, blocked):
        return "property.masked-leaks"
    return "" if not same(base, opened) else "property.no-influence"


def _batch_verdict(results: Sequence[np.ndarray]) -> str:
    base, other = results
    if base.ndim == 0 or base.shape != other.shape or base.shape[0] < 2:
        return "property.no-batch"
    if not same(base[1:], other[1:]):
        return "property.batch-leaks"
    return "" if not same(base[:1], other[:1]) else "property.no-influence"


def _reordered_verdict(results: Sequence[np.ndarray]) -> str:
    base, reordered, moved = results
    if not same(base, reordered):
        return "property.order-matters"
    return "" if not same(base, moved) else "property.no-influence"


def _later_verdict(results: Sequence[np.ndarray]) -> str:
    base, other = results
    if base.ndim < 2 or base.shape != other.shape or base.shape[1] < 2:
        return "property.no-positions"
    half = base.shape[1] // 2
    if not same(base[:, :half], other[:, :half]):
        return "property.sees-later"
    return "" if not same(base[:, half:], other[:, half:]) else "property.no-influence"


def _rows_verdict(results: Sequence[np.ndarray]) -> str:
    (base,) = results
    if base.ndim == 0 or base.shape[-1] < 2:
        return "property.no-rows"
    if np.any(base < -TOLERANCE):
        return "property.negative"
    return "" if np.allclose(base.sum(-1), 1.0, rtol=0, atol=TOLERANCE) else "property.rows"


PROPERTIES: Mapping[str, Property] = {
    "masked_key_inert": Property(_masked, _masked_verdict, needs_mask=True),
    "batch_independence": Property(_batch, _batch_verdict),
    "key_order_irrelevant": Property(_reordered, _reordered_verdict),
    "causal": Property(_later, _later_verdict),
    "rows_sum_to_one": Property(_nothing, _rows_verdict, moves=False),
}
"""The properties that only change inputs; ``raises`` and ``gradient_reaches`` are asked in their own way."""


def outputs(values: Sequence[Any]) -> list[np.ndarray] | None:
    """Results as arrays of finite numbers; None when one of them is not."""
    arrays = []
    for value in values:
        found = numbers(value)
        if found is None or found.kind == "complex" or found.array.size == 0:
            return None
        array = found.array.astype(np.float64)
        if not np.isfinite(array).all():
            return None
        arrays.append(array)
    return arrays


def same(first: np.ndarray, second: np.ndarray) -> bool:
    """Equal up to rounding, relative to the largest entry."""
    if first.shape != second.shape:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        scale = max(float(np.abs(first).max(initial=0.0)), 1e-300)
        return bool(np.abs(first - second).max(initial=0.0) <= TOLERANCE * scale)


def _array(arguments: Arguments, name: str | int) -> np.ndarray:
    value = argument(arguments, name)
    array = value.array if isinstance(value, Tensor) else value
    if not isinstance(array, np.ndarray) or array.ndim < 2:
        raise UnsuitableCase(f"the case has no argument {name!r} that is an array with two axes or more")
    return array


def _like(arguments: Arguments, name: str | int, array: np.ndarray) -> Tensor | np.ndarray:
    """An array in the form, and of the dtype, of the argument it replaces."""
    old = argument(arguments, name)
    array = np.ascontiguousarray(array, dtype=_array(arguments, name).dtype)
    return Tensor(array, old.dtype) if isinstance(old, Tensor) else array


def _moved(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Other numbers, further away than rounding can hide; integers move to a neighbour, never below 0."""
    if array.dtype.kind == "b":
        return np.asarray(~array)
    if array.dtype.kind in "iu":
        return np.where(array > 0, array - 1, array + 1)
    return np.asarray(array + (2.0 + generator.standard_normal(array.shape)) * (np.std(array) + 1.0))


def _key_positions(mask: np.ndarray, shape: tuple[int, ...], *, blocked: bool) -> np.ndarray:
    """Where (batch, key) is blocked for every head and query, or open for every one."""
    opened = mask.astype(bool)
    rows = opened.reshape(opened.shape[0], -1, opened.shape[-1])
    where = ~rows.any(1) if blocked else rows.all(1)
    if where.shape[1] != shape[1] or where.shape[0] not in (1, shape[0]):
        raise UnsuitableCase(f"the mask has {where.shape} batches and keys, the argument that moves {shape}")
    return np.broadcast_to(where, shape)


def _widen(where: np.ndarray, array: np.ndarray) -> np.ndarray:
    return where.reshape(where.shape + (1,) * (array.ndim - where.ndim))


RESULT = "result"
"""The kept name of what a forward pass returned."""
MOST_GOOD = 4
"""Times that what is right is tried before what is refused; how often is drawn."""


class PropertyItem(CaseItem, frozen=True):
    """The item options of every kind that looks at properties."""

    property: Literal[
        "",
        "masked_key_inert",
        "batch_independence",
        "key_order_irrelevant",
        "causal",
        "rows_sum_to_one",
        "gradient_reaches",
        "raises",
    ] = ""
    """A property of the student's own code instead of cases."""
    case: str = ""
    """The case whose inputs are changed; default: the first."""
    move: tuple[str | int, ...] = ()
    mask: str | int = ""
    parameters: tuple[str, ...] = ()
    """For ``gradient_reaches``; default: the question's weights."""
    raises: tuple[str, ...] = ("ValueError", "AssertionError")
    """For ``raises``: the names of the exceptions that are right, with their subclasses."""
    construct: Construct | None = None
    """For ``raises``: the bad construction."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = msgspec.field(default_factory=dict)
    """For ``raises``: the bad call."""


class Probe(Protocol):
    """How one property is asked and judged."""

    def calls(self, inputs: Inputs) -> tuple[Call, ...]:
        """The calls of the scenario, in order."""

    def verdict(self, observations: Observations, what: str, draw: Draw | None) -> Finding | None:
        """None when the property holds. ``draw`` is the one the calls were made with."""


def probe(subject: Callee, item: PropertyItem, purpose: str, case: Case | None, where: str) -> Probe:
    """The probe of one item.

    Args:
        subject: what is called.
        item: the item's options.
        purpose: names the item's own hidden numbers.
        case: whose inputs are used.
        where: names the item in errors.

    Raises:
        RubricError: an option that the property needs is missing, or its case cannot show it.
    """
    try:
        made = _made(subject, item, purpose, case)
        _try_out(made, subject.options)
    except UnsuitableCase as error:
        raise RubricError(f"{error}", where) from error
    return made


class Changes:
    """Asks with the inputs of a case and with changed ones; see `properties`.

    The order of the calls is drawn, so that code which counts its calls does not know which one it answers.
    """

    def __init__(self, subject: Callee, item: PropertyItem, case: Case, purpose: str) -> None:
        self._subject = subject
        self._item = item
        self._case = case
        self._purpose = purpose
        self._property = PROPERTIES[item.property]
        sample = Inputs(subject.options, SAMPLE)
        self._start = len(subject.prologue(sample, weights=False))
        self._count = len(self.calls(sample))

    def calls(self, inputs: Inputs, subject: Callee | None = None) -> tuple[Call, ...]:
        """Construct; then the case twice and each variant, in a hidden order.

        Args:
            inputs: hidden numbers.
            subject: called in the place of the probe's own, with as many calls before the first one.
        """
        subject = subject or self._subject
        base = inputs.arguments(self._purpose, self._case.args, self._case.kwargs)
        item = self._item
        if self._property.moves and not item.move:
            raise UnsuitableCase("move: which arguments are changed?")
        if self._property.needs_mask and item.mask == "":
            raise UnsuitableCase("mask: which argument is the mask?")
        variants = self._property.variants(base, item.move, item.mask, inputs, f"{self._purpose}: move")
        asked = [base, base, *variants]
        return subject.prologue(inputs, weights=False) + tuple(
            subject.call(asked[place], method=self._case.method, seed=self._case.seed)
            for place in self._order(inputs, len(asked))
        )

    def verdict(self, observations: Observations, what: Phrase, draw: Draw | None) -> Finding | None:
        """Every call must have given finite numbers, the two equal calls the same, and the property hold."""
        finding = first_failure(observations, self._count, self._subject.name, what)
        if finding is not None:
            return finding
        if draw is None:
            return review(f"{what}: the order of the calls is not known: the evidence has no draw")
        order = self._order(Inputs(self._subject.options, draw), self._count - self._start)
        asked = sorted(
            zip(order, observations[self._start : self._count], strict=True), key=lambda one: one[0]
        )
        results = outputs([self._subject.result(observation.value) for _, observation in asked])
        if results is None:
            return failed("property.no-numbers", f"{what}: not finite numbers", what=what)
        if not same_value(results[0], results[1]):
            return failed("unsteady", f"{what}: two equal calls differ", what=what)
        code = self._property.verdict(results[1:])
        return failed(code, f"{what}: {self._item.property}: {code}", what=what) if code else None

    def _order(self, inputs: Inputs, count: int) -> list[int]:
        return [int(place) for place in inputs.generator(f"{self._purpose}: order").permutation(count)]


class Gradients:
    """Runs a case forward and backward, and reads the gradient of every parameter."""

    def __init__(self, subject: Callee, item: PropertyItem, case: Case) -> None:
        self._subject = subject
        self._case = case
        self._parameters = item.parameters or tuple(subject.weights)
        self._count = len(self.calls(Inputs(subject.options, SAMPLE)))

    def calls(self, inputs: Inputs) -> tuple[Call, ...]:
        """Forward, a scalar of it that no normalisation makes constant, backward, the gradients."""
        subject = self._subject
        arguments = inputs.case("gradient", self._case)
        forward = subject.call(
            arguments, method=self._case.method, seed=self._case.seed, grad=True, keep=RESULT
        )
        calls = [*subject.prologue(inputs, weights=False), forward]
        if subject.options.take_first:
            calls.append(Call(Ref(RESULT), attribute="__getitem__", args=(0,), grad=True, keep=RESULT))
        calls += [Call(Ref(RESULT), attribute=step, grad=True, keep=RESULT) for step in ("sin", "sum")]
        calls.append(Call(Ref(RESULT), attribute="backward", grad=True))
        calls += [Call(Ref(MODEL), attribute=f"{name}.grad", read=True) for name in self._parameters]
        return tuple(calls)

    def verdict(self, observations: Observations, what: str, draw: Draw | None) -> Finding | None:  # noqa: ARG002
        """Every parameter needs a gradient that is finite and not zero."""
        finding = first_failure(observations, self._count, self._subject.name, what)
        if finding is not None:
            return finding
        gradients = observations[self._count - len(self._parameters) : self._count]
        without = [
            name for name, one in zip(self._parameters, gradients, strict=True) if not _nonzero(one.value)
        ]
        if not without:
            return None
        names = quote_names(without)
        return failed("property.no-gradient", f"{what}: no gradient: {names}", what=what, names=names)


class Raises:
    """What is right must work, a hidden number of times, and then what is not must be refused."""

    def __init__(self, subject: Callee, item: PropertyItem, purpose: str, case: Case | None) -> None:
        self._subject = subject
        self._item = item
        self._purpose = purpose
        self._case = case

    def calls(self, inputs: Inputs, subject: Callee | None = None) -> tuple[Call, ...]:
        """The good constructions or calls; then the bad one, last; see `Changes.calls`."""
        subject, item = subject or self._subject, self._item
        prologue = subject.prologue(inputs, weights=False)
        if item.construct is not None:
            good = prologue
            bad = subject.construct(inputs.arguments("bad", item.construct.args, item.construct.kwargs))
        else:
            case = self._case or Case()
            good = (*prologue, subject.call(inputs.case("raises", case), method=case.method))
            bad = subject.call(inputs.arguments("bad", item.args, item.kwargs), method=case.method)
        times = 1 + int(inputs.generator(f"{self._purpose}: times").integers(MOST_GOOD))
        return (*good * times, bad)

    def verdict(self, observations: Observations, what: str, draw: Draw | None) -> Finding | None:
        """The last call must raise one of the exceptions that are right."""
        if draw is None:
            return review(f"{what}: the number of calls is not known: the evidence has no draw")
        good = len(self.calls(Inputs(self._subject.options, draw))) - 1
        finding = first_failure(observations[:good], good, self._subject.name, what)
        if finding is not None:
            return finding
        last = observations[good : good + 1]
        if last and last[0].is_a(self._item.raises):
            return None
        finding = first_failure(last, 1, "", what)
        wanted = " / ".join(self._item.raises)
        if finding is None:
            return failed("property.not-raised", f"{what}: nothing was raised", what=what, wanted=wanted)
        if last and last[0].error and last[0].error != "Skipped":
            error, text = quote(str(last[0].error), 60), quote(str(last[0].message))
            return failed(
                "property.other-error", f"{what}: {error}: {text}", what=what, error=error, wanted=wanted
            )
        return finding


def _nonzero(value: Any) -> bool:
    found = numbers(value)
    return found is not None and bool(np.isfinite(found.array).all() and np.any(found.array != 0))


def _made(subject: Callee, item: PropertyItem, purpose: str, case: Case | None) -> Probe:
    if item.property == "raises":
        if item.construct is None and not item.args and not item.kwargs:
            raise UnsuitableCase("raises: construct, args or kwargs must say what is refused")
        if item.construct is not None and subject.options.construct is None:
            raise UnsuitableCase("construct: the question constructs nothing")
        if item.construct is None and case is None:
            raise UnsuitableCase("case: a case that works is needed beside the one that is refused")
        return Raises(subject, item, purpose, case)
    if case is None:
        raise UnsuitableCase("case: the property needs a case of the question")
    if item.property == "gradient_reaches":
        if not (item.parameters or subject.weights) or subject.options.construct is None:
            raise UnsuitableCase("parameters: name the parameters of the class that is constructed")
        return Gradients(subject, item, case)
    return Changes(subject, item, case, purpose)


def _try_out(made: Probe, options: CalleeOptions) -> None:
    """Ask with the smallest and the largest sizes, so that an error shows when the rubric is read."""
    for extreme in (min, max):
        sizes = {name: (extreme(choices),) for name, choices in options.sizes.items()}
        made.calls(Inputs(msgspec.structs.replace(options, sizes=sizes), SAMPLE))
