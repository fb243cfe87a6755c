"""Finds the projections of attention among parameters whose names nobody knows.

A parameter may hold one projection or several, as ``nn.Linear`` stores it or transposed, for all heads or
one head at a time. What comes out are *units*: one matrix (d, d) each, in the forms in which it can be
read, and its bias. Nothing is guessed from names except which bias belongs to which matrix.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from msgspec import Struct

MOST_UNITS = 6
"""Matrices of the width; a class with more of them has other things in it than attention."""

Named = tuple[str, np.ndarray]


class Unit(Struct, frozen=True, eq=False):
    """One matrix of the width, as it may be read: each form maps x to ``x @ form``."""

    name: str
    forms: tuple[np.ndarray, ...]
    bias: np.ndarray | None = None


def readings(parameters: Sequence[Named], d_model: int, n_heads: int) -> Iterator[tuple[Unit, ...]]:
    """The ways in which parameters can be read as units, the plainest first.

    Args:
        parameters: in order, name and numbers (or anything of the same shapes, such as gradients).
        d_model: the width.
        n_heads: how many heads it has.
    """
    plain = [(name, _squeezed(array)) for name, array in parameters]
    together = _stacked(plain, d_model, n_heads)
    for grouped in (plain, together) if len(together) < len(plain) else (plain,):
        yield from _readings(grouped, d_model, n_heads)


def _readings(parameters: Sequence[Named], d_model: int, n_heads: int) -> Iterator[tuple[Unit, ...]]:
    square = d_model * d_model
    matrices = [one for one in parameters if one[1].size >= square and one[1].size % square == 0]
    biases = [one for one in parameters if one[1].size < square and one[1].size % d_model == 0]
    counts = [array.size // square for _, array in matrices]
    if not matrices or sum(counts) > MOST_UNITS:
        return
    paired = _paired(matrices, biases, d_model)
    choices = [
        list(_parts(array, count, d_model, n_heads))
        for (_, array), count in zip(matrices, counts, strict=True)
    ]
    for chosen in itertools.product(*choices):
        units = []
        for (name, _), bias, parts in zip(matrices, paired, chosen, strict=True):
            offsets = _bias_parts(bias, parts, d_model, n_heads)
            units += [
                Unit(name if len(parts.arrays) == 1 else f"{name}[{number}]", _forms(part, d_model), offset)
                for number, (part, offset) in enumerate(zip(parts.arrays, offsets, strict=True))
            ]
        yield tuple(units)


class _Parts(Struct, frozen=True, eq=False):
    """A parameter cut into as many projections as it holds."""

    arrays: tuple[np.ndarray, ...]
    axes: str = "phf"
    """How its outputs are ordered: projection, head, feature of the head."""


def _parts(array: np.ndarray, count: int, d_model: int, n_heads: int) -> Iterator[_Parts]:
    if count == 1:
        yield _Parts((array,))
        return
    d_head = d_model // n_heads
    sizes = {"p": count, "h": n_heads, "f": d_head}
    if array.ndim >= 3 and array.shape[0] == count:
        yield _Parts(tuple(array))
    elif array.ndim == 3 and array.shape[0] == n_heads:
        # Per head: (h, count * d_head, d) or (h, d, count * d_head).
        for axis in (axis for axis in (1, 2) if array.shape[axis] == count * d_head):
            cut = np.split(array, count, axis)
            yield _Parts(tuple(_forms_of_heads(part, axis) for part in cut), "hpf")
    elif array.ndim == 2:
        rows = array if array.shape[0] == count * d_model else array.T
        for axes in ("phf", "hpf", "hfp", "pfh", "fph", "fhp"):
            shape = [sizes[axis] for axis in axes]
            order = [axes.index(axis) for axis in "phf"]
            cube = rows.reshape(*shape, d_model).transpose(*order, 3)
            yield _Parts(tuple(part.reshape(d_model, d_model) for part in cube), axes)


def _forms_of_heads(part: np.ndarray, axis: int) -> np.ndarray:
    """(h, d_head, d) or (h, d, d_head) → (d, d) with the outputs as rows."""
    rows = part if axis == 1 else part.swapaxes(1, 2)
    return rows.reshape(-1, part.shape[3 - axis])


def _forms(array: np.ndarray, d_model: int) -> tuple[np.ndarray, ...]:
    """The matrices (d, d) that an array of d * d numbers can stand for; x is multiplied from the left."""
    square = array.reshape(d_model, d_model)
    if array.ndim != 3 or array.shape[1] != d_model:
        return square.T, square
    wide = array.transpose(1, 0, 2).reshape(d_model, d_model)  # (h, d, d_head): the head is no outer axis
    return wide, wide.T, square.T, square


def _bias_parts(
    bias: np.ndarray | None, parts: _Parts, d_model: int, n_heads: int
) -> Sequence[np.ndarray | None]:
    count = len(parts.arrays)
    if bias is None or bias.size != count * d_model:
        return (None,) * count
    sizes = {"p": count, "h": n_heads, "f": d_model // n_heads}
    order = [parts.axes.index(axis) for axis in "phf"]
    cube = bias.reshape([sizes[axis] for axis in parts.axes]).transpose(order)
    return tuple(cube.reshape(count, d_model))


def _paired(matrices: Sequence[Named], biases: Sequence[Named], d_model: int) -> list[np.ndarray | None]:
    """The bias of each matrix: by name; what is left in order, and if it is too few, from the last one."""
    left = dict(biases)
    paired: list[np.ndarray | None] = []
    for name, array in matrices:
        alike = [
            other
            for other, bias in left.items()
            if _stem(other) == _stem(name) and bias.size * d_model == array.size
        ]
        paired.append(left.pop(alike[0]) if alike else None)
    for size in {bias.size for bias in left.values()}:
        offered = [bias for bias in left.values() if bias.size == size]
        bare = [
            place
            for place, (_, array) in enumerate(matrices)
            if paired[place] is None and array.size == size * d_model
        ]
        for place, bias in zip(bare[-len(offered) :], offered, strict=False):
            paired[place] = bias
    return paired


def _stem(name: str) -> str:
    """What the names of a matrix and of its bias have in common."""
    stem = re.sub("weights?|bias(es)?|kernel", "", name.lower()).strip("._")
    return re.sub(r"(^|[._])[wb](?=_?[a-z0-9#]*$)", r"\1", stem)


def _squeezed(array: np.ndarray) -> np.ndarray:
    """Without axes of length one, which convolutions and broadcasting biases have."""
    shape = tuple(size for size in array.shape if size != 1)
    return array.reshape(shape)


def _stacked(parameters: Sequence[Named], d_model: int, n_heads: int) -> list[Named]:
    """Parameters that exist once for each head, put together along a first axis."""
    series: dict[tuple[str, tuple[int, ...]], list[np.ndarray]] = {}
    for name, array in parameters:
        series.setdefault(_series(name, array), []).append(array)
    together: list[Named] = []
    for name, array in parameters:
        members = series[_series(name, array)]
        if len(members) != n_heads or n_heads == 1 or prod((n_heads, *array.shape)) % d_model:
            together.append((name, array))
        elif members[0] is array:
            together.append((_series(name, array)[0], np.stack(members)))
    return together


def _series(name: str, array: np.ndarray) -> tuple[str, tuple[int, ...]]:
    """What the parameters of the heads have in common."""
    return re.sub("[0-9]+", "#", name), array.shape
