"""Whether an answer is still what was handed out: given code, stubs, placeholders, and names of no option.

One reading for the open notebook and for a saved file: both give the text of the answer's cell, as far as
they know it, and the value, as far as there is one.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union

from autograder.notebook.closed import Marked, Options, entries, mark, normal

_FILLERS = frozenset(("", ".", "…", "?", "_", "-", "todo", "xxx", "tbd"))
"""Texts that stand for an answer to come; of signs that are repeated, one."""
_MOST_LOOKED_AT = 200
_MAGICS = ("%", "!", "?")
Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]  # noqa: UP007 - Python 3.9


class Value(NamedTuple):
    """What a cell assigns as it stands there."""

    value: Any


def literal(source: str, name: str) -> Value | None:
    """What a cell assigns to a name as a literal, dictionaries and ``...`` included; None where it does not.

    The name must stand once in the cell: what is changed later is known only when it has run.
    """
    tree = _tree(source)
    places = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and places == statement.targets and statement.value:
            try:
                return Value(ast.literal_eval(statement.value))
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                return None
    return None


def source_of(value: Any) -> str:
    """The text of the cell, or file, that defined a function or class; empty where nobody knows it."""
    several = list(vars(value).values()) if isinstance(value, type) else [value]
    files = [getattr(getattr(one, "__code__", None), "co_filename", "") for one in several]
    texts = ("".join(linecache.getlines(name)) for name in files if name)
    return next(filter(None, texts), "")


def is_bare(value: Any) -> bool:
    """Whether a class holds and inherits nothing: its text cannot be found, and need not be."""
    if not isinstance(value, type) or value.__bases__ != (object,) or getattr(value, "__annotations__", None):
        return False
    return all(name.startswith("__") and not hasattr(one, "__code__") for name, one in vars(value).items())


def is_as_given(source: str, given: str) -> bool:
    """Whether a cell says no more than the one that was handed out; comments and blanks do not count."""
    one, other = _tree(source), _tree(given)
    return len(one.body) == len(other.body) and ast.dump(one) == ast.dump(other)


def stub(source: str, name: str, given: str = "") -> str:
    """What of a definition is still to be written: its name, or those of methods; empty where all is there.

    A method is missing if it was handed out without a body and still has none; a class, if none has one.
    """
    node = _definition(source, name)
    if node is None:
        return ""
    if not isinstance(node, ast.ClassDef):
        return name if _is_empty(node) else ""
    methods = [one for one in node.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    empty = [one.name for one in methods if _is_empty(one)]
    if not methods:
        return name if not node.bases and _is_empty(node) else ""
    if len(empty) == len(methods):
        return name
    before = _definition(given, name)
    asked = {
        one.name
        for one in (before.body if before else ())
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_empty(one)
    }
    return ", ".join(f"{name}.{one}" for one in empty if one in asked)


def gaps(value: Any) -> list[str]:
    """Where nothing stands yet in the answers that one value holds: by key, or by number from 1."""
    if isinstance(value, Mapping):
        return [repr(key) for key, one in list(value.items())[:_MOST_LOOKED_AT] if is_open(one)]
    if isinstance(value, (list, tuple)):
        return [str(at) for at, one in enumerate(value[:_MOST_LOOKED_AT], start=1) if is_open(one)]
    return []


def is_open(value: Any) -> bool:
    """Whether nothing stands in a value, however it is nested; an empty list says that there is nothing."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(is_open, value[:_MOST_LOOKED_AT]))
    return is_filler(value)


def is_filler(value: Any) -> bool:
    """Whether a value stands for an answer to come."""
    if value is None or value is ...:
        return True
    if not isinstance(value, str):
        return False
    text = value.casefold().strip(" \t\r\n()[]{}<>,:;'\"`-–")
    return (text[:1] if len(set(text)) == 1 else text) in _FILLERS


def unknown(value: Any, form: str, marks: Sequence[str]) -> Iterator[str]:
    """The names in an answer that are no option of a closed list, as they are written there.

    Args:
        value: the answer.
        form: ``"entries"`` where one value holds several answers.
        marks: of the options; see `autograder.notebook.closed.mark`.
    """
    known = Marked(frozenset(marks))
    options = Options(lambda name: mark(name) if name in known else "")
    several: Any = [value]
    if form == "entries" and isinstance(value, Mapping):
        several = value.values()
    elif form == "entries" and isinstance(value, (list, tuple)):
        several = value
    for one in several:
        for text in () if is_filler(one) else entries(one, known) or ():
            if normal(text) and not options.read(text).option:
                yield text


def _definition(source: str, name: str) -> Definition | None:
    """The last definition of a name in a cell."""
    found: Definition | None = None
    for node in ast.walk(_tree(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            found = node
    return found


def _is_empty(node: Definition) -> bool:
    """Nothing but a docstring, ``pass`` or ``...``, or the error that says that something is missing."""
    if any(_is_missing(statement) for statement in node.body):
        return True
    return all(
        isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in node.body
    )


def _is_missing(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Raise):
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _tree(source: str) -> ast.Module:
    """The tree of a cell's code, without lines that only a notebook understands; empty for no Python."""
    lines = ("pass" if line.lstrip().startswith(_MAGICS) else line for line in source.split("\n"))
    for text in (source, "\n".join(lines)):
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
    return ast.Module([], [])
