"""The hidden examples, as the reference tells them, and how a student's code is asked about them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from autograder.checks.base import Draw
from autograder.checks.values.arrays import numbers
from autograder.kinds.general.score.options import ScoreQuestion
from autograder.records import Call, Tensor

MOST_EXAMPLES = 20_000
RESAMPLES = 200
"""How often the examples are drawn again, with replacement, to see how much the measure depends on them."""
FEWEST = 2
"""Examples of the smallest batch."""
ASKED_AGAIN = 2
"""So many batches' worth of examples are asked a second time, in other company."""


class Hidden(Struct, frozen=True, eq=False):
    """What the reference says of the examples; what is right for them stays with the reference."""

    count: int
    args: tuple[Any, ...] = ()
    """Arguments of a call about all of them; each has an entry for each example."""
    changed: tuple[Any, ...] = ()
    """The same with changes that should make no difference."""
    floor: Mapping[str, float] = {}
    """By metric; empty name: of the only one."""
    tensors: Mapping[str, tuple[int, ...]] | None = None
    """What a checkpoint must hold: name → shape."""


class Batch(Struct, frozen=True):
    """One call."""

    rows: tuple[int, ...]
    """Which examples, in this order."""
    changed: bool = False
    again: bool = False
    """They are asked elsewhere as well."""


class NotHidden(Exception):
    """The reference's reply is not what it must be; says why."""


def read_hidden(reply: Any, options: ScoreQuestion) -> Hidden:
    """The reply of the reference's ``hidden(seed)``.

    Raises:
        NotHidden: something in it is missing or of another form.
    """
    if not isinstance(reply, Mapping):
        raise NotHidden("hidden: expected a dictionary")
    args, changed = (_arguments(reply.get(name), name) for name in ("args", "changed"))
    lengths = {len(_plain(one)) for one in (*args, *changed)}
    count = reply.get("count", next(iter(lengths), None))
    if type(count) is not int or not 2 <= count <= MOST_EXAMPLES or lengths - {count}:
        raise NotHidden(f"hidden: expected 2 to {MOST_EXAMPLES} examples, and as many in each argument")
    if options.asks == "call" and not args:
        raise NotHidden("hidden: args: expected a list with the arguments of a call about all examples")
    if changed and len(changed) != len(args):
        raise NotHidden("hidden: changed: expected as many arguments as in args")
    return Hidden(count, args, changed, _floor(reply.get("floor")), _tensors(reply.get("tensors")))


def batches(hidden: Hidden, size: int, draw: Draw) -> tuple[Batch, ...]:
    """All calls, in a hidden order: every example once, some again in other company.

    Args:
        hidden: the examples.
        size: of a batch, at most.
        draw: of the question.
    """
    generator = draw.generator("batches")

    def order() -> list[int]:
        return [int(row) for row in generator.permutation(hidden.count)]

    once = _cut(order(), size)
    changed = _cut(order(), size) if hidden.changed else []
    again = order()[: ASKED_AGAIN * size]
    pair = min(size, FEWEST)
    company = [tuple(again[:pair]), *_cut(again[pair:], min(size, hidden.count) // 2 + 1)]
    made = [Batch(rows) for rows in once]
    made += [Batch(rows, changed=True) for rows in changed]
    made += [Batch(rows, again=True) for rows in company]
    return tuple(made[int(place)] for place in generator.permutation(len(made)))


def call(name: str, options: ScoreQuestion, hidden: Hidden, batch: Batch) -> Call:
    """The call that asks about one batch."""
    args = hidden.changed if batch.changed else hidden.args
    return Call(
        name,
        attribute=options.method,
        args=tuple(_rows(one, batch.rows) for one in args),
        seed=0,
        grad=True,
    )


def resampled(hidden: Hidden, draw: Draw) -> np.ndarray:
    """How often each example counts: once in the first row, then as drawn with replacement.

    Returns:
        (1 + RESAMPLES, count) float64
    """
    equal = np.full(hidden.count, 1 / hidden.count)
    drawn = draw.generator("resampled").multinomial(hidden.count, equal, RESAMPLES)
    return np.vstack([np.ones((1, hidden.count)), drawn])


def _cut(rows: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Pieces of nearly equal length: a single example is refused by batch normalisation that is trained."""
    parts = -(-len(rows) // size)
    bounds = [len(rows) * part // parts for part in range(parts + 1)] if parts else []
    return [tuple(rows[start:end]) for start, end in itertools.pairwise(bounds)]


def _plain(value: Any) -> Any:
    return value.array if isinstance(value, Tensor) else value


def _rows(value: Any, rows: Sequence[int]) -> Any:
    """These entries of an argument, as an argument of the same form."""
    if isinstance(value, Tensor):
        return Tensor(value.array[list(rows)], value.dtype, value.device)
    return value[list(rows)] if isinstance(value, np.ndarray) else [value[row] for row in rows]


def _arguments(told: Any, name: str) -> tuple[Any, ...]:
    found = tuple(told) if isinstance(told, list | tuple) else ()
    if (told is not None and not isinstance(told, list | tuple)) or not all(map(_is_long, found)):
        raise NotHidden(f"hidden: {name}: expected a list of arguments, each with an entry for each example")
    return found


def _is_long(value: Any) -> bool:
    plain = _plain(value)
    return isinstance(plain, list) or (isinstance(plain, np.ndarray) and plain.ndim > 0)


def _floor(told: Any) -> dict[str, float]:
    by_metric = told if isinstance(told, Mapping) else {} if told is None else {"": told}
    floor = {}
    for name, value in by_metric.items():
        found = numbers(value)
        if (
            not isinstance(name, str)
            or found is None
            or found.array.shape
            or found.kind not in ("int", "float")
        ):
            raise NotHidden("hidden: floor: expected a number, or one for each metric")
        floor[name] = float(found.array)
    return floor


def _tensors(told: Any) -> dict[str, tuple[int, ...]] | None:
    if told is None:
        return None
    if not isinstance(told, Mapping) or not all(
        isinstance(name, str) and isinstance(shape, list | tuple) and all(type(size) is int for size in shape)
        for name, shape in told.items()
    ):
        raise NotHidden("hidden: tensors: expected the shape of each tensor by its name")
    return {name: tuple(shape) for name, shape in told.items()}
