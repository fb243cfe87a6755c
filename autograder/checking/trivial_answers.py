"""Answers without any work, derived from the solution: `verify` names the checks that they pass."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator

_Body = Callable[[ast.FunctionDef, str], list[ast.stmt] | None]


def list_trivial(solution: str, targets: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield answers with functions and methods that do next to nothing: their results, and the source.

    Args:
        solution: its source; empty: there is none.
        targets: functions and classes of it that the question asks for; all others are kept.
    """
    for name, make_body in _BODIES.items():
        tree = ast.parse(solution)
        replaced = [_replace_body(function, make_body) for function in _list_functions(tree, targets)]
        if any(replaced):
            yield name, ast.unparse(tree)


def _list_functions(tree: ast.Module, targets: Collection[str]) -> Iterator[ast.FunctionDef]:
    """Yield functions, and public methods of classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in targets:
            yield node
        elif isinstance(node, ast.ClassDef) and node.name in targets:
            methods = [method for method in node.body if isinstance(method, ast.FunctionDef)]
            yield from (
                candidate
                for candidate in methods
                if not candidate.name.startswith("_") or candidate.name == "__call__"
            )


def _replace_body(function: ast.FunctionDef, make_body: _Body) -> bool:
    """Give a function another body if there is one for it; return whether there is."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    first = next((name for name in names if name not in ("self", "cls")), "")
    body = make_body(function, first) if first else None
    if body is not None:
        function.body = body
    return body is not None


def _return_first(function: ast.FunctionDef, first: str) -> list[ast.stmt]:
    del function
    return ast.parse(f"return {first}").body


def _return_zeros(function: ast.FunctionDef, first: str) -> list[ast.stmt] | None:
    del first
    return _change_results(function, lambda value: ast.BinOp(value, ast.Mult(), ast.Constant(0)))


def _return_ones(function: ast.FunctionDef, first: str) -> list[ast.stmt] | None:
    del first
    return _change_results(function, lambda value: ast.BinOp(value, ast.Pow(), ast.Constant(0)))


def _change_results(
    function: ast.FunctionDef, change: Callable[[ast.expr], ast.expr]
) -> list[ast.stmt] | None:
    """Change the results of a function. If it raises, or the result is no number, it returns None."""
    changer = _ResultChanger(change)
    body = [changer.visit(step) for step in function.body]
    handler = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Return(ast.Constant(None))])
    nothing = ast.Try(body, [handler], [], [])
    return [ast.fix_missing_locations(nothing)] if changer.is_changed else None


class _ResultChanger(ast.NodeTransformer):
    """Changes the results of one function, but not of functions inside it."""

    def __init__(self, change: Callable[[ast.expr], ast.expr]) -> None:
        self._change = change
        self.is_changed = False

    def visit_Return(self, node: ast.Return) -> ast.Return:
        """Change one result, or each of several."""
        if node.value is None:
            return node
        self.is_changed = True
        if isinstance(node.value, ast.Tuple):
            return ast.Return(ast.Tuple([self._change(element) for element in node.value.elts], ast.Load()))
        return ast.Return(self._change(node.value))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave a function inside alone."""
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Leave it alone."""
        return node


def _stop_early(function: ast.FunctionDef, first: str) -> list[ast.stmt] | None:
    del first
    steps = [step for step in function.body if not _is_docstring(step)]
    step = steps[0]
    if len(steps) < 3 or not isinstance(step, ast.Assign) or not isinstance(step.targets[0], ast.Name):
        return None
    return [copy.deepcopy(step), *ast.parse(f"return {step.targets[0].id}").body]


def _is_docstring(step: ast.stmt) -> bool:
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)


def _return_nothing(function: ast.FunctionDef, first: str) -> list[ast.stmt]:
    del first
    return [*function.body[:-1], ast.Pass()]  # as if ``return`` were forgotten


_BODIES: dict[str, _Body] = {
    "returns nothing": _return_nothing,
    "returns its first argument": _return_first,
    "returns zeros": _return_zeros,
    "returns ones": _return_ones,
    "stops after its first step": _stop_early,
}
