"""Finds code that runs on a student's computer and fails when graded: waiting for input, other folders."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from autograder.messages.catalogue import sentence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_WAITS = ("input", "getpass")
_OPENS = ("open", "chdir", "Path", "load", "loadtxt", "genfromtxt", "listdir", "glob", "imread")
"""Functions whose text is a path, besides those whose names begin with ``read_``."""
_ELSEWHERE = re.compile(
    r"[A-Za-z]:[\\/]|~[\\/]|/(?:home|Users|Volumes|content|media|mnt|kaggle|root)/|\.\.(?:[\\/]|$)"
)
_MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)
_CD = re.compile(r"^[ \t]*%cd[ \t]+(\S+)", re.MULTILINE)
_MOST_CODE = 64_000
_LONGEST = 60
_MOST = 5
"""Of one kind in one cell; more say the same."""


def find_failing_code(source: str, language: str) -> list[str]:
    """Return what is said of code in one cell that fails when the notebook is graded.

    Args:
        source: of the cell.
        language: of the sentences.
    """
    tree = _tree(source)
    lines = source.split("\n")
    found = []
    for line in list(_lines_that_wait(tree))[:_MOST] if tree else ():
        shown = lines[line - 1].strip()[:_LONGEST] if line <= len(lines) else ""
        found.append(sentence("student.asks-for-input", language, found=shown))
    paths = [*_CD.findall(source), *(_paths_elsewhere(tree) if tree else ())]
    elsewhere = list(dict.fromkeys(paths))[:_MOST]
    return found + [sentence("student.other-folder", language, found=path[:_LONGEST]) for path in elsewhere]


def find_in_history(sources: Any, language: str) -> list[str]:
    """Return the same for the cells that a running notebook has run, those left out that were run anew.

    Args:
        sources: IPython's ``In``, whatever it is.
        language: of the sentences.
    """
    texts = [text for text in sources if isinstance(text, str)] if isinstance(sources, (list, tuple)) else []
    found: list[str] = []
    for number, text in enumerate(texts):
        said = find_failing_code(text, language)
        if said and not _is_run_anew(text, texts[number + 1 :]):
            found += said
    return list(dict.fromkeys(found))


def _is_run_anew(source: str, later: Sequence[str]) -> bool:
    """Whether a later cell binds all the names of this one, as it does when it was corrected."""
    names = _bound(source)
    return bool(names) and any(names <= _bound(text) for text in later)


def _tree(source: str) -> ast.Module | None:
    """The syntax tree of a cell, without lines that only a notebook understands; None if it has none."""
    if len(source) > _MOST_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LaTeX in an ordinary text
            return ast.parse(_MAGIC.sub(r"\1pass", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _bound(source: str) -> set[str]:
    tree = _tree(source)
    found = {
        node.id
        for statement in (tree.body if tree else ())
        if not isinstance(statement, _FUNCTIONS)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return found | {
        statement.name
        for statement in (tree.body if tree else ())
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }


def _lines_that_wait(tree: ast.Module) -> Iterator[int]:
    """The lines in which code that runs with the cell asks for input; a cell's own `input` is another one."""
    own = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
    for node in _run_with_the_cell(tree.body):
        if isinstance(node, ast.Call) and _called(node) in _WAITS and _called(node) not in own:
            method = _called(node) == "input" and isinstance(node.func, ast.Attribute)
            yield from () if method else (node.lineno,)


def _run_with_the_cell(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes outside of functions, and outside of ``try``, which may have an answer to the error."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.Try)):
            waiting += ast.iter_child_nodes(node)


def _paths_elsewhere(tree: ast.Module) -> Iterator[str]:
    """Paths that lead out of the notebook's folder, where a function is called that opens them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (_called(node) in _OPENS or _called(node).startswith("read_")):
            for argument in node.args:
                text = argument.value if isinstance(argument, ast.Constant) else None
                if isinstance(text, str) and _ELSEWHERE.match(text):
                    yield text


def _called(node: ast.Call) -> str:
    """The name of what is called, without what stands before the last point."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""
