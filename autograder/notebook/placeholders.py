"""The statement that makes an empty answer cell fail, such as ``raise NotImplementedError()``.

Students leave it above their answer, which Python then never reaches. If it is the release's own statement
and code stands below it, it is not run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from autograder.notebook.copies import parse_cell
from autograder.notebook.document import canonical
from autograder.notebook.release import Release
from autograder.records import Cell, Markdown, Note


def without_placeholders(cells: Sequence[Cell | Markdown], release: Release) -> list[Cell | Markdown]:
    """Return the cells as they are run: placeholders above an answer do nothing.

    Lines keep their numbers.
    """
    ran = list(cells)
    for position, statements in _placeholders_above_answers(cells, release):
        lines = ran[position].source.split("\n")
        for statement in statements:
            lines[statement.lineno - 1] = " " * statement.col_offset + "pass"
            for number in range(statement.lineno, statement.end_lineno or statement.lineno):
                lines[number] = ""
        ran[position] = replace(ran[position], source="\n".join(lines))
    return ran


def note_placeholders(cells: Sequence[Cell | Markdown], release: Release) -> dict[int, Note]:
    """Return a note for each cell whose placeholder is not run, by the cell's position."""
    text = "The release's placeholder statement stands above the answer; it is not run."
    return {
        position: Note("placeholder-skipped", text, cells[position].grade_id or f"cell {position + 1}")
        for position, _ in _placeholders_above_answers(cells, release)
    }


def _placeholders_above_answers(
    cells: Sequence[Cell | Markdown], release: Release
) -> Iterator[tuple[int, list[ast.stmt]]]:
    """Yield the positions of cells with placeholders above other code, and these placeholders."""
    stubs = [cell.source for cell in release.cells if cell.is_answer and cell.cell_type == "code"]
    unchanged = {canonical(stub) for stub in stubs}
    given = {ast.dump(statement) for stub in stubs for statement in _raises(stub)}
    for position, cell in enumerate(cells):
        if not given or not isinstance(cell, Cell) or cell.locked or "raise" not in cell.source:
            continue
        tree = None if canonical(cell.source) in unchanged else parse_cell(cell.source)
        if tree is None:
            continue
        lines = cell.source.split("\n")
        above = [
            statement
            for body in _bodies(tree)
            for statement in body[:-1]
            if ast.dump(statement) in given
            and any(ast.dump(later) not in given for later in body if later.lineno > statement.lineno)
            and _is_alone(statement, lines)
        ]
        if above:
            yield position, above


def _raises(source: str) -> list[ast.stmt]:
    tree = parse_cell(source)
    bodies = _bodies(tree) if tree else ()
    return [statement for body in bodies for statement in body if isinstance(statement, ast.Raise)]


def _bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Yield the statements of a cell, and those of each function in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.body


def _is_alone(statement: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether no other statement stands on a statement's lines."""
    own = lines[statement.lineno - 1 : statement.end_lineno]
    return own[0].lstrip().startswith("raise") and not any(";" in line for line in own)
