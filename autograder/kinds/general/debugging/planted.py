"""Answers that ``autograder verify`` plants: faults left, alone repaired, and right code in other words.

Rewriting is safe: what the code computes stays, whatever it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import combinations, islice
from typing import ClassVar

from autograder.checks.base import Trial
from autograder.kinds.general.debugging.listing import FaultyListing

MOST_REWRITTEN = 40
"""Sets of rewritings that are tried, of which many change nothing."""
MOST_SUBSETS = 500
"""Subsets that are planted, besides the smallest and the largest ones."""


def trials(listing: FaultyListing, unstated: tuple[str, ...]) -> tuple[Trial, ...]:
    """The trials of a question.

    Args:
        listing: the answer key's cell.
        unstated: items that are no faults.
    """
    faults, found = listing.faults, {}
    singles = [frozenset(one) for one in combinations(faults, 1)]
    alone = [frozenset(faults) - one for one in singles if len(faults) > 1]
    pairs = [frozenset(one) for one in combinations(faults, 2)]
    step = max(1, len(listing.subsets) // MOST_SUBSETS)
    for subset in dict.fromkeys([*singles, *alone, *pairs, *listing.subsets[::step]]):
        if 0 < len(subset) < max(len(faults), 2):
            loses = tuple(fault for fault in faults if fault in subset)
            name = f"left: {', '.join(loses)}"
            found[name] = Trial(name, listing.text(subset), loses, unstated=unstated, family="faults left")
    for subset in listing.alternatives:
        loses = tuple(fault for fault in faults if fault in subset)
        if len(loses) < min(len(faults), 2):
            name = f"alternative: {', '.join([*sorted(subset.difference(faults)), *loses])}"
            found[name] = Trial(name, listing.text(subset), loses, unstated=unstated, family="alternatives")
    for name, source in rewritten(listing.source):
        found[name] = Trial(name, source, family="right in other words")
    for fault in faults:
        for name, source in list(rewritten(listing.text([fault])))[-1:]:
            whole = f"left: {fault}; {name}"
            found[whole] = Trial(whole, source, (fault,), unstated=unstated, family="left in other words")
    return tuple(found.values())


def rewritten(source: str) -> Iterator[tuple[str, str]]:
    """The source in other words: sets of rewritings that change something, that of all of them last."""
    seen = {ast.unparse(ast.parse(source))}
    sizes = range(1, len(_REWRITINGS))
    some = (names for size in sizes for names in combinations(_REWRITINGS, size))
    for names in (*islice(some, MOST_REWRITTEN), tuple(_REWRITINGS)):
        tree = ast.parse(source)
        for name in names:
            tree = ast.fix_missing_locations(_REWRITINGS[name](tree))
        text = ast.unparse(tree)
        if text not in seen:
            seen.add(text)
            yield f"rewritten: {', '.join(names)}", f"{text}\n"


def in_another_form(source: str, model: str) -> str:
    """The source where the model returns a tuple of what it returned and None.

    Args:
        source: of the listing.
        model: the name of its class.
    """
    tree = ast.parse(source)
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == model)
    for method in (one for node in classes for one in node.body):
        if isinstance(method, ast.FunctionDef) and method.name == "forward":
            _Paired().visit(method)
    return f"{ast.unparse(ast.fix_missing_locations(tree))}\n"


def _renamed(tree: ast.Module) -> ast.Module:
    """Local variables get other names."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and not _has_scopes(function):
            arguments = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
            stored = {
                node.id
                for node in ast.walk(function)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            others = {name: f"{name}_value" for name in stored - arguments}
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and node.id in others:
                    node.id = others[node.id]
    return tree


def _has_scopes(function: ast.FunctionDef) -> bool:
    """Whether names in it may belong to another scope."""
    scopes = ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.Global | ast.Nonlocal
    return any(isinstance(node, scopes) and node is not function for node in ast.walk(function))


def _reordered(tree: ast.Module) -> ast.Module:
    """Methods without decorators stand in the opposite order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            places = [
                at
                for at, one in enumerate(node.body)
                if isinstance(one, ast.FunctionDef) and not one.decorator_list and not one.args.defaults
            ]
            methods = [node.body[at] for at in places]
            if len({getattr(one, "name", "") for one in methods}) == len(methods):
                for at, method in zip(places, reversed(methods), strict=True):
                    node.body[at] = method
    return tree


class _Turned(ast.NodeTransformer):
    """``if a: b else: c`` becomes ``if not a: c else: b``, and ``a if b else c`` likewise."""

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        if not node.orelse:
            return node
        return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        self.generic_visit(node)
        return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)


class _Named(ast.NodeTransformer):
    """What is returned gets a name before."""

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        if node.value is None or isinstance(node.value, ast.Constant | ast.Name):
            return [node]
        name = "what_is_returned"
        return [
            ast.Assign([ast.Name(name, ast.Store())], node.value),
            ast.Return(ast.Name(name, ast.Load())),
        ]


class _Paired(ast.NodeTransformer):
    """What is returned is the first of two, the second one being None."""

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.value is None:
            return node
        return ast.Return(ast.Tuple([node.value, ast.Constant(None)], ast.Load()))


class _Compared(ast.NodeTransformer):
    """``a < b`` becomes ``b > a``, where both sides only read names and numbers."""

    _OTHER: ClassVar[dict[type[ast.cmpop], type[ast.cmpop]]] = {
        ast.Lt: ast.Gt,
        ast.Gt: ast.Lt,
        ast.LtE: ast.GtE,
        ast.GtE: ast.LtE,
        ast.Eq: ast.Eq,
        ast.NotEq: ast.NotEq,
    }

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        self.generic_visit(node)
        plain = ast.Name | ast.Constant | ast.Attribute
        if len(node.ops) > 1 or type(node.ops[0]) not in self._OTHER:
            return node
        if not isinstance(node.left, plain) or not isinstance(node.comparators[0], plain):
            return node
        return ast.Compare(node.comparators[0], [self._OTHER[type(node.ops[0])]()], [node.left])


class _Multiplied(ast.NodeTransformer):
    """``a * b`` becomes ``b * a``, where both sides only read names and numbers: to the last bit the same."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        self.generic_visit(node)
        plain = ast.Name | ast.Constant | ast.Attribute
        if not isinstance(node.op, ast.Mult):
            return node
        if not isinstance(node.left, plain) or not isinstance(node.right, plain):
            return node
        return ast.BinOp(node.right, node.op, node.left)


class _Bare(ast.NodeTransformer):
    """Annotations of arguments, results and variables that are given a value are left out."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        # Fields of a dataclass are what is annotated in the class itself.
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                self.visit(one)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return node if node.value is None else ast.Assign([node.target], node.value)


_REWRITINGS: dict[str, Callable[[ast.Module], ast.Module]] = {
    "other names": _renamed,
    "methods in another order": _reordered,
    "conditions turned around": lambda tree: _Turned().visit(tree),
    "comparisons turned around": lambda tree: _Compared().visit(tree),
    "results named": lambda tree: _Named().visit(tree),
    "products turned around": lambda tree: _Multiplied().visit(tree),
    "without annotations": lambda tree: _Bare().visit(tree),
}
