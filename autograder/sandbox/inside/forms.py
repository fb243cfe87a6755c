"""Converts values of known types to plain parts and back, for the exchange between a test and student code.

Runs in boxes, on both sides. A value is taken apart by the content of its exact type, and rebuilt as that
type itself, never as a subclass: answers of a student's class do not travel.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import importlib
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

_BITS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
Parts = tuple[str, Any]
"""The name of a form, and plain values."""
_SIMPLE: dict[type, tuple[str, Callable[[Any], Any]]] = {
    bytes: ("bytes", lambda value: np.frombuffer(value, np.uint8)),
    bytearray: ("bytearray", lambda value: np.frombuffer(bytes(value), np.uint8)),
    set: ("set", list),
    frozenset: ("frozenset", list),
    collections.deque: ("deque", list),
    complex: ("complex", lambda value: [value.real, value.imag]),
    range: ("range", lambda value: [value.start, value.stop, value.step]),
    slice: ("slice", lambda value: [value.start, value.stop, value.step]),
    type(Ellipsis): ("ellipsis", lambda _: None),
    decimal.Decimal: ("decimal", str),
    fractions.Fraction: ("fraction", lambda value: [value.numerator, value.denominator]),
    collections.Counter: ("counter", lambda value: [[key, one] for key, one in value.items()]),
    collections.OrderedDict: ("ordered", lambda value: [[key, one] for key, one in value.items()]),
    collections.defaultdict: ("mapping", lambda value: [[key, one] for key, one in value.items()]),
    datetime.date: ("date", lambda value: value.isoformat()),
    datetime.datetime: ("datetime", lambda value: value.isoformat()),
    datetime.time: ("time", lambda value: value.isoformat()),
    datetime.timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
}


def parts_of(value: Any) -> Parts | None:
    """Return the form of a value; None if it has none."""
    kind = type(value)
    if kind in _SIMPLE:
        name, take = _SIMPLE[kind]
        return name, take(value)
    if isinstance(value, np.generic) and kind.__module__ == "numpy":
        return "scalar", _array_parts(np.asarray(value))
    if kind is np.ndarray:
        return "array", _array_parts(value)
    if isinstance(value, np.dtype):
        return "dtype", _dtype_parts(value)
    if kind is np.random.Generator or kind is random.Random or kind is np.random.RandomState:
        return _generator_parts(value)
    torch, pandas = sys.modules.get("torch"), sys.modules.get("pandas")
    if torch is not None:
        if kind is torch.dtype or kind is torch.device:
            return f"torch.{kind.__name__}", str(value)
        if kind is torch.Size:
            return "size", [int(one) for one in value]
    if pandas is not None and kind.__module__.partition(".")[0] == "pandas":
        return _pandas_parts(pandas, value)
    return None


DRAWN = "matplotlib"
"""A notebook's drawings are in its own box: this library is used there alone."""
MOST_FLAT = 50_000


def flat_parts(value: Any) -> list[Any]:
    """Return nested lists, tuples and dictionaries as one list of their kinds and the positions of parts."""
    nodes: list[Any] = [value]
    for at, one in enumerate(nodes):  # the list grows during the loop
        if len(nodes) > MOST_FLAT:
            raise TypeError(f"a value of more than {MOST_FLAT:,} parts")
        if type(one) is dict:
            nodes[at] = ["d", [[key, len(nodes) + place] for place, key in enumerate(one)]]
            nodes += one.values()
        elif type(one) in (list, tuple):
            nodes[at] = ["l" if type(one) is list else "t", [len(nodes) + place for place in range(len(one))]]
            nodes += one
        else:
            nodes[at] = ["v", one]
    return nodes


def _from_flat(nodes: list[Any]) -> Any:
    # From the end, because parts come after the containers that hold them.
    for at in range(len(nodes) - 1, -1, -1):
        kind, told = nodes[at]
        if kind == "d":
            nodes[at] = {key: nodes[place] for key, place in told}
        elif kind in ("l", "t"):
            nodes[at] = (list if kind == "l" else tuple)(nodes[place] for place in told)
        else:
            nodes[at] = told
    return nodes[0]


def named_parts(value: Any) -> Parts | None:
    """Return a function or class of a loaded library by name; only a test sends this, no student's box."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, np.ufunc):
        module, name = "numpy", value.__name__
    if type(module) is not str or type(name) is not str or module not in sys.modules:
        return None
    return ("named", [module, name]) if named(module, name) is value else None


def named(module: str, name: str) -> Any:
    """Return the object that a loaded library has under this name; None if there is none."""
    # Loaded modules only: a name from outside must not import anything.
    found: Any = sys.modules.get(module)
    for one in name.split("."):
        found = getattr(found, one, None)
    return found


def _dtype_parts(dtype: np.dtype) -> Any:
    """Return the text of a dtype; for one with fields the description that numpy's files have."""
    return np.lib.format.dtype_to_descr(dtype) if dtype.names else dtype.str


def _dtype_from(told: Any) -> np.dtype:
    return np.lib.format.descr_to_dtype(told) if type(told) is list else np.dtype(told)


def _generator_parts(value: Any) -> Parts | None:
    """Describe a generator of random numbers that belongs to the test or the student."""
    if type(value) is random.Random:
        version, numbers, spare = value.getstate()
        return "generator", ["Random", [version, np.array(numbers, np.int64), spare]]
    if type(value) is np.random.RandomState:
        name, numbers, *more = value.get_state()
        return "generator", ["RandomState", [name, numbers, *map(int, more[:2]), float(more[2])]]
    bits = value.bit_generator
    return ("generator", [type(bits).__name__, bits.state]) if type(bits).__name__ in _BITS else None


def set_generator(own: Any, state: Any) -> None:
    """Put a generator into a state, as its parts have it."""
    if type(own) is random.Random:
        own.setstate((state[0], tuple(map(int, state[1])), state[2]))
    elif type(own) is np.random.RandomState:
        own.set_state(tuple(state))
    else:
        own.bit_generator.state = state


def _generator_from(told: Any) -> Any:
    name, state = told
    if name == "Random":
        made: Any = random.Random()
    elif name == "RandomState":
        made = np.random.RandomState()
    elif name in _BITS:
        made = np.random.Generator(getattr(np.random, name)())
    else:
        raise TypeError(f"{name!r} is no generator")
    set_generator(made, state)
    return made


def _array_parts(array: np.ndarray) -> list[Any]:
    kind = array.dtype.kind
    if kind in "mM":
        return [array.dtype.str, array.view(np.int64)]
    if kind in "US":
        texts = [one.decode("latin-1") if kind == "S" else str(one) for one in array.ravel().tolist()]
        return [array.dtype.str, texts, list(array.shape)]
    # Each object travels in its own form.
    if kind == "O":
        return ["O", array.ravel().tolist(), list(array.shape)]
    # Records travel as their bytes.
    if kind == "V" and not array.dtype.hasobject:
        return [_dtype_parts(array.dtype), np.frombuffer(array.tobytes(), np.uint8), list(array.shape)]
    if kind in "biufc" and array.dtype.itemsize <= (16 if kind == "c" else 8):
        return [array.dtype.str, array]
    raise TypeError(f"an array of {array.dtype} has no plain form")


def _array_of(told: Any) -> np.ndarray:
    dtype, numbers, *shape = told
    if dtype == "O":
        # np.array would turn lists among the objects into further dimensions.
        made = np.empty(len(numbers), object)
        made[:] = numbers
        return made.reshape(shape[0])
    wanted = _dtype_from(dtype)
    if wanted.kind in "mM":
        return np.asarray(numbers).view(wanted)
    if wanted.kind == "V":
        return np.frombuffer(bytes(numbers), wanted).reshape(shape[0]).copy()
    if wanted.kind == "S":
        numbers = [one.encode("latin-1") for one in numbers]
    return np.asarray(numbers, wanted).reshape(shape[0]) if shape else np.asarray(numbers)


# ---------------------------------------------------------------- pandas


def _pandas_parts(pandas: Any, value: Any) -> Parts | None:
    if isinstance(value, pandas.DataFrame):
        columns = [_column(value.iloc[:, place]) for place in range(value.shape[1])]
        return "frame", [columns, _index(pandas, value.columns), _index(pandas, value.index)]
    if isinstance(value, pandas.Series):
        return "series", [_column(value), _index(pandas, value.index), value.name]
    if isinstance(value, pandas.Index):
        return "index", _index(pandas, value)
    if value is pandas.NaT or value is pandas.NA:
        return "missing", "NaT" if value is pandas.NaT else "NA"
    if type(value) is pandas.Timestamp:
        return "timestamp", value.isoformat()
    if type(value) is pandas.Timedelta:
        return "pandas-timedelta", str(value)
    return None


def _column(series: Any) -> list[Any]:
    """Return the name of the dtype, and the values as an array; categories as their codes."""
    dtype = str(series.dtype)
    if dtype == "category":
        categories = series.cat.categories
        return ["category", np.asarray(series.cat.codes), list(categories), bool(series.cat.ordered)]
    array = series.to_numpy()
    return [dtype, _array_parts(array if array.dtype.kind in "biufcmMO" else array.astype(object))]


def _index(pandas: Any, index: Any) -> list[Any]:
    if isinstance(index, pandas.RangeIndex):
        return ["range", [index.start, index.stop, index.step], index.name]
    if isinstance(index, pandas.MultiIndex):
        return ["multi", [list(one) for one in index], list(index.names)]
    return ["plain", _column(index.to_series()), index.name]


def _series_of(pandas: Any, told: Any, index: Any = None, name: Any = None) -> Any:
    dtype, values, *more = told
    if dtype == "category":
        made = pandas.Categorical.from_codes(values, categories=more[0], ordered=more[1])
        return pandas.Series(made, index=index, name=name)
    array = _array_of(values)
    return pandas.Series(
        array if str(array.dtype) == dtype else pandas.array(array, dtype=dtype), index, name=name
    )


def _index_of(pandas: Any, told: Any) -> Any:
    kind, values, name = told
    if kind == "range":
        return pandas.RangeIndex(*values, name=name)
    if kind == "multi":
        return pandas.MultiIndex.from_tuples([tuple(one) for one in values], names=name)
    return pandas.Index(_series_of(pandas, values), name=name)


def _of_pandas(name: str, told: Any) -> Any:
    pandas = importlib.import_module("pandas")
    if name == "frame":
        columns, heads, index = told
        rows = _index_of(pandas, index)
        # By position first, because names of columns may repeat.
        made = pandas.DataFrame(
            {at: _series_of(pandas, one, rows) for at, one in enumerate(columns)}, index=rows
        )
        made.columns = _index_of(pandas, heads)
        return made
    if name == "series":
        return _series_of(pandas, told[0], _index_of(pandas, told[1]), told[2])
    if name == "index":
        return _index_of(pandas, told)
    if name == "missing":
        return pandas.NaT if told == "NaT" else pandas.NA
    return {"timestamp": pandas.Timestamp, "pandas-timedelta": pandas.Timedelta}[name](told)


def _tensor_of(told: Any, *, parameter: bool) -> Any:
    """Build a leaf with its gradient."""
    tensor, grad = told
    made = (
        sys.modules["torch"].nn.Parameter(tensor.detach()) if parameter else tensor.detach().requires_grad_()
    )
    made.grad = grad
    return made


# ---------------------------------------------------------------- back


def _torch(name: str, told: Any) -> Any:
    return getattr(sys.modules["torch"], name)(told)


def _dtype_of(told: Any) -> Any:
    """Return a dtype by its name, and no other object that the library has under it."""
    torch = sys.modules["torch"]
    found = getattr(torch, told.removeprefix("torch."))
    if type(found) is not torch.dtype:
        raise TypeError(f"{told!r} is no dtype")
    return found


_BACK: dict[str, Callable[[Any], Any]] = {
    "bytes": lambda told: told.tobytes(),
    "bytearray": lambda told: bytearray(told.tobytes()),
    "set": set,
    "frozenset": frozenset,
    "deque": collections.deque,
    "complex": lambda told: complex(*told),
    "range": lambda told: range(*told),
    "slice": lambda told: slice(*told),
    "ellipsis": lambda _: Ellipsis,
    "decimal": decimal.Decimal,
    "fraction": lambda told: fractions.Fraction(*told),
    "counter": lambda told: collections.Counter(dict(told)),
    "ordered": lambda told: collections.OrderedDict((key, one) for key, one in told),
    "mapping": dict,
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda told: datetime.timedelta(*told),
    "scalar": lambda told: _array_of(told)[()],
    "array": lambda told: np.array(_array_of(told)),
    "dtype": _dtype_from,
    "generator": _generator_from,
    "named-tuple": lambda told: collections.namedtuple(told[0], told[1])(*told[2]),  # noqa: PYI024
    "flat": _from_flat,
    "numbers": lambda told: told.tolist(),
    "leaf": lambda told: _tensor_of(told, parameter=False),
    "parameter": lambda told: _tensor_of(told, parameter=True),
    "size": lambda told: _torch("Size", told),
    "torch.dtype": _dtype_of,
    "torch.device": lambda told: _torch("device", told),
}


def from_parts(name: str, told: Any) -> Any:
    """Return the value of a form.

    Raises:
        Exception: of any type, if the parts do not fit: they may be under the student's control.
    """
    return _BACK[name](told) if name in _BACK else _of_pandas(name, told)


def named_tuple_parts(value: Any) -> Parts | None:
    """Describe an object of a class that `collections.namedtuple` made by its fields alone."""
    fields = getattr(type(value), "_fields", None)
    if type(value).__bases__ != (tuple,) or type(fields) is not tuple or len(fields) != len(value):
        return None
    return "named-tuple", [type(value).__name__, list(map(str, fields)), list(tuple.__iter__(value))]
