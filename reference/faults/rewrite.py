"""Rewrites one place of a listing on its syntax tree, so that formatting and comments survive."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import libcst as cst


@dataclass(frozen=True)
class Edit:
    """One expression, or a run of statements, and what stands there instead.

    Args:
        site: ``Class.method``, ``Class`` or ``function`` that holds the place; everything in it is searched.
        right: code that stands there exactly once; blanks and line breaks do not matter. In an expression
            ``...`` stands for any code.
        faulty: code of the same sort; brackets around what it replaces stay where they are needed. For
            statements also ``""``, which removes them. Its first ``...`` is the code that the first ``...``
            of ``right`` stood for, and so on: edits of different arguments of a call do not get in each
            other's way.
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

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        return self._entered(node.name.value)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        del original_node
        self._path.pop()
        return updated_node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return self._entered(node.name.value)

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        del original_node
        self._path.pop()
        return updated_node

    def _entered(self, name: str) -> bool:
        """Whether the site is there, or around it."""
        self._path.append(name)
        length = min(len(self._path), len(self._site))
        return self._path[:length] == self._site[:length]


class _Expression(_Pattern):
    def __init__(self, site: str, right: cst.BaseExpression, faulty: cst.BaseExpression) -> None:
        super().__init__(site)
        self._right = right
        self._faulty = faulty

    def on_leave(  # type: ignore[override]  # the library types this one for every node at once
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode:
        left: cst.CSTNode = super().on_leave(original_node, updated_node)  # type: ignore[assignment]
        if not self.inside or type(original_node) is not type(self._right):
            return left
        parts: list[cst.BaseExpression] = []
        if not _fits(original_node, self._right, parts):
            return left
        self.found += 1
        put = self._faulty.deep_clone()
        filled = cast("cst.BaseExpression", put.visit(_Filled(put, parts)))
        return _bracketed(filled, like=original_node)


class _Filled(cst.CSTTransformer):
    """Puts code in the places of ``...``, in brackets where it becomes a part of a larger expression."""

    def __init__(self, whole: cst.BaseExpression, parts: Sequence[cst.BaseExpression]) -> None:
        super().__init__()
        self._parts = list(parts)
        self._free: set[cst.CSTNode] = {whole}

    def visit_Arg(self, node: cst.Arg) -> None:
        self._free.add(node.value)

    def visit_Index(self, node: cst.Index) -> None:
        self._free.add(node.value)

    def leave_Ellipsis(self, original_node: cst.Ellipsis, updated_node: cst.Ellipsis) -> cst.BaseExpression:
        if not self._parts:
            return updated_node
        part = self._parts.pop(0).deep_clone()
        return part if original_node in self._free else _bracketed(part, like=_IN_BRACKETS)


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


_IN_BRACKETS = cst.Name("x", lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
_WHOLE = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseNumber, cst.BaseString, cst.Ellipsis)
"""What needs no brackets anywhere."""


def _bracketed(node: cst.BaseExpression, like: cst.BaseExpression) -> cst.BaseExpression:
    """The expression with another one's brackets, if that has some and it has none and may need them."""
    if node.lpar or isinstance(node, _WHOLE):
        return node
    return node.with_changes(lpar=like.lpar, rpar=like.rpar)


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


def _fits(node: cst.CSTNode, right: cst.CSTNode, parts: list[cst.BaseExpression]) -> bool:
    """Whether code is that of a pattern; what its ``...`` stand for is added to the parts, in order."""
    if isinstance(right, cst.Ellipsis) and isinstance(node, cst.BaseExpression):
        parts.append(node)
        return True
    if type(node) is not type(right) or getattr(node, "star", "") != getattr(right, "star", ""):
        return False
    ours, theirs = _inner(node), _inner(right)
    if isinstance(right, cst.BaseExpression) and not (theirs and _open(right)):
        return _meaning(node) == _meaning(right)
    return len(ours) == len(theirs) and all(map(_fits, ours, theirs, [parts] * len(ours)))


def _open(node: cst.CSTNode) -> bool:
    """Whether there is a ``...`` in it."""
    return isinstance(node, cst.Ellipsis) or any(_open(child) for child in node.children)


def _inner(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The children that mean something: no blanks, commas or brackets around."""
    setting = (cst.BaseParenthesizableWhitespace, cst.Comma, cst.LeftParen, cst.RightParen)
    return [child for child in node.children if not isinstance(child, setting)]


def _meaning(node: cst.CSTNode) -> str:
    """The same text for nodes that mean the same, however they are set."""
    code = cst.Module(body=()).code_for_node(node).strip()
    try:
        return ast.dump(ast.parse(f"({code}\n)", mode="eval"))
    except SyntaxError:
        return ast.dump(ast.parse(code)) if code else ""
