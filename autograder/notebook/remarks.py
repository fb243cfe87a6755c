"""Remarks for students about cells that were split, copied, merged or changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from autograder.core.records import CellRemark, Message
from autograder.notebook.copies import is_split_statement
from autograder.notebook.document import RawCell, normalize_source
from autograder.notebook.match import LOST, Matching
from autograder.notebook.placeholders import SkippedLines
from autograder.notebook.prepare import PreparedCells
from autograder.notebook.recover import Recovery
from autograder.notebook.release import Release

MOST_REMARKS = 100
"""An honest student's notebook has a handful."""
_MOST_NAMED = 12


def collect_remarks(
    cells: Sequence[RawCell],
    release: Release,
    matching: Matching,
    recovery: Recovery,
    positions: Mapping[int, int],
    *,
    skipped: Iterable[SkippedLines],
    damaged: Iterable[int],
    prepared: PreparedCells,
) -> tuple[CellRemark, ...]:
    """Return the remarks in the order of the cells they are about.

    Args:
        cells: cells of the submission.
        release: the student's own release.
        matching: result of matching the cells.
        recovery: answers found in addition.
        positions: index of a cell → its position in the notebook as it is run.
        skipped: lines that are not run.
        damaged: cells without text in the file.
        prepared: changes to the cells before they were matched.
    """
    messages = [
        *_list_answer_remarks(cells, matching, recovery, positions),
        *_list_given_remarks(cells, release, matching, prepared.taken_apart),
        *_list_own_remarks(matching, recovery, prepared.taken_apart),
        *((index, Message("notebook.damaged")) for index in damaged),
    ]
    placed = [CellRemark(positions[index], message) for index, message in messages if index in positions]
    placed += [
        CellRemark(positions[index], Message("notebook.rejoined"))
        for index, cell in enumerate(cells)
        if cell.number in prepared.joined and index in positions
    ]
    placed += [CellRemark(lines.position, Message(f"notebook.{lines.code}")) for lines in skipped]
    return tuple(sorted(placed, key=lambda remark: remark.position)[:MOST_REMARKS])


def _list_answer_remarks(
    cells: Sequence[RawCell], matching: Matching, recovery: Recovery, positions: Mapping[int, int]
) -> Iterator[tuple[int, Message]]:
    """Yield remarks that list the cells of an answer, if these are not its own cell alone."""
    unassigned: dict[int, list[str]] = {}
    answer_cells = {**matching.parts, **recovery.written_elsewhere}
    # Texts of unassigned answers get one remark per cell, not one per answer.
    for name in [name for name in answer_cells if name in recovery.unassigned]:
        for index in answer_cells.pop(name):
            unassigned.setdefault(index, []).append(name)
    for name, parts in answer_cells.items():
        unclear = _find_doubt(cells, name, parts, matching, recovery)
        together = "notebook.reassigned" if name in recovery.rebound.reassigned else "notebook.together"
        code = unclear or (together if len(parts) > 1 else "notebook.elsewhere")
        numbers = [str(positions[index] + 1) for index in parts if index in positions]
        named = ", ".join(numbers[:_MOST_NAMED]) + (", …" if len(numbers) > _MOST_NAMED else "")
        for index in parts:
            yield index, Message(code, {"name": name, "cells": named})
        own_cell = matching.places.get(name)
        if not unclear and own_cell is not None and own_cell not in parts:
            found_code = "notebook.found" if len(parts) > 1 else "notebook.found.one"
            yield own_cell, Message(found_code, {"cells": named})
    for index, blank in unassigned.items():
        named = ", ".join(blank[:_MOST_NAMED]) + (", …" if len(blank) > _MOST_NAMED else "")
        yield index, Message("notebook.unassigned", {"names": named})
    for name, index in recovery.places.items():
        yield index, Message("notebook.elsewhere", {"name": name, "cells": ""})


def _find_doubt(
    cells: Sequence[RawCell], name: str, parts: Sequence[int], matching: Matching, recovery: Recovery
) -> str:
    """Return the code of why it is unclear which of the parts is an answer; empty if it is clear."""
    if (LOST, name) in {(note.code, note.place) for note in matching.notes}:
        split = is_split_statement([cells[index].source for index in parts])
        return "notebook.unsure.split" if split else "notebook.unsure"
    if (LOST, name) not in {(note.code, note.place) for note in recovery.notes}:
        return ""
    if name in matching.places:
        return "notebook.unsure.blank"
    return "notebook.unsure.missing" if len(parts) > 1 else "notebook.unsure.one"


def _list_own_remarks(
    matching: Matching, recovery: Recovery, taken_apart: Collection[int]
) -> Iterator[tuple[int, Message]]:
    """Yield remarks on copies of an answer cell, and on parts of merged cells, that are read as no answer."""
    read = matching.taken | set(recovery.places.values())
    read |= {index for indices in recovery.written_elsewhere.values() for index in indices}
    for index, name in matching.apart.items():
        if index not in read:
            yield index, Message("notebook.apart", {"name": name})
    for index, changed in recovery.rebound.deleted.items():
        yield index, Message("notebook.rebound", {"names": ", ".join(changed[:_MOST_NAMED])})
    for index, wanted in recovery.unnamed.items():
        yield index, Message("notebook.unnamed", {"names": ", ".join(wanted[:_MOST_NAMED])})
    further: dict[int, list[str]] = {}
    for name, indices in recovery.further.items():
        for index in indices:
            further.setdefault(index, []).append(name)
    for index, beside in further.items():
        yield index, Message("notebook.further", {"names": ", ".join(beside[:_MOST_NAMED])})
    for index in taken_apart:
        if index not in read and index not in further:
            yield index, Message("notebook.taken-apart")


def _list_given_remarks(
    cells: Sequence[RawCell], release: Release, matching: Matching, taken_apart: Collection[int]
) -> Iterator[tuple[int, Message]]:
    """Yield remarks on given cells that were changed, because the release's text replaces them."""
    cell_by_id = release.by_id
    for name, index in matching.places.items():
        original = cell_by_id[name]
        if original.is_locked and normalize_source(cells[index].source) != normalize_source(original.source):
            # The split-off addition directly follows its cell and has the same number.
            is_shown = index + 1 in taken_apart and cells[index + 1].number == cells[index].number
            code = "notebook.given-written" if is_shown else "notebook.given-changed"
            yield index, Message(code, {"name": name})
