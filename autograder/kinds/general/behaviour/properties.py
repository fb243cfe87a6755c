"""Properties of the student's own code, judged from its outputs alone, without a reference.

A property asks the same thing several times: with the inputs of a case, and with changed ones. Each needs
positive evidence as well: changing what must matter has to change the result, so that code which
always returns the same has no property at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from autograder.checks.planning.drawing import Arguments, Inputs
from autograder.checks.values.arrays import numbers
from autograder.kinds.general.behaviour.subject import argument, changed
from autograder.records import Tensor

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


class Unfit(Exception):
    """A case cannot show the property, e.g. its mask blocks nothing. A slip in the rubric."""


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
                raise Unfit(f"the mask {'blocks' if blocked else 'opens'} no key everywhere")
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
            raise Unfit("a batch of at least two is needed")
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
        raise Unfit("at least two keys are needed")
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
            raise Unfit("at least two positions are needed")
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
        raise Unfit(f"the case has no argument {name!r} that is an array with two axes or more")
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
        raise Unfit(f"the mask has {where.shape} batches and keys, the argument that moves {shape}")
    return np.broadcast_to(where, shape)


def _widen(where: np.ndarray, array: np.ndarray) -> np.ndarray:
    return where.reshape(where.shape + (1,) * (array.ndim - where.ndim))
