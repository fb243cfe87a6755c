"""Decide whether an answer is still the released text: given code, stubs, placeholders, and unknown options.

The same code serves the open notebook and a saved file: both provide the text of the answer's cell, as far as
it is known, and the value, if there is one.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union

from autograder.questions.closed_lists import HashedNames, Options, hash_name, normalize_name, split_entries

_FILLERS = frozenset(("", ".", "…", "?", "_", "-", "todo", "xxx", "tbd"))
"""Texts that mark a missing answer; a repeated sign counts as one."""
_MOST_LOOKED_AT = 200
_MAGICS = ("%", "!", "?")
Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]  # noqa: UP007 - Python 3.9


class Value(NamedTuple):
    """Value that a cell assigns literally."""

    value: Any


def read_literal(source: str, name: str) -> Value | None:
    """Return the literal that a cell assigns to a name, ``...`` included; None if there is none.

    The name must occur once in the cell: a later change is only known after the cell has run.
    """
    tree = _parse_source(source)
    name_nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    for statement in tree.body:
        # Comparing all occurrences with the targets ensures that no other line uses the name.
        if isinstance(statement, ast.Assign) and name_nodes == statement.targets and statement.value:
            try:
                return Value(ast.literal_eval(statement.value))
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                return None
    return None


def find_source(value: Any) -> str:
    """Return the text of the cell, or file, that defined a function or class; empty if it is unknown."""
    several = list(vars(value).values()) if isinstance(value, type) else [value]
    files = [getattr(getattr(member, "__code__", None), "co_filename", "") for member in several]
    # IPython registers the text of each cell with linecache.
    texts = ("".join(linecache.getlines(name)) for name in files if name)
    return next(filter(None, texts), "")


def is_bare(value: Any) -> bool:
    """Decide whether a class contains and inherits nothing: its text cannot be found, and is not needed."""
    if not isinstance(value, type) or value.__bases__ != (object,) or getattr(value, "__annotations__", None):
        return False
    return all(
        name.startswith("__") and not hasattr(member, "__code__") for name, member in vars(value).items()
    )


def is_as_given(source: str, handed_out: str) -> bool:
    """Decide whether a cell contains no more than the released one; comments and blanks do not count."""
    current, original = _parse_source(source), _parse_source(handed_out)
    # The cheap comparison first, because dumping a long cell takes time.
    return len(current.body) == len(original.body) and ast.dump(current) == ast.dump(original)


def find_missing_body(source: str, name: str, handed_out: str = "") -> str:
    """Return the name of a definition without body, or of its missing methods; empty if all is written.

    A method is missing if it was released without a body and still has none; a class, if no method has one.
    """
    node = _find_definition(source, name)
    if node is None:
        return ""
    if not isinstance(node, ast.ClassDef):
        return name if _is_empty(node) else ""
    methods = [member for member in node.body if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef))]
    empty = [member.name for member in methods if _is_empty(member)]
    if not methods:
        return name if not node.bases and _is_empty(node) else ""
    if len(empty) == len(methods):
        return name
    # Methods that the student adds may be empty; only released stubs must be filled.
    before = _find_definition(handed_out, name)
    to_write = {
        member.name
        for member in (before.body if before else ())
        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_empty(member)
    }
    return ", ".join(f"{name}.{member}" for member in empty if member in to_write)


def list_gaps(value: Any) -> list[str]:
    """Return the unanswered entries of a value that holds several answers: by key, or by number from 1."""
    if isinstance(value, Mapping):
        return [repr(key) for key, entry in list(value.items())[:_MOST_LOOKED_AT] if is_open(entry)]
    if isinstance(value, (list, tuple)):
        return [
            str(number) for number, entry in enumerate(value[:_MOST_LOOKED_AT], start=1) if is_open(entry)
        ]
    return []


def is_open(value: Any) -> bool:
    """Decide whether a value contains no answer, however it is nested.

    An empty list is an answer: it states that there is nothing to list.
    """
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(is_open, value[:_MOST_LOOKED_AT]))
    return is_filler(value)


def is_filler(value: Any) -> bool:
    """Decide whether a value marks a missing answer."""
    if value is None or value is ...:
        return True
    if not isinstance(value, str):
        return False
    # Brackets and quotes around a placeholder do not make it an answer.
    text = value.casefold().strip(" \t\r\n()[]{}<>,:;'\"`-–")
    return (text[:1] if len(set(text)) == 1 else text) in _FILLERS


def find_unknown_options(value: Any, form: str, marks: Sequence[str]) -> Iterator[str]:
    """Yield the names in an answer that are no option of a closed list, as they are written.

    Args:
        value: the answer.
        form: ``"entries"`` if one value holds several answers.
        marks: hashes of the options; see `autograder.questions.closed_lists.hash_name`.
    """
    option_names = HashedNames(frozenset(marks))
    # The hash stands for the option, because the check does not know the options themselves.
    options = Options(lambda name: hash_name(name) if name in option_names else "")
    several: Any = [value]
    if form == "entries" and isinstance(value, Mapping):
        several = value.values()
    elif form == "entries" and isinstance(value, (list, tuple)):
        several = value
    for entry in several:
        for text in () if is_filler(entry) else split_entries(entry, option_names) or ():
            if normalize_name(text) and not options.read_entry(text).option:
                yield text


def _find_definition(source: str, name: str) -> Definition | None:
    """Return the last definition of a name in a cell."""
    definition: Definition | None = None
    for node in ast.walk(_parse_source(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            definition = node
    return definition


def _is_empty(node: Definition) -> bool:
    """Decide whether a body has only a docstring, ``pass``, ``...``, or the error for a missing answer."""
    if any(_is_missing(statement) for statement in node.body):
        return True
    return all(
        isinstance(part, ast.Pass) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        for part in node.body
    )


def _is_missing(statement: ast.stmt) -> bool:
    """Decide whether a statement raises NotImplementedError."""
    if not isinstance(statement, ast.Raise):
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _parse_source(source: str) -> ast.Module:
    """Return the syntax tree of a cell, without lines for the notebook only; empty for invalid Python."""
    lines = ("pass" if line.lstrip().startswith(_MAGICS) else line for line in source.split("\n"))
    # The unchanged source first: a line of a string may begin like a magic.
    for text in (source, "\n".join(lines)):
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
    return ast.Module([], [])
