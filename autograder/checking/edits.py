"""Edits of a solution: mutants and planted faults."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol


class CheckFileError(Exception):
    """A file of checks is wrong; the message names the place, the expected form, and the remedy."""

    def __init__(self, problem: str, file: str, line: int = 0) -> None:
        super().__init__(f"{file}, line {line}: {problem}" if line else f"{file}: {problem}")


class _EditedCheck(Protocol):
    """The parts of a check that its fault needs."""

    @property
    def id(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def edits(self) -> tuple[tuple[str, str], ...]: ...


def apply_edits(source: str, edits: Iterable[Sequence[str]]) -> str:
    """Return a source with each old text replaced by the new one.

    Raises:
        ValueError: an old text does not occur exactly once; names a similar line if there is one.
    """
    for old, new in edits:
        count = source.count(old) if old else 0
        if count != 1:
            near = difflib.get_close_matches(
                old.strip(), [line.strip() for line in source.splitlines()], 1, 0.5
            )
            hint = f"; did you mean {near[0]!r}?" if not count and near else ""
            hint = hint or ("; state more of the text around it" if count else "")
            raise ValueError(f"old: {old!r} stands {count} times in the solution, expected once{hint}")
        source = source.replace(old, new)
    return source


def read_edits(arguments: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the edits in a declaration, from ``old=`` and ``new=``, from ``edits=``, or both."""
    edits = [(old, new) for old, new in arguments.get("edits", ())]
    if "old" in arguments:
        edits.insert(0, (arguments["old"], arguments.get("new", "")))
    return tuple(edits)


def check_faults(checks: Sequence[_EditedCheck], source: str, file: str) -> None:
    """Check that faults can be planted, each alone and all together.

    Raises:
        CheckFileError: an edit does not fit, or the result is not Python.
    """
    faults = [check for check in checks if check.edits]
    if not faults:
        return
    if not source:
        raise CheckFileError("a fault is an edit of the solution: state solution(…)", file, faults[0].line)
    for fault in faults:
        try:
            ast.parse(apply_edits(source, fault.edits))
        except ValueError as error:  # a SyntaxError is none
            raise CheckFileError(f"fault {fault.id!r}: {error}", file, fault.line) from error
        except SyntaxError as error:
            problem = f"fault {fault.id!r}: the edited solution is no Python: {error}"
            raise CheckFileError(problem, file, fault.line) from error
    listing = source
    for fault in faults:
        try:
            listing = apply_edits(listing, fault.edits)
        except ValueError as error:
            problem = f"fault {fault.id!r} does not fit beside the faults above it: {error}"
            raise CheckFileError(problem, file, fault.line) from error
