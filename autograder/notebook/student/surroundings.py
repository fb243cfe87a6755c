"""Find code that runs on a student's computer and fails in grading: waiting for input, other folders."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from autograder.messages.catalogue import format_sentence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_WAITS = ("input", "getpass")
_READS = ("read", "readline", "readlines")
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


class KnownNames(NamedTuple):
    """Facts about the names in a notebook's cells."""

    waiting: Mapping[str, bool]
    """Whether a call asks for input; a name that is not listed does not."""
    handed: frozenset[str]
    """Names with values that are passed to functions."""


def read_names(sources: Iterable[str]) -> KnownNames:
    """Return the facts about the names of a notebook; the last cell to bind a name counts.

    Args:
        sources: sources of its code cells, in order.
    """
    waiting, handed = dict.fromkeys(_WAITS, True), set[str]()
    for tree in filter(None, map(_parse_cell, sources)):
        # A name that a cell binds anew no longer asks for input, unless the new function does.
        waiting |= dict.fromkeys(_find_stored_names(tree), False)
        for statement in tree.body:
            waiting |= dict.fromkeys(_find_waiting_names(statement, waiting), True)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _get_called_name(node) != "print":
                arguments = (*node.args, *(keyword.value for keyword in node.keywords))
                inner = (name for argument in arguments for name in ast.walk(argument))
                handed |= {name.id for name in inner if isinstance(name, ast.Name)}
    return KnownNames(waiting, frozenset(handed))


def find_failing_code(source: str, language: str, known_names: KnownNames | None = None) -> list[str]:
    """Return sentences about code in one cell that fails when the notebook is graded.

    Args:
        source: source of the cell.
        language: language of the sentences.
        known_names: names of the notebook; by default those of the cell alone.
    """
    tree = _parse_cell(source)
    if tree is None:
        return []
    known_names = known_names or read_names([source])
    problems: dict[str, dict[str, None]] = {}
    for node in _walk_executed(tree.body):
        if _is_waiting(node, known_names.waiting):
            shown = _quote_line(source, getattr(node, "lineno", 1))
            problems.setdefault("student.asks-for-input", {})[shown] = None
    # Inside an `if` or `try` the author has considered other environments.
    if any(map(_is_colab_import, tree.body)):
        problems["student.colab-alone"] = {"google.colab": None}
    for text in _find_assigned_paths(tree, known_names.handed):
        problems.setdefault("student.other-folder", {})[text[:_LONGEST]] = None
    for node in ast.walk(tree):
        for code, find in _PATTERNS.items():
            for text in find(node):
                problems.setdefault(code, {})[text[:_LONGEST]] = None
    return [
        format_sentence(code, language, found=text)
        for code, texts in problems.items()
        for text in list(texts)[:_MOST]
    ]


def _quote_line(source: str, line: int) -> str:
    """Return a line of a cell, shortened for a sentence."""
    lines = source.split("\n")
    return lines[line - 1].strip()[:_LONGEST] if line <= len(lines) else ""


def find_in_history(sources: Any, language: str) -> list[str]:
    """Return the same for the cells that a running notebook has run, except those that were run again.

    Args:
        sources: IPython's ``In``, of any type.
        language: language of the sentences.
    """
    texts = [text for text in sources if isinstance(text, str)] if isinstance(sources, (list, tuple)) else []
    known_names = read_names(texts)
    problems: list[str] = []
    for number, text in enumerate(texts):
        said = find_failing_code(text, language, known_names)
        # A corrected cell stays in the history; only its last version matters.
        if said and not _is_run_anew(text, texts[number + 1 :]):
            problems += said
    return list(dict.fromkeys(problems))


def _is_run_anew(source: str, later: Sequence[str]) -> bool:
    """Decide whether a later cell binds all the names of this one, as after a correction."""
    names = find_bound_names(source)
    return bool(names) and any(names <= find_bound_names(text) for text in later)


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


def find_bound_names(source: str) -> set[str]:
    """Return the names that a cell binds outside of functions."""
    tree = _parse_cell(source)
    assigned = {
        node.id
        for statement in (tree.body if tree else ())
        if not isinstance(statement, _FUNCTIONS)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return assigned | {
        statement.name
        for statement in (tree.body if tree else ())
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }


def _find_waiting_names(node: ast.AST, waiting: Mapping[str, bool]) -> list[str]:
    """Return the names that a statement of a cell makes ask for input when they are called."""
    # An alias such as ``ask = input`` asks for input as well.
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and waiting.get(node.value.id):
        return [name.id for name in node.targets if isinstance(name, ast.Name)]
    if isinstance(node, ast.ImportFrom) and node.module == "getpass":
        return [alias.asname or alias.name for alias in node.names]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [node.name] if any(_is_waiting(inner, waiting) for inner in _walk_executed(node.body)) else []
    return []


def _find_stored_names(tree: ast.Module) -> set[str]:
    """Return the names that a cell binds anywhere."""
    return {
        node.name if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else node.id
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }


def _is_waiting(node: ast.AST, names: Mapping[str, bool]) -> bool:
    """Decide whether this very node asks for input."""
    # ``for line in sys.stdin`` reads input without a call.
    if isinstance(node, (ast.For, ast.comprehension)):
        return _is_standard_input(node.iter)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in _READS:
        return _is_standard_input(node.func.value)
    called = _get_called_name(node)
    if isinstance(node.func, ast.Attribute):
        return called == "getpass" and names[called]
    return names.get(called, False)


def _is_standard_input(node: ast.AST) -> bool:
    """Decide whether an expression is ``sys.stdin``."""
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.stdin"


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


def _find_assigned_paths(tree: ast.Module, handed: Collection[str]) -> Iterator[str]:
    """Yield paths elsewhere that become values of these names; the value of another name may be an answer."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            names = {name.id for name in node.targets if isinstance(name, ast.Name)}
            text = _read_beginning(node.value)
            if names.intersection(handed) and _WHOLE_PATH.fullmatch(text):
                yield text


def _find_outside_paths(node: ast.AST) -> Iterator[str]:
    """Yield paths outside the notebook's folder that are passed to a function."""
    if not isinstance(node, ast.Call) or _get_called_name(node) == "print":
        return
    if _get_called_name(node) == "run_line_magic":
        name, argument = [*map(_read_beginning, node.args), "", ""][:2]
        yield from [argument] if name == "cd" and argument else []
    elif _get_called_name(node) == "home" and isinstance(node.func, ast.Attribute):
        # ``Path.home()`` leads to another folder on every computer.
        yield from [f"{ast.unparse(node.func)}()"] if ast.unparse(node.func.value).endswith("Path") else []
    opens = _get_called_name(node) in _OPENS or _get_called_name(node).startswith("read_")
    for text in map(_read_beginning, (*node.args, *(keyword.value for keyword in node.keywords))):
        if _ELSEWHERE.match(text) if opens else _WHOLE_PATH.fullmatch(text):
            yield text


def _read_beginning(node: ast.AST | None) -> str:
    """Return the text at the start of an expression; empty if it does not start with a text."""
    if isinstance(node, ast.JoinedStr):
        return _read_beginning(node.values[0]) if node.values else ""
    if isinstance(node, ast.BinOp):
        return _read_beginning(node.left)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _find_run_files(node: ast.AST) -> Iterator[str]:
    """Yield lines of IPython that run another file."""
    if isinstance(node, ast.Call) and _get_called_name(node) == "run_line_magic":
        name, argument = [*map(_read_beginning, node.args), "", ""][:2]
        yield from [f"%run {argument}"] if name == "run" else []


def _find_installs(node: ast.AST) -> Iterator[str]:
    """Yield lines of IPython that install a package."""
    if isinstance(node, ast.Call) and _get_called_name(node) in ("run_line_magic", "system"):
        line = " ".join(map(_read_beginning, node.args))
        sign = "!" if _get_called_name(node) == "system" else "%"
        yield from [f"{sign}{line}"] if _INSTALLS.match(line) else []


_PATTERNS: dict[str, Callable[[ast.AST], Iterator[str]]] = {
    "student.other-folder": _find_outside_paths,
    "student.runs-file": _find_run_files,
    "student.installs": _find_installs,
}
"""Searches on each node of the tree, by the code of the sentence about their findings."""


def _get_called_name(node: ast.Call) -> str:
    """Return the name of a called function, without the part before the last point."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""
