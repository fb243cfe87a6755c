"""Runs a listing and records the shape after each of its lines, in numbers or in symbols.

Every assignment ``name = expression`` of the listing becomes ``name = record("name", lambda: expression)``,
so what is recorded is what the line really made. The sizes are prime numbers: each product of them can be
read back, and what is read must fit several runs with other primes.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement
from math import prod
from typing import Any

import torch
from torch import Tensor

from reference.tracing.listings import LISTINGS, Listing

PRIMES = (
    (5, 7, 11, 13, 17, 19),
    (23, 11, 7, 29, 5, 13),
    (13, 31, 37, 5, 19, 7),
    (17, 5, 23, 41, 13, 29),
)
"""Sizes of the free symbols, run by run. In no order: of neighbours, 7 + 17 = 11 + 13 in every run."""
MOST_FACTOR = 9
"""A constant in a size: heads of the softmax, parts of a fused projection."""

FAILURES = (RuntimeError, IndexError, ValueError, TypeError, OverflowError, ZeroDivisionError)
"""What a line may raise when its inputs have another shape than they should."""

Shape = tuple[int, ...]


class _Recording(ast.NodeTransformer):
    """Puts a call around what each assignment and return makes; a name assigned again is numbered."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        target = node.targets[0]
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(node.targets) > 1 or not all(isinstance(name, ast.Name) for name in names):
            raise ValueError(f"line {node.lineno}: a listing assigns to names only")
        labels = [self._label(name.id) for name in names if isinstance(name, ast.Name)]
        node.value = _recorded(labels, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign:
        raise ValueError(f"line {node.lineno}: write x = x + y, so that the line has a name")

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.value is not None:
            node.value = _recorded(["return"], node.value)
        return node

    def _label(self, name: str) -> str:
        self._times[name] = self._times.get(name, 0) + 1
        return name if self._times[name] == 1 else f"{name} ({self._times[name]})"


def _recorded(labels: Sequence[str], value: ast.expr) -> ast.Call:
    names = ast.Tuple([ast.Constant(label) for label in labels], ast.Load())
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    call = ast.Call(ast.Name("__record__", ast.Load()), [names, ast.Lambda(nothing, value)], [])
    return ast.copy_location(call, value)


class Record:
    """The shapes of one run.

    Args:
        own: shapes that tensors of these lines get instead of their own, for the lines after them.

    Attributes:
        shapes: line → the shape it made; None where it raised.
    """

    def __init__(self, own: Mapping[str, Shape] | None = None) -> None:
        self.shapes: dict[str, Shape | None] = {}
        self._own = own or {}

    def __call__(self, labels: Sequence[str], made: Callable[[], Any]) -> Any:
        """Record what a line makes.

        Raises:
            One of `FAILURES`: the line raised, and no shape of its own is given for it.
        """
        try:
            value = made()
            parts = list(value) if len(labels) > 1 else [value]
            if len(parts) != len(labels):
                raise ValueError(f"{len(parts)} values for {', '.join(labels)}")
        except FAILURES:
            parts = [None] * len(labels)
            if not all(label in self._own for label in labels):
                self.shapes.update(dict.fromkeys(labels))
                raise
        given = [self._one(label, part) for label, part in zip(labels, parts, strict=True)]
        return tuple(given) if len(labels) > 1 else given[0]

    def _one(self, label: str, value: Any) -> Any:
        if value is not None and not isinstance(value, Tensor):
            return value
        self.shapes[label] = None if value is None else tuple(value.shape)
        if label not in self._own:
            return value
        dtype = torch.get_default_dtype() if value is None else value.dtype
        return torch.empty(self._own[label], dtype=dtype)


def run(listing: Listing, sizes: Mapping[str, int], own: Mapping[str, Shape] | None = None) -> Record:
    """Run a listing.

    Args:
        listing: what is run.
        sizes: of its symbols.
        own: see `Record`; with it (or with none, ``{}``) nothing is computed: tensors have no numbers.

    Raises:
        ValueError: the listing has a line that cannot be recorded.
        RuntimeError: a line raised.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(listing.function)))
    tree = ast.fix_missing_locations(_Recording().visit(tree))
    record = Record(own)
    namespace = {**listing.function.__globals__, "__record__": record}
    exec(compile(tree, "<listing>", "exec"), namespace)  # noqa: S102 - our own listing, never student code
    with torch.device("cpu" if own is None else "meta"), torch.no_grad():
        arguments = {
            name: sizes[shape] if isinstance(shape, str) else _input(shape, sizes, listing.whole_numbers)
            for name, shape in listing.inputs.items()
        }
        try:
            namespace[listing.function.__name__](**arguments)
        except FAILURES:
            if own is None:
                raise
    return record


def _input(shape: Sequence[str], sizes: Mapping[str, int], whole: bool) -> Tensor:
    made = [_size(name, sizes) for name in shape]
    return torch.zeros(made, dtype=torch.int64) if whole else torch.ones(made)


def _size(name: str, sizes: Mapping[str, int]) -> int:
    return prod(sizes[factor] for factor in name.split("*"))


def traced(config: Mapping[str, Any], own: Mapping[str, Sequence[int]] | None = None) -> dict[str, Any]:
    """What a question of kind ``tracing`` asks.

    Args:
        config: ``listing``, the name of one; ``sizes``, where shapes are asked for in numbers.
        own: line → the shape that a student wrote, in the numbers of ``sizes`` that the first call told.

    Returns:
        ``right``: line → column → shape, in numbers or symbols; ``sizes`` of the symbols in the run that
        ``own`` is about. With ``own`` instead ``follows``: line → the shape it has after the student's own
        lines before it, None where it raises; only lines that these change. Lines behind one that raises and
        is not given are left out.

    Raises:
        ValueError: a size is not explained by the symbols; names line and axis.
    """
    listing = LISTINGS[config["listing"]]
    stated = config.get("sizes")
    sizes = dict(stated) if stated else _primes(listing, 0)
    if own is not None:
        given = {name: tuple(shape) for name, shape in own.items()}
        real, follows = run(listing, sizes, {}).shapes, run(listing, sizes, given).shapes
        changed = {name: shape for name, shape in follows.items() if shape != real[name]}
        return {"follows": {name: shape and list(shape) for name, shape in changed.items()}}
    shapes = run(listing, sizes).shapes
    if stated:
        right: dict[str, Any] = {name: list(shape or ()) for name, shape in shapes.items()}
    else:
        others = [_primes(listing, number) for number in range(1, len(PRIMES))]
        runs = [(sizes, shapes), *((primes, run(listing, primes, {}).shapes) for primes in others)]
        right = {name: _symbols(name, runs) for name in shapes}
    return {"right": {name: {"shape": shape} for name, shape in right.items()}, "sizes": sizes}


def _primes(listing: Listing, number: int) -> dict[str, int]:
    """Sizes for one run: other primes each time."""
    sizes = dict(zip(listing.symbols, PRIMES[number], strict=False))
    return {**sizes, **{name: _size(product, sizes) for name, product in listing.derived.items()}}


def _symbols(name: str, runs: Sequence[tuple[Mapping[str, int], Mapping[str, Shape | None]]]) -> str:
    axes = zip(*(shapes[name] or () for _, shapes in runs), strict=True)
    return "(" + ", ".join(_read(f"{name}, axis {at}", axis, runs) for at, axis in enumerate(axes)) + ")"


def _read(where: str, values: Sequence[int], runs: Sequence[tuple[Mapping[str, int], Any]]) -> str:
    """A size as a constant, a product of symbols and a constant, or the sum of two of these.

    Raises:
        ValueError: nothing fits every run, or more than one sum does.
    """
    wanted, terms = tuple(values), _terms([sizes for sizes, _ in runs])
    if len(set(wanted)) == 1:
        return str(wanted[0])
    if wanted in terms:
        return terms[wanted]
    sums = set()
    for made, text in terms.items():
        rest = tuple(value - part for value, part in zip(wanted, made, strict=True))
        if len(set(rest)) == 1:
            sums.add(f"{text} + {rest[0]}".replace("+ -", "- "))
        elif rest in terms:
            sums.add(" + ".join(sorted((terms[rest], text))))
    if len(sums) != 1:
        raise ValueError(
            f"{where}: the sizes {wanted} are {' or '.join(sorted(sums)) or 'no product or sum'}"
        )
    return sums.pop()


def _terms(sizes: Sequence[Mapping[str, int]]) -> dict[tuple[int, ...], str]:
    """Products of up to two symbols and a small constant: the size in every run → the product."""
    products: dict[tuple[int, ...], str] = {}
    for count in (1, 2):
        for chosen in combinations_with_replacement(list(sizes[0]), count):
            made = tuple(prod(run[name] for name in chosen) for run in sizes)
            products.setdefault(made, "*".join(chosen))
    return {
        tuple(factor * value for value in made): text if factor == 1 else f"{factor}*{text}"
        for factor in range(MOST_FACTOR, 0, -1)
        for made, text in products.items()
    }
