"""Encodes values of a notebook as a tagged tree, and builds the student's own arrays. Runs in boxes."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.sandbox.exchange import wire

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
