"""Rewrites one place of a listing on its syntax tree, so that formatting and comments survive."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst


@dataclass(frozen=True)
class Edit:
    """One expression, or a run of statements, and what stands there instead.

    Args:
        site: ``Class.method``, ``Class`` or ``function`` that holds the place; everything in it is searched.
        right: code that stands there exactly once; blanks and line breaks do not matter.
        faulty: code of the same sort, with its own brackets where the place needs them; for statements
            also ``""``, which removes them.
    """

    site: str
    right: str
    faulty: str


def rewritten(source: str, edit: Edit) -> str:
    """The source with one edit made.

    Raises:
        ValueError: the right code does not stand in the site exactly once, or an edit is not Python.
    """
    try:
        pattern: _Pattern = _expression(edit) or _statements(edit)
    except cst.ParserSyntaxError as error:
        raise ValueError(f"the edit of {edit.site!r} is not Python: {error.message}") from error
    tree = cst.parse_module(source).visit(pattern)
    if pattern.found != 1:
        raise ValueError(f"expected {edit.right!r} once in {edit.site!r}, found {pattern.found}")
    return tree.code


class _Pattern(cst.CSTTransformer):
    """Counts the matches below the site, and replaces each."""

    def __init__(self, site: str) -> None:
        super().__init__()
        self.found = 0
        self._site = site.split(".")
        self._path: list[str] = []

    @property
    def inside(self) -> bool:
        return self._path[: len(self._site)] == self._site

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._path.append(node.name.value)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        del original_node
        self._path.pop()
        return updated_node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._path.append(node.name.value)

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        del original_node
        self._path.pop()
        return updated_node


class _Expression(_Pattern):
    def __init__(self, site: str, right: cst.BaseExpression, faulty: cst.BaseExpression) -> None:
        super().__init__(site)
        self._kind = type(right)
        self._right = _meaning(right)
        self._faulty = faulty

    def on_leave(  # type: ignore[override]  # the library types this one for every node at once
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode:
        left: cst.CSTNode = super().on_leave(original_node, updated_node)  # type: ignore[assignment]
        if self.inside and type(original_node) is self._kind and _meaning(original_node) == self._right:
            self.found += 1
            return self._faulty.deep_clone()
        return left


class _Statements(_Pattern):
    def __init__(self, site: str, right: Sequence[cst.CSTNode], faulty: Sequence[cst.BaseStatement]) -> None:
        super().__init__(site)
        self._right = [_meaning(statement) for statement in right]
        self._faulty = faulty

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        del original_node
        if not self.inside:
            return updated_node
        body = list(updated_node.body)
        length = len(self._right)
        start = 0
        while start + length <= len(body):
            if [_meaning(statement) for statement in body[start : start + length]] != self._right:
                start += 1
                continue
            self.found += 1
            put = [statement.deep_clone() for statement in self._faulty]
            if put:
                put[0] = put[0].with_changes(leading_lines=getattr(body[start], "leading_lines", ()))
            body[start : start + length] = put
            start += len(put)
        if not body:
            body = [cst.parse_module("pass").body[0]]
        return updated_node.with_changes(body=body)


def _expression(edit: Edit) -> _Pattern | None:
    try:
        return _Expression(edit.site, cst.parse_expression(edit.right), cst.parse_expression(edit.faulty))
    except cst.ParserSyntaxError:
        return None


def _statements(edit: Edit) -> _Pattern:
    right, faulty = (cst.parse_module(text).body for text in (edit.right, edit.faulty))
    if not right:
        raise ValueError(f"the edit of {edit.site!r} does not say what stands there")
    return _Statements(edit.site, right, faulty)


def _meaning(node: cst.CSTNode) -> str:
    """The same text for nodes that mean the same, however they are set."""
    code = cst.Module(body=()).code_for_node(node).strip()
    try:
        return ast.dump(ast.parse(f"({code}\n)", mode="eval"))
    except SyntaxError:
        return ast.dump(ast.parse(code)) if code else ""
