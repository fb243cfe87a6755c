"""Converts values of known types to plain parts and back, for the exchange between a test and student code.

Runs in boxes, on both sides. A value is taken apart by the content of its exact type, and rebuilt as that
type itself, never as a subclass: answers of a student's class do not travel.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import functools
import importlib
import importlib.machinery
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.sandbox.exchange import wire

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
    collections.Counter: ("counter", lambda value: [[key, item] for key, item in value.items()]),
    collections.OrderedDict: ("ordered", lambda value: [[key, item] for key, item in value.items()]),
    collections.defaultdict: ("mapping", lambda value: [[key, item] for key, item in value.items()]),
    datetime.date: ("date", lambda value: value.isoformat()),
    datetime.datetime: ("datetime", lambda value: value.isoformat()),
    datetime.time: ("time", lambda value: value.isoformat()),
    datetime.timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
}


def to_parts(value: Any) -> Parts | None:
    """Return the form of a value; None if it has none."""
    kind = type(value)
    if kind in _SIMPLE:
        name, take = _SIMPLE[kind]
        return name, take(value)
    if isinstance(value, np.generic) and kind.__module__ == "numpy":
        return "scalar", _describe_array(np.asarray(value))
    if kind is np.ndarray:
        return "array", _describe_array(value)
    if isinstance(value, np.dtype):
        return "dtype", _describe_dtype(value)
    if kind is np.random.Generator or kind is random.Random or kind is np.random.RandomState:
        return _describe_generator(value)
    torch, pandas = sys.modules.get("torch"), sys.modules.get("pandas")
    if torch is not None:
        if kind is torch.dtype or kind is torch.device:
            return f"torch.{kind.__name__}", str(value)
        if kind is torch.Size:
            return "size", [int(size) for size in value]
    if pandas is not None and kind.__module__.partition(".")[0] == "pandas":
        return _describe_pandas(pandas, value)
    return None


DRAWN = "matplotlib"
"""A notebook's drawings are in its own box: this library is used there alone."""
MOST_FLAT = 50_000


def flatten_containers(value: Any) -> list[Any]:
    """Return nested lists, tuples and dictionaries as one list of their kinds and the positions of parts."""
    nodes: list[Any] = [value]
    for position, node in enumerate(nodes):  # the list grows during the loop
        if len(nodes) > MOST_FLAT:
            raise TypeError(f"a value of more than {MOST_FLAT:,} parts")
        if type(node) is dict:
            nodes[position] = ["d", [[key, len(nodes) + offset] for offset, key in enumerate(node)]]
            nodes += node.values()
        elif type(node) in (list, tuple):
            nodes[position] = [
                "l" if type(node) is list else "t",
                [len(nodes) + offset for offset in range(len(node))],
            ]
            nodes += node
        else:
            nodes[position] = ["v", node]
    return nodes


def _from_flat(nodes: list[Any]) -> Any:
    # From the end, because parts come after the containers that hold them.
    for position in range(len(nodes) - 1, -1, -1):
        kind, content = nodes[position]
        if kind == "d":
            nodes[position] = {key: nodes[target] for key, target in content}
        elif kind in ("l", "t"):
            nodes[position] = (list if kind == "l" else tuple)(nodes[target] for target in content)
        else:
            nodes[position] = content
    return nodes[0]


def to_named_parts(value: Any) -> Parts | None:
    """Return a function or class of a loaded library by name; only a test sends this, no student's box."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, np.ufunc):
        module, name = "numpy", value.__name__
    if type(module) is not str or type(name) is not str or module not in sys.modules:
        return None
    return ("named", [module, name]) if find_by_name(module, name) is value else None


def find_by_name(module: str, name: str) -> Any:
    """Return the object that a loaded library has under this name; None if there is none."""
    # Loaded modules only: a name from outside must not import anything.
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _describe_dtype(dtype: np.dtype) -> Any:
    """Return the text of a dtype; for one with fields the description that numpy's files have."""
    return np.lib.format.dtype_to_descr(dtype) if dtype.names else dtype.str


def _parse_dtype(description: Any) -> np.dtype:
    return np.lib.format.descr_to_dtype(description) if type(description) is list else np.dtype(description)


def _describe_generator(value: Any) -> Parts | None:
    """Describe a generator of random numbers that belongs to the test or the student."""
    if type(value) is random.Random:
        version, numbers, spare = value.getstate()
        return "generator", ["Random", [version, np.array(numbers, np.int64), spare]]
    if type(value) is np.random.RandomState:
        name, numbers, *more = value.get_state()
        return "generator", ["RandomState", [name, numbers, *map(int, more[:2]), float(more[2])]]
    bits = value.bit_generator
    return ("generator", [type(bits).__name__, bits.state]) if type(bits).__name__ in _BITS else None


def set_generator(generator: Any, state: Any) -> None:
    """Put a generator into a state, as its parts have it."""
    if type(generator) is random.Random:
        generator.setstate((state[0], tuple(map(int, state[1])), state[2]))
    elif type(generator) is np.random.RandomState:
        generator.set_state(tuple(state))
    else:
        generator.bit_generator.state = state


def _build_generator(description: Any) -> Any:
    name, state = description
    if name == "Random":
        generator: Any = random.Random()
    elif name == "RandomState":
        generator = np.random.RandomState()
    elif name in _BITS:
        generator = np.random.Generator(getattr(np.random, name)())
    else:
        raise TypeError(f"{name!r} is no generator")
    set_generator(generator, state)
    return generator


def _describe_array(array: np.ndarray) -> list[Any]:
    kind = array.dtype.kind
    if kind in "mM":
        return [array.dtype.str, array.view(np.int64)]
    if kind in "US":
        texts = [item.decode("latin-1") if kind == "S" else str(item) for item in array.ravel().tolist()]
        return [array.dtype.str, texts, list(array.shape)]
    # Each object travels in its own form.
    if kind == "O":
        return ["O", array.ravel().tolist(), list(array.shape)]
    # Records travel as their bytes.
    if kind == "V" and not array.dtype.hasobject:
        return [_describe_dtype(array.dtype), np.frombuffer(array.tobytes(), np.uint8), list(array.shape)]
    if kind in "biufc" and array.dtype.itemsize <= (16 if kind == "c" else 8):
        return [array.dtype.str, array]
    raise TypeError(f"an array of {array.dtype} has no plain form")


def _build_array(description: Any) -> np.ndarray:
    dtype, numbers, *shape = description
    if dtype == "O":
        # np.array would turn lists among the objects into further dimensions.
        array = np.empty(len(numbers), object)
        array[:] = numbers
        return array.reshape(shape[0])
    wanted = _parse_dtype(dtype)
    if wanted.kind in "mM":
        return np.asarray(numbers).view(wanted)
    if wanted.kind == "V":
        return np.frombuffer(bytes(numbers), wanted).reshape(shape[0]).copy()
    if wanted.kind == "S":
        numbers = [text.encode("latin-1") for text in numbers]
    return np.asarray(numbers, wanted).reshape(shape[0]) if shape else np.asarray(numbers)


# ---------------------------------------------------------------- pandas


def _describe_pandas(pandas: Any, value: Any) -> Parts | None:
    if isinstance(value, pandas.DataFrame):
        columns = [_describe_column(value.iloc[:, position]) for position in range(value.shape[1])]
        return "frame", [
            columns,
            _describe_index(pandas, value.columns),
            _describe_index(pandas, value.index),
        ]
    if isinstance(value, pandas.Series):
        return "series", [_describe_column(value), _describe_index(pandas, value.index), value.name]
    if isinstance(value, pandas.Index):
        return "index", _describe_index(pandas, value)
    if value is pandas.NaT or value is pandas.NA:
        return "missing", "NaT" if value is pandas.NaT else "NA"
    if type(value) is pandas.Timestamp:
        return "timestamp", value.isoformat()
    if type(value) is pandas.Timedelta:
        return "pandas-timedelta", str(value)
    return None


def _describe_column(series: Any) -> list[Any]:
    """Return the name of the dtype, and the values as an array; categories as their codes."""
    dtype = str(series.dtype)
    if dtype == "category":
        categories = series.cat.categories
        return ["category", np.asarray(series.cat.codes), list(categories), bool(series.cat.ordered)]
    array = series.to_numpy()
    return [dtype, _describe_array(array if array.dtype.kind in "biufcmMO" else array.astype(object))]


def _describe_index(pandas: Any, index: Any) -> list[Any]:
    if isinstance(index, pandas.RangeIndex):
        return ["range", [index.start, index.stop, index.step], index.name]
    if isinstance(index, pandas.MultiIndex):
        return ["multi", [list(entry) for entry in index], list(index.names)]
    return ["plain", _describe_column(index.to_series()), index.name]


def _build_series(pandas: Any, column: Any, index: Any = None, name: Any = None) -> Any:
    dtype, values, *more = column
    if dtype == "category":
        categorical = pandas.Categorical.from_codes(values, categories=more[0], ordered=more[1])
        return pandas.Series(categorical, index=index, name=name)
    array = _build_array(values)
    return pandas.Series(
        array if str(array.dtype) == dtype else pandas.array(array, dtype=dtype), index, name=name
    )


def _build_index(pandas: Any, description: Any) -> Any:
    kind, values, name = description
    if kind == "range":
        return pandas.RangeIndex(*values, name=name)
    if kind == "multi":
        return pandas.MultiIndex.from_tuples([tuple(entry) for entry in values], names=name)
    return pandas.Index(_build_series(pandas, values), name=name)


def _build_pandas(name: str, content: Any) -> Any:
    pandas = importlib.import_module("pandas")
    if name == "frame":
        columns, heads, index = content
        rows = _build_index(pandas, index)
        # By position first, because names of columns may repeat.
        frame = pandas.DataFrame(
            {position: _build_series(pandas, column, rows) for position, column in enumerate(columns)},
            index=rows,
        )
        frame.columns = _build_index(pandas, heads)
        return frame
    if name == "series":
        return _build_series(pandas, content[0], _build_index(pandas, content[1]), content[2])
    if name == "index":
        return _build_index(pandas, content)
    if name == "missing":
        return pandas.NaT if content == "NaT" else pandas.NA
    return {"timestamp": pandas.Timestamp, "pandas-timedelta": pandas.Timedelta}[name](content)


def _build_leaf(parts: Any, *, parameter: bool) -> Any:
    """Build a leaf with its gradient."""
    tensor, grad = parts
    leaf = (
        sys.modules["torch"].nn.Parameter(tensor.detach()) if parameter else tensor.detach().requires_grad_()
    )
    leaf.grad = grad
    return leaf


# ---------------------------------------------------------------- back


def _build_torch_value(name: str, content: Any) -> Any:
    return getattr(sys.modules["torch"], name)(content)


def _find_torch_dtype(name: Any) -> Any:
    """Return a dtype by its name, and no other object that the library has under it."""
    torch = sys.modules["torch"]
    dtype = getattr(torch, name.removeprefix("torch."))
    if type(dtype) is not torch.dtype:
        raise TypeError(f"{name!r} is no dtype")
    return dtype


_BACK: dict[str, Callable[[Any], Any]] = {
    "bytes": lambda content: content.tobytes(),
    "bytearray": lambda content: bytearray(content.tobytes()),
    "set": set,
    "frozenset": frozenset,
    "deque": collections.deque,
    "complex": lambda content: complex(*content),
    "range": lambda content: range(*content),
    "slice": lambda content: slice(*content),
    "ellipsis": lambda _: Ellipsis,
    "decimal": decimal.Decimal,
    "fraction": lambda content: fractions.Fraction(*content),
    "counter": lambda content: collections.Counter(dict(content)),
    "ordered": lambda content: collections.OrderedDict((key, item) for key, item in content),
    "mapping": dict,
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda content: datetime.timedelta(*content),
    "scalar": lambda content: _build_array(content)[()],
    "array": lambda content: np.array(_build_array(content)),
    "dtype": _parse_dtype,
    "generator": _build_generator,
    "named-tuple": lambda content: collections.namedtuple(content[0], content[1])(*content[2]),  # noqa: PYI024
    "flat": _from_flat,
    "numbers": lambda content: content.tolist(),
    "leaf": lambda content: _build_leaf(content, parameter=False),
    "parameter": lambda content: _build_leaf(content, parameter=True),
    "size": lambda content: _build_torch_value("Size", content),
    "torch.dtype": _find_torch_dtype,
    "torch.device": lambda content: _build_torch_value("device", content),
}


def from_parts(name: str, content: Any) -> Any:
    """Return the value of a form.

    Raises:
        Exception: of any type, if the parts do not fit: they may be under the student's control.
    """
    return _BACK[name](content) if name in _BACK else _build_pandas(name, content)


def to_named_tuple_parts(value: Any) -> Parts | None:
    """Describe an object of a class that `collections.namedtuple` made by its fields alone."""
    fields = getattr(type(value), "_fields", None)
    if type(value).__bases__ != (tuple,) or type(fields) is not tuple or len(fields) != len(value):
        return None
    return "named-tuple", [type(value).__name__, list(map(str, fields)), list(tuple.__iter__(value))]


# ---------------------------------------------------------------- classes of libraries


_OF_PYTHON = "types"
_NOT_THE_TESTS = frozenset(
    (
        *("__main__", "test", "autograder", "reference"),
        *("unittest", "mock", "pytest", "_pytest", "hypothesis"),
    )
)
"""Packages with classes that stay in the student's box. Some make objects that equal everything, as
``unittest.mock.ANY``: made here, they would count as a library's result and not as the student's."""
_FROM_FILES = (importlib.machinery.SourceFileLoader, importlib.machinery.ExtensionFileLoader)
"""How libraries are loaded; solutions and mutants are loaded from their sources alone."""


def find_library(name: str) -> Any:
    """Return a module of Python or of a library that is loaded here; None for all others.

    Nothing is imported, since the name is under the student's control.
    """
    root = name.partition(".")[0]
    if root in _NOT_THE_TESTS or root == DRAWN:
        return None
    loader = getattr(getattr(sys.modules.get(root), "__spec__", None), "loader", None)
    return sys.modules.get(name) if root in sys.stdlib_module_names or type(loader) in _FROM_FILES else None


def find_library_class(path: Sequence[str]) -> type | None:
    """Return a class of a library that confirms its path, which is under the student's control."""
    module, name = path
    kind: Any = find_by_name(module, name) if find_library(module) is not None else None
    if not issubclass(type(kind), type):
        return None
    return kind if module == _OF_PYTHON or (kind.__module__, kind.__qualname__) == (module, name) else None


# ---------------------------------------------------------------- values of a notebook


MAX_TEXT = 20_000
MAX_WRITTEN_BITS = 14_000
"""Python itself refuses to convert integers of more than 4300 digits to text."""


def build_own_array(array: np.ndarray, tag: Mapping[str, Any]) -> Any:
    """Build the student's own array: a torch tensor or a numpy array. An array used several times is copied.

    So is one at an address that numpy would not choose: torch crashes on complex numbers at odd addresses.
    """
    placed = array.flags.aligned and (
        array.dtype.kind != "c" or not array.__array_interface__["data"][0] % 16
    )
    copy = array if placed and array.flags.writeable and not tag.get("shared") else np.array(array)
    if tag["$"] == "numpy":
        return copy
    torch = importlib.import_module("torch")
    tensor = torch.from_numpy(copy).to(getattr(torch, tag["dtype"]))
    return tensor.requires_grad_(bool(tag.get("grad")))


class GuestEncoder(wire.Encoder):
    """Adds common types of notebooks: tensors, numpy scalars, exact numbers, pandas, subclasses, sympy."""

    def encode_other(self, value: Any, depth: int) -> Any:
        """Encode a value that is not of an exact plain type."""
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._encode_tensor(torch, value)
        if isinstance(value, np.generic) and not isinstance(value, np.longdouble | np.clongdouble):
            return self.encode(value.item(), depth + 1)
        if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
            return self.encode(np.array(value, copy=True, subok=False), depth + 1)
        pandas = sys.modules.get("pandas")
        if type(value) in (getattr(pandas, "Series", None), getattr(pandas, "DataFrame", None)) and all(
            axis.is_unique for axis in value.axes
        ):
            return self.encode(_read_pandas(pandas, value), depth + 1)
        for plain in (int, float, str, tuple, list, dict):
            # bool cannot be subclassed. The constructors read the object's own storage for exact bases.
            if isinstance(value, plain) and type(value) is not plain:
                return self.encode(as_plain(value, plain), depth + 1)
        return {"$": "opaque", "type": type(value).__name__[:80], "text": _format_opaque(value)[:MAX_TEXT]}

    def _encode_tensor(self, torch: Any, value: Any) -> Any:
        # A subclass of the student's could otherwise answer in place of torch.
        with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():  # noqa: SLF001
            plain = value.detach()
            dtype = str(plain.dtype).removeprefix("torch.")
            device, grad = str(plain.device)[:20], bool(value.requires_grad)
            tag = {"$": "tensor", "dtype": dtype, "device": device, "grad": grad}
            if plain.is_sparse or plain.is_quantized or plain.layout is not torch.strided:
                plain = plain.to_dense() if not plain.is_quantized else plain.dequantize()
            plain = plain.as_subclass(torch.Tensor).cpu().resolve_conj().resolve_neg()
            # numpy has no such type (bfloat16, for example); the tag keeps its name.
            if plain.dtype not in _list_numpy_dtypes(torch):
                plain = plain.to(torch.float32)
            return self.encode_array(plain.contiguous().numpy(), tag)


def _read_pandas(pandas: Any, value: Any) -> Any:
    """Return a series as a dictionary, or a list if its rows have no names; a frame as one of such rows."""
    is_named = not isinstance(value.index, pandas.RangeIndex)
    if isinstance(value, pandas.Series):
        return dict(zip(value.index.tolist(), value.tolist(), strict=True)) if is_named else value.tolist()
    rows: list[Any] = list(value.itertuples(index=False, name=None))
    if not isinstance(value.columns, pandas.RangeIndex):
        rows = [dict(zip(value.columns, row, strict=True)) for row in rows]
    return dict(zip(value.index.tolist(), rows, strict=True)) if is_named else rows


def _format_opaque(value: Any) -> str:
    """Return the text of exact numbers, sympy expressions and names of dtypes; empty for other values."""
    torch, fractions, decimal = map(sys.modules.get, ("torch", "fractions", "decimal"))
    if fractions is not None and isinstance(value, fractions.Fraction):
        above, below = int(value.numerator), int(value.denominator)
        if max(above.bit_length(), below.bit_length()) > MAX_WRITTEN_BITS:
            return ""
        return str(above) if below == 1 else f"{above}/{below}"
    if decimal is not None and isinstance(value, decimal.Decimal):
        return str(value)
    module = type(value).__module__.partition(".")[0]
    if module == "sympy" or (torch is not None and isinstance(value, torch.dtype | torch.device)):
        return str(value)
    return ""


@functools.cache
def _list_numpy_dtypes(torch: Any) -> frozenset[Any]:
    names = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
    return frozenset(getattr(torch, name) for name in names.split())


def as_plain(value: Any, plain: type) -> Any:
    """Return the value as an exact plain type, read from the object's own storage."""
    if plain is str:
        return str.__str__(value)
    if plain is int:
        return int.__index__(value)
    if plain is float:
        return float.__float__(value)
    if plain is dict:
        return dict(dict.items(value))
    return list(list.__iter__(value)) if plain is list else tuple(tuple.__iter__(value))
