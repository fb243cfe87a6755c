"""Find code answers outside their cells, which are blank or missing.

Code identifies itself by the name that the rubric asks for, so it is judged like any other answer. Texts do
not; see `student_texts`.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import Note
from autograder.core.syntax import collect_bound_names, find_first_line
from autograder.notebook.cell_matching import LOST
from autograder.notebook.document import RawCell, name_cells, normalize_source
from autograder.notebook.duplicate_cells import (
    find_defined_names,
    has_redefinition,
    is_unwritten_cell,
    parse_cell,
)
from autograder.notebook.release import Release

FIELDS = ("family_name", "first_name", "student_number", "programme")
"""Names that the cell below the title page assigns."""
MOST_TEXTS = 10
"""Most cells that are shown as candidates for a blank answer; an honest student has a few."""


class SearchedNotebook(Struct, frozen=True):
    """Notebook in which displaced answers are searched."""

    cells: Sequence[RawCell]
    release: Release
    names_asked: Mapping[str, Collection[str]]
    """grade_id → names that the rubric asks for in this answer."""
    places: Mapping[str, int]
    """grade_id → index of its cell."""
    parts: Mapping[str, Sequence[int]]
    """grade_id → all cells that are read as the answer, if these are more or other than its own cell."""
    own_cells: Collection[int]
    """The student's own cells that may hold an answer, including those already read as one."""
    named: Mapping[int, Sequence[str]] = {}
    """The student's own texts with headings that name written answers (`headings.name_answers`)."""

    def may_hold(self, index: int, ids: Collection[str]) -> bool:
        """Decide whether the headings of a cell, if they name answers at all, name one of these."""
        return index not in self.named or bool({*self.named[index]} & {*ids})

    def is_blank(self, grade_id: str) -> bool:
        """Decide whether no text is read as this answer so far."""
        if grade_id in self.parts or grade_id not in self.places:
            return grade_id not in self.parts
        return is_unwritten_cell(self.cells[self.places[grade_id]].source, self.release.by_id[grade_id])

    def get_names(self, grade_id: str) -> set[str]:
        """Return the names that an answer must define."""
        return set(self.names_asked.get(grade_id, ())) or find_defined_names(
            self.release.by_id[grade_id].source
        )

    def has_definition(self, grade_id: str) -> bool:
        """Decide whether the cells of an answer define one of its names; also true if no name is known."""
        wanted = self.get_names(grade_id)
        return not wanted or any(
            wanted & find_changed_names(self.cells[index].source) for index in self.get_cells(grade_id)
        )

    def get_cells(self, grade_id: str) -> tuple[int, ...]:
        """Return all cells that are read as an answer."""
        place = self.places.get(grade_id)
        return tuple(self.parts.get(grade_id, () if place is None else (place,)))

    def map_owners(self) -> dict[int, set[str]]:
        """Return cell → the answers that it is, or is a part of."""
        owners: dict[int, set[str]] = {}
        for cell in self.release.cells:
            for index in self.get_cells(cell.grade_id) if cell.is_answer else ():
                owners.setdefault(index, set()).add(cell.grade_id)
        return owners


def take_details_apart(
    cells: Sequence[RawCell], names_asked: Mapping[str, Collection[str]]
) -> tuple[RawCell, ...]:
    """Move answers out of the cell with the student's name and number into separate cells.

    A marker of the answer must not read the name.
    """
    wanted = {name for answer_names in names_asked.values() for name in answer_names}
    separated: list[RawCell] = []
    for cell in cells:
        tree = parse_cell(cell.source) if is_details(cell) else None
        if tree is None or not wanted & collect_bound_names(*tree.body):
            separated.append(cell)
            continue
        lines = cell.source.split("\n")
        groups: list[tuple[bool, int]] = []
        for statement in tree.body:
            is_detail = bool(collect_bound_names(statement).intersection(FIELDS))
            if not groups or groups[-1][0] != is_detail:
                groups.append((is_detail, find_first_line(statement) - 1))
        ends = [start for _, start in groups[1:]] + [len(lines)]
        for number, ((is_detail, start), end) in enumerate(zip(groups, ends, strict=True)):
            source = "\n".join(lines[start if number else 0 : end]).strip("\n")
            # The details keep the cell's metadata; an answer gets none and is found by its names.
            marks = {} if is_detail else {"nbgrader": None, "id": ""}
            separated.append(replace(cell, source=source, **marks))
    return tuple(separated)


def is_details(cell: RawCell) -> bool:
    """Decide whether a cell assigns the student's name or number."""
    if cell.cell_type != "code" or not any(name in cell.source for name in FIELDS):
        return False
    return bool(find_changed_names(cell.source).intersection(FIELDS))


def find_code(notebook: SearchedNotebook, notes: list[Note]) -> dict[str, tuple[int, ...]]:
    """Return the blank code answers with names that another cell of the student defines."""
    owners = notebook.map_owners()
    answers = [cell.grade_id for cell in notebook.release.cells if cell.is_answer]
    defined = {
        index: find_changed_names(notebook.cells[index].source)
        for index in sorted({*notebook.own_cells, *owners})
        if notebook.cells[index].cell_type == "code"
    }
    answer_cells: dict[str, tuple[int, ...]] = {}
    for grade_id, original in notebook.release.by_id.items():
        if not original.is_answer or original.cell_type != "code":
            continue
        wanted, parts = notebook.get_names(grade_id), notebook.parts.get(grade_id, ())
        if not (notebook.is_blank(grade_id) or parts) or any(
            wanted & defined.get(part, set()) for part in parts
        ):
            continue
        place = notebook.places.get(grade_id)
        if parts and (place is None or place in parts):  # written into, but without the name
            continue
        holding = [
            index
            for index, bound in defined.items()
            if index != place and wanted & (bound - _collect_owner_names(notebook, owners.get(index, set())))
        ]
        # Without the answer's own cell only a unique name tells which cell belongs to it.
        is_asked_twice = sum(bool(notebook.get_names(name) & wanted) for name in answers) > 1
        if place is None and (len(holding) > 1 or is_asked_twice):
            continue  # it is undecidable which cell belongs to which answer
        if holding:
            if any(
                has_redefinition(notebook.cells[earlier].source, notebook.cells[later].source, wanted)
                for earlier, later in itertools.pairwise(holding)
            ):
                numbers = name_cells(notebook.cells, holding)
                text = f"The answer cell is blank; {numbers} define its name differently: manual review."
                notes.append(Note(LOST, text, grade_id))
                answer_cells[grade_id] = tuple(holding)
                continue
            answer_cells[grade_id] = tuple(sorted({*parts, *holding}))
            verb = "defines its name and is" if len(holding) == 1 else "define its name and are"
            text = f"The answer cell is blank or missing; {name_cells(notebook.cells, holding)} {verb} taken."
            notes.append(Note("answer-found", text, grade_id))
    return answer_cells


def _collect_owner_names(notebook: SearchedNotebook, owners: Collection[str]) -> set[str]:
    """Return the names that a cell defines because it is an answer, or that its stub already defined."""
    of_stubs = (find_defined_names(notebook.release.by_id[grade_id].source) for grade_id in owners)
    return set().union(*of_stubs, *(notebook.get_names(grade_id) for grade_id in owners))


def find_changed_names(source: str) -> set[str]:
    """Return the names that a cell binds at top level, or of which it sets an entry or attribute."""
    tree = parse_cell(source)
    if tree is None:
        return find_defined_names(source)
    bound = collect_bound_names(*tree.body)
    for statement in tree.body:
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            base: ast.expr = target
            # ``model.size = 3`` and ``table["a"] = 1`` change ``model`` and ``table``.
            while isinstance(base, ast.Subscript | ast.Attribute):
                base = base.value
            bound |= {base.id} if isinstance(base, ast.Name) else set()
    return bound


class Rebindings(Struct, frozen=True):
    """Changes to the names of answers in cells below the answers."""

    deleted: Mapping[int, tuple[str, ...]] = {}
    """Cells that delete a name defined by an answer above them → these names."""
    reassigned: Mapping[str, tuple[int, ...]] = {}
    """Answers with names that are assigned again → all their cells: as in Jupyter, the last assignment
    counts."""


def find_rebindings(notebook: SearchedNotebook, notes: list[Note]) -> Rebindings:
    """Find the cells that assign or delete a name that an answer above them defines."""
    owners = notebook.map_owners()
    stubs = {normalize_source(cell.source) for cell in notebook.release.cells if cell.is_answer}
    answered = [
        name for name in notebook.names_asked if notebook.get_cells(name) and not notebook.is_blank(name)
    ]
    defined_by = {
        grade_id: {
            name
            for index in notebook.get_cells(grade_id)
            for name in notebook.get_names(grade_id) & find_changed_names(notebook.cells[index].source)
        }
        for grade_id in answered
    }
    deleted: dict[int, tuple[str, ...]] = {}
    reassigned: dict[str, tuple[int, ...]] = {}
    for index in sorted({*notebook.own_cells, *owners}):
        cell = notebook.cells[index]
        if cell.cell_type != "code" or normalize_source(cell.source) in stubs:
            continue
        tree = parse_cell(cell.source)
        if tree is None:
            continue
        assigned_here = collect_bound_names(*tree.body)
        owner_names = _collect_owner_names(notebook, owners.get(index, set()))
        for grade_id in answered:
            cells = notebook.get_cells(grade_id)
            # Cells above the answer cannot change it, because the notebook is run from top to bottom.
            if index <= max(cells):
                continue
            defined = defined_by[grade_id] - owner_names
            if assigned := defined & assigned_here:
                reassigned[grade_id] = (*reassigned.get(grade_id, cells), index)
                text = (
                    f"Cell {cell.number} assigns {', '.join(sorted(assigned))} again, which is what counts."
                )
                notes.append(Note("answer-rebound", text, grade_id))
            elif lost := defined & _find_deleted_names(tree):
                # A cell that deletes a name and assigns it again leaves it defined.
                deleted[index] = tuple(sorted({*deleted.get(index, ()), *lost}))
                text = f"Cell {cell.number} deletes {', '.join(sorted(lost))} after the answer."
                notes.append(Note("answer-rebound", text, grade_id))
    return Rebindings(deleted, reassigned)


def find_unnamed(notebook: SearchedNotebook, notes: list[Note]) -> dict[int, tuple[str, ...]]:
    """Return answer cells that assign nothing → the names to assign.

    Their text is in a comment, in an error or a bare value.
    """
    unnamed: dict[int, tuple[str, ...]] = {}
    for grade_id, index in notebook.places.items():
        original, cell = notebook.release.by_id[grade_id], notebook.cells[index]
        wanted = notebook.names_asked.get(grade_id, ())
        if not wanted or grade_id in notebook.parts or notebook.is_blank(grade_id):
            continue
        if original.cell_type == cell.cell_type == "code" and _has_no_assignment(cell.source):
            unnamed[index] = tuple(sorted(wanted))
            text = f"The answer's cell assigns nothing to {', '.join(unnamed[index])}; its text is not read."
            notes.append(Note("answer-unnamed", text, grade_id))
    return unnamed


def _has_no_assignment(source: str) -> bool:
    """Decide whether a cell consists only of comments, errors and bare values."""
    tree = parse_cell(source)
    return tree is not None and all(
        isinstance(statement, ast.Raise)
        or (isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Call))
        for statement in tree.body
    )


def _find_deleted_names(tree: ast.Module) -> set[str]:
    """Return the names that a cell deletes at top level."""
    deletes = (statement for statement in tree.body if isinstance(statement, ast.Delete))
    targets = (target for statement in deletes for target in statement.targets)
    return {target.id for target in targets if isinstance(target, ast.Name)}
