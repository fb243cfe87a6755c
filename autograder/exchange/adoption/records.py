"""Records of an adopted assignment, its imports, and which tests can be judged outside the student's sandbox.

All of it is the same for nbgrader and otter.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.syntax import UNREADABLE, parse_module
from autograder.questions.base.judging.judgeable import explain_unjudgeable, find_bound_names, list_imports
from autograder.sandbox.judge_session import find_unbound_names

Origin = Literal["nbgrader", "otter"]


class FoundTest(Struct, frozen=True):
    """One test, which becomes an item of the rubric."""

    id: str
    code: str
    """The complete code, including hidden lines."""
    points: Decimal
    doctest: bool = False
    visible: bool = False
    """Whether students saw it."""
    success: str = ""
    failure: str = ""
    outside: str = ""
    """Why it cannot be judged outside the student's sandbox; empty if it can."""


class FoundQuestion(Struct, frozen=True):
    """One question of the rubric."""

    id: str
    notebook: str
    points: Decimal
    tests: tuple[FoundTest, ...] = ()
    """Empty: the question is graded manually."""
    answer_cell: str = ""
    file: str = ""
    after: str = ""
    """The cell of the notebook after which the tests run; empty: after the last one."""
    cell: str = ""
    """The grade cell, if its name differs from the question's."""
    all_or_nothing: bool = False
    notebook_names: tuple[str, ...] = ()
    """Names of builtins or of an import that the notebook redefines before the tests that use them."""


class FoundNotebook(Struct, frozen=True):
    """One notebook and its files."""

    name: str
    data: tuple[str, ...] = ()
    starter: tuple[str, ...] = ()


class FoundAssignment(Struct, frozen=True):
    """One assignment."""

    name: str
    origin: Origin
    notebooks: tuple[FoundNotebook, ...]
    questions: tuple[FoundQuestion, ...]
    preload: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """Sentences for staff about everything that is not adopted or differs from the original."""
    seconds: float = 0.0
    """Time limit of a cell; 0: not specified."""
    cell_start: str = ""
    """A line that runs at the beginning of each cell during grading."""

    @property
    def judged(self) -> Mapping[str, str]:
        """By ``question.test``: why a test cannot be judged outside the sandbox; empty texts if it can."""
        return {
            f"{question.id}.{test.id}": test.outside for question in self.questions for test in question.tests
        }


def with_reasons(
    tests: Iterable[FoundTest], before: Iterable[str], data: Collection[str] = (), read: Collection[str] = ()
) -> tuple[FoundTest, ...]:
    """Return the tests with the reason why each cannot be judged outside the student's sandbox, if any.

    Args:
        tests: of one question.
        before: the code cells of the notebook before the tests, without other tests.
        data: files and folders next to the notebook.
        read: names that later code still reads, so that their binding by a test matters.
    """
    names = {name for source in before for name in find_bound_names(source)}
    return tuple(
        test
        if test.outside
        else replace(test, outside=explain_unjudgeable(test.code, names, data, read) or "")
        for test in tests
    )


def find_shadowing_names(
    tests: Iterable[FoundTest], before: Iterable[tuple[str, bool]], imports: Iterable[str]
) -> tuple[str, ...]:
    """Return the names that tests use and that the notebook redefined last.

    Such a name is a builtin (students write ``max``), a name that a cell imports, or a name that an earlier
    test bound for itself.

    Args:
        tests: of one question.
        before: the code cells before them, each with whether it is a test.
        imports: the code cells with imports that are visible to tests: all cells except answers.
    """
    last_bound: dict[str, bool] = {}
    imported = {name for name, _, _ in list_imports(imports)}
    taken = imported | {*dir(builtins)}
    for source, is_test in before:
        names = find_bound_names(source)
        if not is_test:  # the imports of an answer are not visible to tests otherwise
            names |= {name for name, _, _ in list_imports([source])} - imported
        # The last binding counts, because the notebook runs from top to bottom.
        last_bound |= dict.fromkeys(names, is_test)
        taken |= names if is_test else set()
    used = {name for test in tests for name in find_unbound_names(test.code, doctests=test.doctest)}
    return tuple(sorted(name for name in used & taken if last_bound.get(name) is False))


_NEVER = frozenset({"IPython", "nbgrader", "otter", "pytest", "nose", "google"})
"""Tools around a notebook: small, replaced by a substitute, or not available in a sandbox."""
_OPTIMIZERS = "torch.optim"
"""Preloaded by name, because it imports much at its first use (``LATE_IMPORTS`` of the fork server)."""
_MAGIC = ("%", "!", "?")


def list_preloads(sources: Iterable[str], folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the modules that sources import.

    Args:
        sources: of cells and modules; IPython lines are skipped.
        folder: of the assignment; its modules are not searched elsewhere.

    Returns:
        The installed ones, for the rubric to preload; and a sentence for each missing one.
    """
    names = dict.fromkeys(name for source in sources for name in _find_imports(source))
    wanted = sorted(
        name
        for name in names
        if name not in sys.stdlib_module_names
        and name not in _NEVER
        and not (folder / name).is_dir()
        and not (folder / f"{name}.py").is_file()
    )
    # Only the package is searched: finding a module inside it would import the package.
    installed = {name: importlib.util.find_spec(name.partition(".")[0]) is not None for name in wanted}
    missing = [
        f"{name}: imported by the assignment, but not installed here"
        for name in wanted
        if not installed[name]
    ]
    return tuple(name for name in wanted if installed[name]), tuple(missing)


def _find_imports(source: str) -> Iterator[str]:
    # IPython lines are not valid Python, and would hide the imports of the whole cell.
    lines = ("" if line.lstrip().startswith(_MAGIC) else line for line in source.split("\n"))
    try:
        tree = parse_module("\n".join(lines))
    except UNREADABLE:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name for alias in node.names for name in _list_packages(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from _list_packages(node.module)
        # torch imports its optimizers lazily, so using the attribute counts as an import.
        elif isinstance(node, ast.Attribute) and node.attr == "optim" and ast.unparse(node) == _OPTIMIZERS:
            yield _OPTIMIZERS


def _list_packages(module: str) -> Iterator[str]:
    """Yield the package of a module, and torch's optimizers if the module belongs to them."""
    yield module.partition(".")[0]
    if f"{module}.".startswith(f"{_OPTIMIZERS}."):
        yield _OPTIMIZERS
