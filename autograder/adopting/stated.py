"""Values in the text of a test, as a rubric states or draws them, and hidden ones of the same form."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Libraries = set[str]
_STATED = frozenset({"array", "asarray", "tensor", "FloatTensor", "LongTensor"})
_FILLED = {"zeros": 0.0, "ones": 1.0}
_DRAWN = {"randn": "normal", "rand": "uniform", "standard_normal": "normal", "random": "uniform"}
_SIZED = {"normal": "normal", "uniform": "uniform"}
_MOST = 400
"""Numbers of an array that a rubric states."""


class Unstated(Exception):
    """A rubric has no way to ask what a test asks; says why."""


def stated_value(node: ast.expr, values: Mapping[str, Any], libraries: Libraries) -> Any:
    """What an expression is, as a rubric states it: a plain value, or the description of an array.

    Args:
        node: the expression.
        values: of local names.
        libraries: gets the names of those that make arrays here.

    Raises:
        Unstated: it is neither.
    """
    if isinstance(node, ast.Name) and node.id in values:
        return values[node.id]
    try:
        return plain_value(ast.literal_eval(node), node)
    except ValueError:
        pass
    if isinstance(node, ast.List | ast.Tuple):
        return [stated_value(one, values, libraries) for one in node.elts]
    if isinstance(node, ast.Call):
        function = ast.unparse(node.func)
        library = "torch" if function.startswith("torch.") else "numpy"
        made = _made(function.rpartition(".")[2], node)
        if made is not None:
            libraries.add(library)
            return made
    raise Unstated(f"line {node.lineno} hands over {_short(node)}, which a rubric cannot state")


def plain_value(value: Any, node: ast.expr) -> Any:
    """A value of Python's as a rubric has it; its expression is quoted where there is no way.

    Raises:
        Unstated: there is none.
    """
    if isinstance(value, bool | str) or (isinstance(value, int) and abs(value) < 1 << 53):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [plain_value(one, node) for one in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain_value(one, node) for key, one in value.items()}
    raise Unstated(f"line {node.lineno} hands over {_short(node)}, which a rubric cannot state")


def _short(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _made(function: str, node: ast.Call) -> dict[str, Any] | None:
    """An array that a call makes."""
    if function not in {*_STATED, *_FILLED, *_DRAWN, *_SIZED, "arange", "randint", "integers"}:
        return None
    keywords = {str(one.arg): one.value for one in node.keywords}
    kind = {"dtype": ast.unparse(keywords["dtype"]).rpartition(".")[2]} if "dtype" in keywords else {}
    kind = {"dtype": {"float": "float64", "int": "int64"}.get(kind["dtype"], kind["dtype"])} if kind else {}
    try:
        args = [ast.literal_eval(one) for one in node.args]
        size = ast.literal_eval(keywords.get("size", ast.Constant(None)))
    except ValueError:
        return None
    if function in _STATED and len(args) == 1 and _entries(args[0]) <= _MOST:
        return {"array": plain_value(args[0], node), **kind}
    if function == "arange" and 0 < len(args) <= 3 and all(isinstance(one, int) for one in args):
        return {"array": list(range(*args))[:_MOST], **kind}
    shape = _shape(size if size is not None else args)
    if function in _FILLED and shape and math.prod(shape) <= _MOST:
        return {"array": _filled(shape, _FILLED[function]), **kind}
    if function in _DRAWN and shape:
        return {"draw": _DRAWN[function], "shape": shape, **kind}
    if function in _SIZED and shape and size is not None and not args:
        return {"draw": _SIZED[function], "shape": shape}
    if function in {"randint", "integers"} and len(args) >= 2 and _shape(size or args[2:]):
        return {"draw": "integers", "shape": _shape(size or args[2:]), "low": args[0], "high": args[1]}
    return None


def _shape(stated: Any) -> list[int]:
    """A shape, stated as numbers or as one tuple of them; empty where it is none."""
    parts = [stated] if isinstance(stated, int) else list(stated)
    if len(parts) == 1 and isinstance(parts[0], list | tuple):
        parts = list(parts[0])
    return parts if all(isinstance(one, int) and one > 0 for one in parts) else []


def _entries(value: Any) -> int:
    return sum(map(_entries, value)) if isinstance(value, list | tuple) else 1


def _filled(shape: Sequence[int], value: float) -> Any:
    return [_filled(shape[1:], value) for _ in range(shape[0])] if shape else value


def hidden(value: Any, others: Sequence[Any]) -> Any:
    """A description of hidden values of a value's form, in the range that others have as well.

    Args:
        value: as a rubric states it.
        others: what stands in the same place of other calls, the value among them.
    """
    if isinstance(value, bool):
        return {"choose": [True, False]}
    if isinstance(value, int | float):
        return _number(value, [one for one in _scalars(others) if isinstance(one, int | float)])
    if isinstance(value, str):
        return _text([one for one in _scalars(others) if isinstance(one, str)])
    if isinstance(value, list):
        return {"parts": [hidden(one, value) for one in value]} if value else value
    if "array" in value:
        return _array(value)
    if "draw" in value:
        return value
    return {"dict": {key: hidden(one, [one]) for key, one in value.items()}} if value else value


def _scalars(values: Any) -> Iterator[Any]:
    for one in values:
        if isinstance(one, list):
            yield from _scalars(one)
        elif not isinstance(one, dict | bool):
            yield one


def _number(value: float, known: Sequence[float]) -> Any:
    low, high = min(known), max(known)
    if isinstance(value, int) and all(isinstance(one, int) for one in known):
        return {"whole": [low, max(high, low + 4)]}
    if low == high:
        low, high = sorted((0.5 * value, 1.5 * value)) if value else (0.0, 1.0)
    return {"number": [float(low), float(high)]}


def _text(known: Sequence[str]) -> Any:
    spaced = any(" " in one for one in known)
    pieces = [one.split(" ") for one in known] if spaced else [list(one) for one in known]
    lengths = [len(one) for one in pieces]
    alphabet = list(dict.fromkeys(itertools.chain(*pieces)))
    if not alphabet:
        return ""
    text = {"text": alphabet, "length": [min(lengths), max(*lengths, min(lengths) + 3)]}
    return {**text, "between": " "} if spaced else text


def _array(value: Mapping[str, Any]) -> Any:
    numbers = list(_flat(value["array"]))
    shape = []
    inner = value["array"]
    while isinstance(inner, list):
        shape.append(len(inner))
        inner = inner[0] if inner else 0
    kind = {"dtype": value["dtype"]} if "dtype" in value else {}
    whole = all(isinstance(one, int) for one in numbers) and not str(kind.get("dtype", "")).startswith(
        "float"
    )
    if not numbers or any(isinstance(one, bool | str) for one in numbers) or not shape:
        return dict(value)
    if whole:
        return {"draw": "integers", "shape": shape, "low": min(numbers), "high": max(numbers) + 3, **kind}
    if min(numbers) < 0 or max(numbers) == min(numbers):
        return {"draw": "normal", "shape": shape, **kind}
    return {"draw": "uniform", "shape": shape, "low": min(numbers), "high": max(numbers), **kind}


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for one in value:
            yield from _flat(one)
    else:
        yield value
