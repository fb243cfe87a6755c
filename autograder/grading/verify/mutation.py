"""Mutate Python source: one small mistake at a time, always the same mutants for the same text.

Tests that let many mutants pass are weak. The source is never run here.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence

import libcst as cst
from msgspec import Struct

from autograder.core.syntax import UNREADABLE, parse_module

_COMPARISONS: Mapping[type[cst.BaseCompOp], type[cst.BaseCompOp]] = {
    cst.LessThan: cst.LessThanEqual,
    cst.LessThanEqual: cst.LessThan,
    cst.GreaterThan: cst.GreaterThanEqual,
    cst.GreaterThanEqual: cst.GreaterThan,
    cst.Equal: cst.NotEqual,
    cst.NotEqual: cst.Equal,
    cst.In: cst.NotIn,
    cst.NotIn: cst.In,
    cst.Is: cst.IsNot,
    cst.IsNot: cst.Is,
}
# Each operator becomes one of the same or a lower precedence, so that no operand changes its owner.
_OPERATORS: Mapping[type[cst.BaseBinaryOp], type[cst.BaseBinaryOp]] = {
    cst.Add: cst.Subtract,
    cst.Subtract: cst.Add,
    cst.Multiply: cst.Divide,
    cst.Divide: cst.Multiply,
    cst.FloorDivide: cst.Divide,
    cst.Modulo: cst.FloorDivide,
    cst.Power: cst.Multiply,
}
_MESSAGE_CALLS = frozenset({"print", "display", "warn", "input"})
"""Functions that take texts for people; a changed message is no mistake."""
_SYMMETRIC_CALLS = frozenset(
    {"max", "min", "maximum", "minimum", "multiply", "add", "isclose", "allclose", "transpose", "swapaxes"}
)
"""Functions that give the same result if their first two arguments are swapped."""


class Mutant(Struct, frozen=True):
    """A source with one mistake."""

    source: str
    """The whole text."""
    line: int
    """The first line that differs, from 1."""
    before: str
    """This line in the original source."""
    after: str
    """This line in the mutant."""
    mistake: str
    """The change in a few words."""


class _Edit(Struct, frozen=True, eq=False):
    node: cst.CSTNode
    replacement: cst.CSTNode
    mistake: str


def generate_mutants(source: str, limit: int) -> tuple[Mutant, ...]:
    """Return at most `limit` mutants of a source, spread over kinds of mistakes and over the text.

    Source that is not valid Python has none.
    """
    try:
        original = ast.dump(parse_module(source))
        module = cst.parse_module(source)
    except (*UNREADABLE, cst.ParserSyntaxError):
        return ()
    collector = _EditCollector()
    module.visit(collector)
    by_mistake: dict[str, list[_Edit]] = {}
    for edit in collector.edits:
        by_mistake.setdefault(edit.mistake, []).append(edit)
    # In turns, so that a small limit still covers every kind of mistake.
    in_turns = itertools.chain(*itertools.zip_longest(*map(_order_evenly, by_mistake.values())))
    mutants: dict[str, Mutant] = {}
    for edit in filter(None, in_turns):
        if len(mutants) >= limit:
            break
        mutant = _apply_edit(module, source, edit)
        if mutant is not None and _is_different_program(mutant.source, original):
            mutants.setdefault(mutant.source, mutant)
    return tuple(sorted(mutants.values(), key=lambda mutant: (mutant.line, mutant.mistake, mutant.after)))


def _order_evenly(edits: Sequence[_Edit]) -> list[_Edit]:
    """Order edits so that every prefix of the list covers the whole text: the middle, then the halves."""
    if len(edits) < 3:
        return list(edits)
    middle = len(edits) // 2
    halves = itertools.zip_longest(_order_evenly(edits[:middle]), _order_evenly(edits[middle + 1 :]))
    return [edits[middle], *(edit for pair in halves for edit in pair if edit is not None)]


def _apply_edit(module: cst.Module, source: str, edit: _Edit) -> Mutant | None:
    changed = module.deep_replace(edit.node, edit.replacement)
    text = changed.code if isinstance(changed, cst.Module) else source
    lines = zip(source.split("\n"), text.split("\n"), strict=False)
    for number, (before, after) in enumerate(lines, start=1):
        if before != after:
            return Mutant(text, number, before.strip(), after.strip(), edit.mistake)
    return None


def _is_different_program(source: str, original: str) -> bool:
    try:
        # A change of the text alone, such as other brackets, is the same program.
        return ast.dump(parse_module(source)) != original
    except UNREADABLE:
        return False


class _EditCollector(cst.CSTVisitor):
    """Collect the edits of a module in the order of its text; texts for people are left unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.edits: list[_Edit] = []
        self._functions = 0
        self._elifs: set[cst.If] = set()

    def _add_edit(self, node: cst.CSTNode, replacement: cst.CSTNode, mistake: str) -> None:
        self.edits.append(_Edit(node, replacement, mistake))

    # Annotations, default values, decorators and messages do not decide a result of correct code.

    def visit_Annotation(self, node: cst.Annotation) -> bool:
        return False

    def visit_Parameters(self, node: cst.Parameters) -> bool:
        return False

    def visit_Decorator(self, node: cst.Decorator) -> bool:
        return False

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return False

    def visit_Raise(self, node: cst.Raise) -> bool:
        if self._functions:
            self._add_edit(node, cst.Pass(), "a statement is dropped")
        return False

    def visit_Expr(self, node: cst.Expr) -> bool:
        if isinstance(node.value, cst.SimpleString | cst.ConcatenatedString):
            return False
        if isinstance(node.value, cst.Call) and _get_last_name(node.value) in _MESSAGE_CALLS:
            return False
        if self._functions:
            self._add_edit(node, cst.Pass(), "a statement is dropped")
        return True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._functions += 1

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        self._functions -= 1

    # Statements.

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        if self._functions:
            self._add_edit(node, cst.Pass(), "a statement is dropped")

    def visit_If(self, node: cst.If) -> None:
        self._drop_block(node)
        # An elif cannot be replaced by a statement, so a chain is dropped only as a whole.
        if isinstance(node.orelse, cst.If):
            self._elifs.add(node.orelse)

    def visit_For(self, node: cst.For) -> None:
        self._drop_block(node)

    def visit_While(self, node: cst.While) -> None:
        self._drop_block(node)

    def visit_Return(self, node: cst.Return) -> None:
        is_none = isinstance(node.value, cst.Name) and node.value.value == "None"
        if node.value is not None and not is_none:
            nothing = node.with_changes(
                value=cst.Name("None"), whitespace_after_return=cst.SimpleWhitespace(" ")
            )
            self._add_edit(node, nothing, "nothing is returned")

    def _drop_block(self, node: cst.If | cst.For | cst.While) -> None:
        if self._functions and node not in self._elifs:
            line = cst.SimpleStatementLine([cst.Pass()], leading_lines=node.leading_lines)
            self._add_edit(node, line, "a statement is dropped")

    # Expressions.

    def visit_Comparison(self, node: cst.Comparison) -> None:
        for position, target in enumerate(node.comparisons):
            other = _COMPARISONS.get(type(target.operator))
            if other is not None:
                changed = list(node.comparisons)
                changed[position] = target.with_changes(operator=other())
                self._add_edit(node, node.with_changes(comparisons=changed), "another comparison")

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        other = _OPERATORS.get(type(node.operator))
        if other is not None:
            self._add_edit(node.operator, other(), "another operator")
        if isinstance(node.operator, cst.MatrixMultiply):
            swapped = node.with_changes(left=node.right, right=node.left)
            self._add_edit(node, swapped, "operands are swapped")

    def visit_BooleanOperation(self, node: cst.BooleanOperation) -> None:
        other = cst.Or() if isinstance(node.operator, cst.And) else cst.And()
        # Brackets keep the operands together: `or` binds weaker than `and`.
        brackets = node if node.lpar else node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        self._add_edit(node, brackets.with_changes(operator=other), "and for or")

    def visit_UnaryOperation(self, node: cst.UnaryOperation) -> None:
        if isinstance(node.operator, cst.Not | cst.Minus):
            self._add_edit(node, node.expression, "a sign or a not is missing")

    def visit_Integer(self, node: cst.Integer) -> None:
        self._add_edit(node, cst.Integer(str(node.evaluated_value + 1)), "off by one")

    def visit_Float(self, node: cst.Float) -> None:
        value = node.evaluated_value
        # Doubled, because a small change could stay within a test's tolerance.
        self._add_edit(node, cst.Float(repr(value * 2 if value else 1.0)), "another constant")

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        value = node.evaluated_value
        if isinstance(value, str) and value:
            self._add_edit(node, cst.SimpleString(repr(value + "x")), "another constant")

    def visit_Name(self, node: cst.Name) -> None:
        if node.value in ("True", "False"):
            self._add_edit(node, cst.Name("False" if node.value == "True" else "True"), "another constant")

    def visit_Call(self, node: cst.Call) -> bool:
        if _get_last_name(node) in _MESSAGE_CALLS:
            return False
        positional = [argument for argument in node.args if argument.keyword is None]
        is_starred = any(argument.star for argument in node.args)
        if len(positional) > 1 and not is_starred and _get_last_name(node) not in _SYMMETRIC_CALLS:
            first, second, *remaining = node.args
            swapped = (first.with_changes(value=second.value), second.with_changes(value=first.value))
            self._add_edit(node, node.with_changes(args=[*swapped, *remaining]), "arguments are swapped")
        for argument in node.args:
            if argument.keyword is not None:
                kept = [kept_argument for kept_argument in node.args if kept_argument is not argument]
                if kept:
                    kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
                self._add_edit(node, node.with_changes(args=kept), "an argument is missing")
        return True


def _get_last_name(call: cst.Call) -> str:
    """Return the last part of the called name: ``warn`` of ``warnings.warn(…)``; empty for other calls."""
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value
    return call.func.value if isinstance(call.func, cst.Name) else ""
