"""Turns the arguments a rubric describes into values: hidden arrays, named sizes, stated arrays.

Every case and purpose has a generator of its own (`Draw.generator`), so one course run draws the same
inputs for every submission and for the reference, and one more case does not move the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import prod
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct

from autograder.checks.base import Draw
from autograder.checks.options import CallOptions, Case
from autograder.errors import Place, RubricError
from autograder.records import Tensor
from autograder.tables import convert

Size = int | str
Arguments = tuple[tuple[Any, ...], dict[str, Any]]

SAMPLE = Draw(b"sample")
"""A draw without a secret, to find errors in a rubric when it is read."""
MAX_ENTRIES = 1 << 22
"""Numbers in one array; a rubric that asks for more has an error in it."""


class Drawn(Struct, frozen=True, forbid_unknown_fields=True):
    """A hidden array: ``{ draw = "normal", shape = [2, "d_model"] }``."""

    draw: Literal["normal", "uniform", "integers", "cycle", "mask", "padding_mask", "causal_mask"]
    shape: tuple[Size, ...]
    low: float = 0.0
    high: float = 1.0
    scale: float = 1.0
    dtype: str = ""


class Stated(Struct, frozen=True, forbid_unknown_fields=True):
    """A stated array: ``{ array = [[1, 2], [3, 4]], dtype = "int64" }``."""

    array: Any
    dtype: str = ""


class Sized(Struct, frozen=True, forbid_unknown_fields=True):
    """A named size, or a product of sizes: ``{ size = "n_heads*d_head" }``."""

    size: str


class Same(Struct, frozen=True, forbid_unknown_fields=True):
    """The same numbers as another argument of the case: ``{ same = "query" }``."""

    same: str | int


class DrawnChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """One of several values: ``{ choose = [0.9, 0.99] }``."""

    choose: tuple[Any, ...]


class DrawnNumber(Struct, frozen=True, forbid_unknown_fields=True):
    """A number between two others: ``{ number = [0.1, 1.0] }``."""

    number: tuple[float, float]


class DrawnInteger(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole number from one to another, both included: ``{ whole = [1, 5] }``."""

    whole: tuple[int, int]


class DrawnText(Struct, frozen=True, forbid_unknown_fields=True):
    """A text made of pieces: ``{ text = ["a", "b", " "], length = [0, 12] }``."""

    text: tuple[str, ...]
    length: tuple[int, int] = (1, 8)
    """How many pieces it has, from and to."""
    between: str = ""


class DrawnList(Struct, frozen=True, forbid_unknown_fields=True):
    """A list of drawn values: ``{ list = { whole = [0, 9] }, length = [1, 5] }``."""

    list: Any
    length: tuple[int, int] = (1, 5)


class DrawnDictionary(Struct, frozen=True, forbid_unknown_fields=True):
    """A dictionary with stated keys and drawn values: ``{ dict = { rate = { number = [0, 1] } } }``."""

    dict: Mapping[str, Any]


class DrawnParts(Struct, frozen=True, forbid_unknown_fields=True):
    """A list of which each entry is described: ``{ parts = [{ size = "n" }, 3] }``."""

    parts: tuple[Any, ...]


_AXES: Mapping[str, int] = {"cycle": 1, "mask": 1, "padding_mask": 1, "causal_mask": 2}
"""How many axes an array has at least, where it takes some."""
_FORMS: Mapping[str, type[Struct]] = {
    "draw": Drawn,
    "array": Stated,
    "size": Sized,
    "same": Same,
    "choose": DrawnChoice,
    "number": DrawnNumber,
    "whole": DrawnInteger,
    "text": DrawnText,
    "list": DrawnList,
    "dict": DrawnDictionary,
    "parts": DrawnParts,
}
_NAMED_TYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")


class Inputs:
    """Makes the arguments of one question's cases.

    Attributes:
        sizes: the named sizes that were drawn.
        precision: dtype of drawn floating numbers.
    """

    def __init__(self, options: CallOptions, draw: Draw) -> None:
        """Draw the sizes.

        Args:
            options: sizes, precision and library of the question.
            draw: the question's source of hidden numbers.
        """
        self.sizes = _sizes(options, draw.generator("sizes"))
        self.precision = options.precision
        self._options = options
        self._draw = draw

    def arguments(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
        """The values of one call.

        Args:
            name: of the case; cases with different names draw independently.
            args: as the rubric has them.
            kwargs: as the rubric has them.

        Raises:
            RubricError: an array is described in a way that cannot be drawn.
        """
        generator = self._draw.generator(f"case:{name}")
        made: dict[str | int, Any] = {}
        described: dict[str | int, Any] = dict(enumerate(args))
        described.update(kwargs)
        for key, value in described.items():
            group = "args" if isinstance(key, int) else "kwargs"
            where = Place(f"case {name!r}, argument {key!r}", "case", name, group, key)
            form = _form(value, where)
            if isinstance(form, Same):
                if form.same not in made:
                    raise RubricError(
                        f"no earlier argument {form.same!r}", Place(f"case {name!r}: same", *where.path)
                    )
                made[key] = made[form.same]
            else:
                made[key] = self._value(form, generator, where)
        return tuple(made[place] for place in range(len(args))), {key: made[key] for key in kwargs}

    def case(self, name: str, case: Case) -> Arguments:
        """The values of one case's call; see `arguments`."""
        return self.arguments(name, case.args, case.kwargs)

    def in_precision(self, precision: str) -> Inputs:
        """The same numbers with another precision."""
        return Inputs(msgspec.structs.replace(self._options, precision=precision), self._draw)

    def generator(self, purpose: str) -> np.random.Generator:
        """Hidden numbers for another purpose."""
        return self._draw.generator(purpose)

    def array(self, numbers: np.ndarray) -> Tensor | np.ndarray:
        """An array as the question's library has it."""
        return Tensor(numbers, numbers.dtype.name) if self._options.library == "torch" else numbers

    def weights(self, shapes: Mapping[str, Sequence[Size]], *, biases: bool) -> dict[str, Tensor]:
        """Drawn weights, of a spread that keeps activations at unit variance; biases are zero."""
        generator = self._draw.generator("weights")
        weights: dict[str, Tensor] = {}
        for name, shape in shapes.items():
            sizes = self._shape(shape, f"weights, {name!r}")
            numbers = generator.standard_normal(sizes) / np.sqrt(max(sizes[-1:], default=1))
            weights[name] = Tensor(numbers.astype(self._options.precision), self._options.precision)
            if biases and name.endswith(".weight"):
                zeros = np.zeros(sizes[:1], self._options.precision)
                weights[name.removesuffix("weight") + "bias"] = Tensor(zeros, self._options.precision)
        return weights

    def _value(self, form: Any, generator: np.random.Generator, place: str) -> Any:
        if isinstance(form, Drawn):
            return self.array(self._numbers(form, generator, place))
        if isinstance(form, Stated):
            try:
                numbers = np.asarray(plain(form.array), form.dtype or None)
            except (ValueError, TypeError, OverflowError) as error:
                raise RubricError(f"{error}", place, "array") from error
            floating = not form.dtype and numbers.dtype.kind == "f"
            return self.array(numbers.astype(self._options.precision) if floating else numbers)
        if isinstance(form, Sized):
            return self._size(form.size, place)
        return self._plain_value(form, generator, place)

    def _plain_value(self, form: Any, generator: np.random.Generator, place: str) -> Any:
        """A number, text, list or dictionary of Python's own; what is stated stays as it is."""

        def inner(described: Any) -> Any:
            return self._value(_form(described, place), generator, place)

        match form:
            case DrawnChoice():
                return plain(form.choose[_between(generator, (0, len(form.choose) - 1), place)])
            case DrawnNumber():
                return float(generator.uniform(*form.number))
            case DrawnInteger():
                return _between(generator, form.whole, place)
            case DrawnText():
                pieces = range(_between(generator, form.length, place))
                last = len(form.text) - 1
                return form.between.join(form.text[_between(generator, (0, last), place)] for _ in pieces)
            case DrawnList():
                return [inner(form.list) for _ in range(_between(generator, form.length, place))]
            case DrawnParts():
                return [inner(described) for described in form.parts]
            case DrawnDictionary():
                return {name: inner(described) for name, described in form.dict.items()}
        return form

    def _numbers(self, form: Drawn, generator: np.random.Generator, place: str) -> np.ndarray:
        shape, axes = self._shape(form.shape, place), _AXES.get(form.draw, 0)
        if len(shape) < axes:
            raise RubricError(f"{form.draw} needs {axes} axes at least, got {shape}", place, "shape")
        match form.draw:
            case "normal":
                numbers = generator.standard_normal(shape) * form.scale
            case "uniform":
                numbers = generator.uniform(form.low, form.high, shape)
            case "integers" | "cycle":
                low, high = int(form.low), int(form.high)
                if not low < high:
                    raise RubricError(f"{form.draw}: low must be below high", place)
                if form.draw == "integers":
                    return generator.integers(low, high, shape).astype(form.dtype or "int64")
                numbers = _different(shape, high - low, generator) + np.arange(shape[-1])
                return (low + numbers % (high - low)).astype(form.dtype or "int64")
            case "causal_mask":
                return np.tril(np.ones(shape, bool)).astype(form.dtype or "bool")
            case "padding_mask":
                return _padding(shape, generator).astype(form.dtype or "bool")
            case "mask":
                return _mask(shape, generator).astype(form.dtype or "bool")
        return numbers.astype(form.dtype or self._options.precision)

    def _shape(self, shape: Sequence[Size], place: str) -> tuple[int, ...]:
        sizes = tuple(self._size(size, place) for size in shape)
        if prod(sizes) > MAX_ENTRIES or min(sizes, default=1) < 0:
            raise RubricError(f"{sizes} is negative or has over {MAX_ENTRIES} numbers", place, "shape")
        return sizes

    def _size(self, size: Size, place: str) -> int:
        if isinstance(size, int):
            return size
        (worked,) = sizes_in((size,), self.sizes)
        if isinstance(worked, str):
            known = ", ".join(self.sizes) or "none"
            raise RubricError(f"no size {size!r}; sizes of the question are: {known}", place)
        return worked


def _sizes(options: CallOptions, generator: np.random.Generator) -> dict[str, int]:
    """One of each list, drawn anew until no two are equal, where that can be and the rubric wants it."""
    apart = not options.equal_sizes and can_differ(options.sizes)
    while True:
        drawn = {
            name: int(choices[int(generator.integers(len(choices)))])
            for name, choices in options.sizes.items()
        }
        if not apart or len(set(drawn.values())) == len(drawn):
            return drawn


def can_differ(sizes: Mapping[str, Sequence[int]]) -> bool:
    """Whether one of each list can be chosen so that no two are equal."""
    lists = sorted((sorted(set(choices)) for choices in sizes.values()), key=len)

    def chosen(at: int, taken: frozenset[int]) -> bool:
        return at == len(lists) or any(
            chosen(at + 1, taken | {size}) for size in lists[at] if size not in taken
        )

    return chosen(0, frozenset())


def sizes_in(shape: Sequence[Size], sizes: Mapping[str, int]) -> tuple[Size, ...]:
    """A shape with products of named sizes worked out; entries with other names stay as they are."""
    worked: list[Size] = []
    for size in shape:
        factors = [factor.strip() for factor in size.split("*")] if isinstance(size, str) else []
        known = factors and all(factor in sizes or factor.isdecimal() for factor in factors)
        worked.append(prod(sizes.get(factor) or int(factor) for factor in factors) if known else size)
    return tuple(worked)


def plain(value: Any) -> Any:
    """A TOML value with floats instead of decimals."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    return value


def describe(arguments: Arguments, *, scalars: bool = False) -> str:
    """The sizes of the arrays among arguments, e.g. ``query (2, 5, 12), mask (2, 1, 1, 5)``.

    Args:
        arguments: of one call.
        scalars: tell the numbers among them as well. They are hidden inputs: it is for staff alone.
    """
    args, kwargs = arguments
    parts = []
    placed = ((f"#{place}", value) for place, value in enumerate(args, start=1))
    for name, value in (*placed, *kwargs.items()):
        numbers = value.array if isinstance(value, Tensor) else value
        if isinstance(numbers, np.ndarray):
            parts.append(f"{name} ({', '.join(map(str, numbers.shape))})")
        elif scalars and isinstance(value, bool | int | float):
            parts.append(f"{name} = {value}")
    return ", ".join(parts)


def _form(value: Any, place: str) -> Any:
    """The record a table describes, or the value itself.

    Raises:
        RubricError: a table describes no value.
    """
    if not isinstance(value, Mapping):
        return plain(value)
    for key, form in _FORMS.items():
        if key in value:
            made = convert(value, form, place)
            dtype = getattr(made, "dtype", "")
            if dtype and dtype not in _NAMED_TYPES:
                raise RubricError(
                    f"expected one of {', '.join(_NAMED_TYPES)}, got {dtype!r}",
                    place,
                    "dtype",
                )
            return made
    raise RubricError(f"expected one of the keys {', '.join(_FORMS)}", place)


def _between(generator: np.random.Generator, ends: tuple[int, int], place: str) -> int:
    """A whole number from one to another, both included.

    Raises:
        RubricError: there is none.
    """
    low, high = ends
    if not low <= high:
        raise RubricError(f"expected a number from {low} to {high}, of which there is none", place)
    return int(generator.integers(low, high + 1))


def _padding(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Keeps the first entries of a row: at least one, and never all of several."""
    length = shape[-1]
    return np.arange(length) < 1 + _different(shape, max(length - 1, 1), generator)


def _mask(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Keeps equally many entries in each row, anywhere: rows that differ both see what the other does not."""
    length = shape[-1]
    kept = 1 + generator.integers(max(length - 1, 1))
    order = generator.permutation(length)
    return np.asarray((order - _different(shape, max(length, 1), generator)) % length < kept)


def _different(shape: tuple[int, ...], count: int, generator: np.random.Generator) -> np.ndarray:
    """Numbers below `count`, one for each row, different as long as there are different ones.

    Independent ones would now and then be the same for a whole batch, and code that takes one row's mask
    for all of them would be right by chance.

    Returns:
        (*shape[:-1], 1)
    """
    numbers = generator.permutation(count)[np.arange(prod(shape[:-1])) % count]
    return generator.permutation(numbers).reshape(*shape[:-1], 1)
