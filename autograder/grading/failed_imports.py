"""Imports and magics that failed while a notebook ran: an answer that needs a missing package gets manual review.

A student cannot know which packages there are where notebooks are graded. The rest of the cell is run all the
same (`sandbox.inside.shell`), so an import that nothing uses costs nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.checks.values.literal import code_tree
from autograder.notebook.copies import names
from autograder.records import Cell, CellRun, ItemResult, Markdown, Message, Note, Status

IMPORT_FAILED = "import-failed"
"""The code of the note about a cell one of whose imports failed."""
_MISSING = re.compile(
    r"^(?:ModuleNotFoundError|ImportError): .*?'([\w.]{1,80})'(?: from '([\w.]{1,80})')?", re.M
)
_NO_MAGIC = re.compile(r"^UsageError: Line magic function `%([^`\s]{1,40})` not found", re.M)
_EXTENSION = re.compile(r"^[ \t]*%(?:load|reload)_ext[ \t]+([\w.]+)", re.M)
_RAISED = re.compile(r"\b(NameError|ModuleNotFoundError|ImportError): [^\n]*?'([\w.]{1,80})'")
_MOST_TEXT = 20_000
"""Characters of an error's text that are searched; its last line says what failed."""


class FailedImport(Struct, frozen=True):
    """One import of a cell that failed."""

    number: int
    """Of the cell, counted from 1."""
    package: str
    """Or the magic that is not there, with its percent sign."""
    names: frozenset[str]
    """What the import would have bound."""
    defines: frozenset[str]
    """What the cell defines."""

    def note(self) -> Note:
        """Return what staff are told."""
        fault = "there is no magic" if self.package.startswith("%") else "cannot import"
        text = f"{fault} {self.package!r}; the other statements of the cell were run"
        return Note(IMPORT_FAILED, text, f"cell {self.number}")


def failed_imports(
    cells: Sequence[Cell | Markdown], runs: Sequence[CellRun | None]
) -> tuple[FailedImport, ...]:
    """Return the imports that failed at the top level of a notebook's cells.

    Args:
        cells: of the notebook.
        runs: what came of them.
    """
    found = []
    for number, (cell, run) in enumerate(zip(cells, runs, strict=False), 1):
        for output in run.outputs if run else ():
            text = output.data.get("text/plain", "")[-_MOST_TEXT:]
            packages = {module or named for named, module in _MISSING.findall(text)}
            for package in sorted(packages) if output.kind == "error" else ():
                bound = frozenset(_bound(cell.source, package))
                if bound or package in _EXTENSION.findall(cell.source):  # else it was imported further inside
                    found.append(FailedImport(number, package, bound, frozenset(names(cell.source))))
            if output.kind == "stream" and run and run.error:
                magics = dict.fromkeys(_NO_MAGIC.findall(text))
                found += [FailedImport(number, f"%{name}", frozenset(), frozenset()) for name in magics]
    return tuple(found)


def _bound(source: str, package: str) -> Iterator[str]:
    """The names that a cell's imports of a package bind."""
    tree = code_tree(source)
    root = package.partition(".")[0]
    for statement in tree.body if tree else ():
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name.partition(".")[0] == root:
                    yield alias.asname or root
        elif isinstance(statement, ast.ImportFrom) and (statement.module or "").partition(".")[0] == root:
            yield from (alias.asname or alias.name for alias in statement.names)


def with_failed_imports(
    results: Iterable[ItemResult], failed: Sequence[FailedImport]
) -> tuple[ItemResult, ...]:
    """Return the results, with manual review instead of a zero that a missing package has caused.

    Args:
        results: of one question.
        failed: the imports of the notebook that failed.
    """
    return tuple(_reviewed(one, failed) for one in results)


def _reviewed(result: ItemResult, failed: Sequence[FailedImport]) -> ItemResult:
    package = _package_needed(result, failed) if result.status in {Status.FAILED, Status.NO_ANSWER} else ""
    if not package or result.points > 0:
        return result
    return replace(
        result,
        status=Status.NEEDS_REVIEW,
        points=Decimal(0),
        student=Message("review.import", {"package": package}),
        staff=f"cannot import {package!r} here; otherwise: {result.staff}",
        code="review.import",
    )


def _package_needed(result: ItemResult, failed: Sequence[FailedImport]) -> str:
    """The package without which an item was not right; empty if that was not the reason."""
    raised = _RAISED.search(result.staff)
    if result.code == "name.missing":
        name = str(result.student.params.get("name", ""))
        return next((one.package for one in failed if name in one.defines), "")
    if raised is None:
        return ""
    if raised[1] == "NameError":
        return next((one.package for one in failed if raised[2] in one.names), "")
    return raised[2]
