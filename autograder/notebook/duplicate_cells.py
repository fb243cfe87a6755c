"""Choose the answer among several cells that carry the same grade_id.

JupyterLab copies a cell's metadata when the cell is split, copied or pasted. So one grade_id may occur in
both halves of an answer, in a first attempt above it, or in a copy that serves another purpose. None of these
cells is dropped: every cell that a student wrote is run or shown, and two cells that contradict each other
need manual review.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from autograder.core.syntax import UNREADABLE, parse_module
from autograder.notebook.document import RawCell, normalize_source
from autograder.notebook.release import ReleaseCell

_MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)
_DEFINED = re.compile(
    r"^(?:(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=))", re.MULTILINE
)
_FORMULA = re.compile(r"\$[^$]+\$")
_ASSIGNMENT = re.compile(r"^[ \t]*\w+[ \t]*=(?!=)", re.MULTILINE)
_MOST_REMEMBERED = 4_000
"""Longest cell, in characters, for which the syntax tree is cached; trees of the longest take hundreds of
megabytes."""
_MOST_CODE = 64_000
"""Longest cell, in characters, for which a syntax tree is built here; of longer ones only the names are
read."""


class AnswerCells(Struct, frozen=True):
    """Cells with one answer's grade_id, sorted by role. Indices refer to the submission's cells."""

    place: int
    """Cell that keeps the grade_id."""
    parts: tuple[int, ...]
    """All cells that form the answer, in order."""
    untouched: tuple[int, ...] = ()
    """Copies of the empty answer cell. They contain no answer, and running one could undo the answer."""
    apart: tuple[int, ...] = ()
    """Copies that serve another purpose; they are run or shown as the student's own cells."""
    contradict: bool = False
    """Two parts give different answers, or make sense only together."""
    is_away: bool = False
    """The only cell with an answer is a copy at another place. It may answer another question."""


def sort_copies(
    cells: Sequence[RawCell], original: ReleaseCell, claims: Sequence[int], near: range
) -> AnswerCells:
    """Sort the cells that carry the grade_id of one answer.

    Args:
        cells: cells of the submission.
        original: the answer's cell in the release.
        claims: cells with its grade_id, in order; at least one.
        near: cells between the locked cells around the answer's place.
    """
    stub = normalize_source(original.source)
    untouched = tuple(index for index in claims if normalize_source(cells[index].source) == stub)
    written = [index for index in claims if index not in untouched and cells[index].source.strip()]
    named = [index for index in claims if original.cell_id and cells[index].id == original.cell_id]
    # Only a cell id that occurs once proves which cell is the original.
    original_index = named[0] if len(named) == 1 else None
    if not written:
        place = claims[0] if original_index is None else original_index
        return AnswerCells(place, (place,), tuple(index for index in untouched if index != place))
    code, wanted = original.cell_type == "code", find_defined_names(original.source)
    home = next((index for index in untouched if index in near), None)
    is_away = home is not None and not any(index in near for index in written)
    defined = {name for index in written for name in find_defined_names(cells[index].source)}
    if home is not None and is_away and wanted and not wanted & defined:
        # A copy of the empty cell was used for another question.
        other_copies = tuple(index for index in untouched if index != home)
        return AnswerCells(home, (home,), other_copies, tuple(written))
    # A code answer is read from code cells if there are any; a converted copy is only a fallback.
    fitting = [index for index in written if cells[index].cell_type == "code"] if code else written
    parts = _remove_repeats(cells, fitting or written, original_index)
    contradict = code and len(parts) > 1 and _has_contradiction(cells, parts, original_index, wanted)
    if code and not contradict:
        parts = _keep_connected(parts, claims, original_index, near)
    return AnswerCells(
        original_index if original_index in parts else parts[0],
        tuple(parts),
        untouched,
        tuple(index for index in written if index not in parts),
        contradict,
        is_away,
    )


def find_defined_names(source: str) -> set[str]:
    """Return the functions, classes and variables that a cell defines at top level."""
    return {defined or assigned for defined, assigned in _DEFINED.findall(source)}


def is_unwritten_cell(source: str, original: ReleaseCell) -> bool:
    """Decide whether an answer's cell contains no answer: it is blank, unchanged, or assigns nothing.

    A student who writes elsewhere often leaves ``width = "..."`` or ``width = None`` in the answer's cell.
    """
    return _is_unwritten(source, original.source, original.cell_type)


# Searches for displaced answers call it for every answer: hundreds of times for one submission.
@functools.lru_cache(maxsize=64)
def _is_unwritten(source: str, released_source: str, cell_type: str) -> bool:
    if not source.strip() or normalize_source(source) == normalize_source(released_source):
        return True
    tree = parse_cell(source) if cell_type == "code" else None
    stub = parse_cell(released_source) or ast.Module([], [])
    if tree is None:
        return False
    # Any other given statement may be code that the student repaired by deleting lines.
    placeholders = {ast.dump(statement) for statement in stub.body if isinstance(statement, ast.Raise)}
    own_statements = [
        statement
        for statement in tree.body
        if not isinstance(statement, ast.Raise) or ast.dump(statement) not in placeholders
    ]
    given_lines = {line.strip() for line in ("", *released_source.split("\n"))}
    return all(map(_is_blank_assignment, own_statements)) and (
        bool(own_statements) or given_lines.issuperset(line.strip() for line in source.split("\n"))
    )


def _is_blank_assignment(statement: ast.stmt) -> bool:
    """Decide whether a statement assigns None, an ellipsis or a blank text."""
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    if not isinstance(value, ast.Constant):
        return False
    return value.value in (None, ...) or (isinstance(value.value, str) and not value.value.strip(" \t\n.…"))


def _remove_repeats(
    cells: Sequence[RawCell], indices: Sequence[int], original_index: int | None
) -> list[int]:
    """Return the cells without duplicates of the same text; the original is never dropped."""
    kept: dict[str, int] = {}
    for index in indices:
        text = normalize_source(cells[index].source)
        if text not in kept or index == original_index:
            kept[text] = index
    return sorted(kept.values())


def _keep_connected(
    parts: Sequence[int], claims: Sequence[int], original_index: int | None, near: range
) -> list[int]:
    """Return the parts at the answer's expected place; all of them if none is there.

    A copy further away that contradicts nothing is a helper of another answer.
    """
    inside = [index for index in parts if index in near]
    if (
        original_index is not None and original_index in parts and original_index not in inside
    ):  # the answer was moved, its halves with it
        inside = [index for index in parts if index not in near and abs(index - original_index) < len(claims)]
    return inside or list(parts)


def _has_contradiction(
    cells: Sequence[RawCell], parts: Sequence[int], original_index: int | None, wanted: set[str]
) -> bool:
    """Decide whether it matters which of the cells is the answer.

    The cells run in order, so the last definition of a name counts. That is right for a first attempt above
    the cell that the release's cell id proves to be the original; otherwise it cannot be decided.
    """
    sources = [cells[index].source for index in parts]
    if is_split_statement(sources):
        return True
    first = parts.index(original_index) if original_index in parts else None
    for number, later in enumerate(parts):
        # A proven original is compared with later cells only; without one every pair of cells is compared.
        before = parts[:number] if first is None else [original_index] if number > first else []
        for earlier in before:
            if earlier is not None and has_redefinition(cells[earlier].source, cells[later].source, wanted):
                return True
    return False


def is_split_statement(sources: Sequence[str]) -> bool:
    """Decide whether cells are valid Python only when joined, because one statement was split."""
    alone = (parse_cell(source) for source in sources)
    return None in alone and parse_cell("\n".join(sources)) is not None


def has_redefinition(earlier: str, later: str, wanted: set[str]) -> bool:
    """Decide whether a cell gives another meaning to a name that an earlier cell defines as well."""
    old, new = _collect_definitions(earlier), _collect_definitions(later)
    common = (old.keys() & new.keys()) & (wanted or old.keys())
    return any(old[name] != new[name] for name in common)


def _collect_definitions(source: str) -> Mapping[str, str]:
    """Return name → how a cell defines it at top level, without statements that build on the old value."""
    tree = parse_cell(source)
    if tree is None:
        # Without a tree any difference in the source counts as another definition.
        return dict.fromkeys(find_defined_names(source), source)
    definitions: dict[str, str] = {}
    for statement in tree.body:
        for name in _list_bound_names(statement):
            reads = (node for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id == name)
            builds_on = isinstance(statement, ast.Assign) and any(
                isinstance(node.ctx, ast.Load) for node in reads
            )
            if not builds_on:
                definitions[name] = ast.dump(statement)
    return definitions


def _list_bound_names(statement: ast.stmt) -> Iterable[str]:
    """Return the names that a statement defines or assigns."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (statement.name,)
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return ()
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    stored = (node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
    return [node.id for node in stored if isinstance(node.ctx, ast.Store)]


def parse_cell(source: str) -> ast.Module | None:
    """Return the syntax tree of a cell, or None if it is too long or not valid Python.

    Lines that only a notebook understands, such as ``%magic``, are replaced by ``pass``.
    """
    if len(source) > _MOST_REMEMBERED:
        return _parse_cell(source)
    return _parse_again(source)


def _parse_cell(source: str) -> ast.Module | None:
    """Parse a cell without the cache."""
    if len(source) > _MOST_CODE:
        return None
    try:
        return parse_module(_MAGIC.sub(r"\1pass", source))
    except UNREADABLE:
        return None


# Searches for answers parse every cell again: 1,400 trees for 60 cells. No caller changes a tree.
_parse_again = functools.lru_cache(256)(_parse_cell)


def is_text(source: str) -> bool:
    """Decide whether a cell assigns and defines nothing, so that running it would have no effect.

    One key in Jupyter flips a cell's type, so a flipped code cell is run all the same.
    """
    # An equals sign inside a formula is no assignment.
    if _ASSIGNMENT.search(_FORMULA.sub("", source)):
        return False
    tree = None if _FORMULA.search(source) else parse_cell(source)
    return tree is None or all(isinstance(statement, ast.Expr) for statement in tree.body)
