"""What a marker typed, as a call that a rubric can hold: read from the source, and never run."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from autograder.checks.planning.drawing import Stated
from autograder.syntax import UNREADABLE, parsed

MOST_SOURCE = 2_000
"""Characters of one input."""
_DEEPEST = 8
"""Nesting of lists, tuples and dictionaries."""
_MOST_BITS = 4096
"""Of an integer: larger ones cannot be printed in linear time."""
_MAKERS: Mapping[str, Literal["torch", "numpy"]] = {
    "torch.tensor": "torch",
    "np.array": "numpy",
    "numpy.array": "numpy",
}
_FLOATS = ("float16", "float32", "float64")
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
_WITHOUT_LOSS: Mapping[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "int64": (*_INTEGERS, *_FLOATS),
    "float32": _FLOATS,
    "float64": _FLOATS,
}
"""The dtype that entries have by themselves → those in which none of them becomes another."""
_DTYPES: Mapping[str, str] = {
    **{f"{module}.{name}": name for module in ("torch", "np", "numpy") for name in (*_FLOATS, *_INTEGERS)},
    "bool": "bool",
    "np.bool_": "bool",
    "numpy.bool_": "bool",
    "torch.bool": "bool",
    "torch.double": "float64",
    "torch.float": "float32",
    "torch.half": "float16",
    "torch.int": "int32",
    "torch.long": "int64",
}


class CallMade(Struct, frozen=True):
    """A call of something in the notebook with arguments that stand in the source as they are."""

    target: str
    """A name, or names with dots between: ``"double"``, ``"model.forward"``."""
    args: tuple[Any, ...] = ()
    """None, numbers, texts, and lists, tuples and dictionaries of them; arrays as a rubric states them."""
    kwargs: Mapping[str, Any] = {}
    library: Literal["", "torch", "numpy"] = ""
    """Whose its arrays are; empty where it has none."""


class _NotStated(Exception):
    """The source would have to be run."""


def as_call(source: str) -> CallMade | None:
    """The call that a source is; None where it is something else, or where it would have to be run.

    Arrays are ``torch.tensor(…)`` and ``np.array(…)`` of numbers, by their names alone. Each becomes a
    `Stated` with the dtype that it would have had, so that the same call can be made again; without one
    where that is torch's default.
    """
    if len(source) > MOST_SOURCE:
        return None
    try:
        tree = parsed(source.strip())
    except UNREADABLE:
        return None
    match tree.body:
        case [ast.Expr(value=ast.Call() as call)]:
            reader = _Reader()
            try:
                return reader.call(call)
            except _NotStated:
                return None
    return None


def stated(value: Any) -> Any:
    """An argument of a call as a rubric states it: an array is a table."""
    match value:
        case Stated(array=array, dtype=dtype):
            return {"array": array, **({"dtype": dtype} if dtype else {})}
        case list():
            return [stated(one) for one in value]
        case dict():
            return {name: stated(one) for name, one in value.items()}
    return value


class _Reader:
    """Reads one call and remembers whose arrays it has."""

    def __init__(self) -> None:
        self._libraries: set[Literal["torch", "numpy"]] = set()

    def call(self, node: ast.Call) -> CallMade:
        target = _dotted(node.func)
        if target in _MAKERS:
            raise _NotStated
        args = tuple(self._value(one, 0) for one in node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in kwargs:
                raise _NotStated
            kwargs[keyword.arg] = self._value(keyword.value, 0)
        if len(self._libraries) > 1:  # a question has arrays of one library
            raise _NotStated
        return CallMade(target, args, kwargs, next(iter(self._libraries), ""))

    def _value(self, node: ast.expr, depth: int) -> Any:
        if depth > _DEEPEST:
            raise _NotStated
        match node:
            case ast.List(elts=parts):
                return [self._value(part, depth + 1) for part in parts]
            case ast.Tuple(elts=parts):
                return tuple(self._value(part, depth + 1) for part in parts)
            case ast.Dict(keys=keys, values=values):
                if None in keys:
                    raise _NotStated
                pairs = zip(keys, values, strict=True)
                return {_scalar(key): self._value(part, depth + 1) for key, part in pairs}
            case ast.Call():
                return self._array(node)
        return _scalar(node)

    def _array(self, node: ast.Call) -> Stated:
        """What ``torch.tensor`` or ``np.array`` of numbers makes."""
        library = _MAKERS.get(_dotted(node.func))
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        if (
            library is None
            or len(node.args) != 1
            or len(named) < len(node.keywords)
            or named.keys() - {"dtype"}
        ):
            raise _NotStated
        dtype = _dtype(named["dtype"]) if "dtype" in named else ""
        numbers = _entries(node.args[0], 0)
        flat = list(_flat(numbers))
        _shape(numbers)
        made = _kind(flat) or ("float32" if library == "torch" else "float64")
        if (flat and dtype and dtype not in _WITHOUT_LOSS[made]) or not _fits(flat, dtype or made):
            raise _NotStated
        self._libraries.add(library)
        # torch's floating numbers have the default dtype, which is that of the question while it is asked.
        return Stated(numbers, dtype or ("" if made == "float32" else made))


def _dotted(node: ast.expr) -> str:
    """The name, or names with dots between."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=inner, attr=name):
            return f"{_dotted(inner)}.{name}"
    raise _NotStated


def _scalar(node: ast.expr | None) -> Any:
    """None, a truth value, a number or a text."""
    match node:
        case ast.UnaryOp(
            op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant(value=int() | float() as number)
        ):
            if not isinstance(number, bool):
                _scalar(node.operand)
                return -number if isinstance(sign, ast.USub) else number
        case ast.Constant(value=None | bool() | str() as value):
            return value
        case ast.Constant(value=int() as value) if value.bit_length() <= _MOST_BITS:
            return value
        case ast.Constant(value=float() as value) if math.isfinite(value):
            return value
    raise _NotStated


def _dtype(node: ast.expr) -> str:
    """The dtype that is named, as numpy calls it."""
    name = node.value if isinstance(node, ast.Constant) else _DTYPES.get(_dotted(node), "")
    if isinstance(name, str) and name in {*_FLOATS, *_INTEGERS, "bool"}:
        return name
    raise _NotStated


def _entries(node: ast.expr, depth: int) -> Any:
    """Numbers or truth values, or lists of them; tuples are read as lists, as both makers do."""
    if isinstance(node, ast.List | ast.Tuple) and depth < _DEEPEST:
        return [_entries(part, depth + 1) for part in node.elts]
    value = _scalar(node)
    if not isinstance(value, bool | int | float):
        raise _NotStated
    return value


def _flat(numbers: Any) -> Iterator[bool | int | float]:
    if isinstance(numbers, list):
        for part in numbers:
            yield from _flat(part)
    else:
        yield numbers


def _shape(numbers: Any) -> tuple[int, ...]:
    """The sizes of the axes; refuses what is no array."""
    if not isinstance(numbers, list):
        return ()
    shapes = {_shape(part) for part in numbers}
    if len(shapes) > 1:
        raise _NotStated
    return (len(numbers), *next(iter(shapes), ()))


def _kind(flat: list[bool | int | float]) -> str:
    """The dtype that both libraries choose for these entries; empty for floating ones, where they differ."""
    kinds = {type(one) for one in flat}
    if bool in kinds:
        if kinds != {bool}:
            raise _NotStated
        return "bool"
    return "int64" if kinds == {int} else ""


def _fits(flat: list[bool | int | float], dtype: str) -> bool:
    """Whether every entry is a finite number of that dtype."""
    if dtype == "bool":
        return True
    if dtype in _FLOATS:
        most = float(np.finfo(dtype).max)
        return all(abs(one) <= most for one in flat)
    bounds = np.iinfo(dtype)
    return all(bounds.min <= one <= bounds.max for one in flat)
