"""Find code that runs on a student's computer and fails in grading: waiting for input, other folders."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from autograder.messages.catalogue import format_sentence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_WAITS = ("input", "getpass")
_OPENS = ("open", "chdir", "Path", "load", "loadtxt", "genfromtxt", "listdir", "glob", "imread")
"""Functions that take a path as text, in addition to those with names that begin with ``read_``."""
_ELSEWHERE = re.compile(
    r"[A-Za-z]:[\\/]|~[\\/]|/(?:home|Users|Volumes|content|media|mnt|kaggle|root)/|\.\.(?:[\\/]|$)"
)
_WHOLE_PATH = re.compile(rf"(?!\.\.)(?:{_ELSEWHERE.pattern})\w[^\n]*")
"""Text that is certainly such a path, even if it is not the argument of a function that opens files."""
_MAGIC = re.compile(r"^([ \t]*)(%|!)([^\n]*)$", re.MULTILINE)
_INSTALLS = re.compile(r"(?:python[\d.]* -m )?(?:pip[\d.]*|conda|mamba|micromamba|uv) (?:pip )?install\b")
_MOST_CODE = 64_000
_LONGEST = 60
_MOST = 5
"""Most findings of one kind in one cell; more say the same."""


def find_failing_code(source: str, language: str) -> list[str]:
    """Return sentences about code in one cell that fails when the notebook is graded.

    Args:
        source: source of the cell.
        language: language of the sentences.
    """
    tree = _parse_cell(source)
    if tree is None:
        return []
    problems: dict[str, dict[str, None]] = {}
    bound = _find_bound_names(tree)
    for node in _walk_executed(tree.body):
        # A name that the cell binds itself need not ask for input.
        if _is_waiting(node) and _get_called_name(node) not in bound:
            line = source.split("\n")[node.lineno - 1]  # type: ignore[attr-defined]
            problems.setdefault("student.asks-for-input", {})[line.strip()[:_LONGEST]] = None
    # Inside an `if` or `try` the author has considered other environments.
    if any(map(_is_colab_import, tree.body)):
        problems["student.colab-alone"] = {"google.colab": None}
    for node in ast.walk(tree):
        for code, text in _find_failing_call(node) if isinstance(node, ast.Call) else ():
            problems.setdefault(code, {})[text[:_LONGEST]] = None
    return [
        format_sentence(code, language, found=text)
        for code, texts in problems.items()
        for text in list(texts)[:_MOST]
    ]


def find_in_history(sources: Any, language: str) -> list[str]:
    """Return the same for the cells that a running notebook has run, except those that were corrected.

    Args:
        sources: IPython's ``In``, of any type.
        language: language of the sentences.
    """
    texts = [text for text in sources if isinstance(text, str)] if isinstance(sources, (list, tuple)) else []
    names = [_find_bound_names(_parse_cell(text)) for text in texts]
    problems: list[str] = []
    for number, text in enumerate(texts):
        # A corrected cell stays in the history, but a later cell binds all of its names again.
        if not names[number] or not any(names[number] <= later for later in names[number + 1 :]):
            problems += find_failing_code(text, language)
    return list(dict.fromkeys(problems))


def _parse_cell(source: str) -> ast.Module | None:
    """Return the syntax tree of a cell, with magics as the calls that they are; None if it has none.

    IPython's own history contains these calls in place of the magics.
    """
    if len(source) > _MOST_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LaTeX in an ordinary text
            return ast.parse(_MAGIC.sub(_as_call, source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _as_call(line: re.Match[str]) -> str:
    """Return the call to which IPython converts a magic."""
    margin, sign, command = line.groups()
    if sign == "!":
        return f"{margin}get_ipython().system({command.strip()!r})"
    name, _, words = command.strip().partition(" ")
    return f"{margin}get_ipython().run_line_magic({name!r}, {words.strip()!r})"


def _find_bound_names(tree: ast.Module | None) -> set[str]:
    """Return the names that a cell assigns or defines."""
    nodes = list(ast.walk(tree)) if tree else []
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    assigned = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return assigned | {node.name for node in nodes if isinstance(node, definitions)}


def _is_waiting(node: ast.AST) -> bool:
    """Decide whether this very node asks for input."""
    called = _get_called_name(node)
    return called == "getpass" or (called in _WAITS and isinstance(getattr(node, "func", None), ast.Name))


def _walk_executed(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes outside of functions, and outside of ``try``, which may handle the error."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.Try)):
            waiting += ast.iter_child_nodes(node)


def _is_colab_import(node: ast.AST) -> bool:
    """Decide whether a statement imports Google Colab's modules."""
    modules: list[str] = []
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = [f"{node.module}.{alias.name}" for alias in node.names]
    return any(f"{name}.".startswith("google.colab.") for name in modules)


def _find_failing_call(node: ast.Call) -> Iterator[tuple[str, str]]:
    """Yield the code of the sentence and the text to quote, for a call with a path elsewhere or a magic."""
    called = _get_called_name(node)
    texts = [*map(_read_beginning, (*node.args, *(keyword.value for keyword in node.keywords)))]
    if called in ("run_line_magic", "system"):
        line = " ".join(texts)
        if _INSTALLS.match(line):
            yield "student.installs", f"{'!' if called == 'system' else '%'}{line}"
        elif line.startswith("run "):
            yield "student.runs-file", f"%{line}"
        elif line.startswith("cd ") and line.strip() != "cd":
            yield "student.other-folder", line[3:]
    elif called != "print":
        opens = called in _OPENS or called.startswith("read_")
        for text in texts:
            if _ELSEWHERE.match(text) if opens else _WHOLE_PATH.fullmatch(text):
                yield "student.other-folder", text


def _read_beginning(node: ast.AST | None) -> str:
    """Return the text at the start of an expression; empty if it does not start with a text."""
    if isinstance(node, ast.JoinedStr):
        return _read_beginning(node.values[0]) if node.values else ""
    if isinstance(node, ast.BinOp):
        return _read_beginning(node.left)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _get_called_name(node: ast.AST) -> str:
    """Return the name of a called function, without the part before the last point; empty for no call."""
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""
