"""Imports and magics that failed while a notebook ran: an answer that needs one of them gets manual review.

A student cannot know which packages there are where notebooks are graded. The rest of the cell is run all the
same (`sandbox.inside.shell`), so an import that nothing uses costs nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from autograder.checks.judging.results import is_blank, review_instead
from autograder.checks.values.literal import code_tree
from autograder.notebook.copies import names
from autograder.records import Answer, Cell, CellRun, ItemResult, Markdown, Message, Note, Status

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
    file: str = ""
    """The module, if it was handed in but is not taken along."""

    def note(self) -> Note:
        """Return what staff are told."""
        fault = "there is no magic" if self.package.startswith("%") else "cannot import"
        text = f"{fault} {self.package!r}; the other statements of the cell were run"
        if self.file:
            text += f"; {self.file} was handed in, but the assignment does not take it along"
        return Note(IMPORT_FAILED, text, f"cell {self.number}")


def failed_imports(
    cells: Sequence[Cell | Markdown], runs: Sequence[CellRun | None], beside: Sequence[str] = ()
) -> tuple[FailedImport, ...]:
    """Return the imports that failed at the top level of a notebook's cells.

    Args:
        cells: of the notebook.
        runs: what came of them.
        beside: files that were handed in and are not taken along.
    """
    found = []
    for number, (cell, run) in enumerate(zip(cells, runs, strict=False), 1):
        for output in run.outputs if run else ():
            text = output.data.get("text/plain", "")[-_MOST_TEXT:]
            packages = {module or named for named, module in _MISSING.findall(text)}
            for package in sorted(packages) if output.kind == "error" else ():
                bound = frozenset(_bound(cell.source, package))
                if bound or package in _EXTENSION.findall(cell.source):  # else it was imported further inside
                    defined = frozenset({*names(cell.source), *bound})
                    found.append(FailedImport(number, package, bound, defined, _module(package, beside)))
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


def _named_files(runs: Sequence[CellRun | None], beside: Sequence[str]) -> tuple[str, ...]:
    """Return the files that were handed in, are not taken along, and are named by an error of a cell."""
    outputs = [output for run in runs if run and run.error for output in run.outputs]
    text = "\n".join(output.data.get("text/plain", "")[-_MOST_TEXT:] for output in outputs)
    return tuple(name for name in beside if name.rpartition("/")[2] in text)


def _module(package: str, beside: Sequence[str]) -> str:
    """Return the file or folder among those handed in that is a module; empty if there is none."""
    root = package.partition(".")[0]
    files = [name for name in beside if name.rpartition("/")[2] == f"{root}.py"]
    folders = [name for name in beside if root in name.split("/")[:-1]]
    return next(iter((*files, *folders)), "")


def with_failed_imports(
    results: Iterable[ItemResult],
    failed: Sequence[FailedImport],
    beside: Sequence[str] = (),
    runs: Sequence[CellRun | None] = (),
    answer: Answer | None = None,
) -> tuple[ItemResult, ...]:
    """Return the results, with manual review instead of a zero that a missing package has caused.

    Args:
        results: of one question.
        failed: the imports of the notebook that failed.
        beside: files that were handed in and are not taken along.
        runs: what came of the notebook's cells.
        answer: that they are about. A blank one may stand in a file all of whose names were imported.
    """
    needed = _named_files(runs, beside)
    is_blank_code = answer is not None and answer.cell_type == "code" and is_blank(answer)
    modules = [one.package for one in failed if is_blank_code and one.file and "*" in one.names]
    return tuple(_reviewed(result, failed, beside, needed, modules) for result in results)


def _reviewed(
    result: ItemResult,
    failed: Sequence[FailedImport],
    beside: Sequence[str],
    needed: Sequence[str],
    modules: Sequence[str],
) -> ItemResult:
    if result.status not in {Status.FAILED, Status.NO_ANSWER}:
        return result
    package = _package_needed(result, failed) or next(iter(modules), "")
    file = _module(package, beside) if package else _file_needed(result, beside, needed)
    if file:
        message = Message("review.module", {"file": file})
        staff = f"{file} was handed in, but the assignment does not take it along"
    elif package:
        message = Message("review.import", {"package": package})
        staff = f"cannot import {package!r} here"
    else:
        return result
    # A part of the item may be right without the package. All of it waits, so that it is marked once.
    return review_instead(result, message, staff)


def _file_needed(result: ItemResult, beside: Sequence[str], needed: Sequence[str]) -> str:
    """The file beside the notebook without which an item was not right; empty if that was not the reason."""
    if result.code == "name.missing" and needed:
        return needed[0]
    raised = [name for name in beside if f"Error: {name}" in result.staff or f"'{name}'" in result.staff]
    return next(iter(raised), "")


def _package_needed(result: ItemResult, failed: Sequence[FailedImport]) -> str:
    """The package without which an item was not right; empty if that was not the reason."""
    raised = _RAISED.search(result.staff)
    if result.code == "name.missing":
        name = str(result.student.params.get("name", ""))
        return next((one.package for one in failed if {name, "*"} & one.defines), "")
    if raised is None:
        return ""
    if raised[1] == "NameError":
        return next((one.package for one in failed if {raised[2], "*"} & one.names), "")
    return raised[2]
