"""Attention computed here, with its known mistakes, and the readings of a module's weights."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

LOWEST = float(np.finfo(np.float64).min)
ROLES = ("query", "key", "value", "output")
"""The four projections."""


class Projection(Struct, frozen=True, eq=False):
    """``x @ matrix + bias``; matrix (d, d), bias (d,)."""

    matrix: np.ndarray
    bias: np.ndarray | None = None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """(…, d) → (…, d)."""
        projected: np.ndarray = x @ self.matrix
        return projected if self.bias is None else projected + self.bias


class AttentionInputs(Struct, frozen=True, eq=False):
    """The arguments of one forward pass.

    ``query`` (batch, queries, d), ``key`` and ``value`` (batch, keys, d); ``visible`` broadcasts to
    (batch, h, queries, keys), or there is no mask.
    """

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    visible: np.ndarray | None = None


Weights = Mapping[str, Projection | None]
"""Role → projection; None passes its input on as it is."""

Softmax = Callable[[np.ndarray, np.ndarray | None], np.ndarray]
"""Scores, what is visible → weights."""


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """Exponentials that sum to one along an axis."""
    raised = np.exp(scores - scores.max(axis, keepdims=True))
    return np.asarray(raised / raised.sum(axis, keepdims=True))


def masked_softmax(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    """The weights of each query; even where nothing is visible."""
    return softmax(scores if visible is None else np.where(visible, scores, LOWEST))


def split(x: np.ndarray, n_heads: int) -> np.ndarray:
    """(batch, length, d) → (batch, h, length, d_head)."""
    return x.reshape(*x.shape[:2], n_heads, -1).swapaxes(1, 2)


def merged(context: np.ndarray) -> np.ndarray:
    """(batch, h, length, d_head) → (batch, length, d)."""
    return context.swapaxes(1, 2).reshape(context.shape[0], context.shape[2], -1)


def split_as(*axes: str) -> Callable[[np.ndarray, int], np.ndarray]:
    """A split that reads the numbers as if their axes stood in this order.

    The right one is ``batch, length, head, feature``.
    """

    def split_there(x: np.ndarray, n_heads: int) -> np.ndarray:
        batch, length, d_model = x.shape
        sizes = {"batch": batch, "length": length, "head": n_heads, "feature": d_model // n_heads}
        wanted = ("batch", "head", "length", "feature")
        return x.reshape([sizes[axis] for axis in axes]).transpose([axes.index(axis) for axis in wanted])

    return split_there


def merged_as(*axes: int) -> Callable[[np.ndarray], np.ndarray]:
    """A merge that puts the axes (batch, head, length, feature) in this order; 0, 2, 1, 3 is right."""

    def merged_there(context: np.ndarray) -> np.ndarray:
        return context.transpose(axes).reshape(context.shape[0], context.shape[2], -1)

    return merged_there


class AttentionMisconception(Struct, frozen=True, eq=False):
    """What is done otherwise; the defaults are right."""

    scale: tuple[float, float] = (-0.5, 0.0)
    """The scores' factor: the powers of d_head and of h."""
    weigh: Softmax = masked_softmax
    inputs: tuple[str, str, str] = ("query", "key", "value")
    """Which argument is projected to the queries, keys and values."""
    scaled_late: bool = False
    """The weights are divided by the square root of d_head, not the scores."""
    one_head: bool = False
    split: Callable[[np.ndarray, int], np.ndarray] = split
    merge: Callable[[np.ndarray], np.ndarray] = merged
    key_reshaped: bool = False
    """The keys' last two axes are exchanged by a reshape, which keeps the order of the numbers."""
    one_sequence: bool = False
    """All sequences see the keys of the first one."""
    activation: bool = False
    residual: bool = False


RIGHT = AttentionMisconception()


def attention(
    weights: Weights, n_heads: int, given: AttentionInputs, misconception: AttentionMisconception = RIGHT
) -> np.ndarray:
    """The result of a forward pass, (batch, queries, d).

    Raises:
        ValueError: the shapes of the arguments do not fit one another.
    """
    together, output = misconception.merge(context(weights, n_heads, given, misconception)), weights["output"]
    result = together if output is None else output(together)
    return result + given.query if misconception.residual else result


def context(
    weights: Weights, n_heads: int, given: AttentionInputs, misconception: AttentionMisconception = RIGHT
) -> np.ndarray:
    """What the heads give, (batch, h, queries, d_head), before they are merged.

    Raises:
        ValueError: the shapes of the arguments do not fit one another.
    """
    projected = []
    for role, source in zip(ROLES, misconception.inputs, strict=False):
        argument = getattr(given, source)
        projection = weights[role]
        x = argument if projection is None else projection(argument)
        projected.append(
            misconception.split(
                np.maximum(x, 0.0) if misconception.activation else x,
                1 if misconception.one_head else n_heads,
            )
        )
    q, k, v = projected  # (batch, h, length, d_head)
    k = k[:1] if misconception.one_sequence else k
    d_head = given.query.shape[-1] // n_heads
    turned = (
        k.reshape(*k.shape[:2], k.shape[3], k.shape[2]) if misconception.key_reshaped else k.swapaxes(-1, -2)
    )
    scores = q @ turned * d_head ** misconception.scale[0] * n_heads ** misconception.scale[1]
    if misconception.scaled_late:
        v = v / np.sqrt(d_head)
    return np.asarray(misconception.weigh(scores, given.visible) @ v)


def heeds_mask(
    weights: Weights, n_heads: int, given: AttentionInputs, misconception: AttentionMisconception
) -> bool:
    """Whether with a misconception no head takes anything from a key that is blocked for its query.

    This is asked of the mask that was given, and of two that block the first or the last key for everyone, so
    that it does not depend on what was drawn.

    Raises:
        ValueError: as `context`.
    """
    if given.visible is None:
        return False
    keys = np.arange(given.key.shape[1])
    masks = (given.visible, (keys != 0)[None, None, None], (keys != keys[-1])[None, None, None])
    return all(_inert(weights, n_heads, replace(given, visible=mask), misconception) for mask in masks)


def _inert(
    weights: Weights, n_heads: int, given: AttentionInputs, misconception: AttentionMisconception
) -> bool:
    """Each key and value is changed in turn: who may not see it, and other sequences, keep what they had."""
    before = context(weights, n_heads, given, misconception)
    if not np.isfinite(before).all():
        return False
    batch, keys = given.key.shape[:2]
    visible = np.broadcast_to(np.asarray(given.visible), (*before.shape[:3], keys))
    for sequence, place in np.ndindex(batch, keys):
        key, value = given.key.copy(), given.value.copy()
        key[sequence, place] += 1.0
        value[sequence, place] -= 1.0
        after = context(weights, n_heads, replace(given, key=key, value=value), misconception)
        kept = np.ones(before.shape[:3], bool)
        kept[sequence] = ~visible[sequence, ..., place]
        if not np.allclose(before[kept], after[kept]):
            return False
    return True


def _fill(scores: np.ndarray, visible: np.ndarray | None, *, number: float) -> np.ndarray:
    return softmax(scores if visible is None else np.where(visible, scores, number))


def _afterwards(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    weights = softmax(scores)
    return weights if visible is None else np.where(visible, weights, 0.0)


def _ignored(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    del visible
    return softmax(scores)


def _inverted(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else np.where(visible, LOWEST, scores))


def _multiplied(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else scores * visible)


def _added(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else scores + visible)


def _transposed(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else np.where(visible.swapaxes(-1, -2), scores, LOWEST))


def _first_sequence(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return softmax(scores if visible is None else np.where(visible[:1], scores, LOWEST))


def _causal(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    seen = np.tril(np.ones(scores.shape[-2:], bool))
    return _fill(scores, seen if visible is None else seen & visible, number=LOWEST)


def _first_head(context: np.ndarray) -> np.ndarray:
    return merged(np.broadcast_to(context[:, :1], context.shape))


def _heads_mean(context: np.ndarray) -> np.ndarray:
    return merged(np.broadcast_to(context.mean(1, keepdims=True), context.shape))


def _over(axis: int) -> AttentionMisconception:
    return AttentionMisconception(weigh=lambda scores, visible: softmax(_blocked(scores, visible), axis))


def _blocked(scores: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
    return scores if visible is None else np.where(visible, scores, LOWEST)


def _restacked(context: np.ndarray) -> np.ndarray:
    """Heads were stacked before the batch, and are unstacked as if the batch came first."""
    return merged(context.swapaxes(0, 1).reshape(context.shape))


def _axes() -> Iterator[tuple[str, AttentionMisconception]]:
    """Splits and merges that take the axes in another order, each named by what it mixes."""
    apart = {
        "interleaved": ("batch", "length", "feature", "head"),
        "split": ("batch", "head", "length", "feature"),
    }
    split, interleaved = split_as(*apart["split"]), split_as(*apart["interleaved"])
    yield "attention.split", AttentionMisconception(split=split)
    yield "attention.merge", AttentionMisconception(merge=merged_as(0, 1, 2, 3))
    yield "attention.split-merge", AttentionMisconception(split=split, merge=merged_as(0, 1, 2, 3))
    yield "attention.interleaved", AttentionMisconception(split=interleaved, merge=merged_as(0, 2, 3, 1))
    yield "attention.interleaved-split", AttentionMisconception(split=interleaved)
    yield "attention.interleaved-merge", AttentionMisconception(merge=merged_as(0, 2, 3, 1))
    for axes in itertools.permutations(("batch", "length", "head", "feature")):
        if axes not in (("batch", "length", "head", "feature"), *apart.values()):
            code = "attention.split-axes" if axes[0] == "batch" else "attention.split-batch"
            yield code, AttentionMisconception(split=split_as(*axes))
    for places in itertools.permutations(range(4)):
        if places not in ((0, 2, 1, 3), (0, 1, 2, 3), (0, 2, 3, 1)):
            code = "attention.merge-axes" if places[0] == 0 else "attention.merge-batch"
            yield code, AttentionMisconception(merge=merged_as(*places))
    yield "attention.merge-batch", AttentionMisconception(merge=_restacked)


_UNSTEADY = ("attention.softmax-heads", "attention.softmax-batch", "attention.no-softmax")
"""With these, the weight of a single key is not one."""


def single_key_counts_once(code: str) -> bool:
    """Whether a mistake makes the weight of a single key one: the result then says nothing of the scores."""
    return code not in _UNSTEADY


_VALUES: Mapping[str, AttentionMisconception] = {
    "attention.no-scaling": AttentionMisconception(scale=(0.0, 0.0)),
    "attention.scale-width": AttentionMisconception(scale=(-0.5, -0.5)),
    "attention.scale-inverted": AttentionMisconception(scale=(0.5, 0.0)),
    "attention.scale-root": AttentionMisconception(scale=(-1.0, 0.0)),
    "attention.scale-late": AttentionMisconception(scale=(0.0, 0.0), scaled_late=True),
    "attention.softmax-queries": _over(-2),
    "attention.softmax-heads": _over(1),
    "attention.softmax-batch": _over(0),
    "attention.causal": AttentionMisconception(weigh=_causal),
    "attention.one-head": AttentionMisconception(one_head=True),
    "attention.heads-averaged": AttentionMisconception(
        weigh=lambda scores, visible: masked_softmax(scores, visible).mean(1, keepdims=True)
    ),
    "attention.no-softmax": AttentionMisconception(weigh=_blocked),
    "attention.first-head": AttentionMisconception(merge=_first_head),
    "attention.heads-mean": AttentionMisconception(merge=_heads_mean),
    "attention.key-reshape": AttentionMisconception(key_reshaped=True),
    "attention.one-sequence": AttentionMisconception(one_sequence=True),
    "attention.residual": AttentionMisconception(residual=True),
    "attention.activation": AttentionMisconception(activation=True),
}

VALUES: tuple[tuple[str, AttentionMisconception], ...] = (*_VALUES.items(), *_axes())
"""Misconceptions that show without a mask; a code may stand for several."""

MASKS: Mapping[str, AttentionMisconception] = {
    "attention.mask-ignored": AttentionMisconception(weigh=_ignored),
    "attention.mask-inverted": AttentionMisconception(weigh=_inverted),
    "attention.mask-late": AttentionMisconception(weigh=_afterwards),
    "attention.mask-multiplied": AttentionMisconception(weigh=_multiplied),
    "attention.mask-high": AttentionMisconception(weigh=partial(_fill, number=1e20)),
    "attention.mask-weak": AttentionMisconception(weigh=partial(_fill, number=-1.0)),
    "attention.mask-added": AttentionMisconception(weigh=_added),
    "attention.mask-transposed": AttentionMisconception(weigh=_transposed),
    "attention.mask-first": AttentionMisconception(weigh=_first_sequence),
}
"""Misconceptions that only a mask shows."""

_RIGHT_WAY: tuple[str, str, str] = ("query", "key", "value")
_WIRED: Mapping[tuple[str, str, str], str] = {
    ("key", "query", "value"): "attention.query-key",
    ("query", "value", "key"): "attention.key-value",
    ("query", "query", "query"): "attention.self-only",
}
_WIRED_ONE = {
    (0, "key"): "attention.query-from-key",
    (0, "value"): "attention.query-value",
    (1, "query"): "attention.key-query",
    (1, "value"): "attention.key-from-value",
    (2, "query"): "attention.value-query",
    (2, "key"): "attention.value-key",
}


def _wirings() -> Iterator[tuple[tuple[str, str, str], str]]:
    for wiring in itertools.product(_RIGHT_WAY, _RIGHT_WAY, _RIGHT_WAY):
        if wiring != _RIGHT_WAY:
            wrong = [place for place in range(3) if wiring[place] != _RIGHT_WAY[place]]
            alone = _WIRED_ONE[wrong[0], wiring[wrong[0]]] if len(wrong) == 1 else "attention.arguments"
            yield wiring, _WIRED.get(wiring, alone)


WIRINGS: Mapping[tuple[str, str, str], str] = dict(_wirings())
"""Which argument is projected to the queries, keys and values → code."""


MOST_UNITS = 6
"""Matrices of the width; a class with more of them has other things in it than attention."""

Named = tuple[str, np.ndarray]


class WeightUnit(Struct, frozen=True, eq=False):
    """One matrix of the width, as it may be read: each form maps x to ``x @ form``."""

    name: str
    forms: tuple[np.ndarray, ...]
    bias: np.ndarray | None = None


def readings(parameters: Sequence[Named], d_model: int, n_heads: int) -> Iterator[tuple[WeightUnit, ...]]:
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


def _readings(parameters: Sequence[Named], d_model: int, n_heads: int) -> Iterator[tuple[WeightUnit, ...]]:
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
                WeightUnit(
                    name if len(parts.arrays) == 1 else f"{name}[{number}]", _forms(part, d_model), offset
                )
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
