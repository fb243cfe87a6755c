"""Turns the arguments a rubric describes into values: hidden arrays, named sizes, stated arrays.

Every case and purpose has a generator of its own (`Draw.generator`), so one course run draws the same
inputs for every submission and for the reference, and one more case does not move the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from math import prod
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from autograder.checks.base import Draw
from autograder.checks.options import CallOptions, Case
from autograder.checks.planning.alphabets import ALPHABETS
from autograder.errors import Place, RubricError
from autograder.records import Tensor
from autograder.tables import convert

EDGES = ("empty", "one", "equal")
"""The first tries of what is drawn with ``edges``: nothing in it, one entry, and several that are equal."""
DRAWN = len(EDGES)
"""The first try in which nothing is an edge case."""
MOST_KEYS_DRAWN = 200
"""Keys that are drawn for one dictionary, since the same ones may come again."""
Size = int | str
Arguments = tuple[tuple[Any, ...], dict[str, Any]]

SAMPLE = Draw(b"sample")
"""A draw without a secret, to find errors in a rubric when it is read."""
MAX_ENTRIES = 1 << 22
"""Numbers in one array; a rubric that asks for more has an error in it."""


class Drawn(Struct, frozen=True, forbid_unknown_fields=True):
    """A hidden array: ``{ draw = "normal", shape = [2, "d_model"] }``."""

    draw: Literal["normal", "uniform", "integers", "mask", "padding_mask", "causal_mask"]
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
    """A text made of pieces: ``{ text = ["a", "b", " "], length = [0, 12] }``, or ``{ text = "ascii" }``."""

    text: tuple[str, ...] | str
    """The pieces, or the name of one of `ALPHABETS`."""
    length: tuple[int, int] | None = None
    """How many pieces it has, from and to; default: 1 to 8, with edge cases from 0."""
    between: str = ""
    edges: bool = False
    """The first tries are the `EDGES` that ``length`` allows."""

    @property
    def pieces(self) -> tuple[str, ...]:
        """What is put together; none where there is no such alphabet."""
        return ALPHABETS.get(self.text, ()) if isinstance(self.text, str) else self.text

    @property
    def ends(self) -> tuple[int, int]:
        """How many pieces it has, from and to."""
        return self.length or (1 - self.edges, 8)


class DrawnList(Struct, frozen=True, forbid_unknown_fields=True):
    """A list of drawn values: ``{ list = { whole = [0, 9] }, length = [1, 5] }``."""

    list: Any
    length: tuple[int, int] | None = None
    """How many entries it has, from and to; default: 1 to 5, with edge cases from 0."""
    edges: bool = False
    """As for texts. The entries are tries of what they are drawn by."""

    @property
    def ends(self) -> tuple[int, int]:
        """How many entries it has, from and to."""
        return self.length or (1 - self.edges, 5)


class DrawnDictionary(Struct, frozen=True, forbid_unknown_fields=True):
    """A dictionary of drawn values: ``{ dict = { rate = { number = [0, 1] } } }``.

    Its keys are stated, or drawn: ``{ keys = { text = "letters" }, dict = { whole = [0, 9] } }``.
    """

    dict: Mapping[str, Any]
    """Stated keys with the value of each; the value of all, where keys are drawn."""
    keys: Any = None
    length: tuple[int, int] | None = None
    """How many drawn keys it has, from and to, as for lists."""
    edges: bool = False
    """As for lists, where keys are drawn."""

    @property
    def ends(self) -> tuple[int, int]:
        """How many drawn keys it has, from and to."""
        return self.length or (1 - self.edges, 5)


class DrawnParts(Struct, frozen=True, forbid_unknown_fields=True):
    """A list of which each entry is described: ``{ parts = [{ size = "n" }, 3] }``."""

    parts: tuple[Any, ...]


_AXES: Mapping[str, int] = {"mask": 1, "padding_mask": 1, "causal_mask": 2}
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

    def __init__(self, options: CallOptions, draw: Draw, turn: int | None = None) -> None:
        """Draw the sizes.

        Args:
            options: sizes, precision and library of the question.
            draw: the question's source of hidden numbers.
            turn: which of several tries this is, from 0, for ``edges``; None: there is one alone.
        """
        self.sizes = _sizes(options, draw.generator("sizes"))
        self.precision = options.precision
        self._options = options
        self._draw = draw
        self._turn = turn

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
                made[key] = self._value(form, generator, where, self._turn)
        return tuple(made[place] for place in range(len(args))), {key: made[key] for key in kwargs}

    def case(self, name: str, case: Case) -> Arguments:
        """The values of one case's call; see `arguments`."""
        return self.arguments(name, case.args, case.kwargs)

    def generator(self, purpose: str) -> np.random.Generator:
        """Hidden numbers for another purpose."""
        return self._draw.generator(purpose)

    def array(self, numbers: np.ndarray) -> Tensor | np.ndarray:
        """An array as the question's library has it."""
        return Tensor(numbers, numbers.dtype.name) if self._options.library == "torch" else numbers

    def _value(self, form: Any, generator: np.random.Generator, place: str, turn: int | None) -> Any:
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
        return self._plain_value(form, generator, place, turn)

    def _plain_value(self, form: Any, generator: np.random.Generator, place: str, turn: int | None) -> Any:
        """A number, text, list or dictionary of Python's own; what is stated stays as it is."""

        def inner(described: Any, turn: int | None = turn) -> Any:
            return self._value(_form(described, place), generator, place, turn)

        match form:
            case DrawnChoice():
                return plain(form.choose[_between(generator, (0, len(form.choose) - 1), place)])
            case DrawnNumber():
                return float(generator.uniform(*form.number))
            case DrawnInteger():
                return _between(generator, form.whole, place)
            case DrawnText():
                last = len(form.pieces) - 1
                drawn = _several(
                    form, turn, generator, place, lambda _: form.pieces[_between(generator, (0, last), place)]
                )
                return form.between.join(drawn)
            case DrawnList():
                return _several(form, turn, generator, place, lambda at: inner(form.list, at))
            case DrawnParts():
                return [inner(described) for described in form.parts]
            case DrawnDictionary() if form.keys is not None:
                values = _several(form, turn, generator, place, lambda at: inner(form.dict, at))
                return dict(zip(_keys(form, len(values), inner, place), values, strict=False))
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
            case "integers":
                low, high = int(form.low), int(form.high)
                if not low < high:
                    raise RubricError(f"{form.draw}: low must be below high", place)
                return generator.integers(low, high, shape).astype(form.dtype or "int64")
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
            _refuse(made, place)
            return made
    raise RubricError(f"expected one of the keys {', '.join(_FORMS)}", place)


def _refuse(form: Any, place: str) -> None:
    """Refuse an alphabet that is not known, and keys without a meaning."""
    if isinstance(form, DrawnText) and isinstance(form.text, str) and not form.pieces:
        known = ", ".join(ALPHABETS)
        raise RubricError(
            f"no alphabet {form.text!r}; known: {known}; or state a list of pieces", place, "text"
        )
    if isinstance(form, DrawnDictionary) and form.keys is None and (form.edges or form.length):
        raise RubricError("length and edges of a dict need drawn keys: keys = { text = … }", place, "keys")


def edge_cases(value: Any) -> tuple[str, ...]:
    """Which of `EDGES` are the first tries of an argument as a rubric describes it; none: all are drawn."""
    if not isinstance(value, Mapping) or not {"text", "list", "keys"} & value.keys():
        return ()
    return _edges(_form(value, "edges"))


def _edges(form: DrawnText | DrawnList | DrawnDictionary) -> tuple[str, ...]:
    low, high = form.ends
    allowed = {"empty": low <= 0, "one": low <= 1 <= high, "equal": high > 1}
    return tuple(edge for edge in EDGES if form.edges and allowed[edge])


def _several(
    form: DrawnText | DrawnList | DrawnDictionary,
    turn: int | None,
    generator: np.random.Generator,
    place: str,
    entry: Callable[[int], Any],
) -> list[Any]:
    """The entries of a text, list or dictionary, in a try that may be an edge case.

    Args:
        form: how many there are.
        turn: the try.
        generator: draws how many.
        place: for messages.
        entry: draws the entry of a number, from 0.
    """
    low, high = form.ends
    if low < 0:
        raise RubricError(f"expected a length from 0, got {low}", place, "length")
    if form.edges and turn is None:
        raise RubricError(
            "edges = true needs several tries: the entries of a list; leave it out here",
            place,
            "edges",
        )
    edges = _edges(form)
    match edges[turn] if turn is not None and turn < len(edges) else "":
        case "empty":
            return []
        case "one":
            return [entry(DRAWN)]
        case "equal":
            return [entry(DRAWN)] * _between(generator, (max(low, 2), high), place)
    return [entry(at) for at in range(_between(generator, (low, high), place))]


def _keys(form: DrawnDictionary, count: int, inner: Callable[..., Any], place: str) -> list[str]:
    """So many drawn keys, all different; fewer where no others come.

    Raises:
        RubricError: they are no texts, or fewer than the dictionary has to have.
    """
    found: dict[str, None] = {}
    for number in range(MOST_KEYS_DRAWN):
        if len(found) == count:
            break
        key = inner(form.keys, number)
        if not isinstance(key, str):
            raise RubricError(f"expected keys that are texts, got {key!r}", place, "keys")
        found[key] = None
    if len(found) < min(count, max(form.ends[0], 1)):
        raise RubricError(f"{count} different keys are needed, and {len(found)} come", place, "keys")
    return list(found)


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
