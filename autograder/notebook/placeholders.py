"""Lines of a student's notebook that are not run, because they would stop or undo an answer in it.

Students leave the release's ``raise NotImplementedError()`` above their answer, which Python then never
reaches, or the release's ``x = "..."`` below it, which undoes it. ``%reset`` deletes all answers above it; in
Jupyter students run it to start anew, not to withdraw them.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import Cell, Markdown, Note
from autograder.core.syntax import UNREADABLE, collect_bound_names, find_first_line, parse_module, split_lines
from autograder.notebook.document import normalize_source
from autograder.notebook.duplicate_cells import parse_cell
from autograder.notebook.release import Release

_RESET = re.compile(r"^[ \t]*%reset\b", re.MULTILINE)
_NOTES = {
    "placeholder": "The release's placeholder statement stands above the answer; it is not run.",
    "placeholder.below": "The release's placeholder stands below the answer; it is not run.",
    "reset": "%reset would delete all answers above it; it is not run.",
}
_NOT_IMPLEMENTED = (
    "Raise(exc=Name(id='NotImplementedError'",
    "Raise(exc=Call(func=Name(id='NotImplementedError'",
)
_ELLIPSIS = "Expr(value=Constant(value=Ellipsis"
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class SkippedLines(Struct, frozen=True):
    """Lines of one cell that are not run."""

    position: int
    """Position of the cell, counted from 0."""
    code: Literal["placeholder", "placeholder.below", "reset"]
    """Kind of the lines; also the code of the sentence for the student, without ``notebook.``."""
    spans: tuple[tuple[int, int], ...]
    """First and last line of each statement, counted from 1."""

    def make_note(self, cell: Cell | Markdown) -> Note:
        """Return the note for staff."""
        code = f"{self.code.partition('.')[0]}-skipped"
        return Note(code, _NOTES[self.code], cell.grade_id or f"cell {self.position + 1}")


def mask_skipped_lines(cells: Sequence[Cell | Markdown], release: Release) -> list[Cell | Markdown]:
    """Return the cells as they are run. Lines keep their numbers."""
    ran = list(cells)
    for skipped in find_skipped_lines(cells, release):
        cell = ran[skipped.position]
        ran[skipped.position] = replace(cell, source=_replace_lines(cell.source, skipped.spans))
    return ran


def find_skipped_lines(cells: Sequence[Cell | Markdown], release: Release) -> list[SkippedLines]:
    """Return the lines that are not run."""
    raises, stubs = _list_placeholders(release)
    unchanged = {normalize_source(cell.source) for cell in release.cells if cell.is_answer}
    skipped, bound = [], set[str]()
    for position, cell in enumerate(cells):
        if not isinstance(cell, Cell) or cell.locked:
            continue
        if resets := _find_resets(cell.source):
            skipped.append(SkippedLines(position, "reset", resets))
        is_copy = not cell.grade_id  # of a placeholder, perhaps below the cell with the answer
        if normalize_source(cell.source) in unchanged and not is_copy:
            continue
        if above := _find_raises_above(cell.source, raises):
            skipped.append(SkippedLines(position, "placeholder", above))
        if below := _find_stubs_below(cell.source, stubs, bound if is_copy else ()):
            skipped.append(SkippedLines(position, "placeholder.below", below))
        tree = parse_cell(cell.source)
        # Placeholders do not count as definitions that a later copy would undo.
        answers = [statement for statement in (tree.body if tree else ()) if ast.dump(statement) not in stubs]
        bound |= collect_bound_names(*answers)
    return skipped


def list_stubs(release: Release) -> frozenset[str]:
    """Return the statements, dumped, that define a name in an empty answer."""
    return _list_placeholders(release)[1]


def remove_stubs_below(source: str, stubs: Collection[str]) -> str:
    """Return the source of an answer without the placeholders of `list_stubs` below it."""
    return _replace_lines(source, _find_stubs_below(source, stubs))


def _replace_lines(source: str, spans: Sequence[tuple[int, int]]) -> str:
    """Replace statements by ``pass``; the number of lines stays the same."""
    lines = split_lines(source)
    for first, last in spans:
        # Line ends are kept, so that line numbers in errors match the student's cell.
        ends = [line[len(line.rstrip("\r\n")) :] for line in lines[first - 1 : last]]
        indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
        lines[first - 1 : last] = [f"{indent}pass{ends[0]}", *ends[1:]]
    return "".join(lines)


def _find_resets(source: str) -> tuple[tuple[int, int], ...]:
    """Return the lines with ``%reset`` in code."""
    if not _RESET.search(source) or source.lstrip().startswith("%%"):
        return ()
    try:
        # Valid Python cannot contain a magic outside of a string.
        parse_module(source)
    except UNREADABLE:
        lines = enumerate(split_lines(source), 1)
        return tuple((number, number) for number, line in lines if _RESET.match(line))
    return ()  # a line of a text


def _find_raises_above(source: str, raises: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Return the spans of the release's ``raise`` above other code."""
    tree = parse_cell(source) if raises and "raise" in source else None
    return tuple(
        _find_span(statement)
        for body in (_list_bodies(tree) if tree else ())
        for number, statement in enumerate(body)
        if _is_placeholder(statement, raises)
        # A placeholder at the end stops nothing.
        and not all(_is_placeholder(later, raises) for later in body[number + 1 :])
        and _is_alone(statement, source)
    )


def _is_placeholder(statement: ast.stmt, raises: Collection[str]) -> bool:
    """Decide whether a statement raises like the release, or ``NotImplementedError`` in another spelling."""
    dumped = ast.dump(statement)
    return dumped in raises or dumped.startswith(_NOT_IMPLEMENTED)


def _find_stubs_below(
    source: str, stubs: Collection[str], above: Iterable[str] = ()
) -> tuple[tuple[int, int], ...]:
    """Return the spans of the release's placeholders below a definition of all of their names.

    Args:
        source: source of a cell.
        stubs: the placeholders.
        above: names that cells above it define.
    """
    tree = parse_cell(source) if stubs else None
    spans, bound = list[tuple[int, int]](), set(above)
    for statement in tree.body if tree else ():
        if ast.dump(statement) not in stubs:
            bound |= collect_bound_names(statement)
        elif collect_bound_names(statement) <= bound and _is_alone(statement, source):
            spans.append(_find_span(statement))
    return tuple(spans)


@functools.lru_cache(maxsize=16)  # a class has one, and to parse it takes as long as a submission
def _list_placeholders(release: Release) -> tuple[frozenset[str], frozenset[str]]:
    """Return the statements by which a release marks empty answers: those that raise, those that define."""
    sources = (cell.source for cell in release.cells if cell.is_answer and cell.cell_type == "code")
    trees = [tree for tree in map(parse_cell, sources) if tree]
    raises = frozenset(
        ast.dump(statement)
        for tree in trees
        for body in _list_bodies(tree)
        for statement in body
        if isinstance(statement, ast.Raise)
    )
    stubs = frozenset(ast.dump(statement) for tree in trees for statement in tree.body if _is_stub(statement))
    return raises, stubs


def _is_stub(statement: ast.stmt) -> bool:
    """Decide whether a statement defines a name without an answer, by ``"..."`` or a body without code."""
    if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
        values = (node.value for node in ast.walk(statement.value) if isinstance(node, ast.Constant))
        return any(value is ... or (isinstance(value, str) and "..." in value) for value in values)
    return isinstance(statement, _Definition) and any(
        ast.dump(body[-1]).startswith((*_NOT_IMPLEMENTED, _ELLIPSIS)) for body in _list_bodies(statement)
    )


def _list_bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the statements of a cell, and those of each function in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.body


def _find_span(statement: ast.stmt) -> tuple[int, int]:
    """Return the first and last line of a statement."""
    return find_first_line(statement), statement.end_lineno or statement.lineno


def _is_alone(statement: ast.stmt, source: str) -> bool:
    """Decide whether no other statement shares the lines of a statement."""
    first, last = _find_span(statement)
    lines = split_lines(source)
    # Column offsets of the syntax tree count UTF-8 bytes.
    before = lines[first - 1].encode()[: statement.col_offset]
    after = lines[last - 1].encode()[statement.end_col_offset :].decode().lstrip()
    return not before.strip() and not after.startswith(";")
