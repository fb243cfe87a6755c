"""Reading of the plain literal that an answer cell assigns to a name, without running anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from keyword import iskeyword

from msgspec import Struct

from autograder.core.records import Answer, Message
from autograder.core.syntax import UNREADABLE, parse_module
from autograder.formulas.errors import Unreadable
from autograder.questions.base.values.quoting import quote_text

_MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)
_BETWEEN_DOLLARS = re.compile(r"\$\$?([^$]+)\$\$?")
_OTHERS = (
    r"\u00a1-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u2070-\u20cf\u2100-\u2bff\uff01-\uff5e"
    r"\U0001d400-\U0001d7ff"
)
"""Characters beyond ASCII that are read here: no combining marks, no line ends, no invisible characters."""
MAX_SOURCE = 64_000
"""Characters of an answer cell; longer ones are left to the sandbox."""
MAX_DEPTH = 8
"""Nesting of tuples and lists."""
MAX_BITS = 4096
"""Size of an integer; larger ones cannot be printed in linear time."""

Plain = str | int | float | bool | None | tuple["Plain", ...] | list["Plain"]


class Literal(Struct, frozen=True):
    """A value that is written in the source. A separate record, because None is a value, too."""

    value: Plain


class NoFormula(Exception):
    """The answer is empty: None, or an empty text."""


def extract_markdown_formula(source: str) -> str:
    """Return the formula of a markdown answer: the part between dollar signs, or the whole text.

    Raises:
        Unreadable: there are several formulas.
        NoFormula: there is nothing.
    """
    formulas = list(_BETWEEN_DOLLARS.finditer(source))
    if len(formulas) > 1:
        raise Unreadable("several-formulas", formulas[1].start())
    text = formulas[0].group(1) if formulas else source
    if not text.strip():
        raise NoFormula
    return text


class _NotPlain(Exception):
    """The expression is not a plain literal."""


def find_answer_literal(source: str, name: str) -> Literal | None:
    """Return the plain literal that a cell assigns to ``name``.

    The last assignment counts. It must be at top level and its value must be a string, number, bool or None,
    or tuples and lists of them. No other statement in the cell may bind the name; if the value is mutable, no
    other expression may mention it. In a cell that is not Python, for instance because one quote is missing,
    a line is read alone if no other line mentions the name.

    Args:
        source: the answer cell.
        name: the variable the student assigns.

    Returns:
        The literal; None if there is none, so that only running the cell can show the value.
    """
    plainly = read_plain_texts(source)
    if plainly is not None:
        return Literal(plainly[name]) if name in plainly else None
    tree = parse_source(source)
    if tree is not None:
        return _find_literal_in(tree, name)
    if find_syntax_fault(source) is None:  # a line that only a notebook understands
        return None
    lines = [line for line in source.split("\n") if re.search(rf"\b{re.escape(name)}\b", line)]
    # A string of several lines may contain the line, and a star import may bind the name.
    hides_lines = any(sign in source for sign in ('"""', "'''", "import *"))
    return find_tree_literal(lines[0], name) if len(lines) == 1 and not hides_lines else None


def find_tree_literal(source: str, name: str) -> Literal | None:
    """Return the literal that any cell assigns to a name, by its syntax tree."""
    tree = parse_source(source)
    return None if tree is None else _find_literal_in(tree, name)


def _find_literal_in(tree: ast.Module, name: str) -> Literal | None:
    assigned: ast.expr | None = None
    targets: set[int] = set()
    for statement in tree.body:
        for target, expression in _list_assignments(statement):
            if target.id == name:
                targets.add(id(target))
                assigned = expression
    if assigned is None:
        return None
    try:
        value, frozen = _read_plain(assigned, 0)
    except _NotPlain:
        return None
    if any(_may_change(node, name, targets, frozen=frozen) for node in ast.walk(tree)):
        return None
    return Literal(value)


@cache
def _compile_plain_line() -> re.Pattern[str]:
    """Return the pattern of a blank line, a comment, or a text with no escape but that of a backslash."""
    comment = rf" *(?:#[\x20-\x7e{_OTHERS}]*)?"
    double = rf"[\x20\x21\x23-\x5b\x5d-\x7e{_OTHERS}]*"
    single = rf"[\x20-\x26\x28-\x5b\x5d-\x7e{_OTHERS}]*"
    texts = rf"(?:\"({double}(?:\\\\{double})*)\"|'({single}(?:\\\\{single})*)')"
    return re.compile(rf"{comment}|([A-Za-z_][A-Za-z0-9_]*) *= *{texts}{comment}")


def read_plain_texts(source: str) -> dict[str, str] | None:
    """Return the texts of a cell that consists only of lines ``name = "text"``, comments and blank lines.

    Most answers have this form, and the parser takes longer for them than judging does.

    Returns:
        The last text of each name; None for every other cell.
    """
    if len(source) > MAX_SOURCE:
        return None
    texts, plain = dict[str, str](), _compile_plain_line()
    for line in source.split("\n"):
        match = plain.fullmatch(line)
        if match is None:
            return None
        name, double, single = match.groups()
        if name is not None:
            if iskeyword(name):
                return None
            text = single if double is None else double
            texts[name] = text.replace("\\\\", "\\")
    return texts


def parse_source(source: str) -> ast.Module | None:
    """Return the syntax tree; None if the source is too long or not Python (magics included)."""
    if len(source) > MAX_SOURCE:
        return None
    try:
        return parse_module(source)
    except UNREADABLE:
        return None


def parse_code(source: str) -> ast.Module | None:
    """Return the syntax tree of a cell's code, without lines that only a notebook understands."""
    return parse_source(source) or parse_source(_MAGIC.sub(r"\1pass", source))


def find_syntax_fault(source: str) -> Message | None:
    """Return why a cell's code is not valid Python; None if it is valid, or too long to parse.

    Lines that only a notebook understands are not faults.
    """
    if len(source) > MAX_SOURCE:
        return None
    try:
        parse_module(_MAGIC.sub(r"\1pass", source))
    except SyntaxError as error:
        if error.lineno:
            params = {"line": str(error.lineno), "reason": quote_text(str(error.msg), 200)}
            return Message("answer.not-python", params)
        return Message("answer.unreadable")
    except UNREADABLE:
        return Message("answer.unreadable")
    return None


def _list_assignments(statement: ast.stmt) -> Iterator[tuple[ast.Name, ast.expr]]:
    """Yield pairs of name and value of ``a = b = value`` and ``a: type = value``."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target, statement.value
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
        yield statement.target, statement.value


def _read_plain(node: ast.expr, depth: int) -> tuple[Plain, bool]:
    """Return the value, and whether it is immutable throughout.

    Raises:
        _NotPlain: the expression would have to be run.
    """
    if isinstance(node, ast.Constant):
        value = node.value
        if value is None or isinstance(value, str | float | bool):
            return value, True
        if isinstance(value, int) and value.bit_length() <= MAX_BITS:
            return value, True
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        operand = node.operand
        if isinstance(operand, ast.Constant) and type(operand.value) in (int, float):
            number, _ = _read_plain(operand, depth)
            if isinstance(number, int | float):
                return (-number if isinstance(node.op, ast.USub) else number), True
    elif isinstance(node, ast.Tuple | ast.List) and depth < MAX_DEPTH:
        parts = [_read_plain(element, depth + 1) for element in node.elts]
        if isinstance(node, ast.List):
            return [value for value, _ in parts], False
        return tuple(value for value, _ in parts), all(frozen for _, frozen in parts)
    raise _NotPlain


def _may_change(node: ast.AST, name: str, targets: set[int], *, frozen: bool) -> bool:
    """Return whether a node may change the value of the name."""
    match node:
        case ast.Name():
            return (
                node.id == name
                and id(node) not in targets
                and not (frozen and isinstance(node.ctx, ast.Load))
            )
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.ExceptHandler():
            return node.name == name
        case ast.Global() | ast.Nonlocal():
            return name in node.names
        case ast.alias():
            return (node.asname or node.name.partition(".")[0]) in (name, "*")
        case ast.MatchAs() | ast.MatchStar():
            return node.name == name
        case ast.MatchMapping():
            return node.rest == name
    return False


def has_several_formulas(answer: Answer) -> bool:
    """Return whether a text contains several formulas, so that none of them can be taken as the answer."""
    try:
        extract_markdown_formula(answer.source if answer.cell_type == "markdown" else "")
    except Unreadable:
        return True
    except NoFormula:
        return False
    return False
