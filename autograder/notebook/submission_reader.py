"""Convert a student's file to a `Submission` with the release's locked cells and the student's answers.

Whatever the bytes, the result is a `Submission` or a `NotebookError`. The details that students state on an
exam's title page are kept for staff and never trusted: the folder of a submission determines the student, and
these lines help if folders were mixed up.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

from msgspec.structs import replace

from autograder.core.records import Answer, Cell, CellRemark, Markdown, Message, Note, Submission
from autograder.core.syntax import UNREADABLE, parse_module
from autograder.core.tables import escape_name
from autograder.notebook.answer_recovery import Recovery, recover_answers
from autograder.notebook.cell_matching import LOST, Matching, match_cells
from autograder.notebook.cell_preparation import PreparedCells, prepare_cells
from autograder.notebook.displaced_answers import FIELDS
from autograder.notebook.document import (
    MAX_SOURCE,
    UNREADABLE_SOURCE,
    Document,
    RawCell,
    is_attachment_shown,
    normalize_source,
    parse_notebook,
)
from autograder.notebook.duplicate_cells import is_split_statement, is_text
from autograder.notebook.pictures import extract_pictures, find_absent_pictures
from autograder.notebook.placeholders import SkippedLines, find_skipped_lines, list_stubs, remove_stubs_below
from autograder.notebook.release import Release, ReleaseCell

MAX_NOTES = 200
_MOST_REMARKS = 100
"""An honest student's notebook has a handful."""
_MOST_NAMED = 12
_MOST_CODE = 4_000
_MOST_SIGNS = 100


def read_notebook(
    data: bytes,
    release: Release,
    *,
    student: str,
    assignment: str,
    names_asked: Mapping[str, Collection[str]] = {},
    pictures: Mapping[str, bytes] = {},
) -> Submission:
    """Read one notebook of one student.

    Args:
        data: submitted bytes, of any kind.
        release: the notebook as it was released.
        student: id of the student.
        assignment: name of the assignment.
        names_asked: grade_id → names that the rubric asks for, to find answers outside their cells; see
            `autograder.notebook.release.collect_names`.
        pictures: pictures that were submitted with the notebook, by path; texts may show them.

    Returns:
        The cells to run in the student's order, with the release's locked cells in their place, and an answer
        for every answer cell of the release. If the cell of an answer is undecidable, the answer carries all
        text that may belong to it and a note with the code ``answer-cell-lost``, which leads to manual
        review.

    Raises:
        NotebookError: the bytes are not a notebook; see `autograder.notebook.document.parse_notebook`.
    """
    document = parse_notebook(data)
    prepared = prepare_cells(document.cells, release, names_asked, pictures)
    cells = prepared.cells
    matching = match_cells(cells, release)
    recovery = recover_answers(cells, release, matching, names_asked)
    places = {**matching.places, **recovery.places}
    types = _determine_types(cells, release.by_id, places)
    answer_cells = {**matching.parts, **recovery.written_elsewhere}
    # After the recovery, because only then is it known which cells form one answer.
    cells = _rename_clashing_pictures(cells, answer_cells.values())
    program, restored = _arrange_program(cells, release, matching, recovery, types)
    positions = {index: position for position, (index, _) in enumerate(program) if index is not None}
    ran = [cell for _, cell in program]
    skipped = find_skipped_lines(ran, release)
    lost = _find_damaged(cells, document, places, answer_cells)
    restored += _review_damaged(lost, release)
    skipped_notes = (lines.make_note(ran[lines.position]) for lines in skipped)
    cell_notes = (*prepared.notes, *matching.notes, *recovery.notes, *restored, *skipped_notes)
    outcome = (cells, release, matching, recovery, positions)
    cell_remarks = _collect_remarks(*outcome, skipped=skipped, damaged=lost.values(), prepared=prepared)
    return Submission(
        student=student,
        assignment=assignment,
        notebook=release.name,
        digest=hashlib.sha256(data).hexdigest(),
        cells=tuple(ran),
        answers=_collect_answers(cells, release, places, answer_cells, types),
        notes=_limit_notes((*document.notes, *cell_notes)),
        answer_cells=_map_positions(answer_cells, positions),
        remarks=_replace_encoding_remarks(cell_remarks, document),
        further=_map_positions(recovery.further, positions),
    )


def _replace_encoding_remarks(
    cell_remarks: tuple[CellRemark, ...], document: Document
) -> tuple[CellRemark, ...]:
    """Replace remarks on given cells by one on the encoding, if this is what changed their letters."""
    if "encoding" not in {note.code for note in document.notes}:
        return cell_remarks
    kept = (remark for remark in cell_remarks if remark.message.code != "notebook.given-changed")
    return (CellRemark(0, Message("notebook.encoding")), *kept)


def _arrange_program(
    cells: Sequence[RawCell],
    release: Release,
    matching: Matching,
    recovery: Recovery,
    types: Mapping[str, str],
) -> tuple[list[tuple[int | None, Cell | Markdown]], list[Note]]:
    """Return the cells in the student's order, with missing locked cells inserted after their predecessors.

    Each cell comes with its index, which is None for an inserted cell. Every code cell is run except
    untouched copies of an empty answer cell, because running one of these could undo the answer.
    """
    cell_by_id, places = release.by_id, {**matching.places, **recovery.places}
    owner = {index: grade_id for grade_id, index in places.items()}
    part_of = {index: grade_id for grade_id, parts in matching.parts.items() for index in parts}
    moved_answers = {
        name: indices
        for name, indices in recovery.written_elsewhere.items()
        if name not in recovery.unassigned
    }
    program: list[tuple[int | None, Cell | Markdown]] = []
    notes: list[Note] = []
    for index in _order_cells(len(cells), places, moved_answers):
        cell, grade_id = cells[index], owner.get(index, "")
        if grade_id and cell_by_id[grade_id].is_locked:
            program.append((index, _copy_released(cell_by_id[grade_id])))
        elif grade_id or index not in matching.untouched:
            counts_as = types.get(grade_id or part_of.get(index, ""), cell.cell_type)
            code = counts_as == "code" or (not grade_id and cell.cell_type == "code")
            program.append(
                (index, Cell(cell.source, grade_id) if code else _read_text(cell, grade_id, notes))
            )
    previous = ""
    for grade_id, original in cell_by_id.items():
        # The position in the release decides: a missing cell follows the one that precedes it there.
        if original.is_locked and grade_id not in places:
            after = (position for position, (_, cell) in enumerate(program, 1) if cell.grade_id == previous)
            program.insert(next(after, 0) if previous else 0, (None, _copy_released(original)))
            notes.append(
                Note("cell-restored", "A locked cell is missing; the release's is put back.", grade_id)
            )
        elif grade_id not in places:
            continue
        previous = grade_id
    return program, notes


def _order_cells(count: int, places: Mapping[str, int], elsewhere: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the student's order, but with unchanged answer cells above the cells that contain the answer.

    Below these cells the unchanged cell would redefine the answer's names as they were released.
    """
    order = list(range(count))
    for grade_id, indices in elsewhere.items():
        place = places.get(grade_id)
        if place is not None and place not in indices and indices[0] < place:
            order.remove(place)
            order.insert(order.index(indices[0]), place)
    return order


def _map_positions(
    groups: Mapping[str, Sequence[int]], positions: Mapping[int, int]
) -> dict[str, tuple[int, ...]]:
    """Convert indices of cells to positions in the program."""
    return {
        grade_id: tuple(positions[index] for index in indices if index in positions)
        for grade_id, indices in groups.items()
    }


def _review_damaged(damaged: Iterable[str], release: Release) -> list[Note]:
    """Return a note that asks for manual review of each damaged answer."""
    text = "The file holds no text for the answer's cell: manual review."
    return [Note(LOST, text, grade_id) for grade_id in damaged if release.by_id[grade_id].is_answer]


def _find_damaged(
    cells: Sequence[RawCell],
    document: Document,
    places: Mapping[str, int],
    answer_cells: Mapping[str, Sequence[int]],
) -> dict[str, int]:
    """Return the cells without text in the file, unless other cells are read as the answer."""
    numbers = {note.place for note in document.notes if note.code == UNREADABLE_SOURCE}
    return {
        grade_id: index
        for grade_id, index in places.items()
        if grade_id not in answer_cells and f"cell {cells[index].number}" in numbers
    }


def _read_text(cell: RawCell, grade_id: str, notes: list[Note]) -> Markdown:
    """Return a student's text with the pictures that it shows, and note the others."""
    source, pictures = extract_pictures(cell.source, cell.pictures)
    shown = tuple(picture for picture in pictures if is_attachment_shown(source, picture.name))
    if len(shown) < len(pictures):
        unseen = len(pictures) - len(shown)
        text = f"Pictures attached to this cell that its text does not show: {unseen}. They are left out."
        notes.append(Note("attachments", text, f"cell {cell.number}"))
    if absent := find_absent_pictures(source, pictures):
        text = f"the text shows pictures that are not in the notebook: {escape_name(', '.join(absent))}"
        notes.append(Note("picture-absent", text, f"cell {cell.number}"))
    return Markdown(source, grade_id, pictures=shown)


def _rename_clashing_pictures(
    cells: Sequence[RawCell], groups: Iterable[Sequence[int]]
) -> tuple[RawCell, ...]:
    """Return cells in which the pictures of one answer have different names.

    JupyterLab calls every pasted picture ``image.png``. Without renaming, the halves of a split answer, which
    are read as one text, would show one picture twice.

    Args:
        cells: cells of a notebook.
        groups: for each answer, the indices of the cells it is read from.
    """
    renamed = list(cells)
    for indices in groups:
        names: set[str] = set()
        for index in indices if len(indices) > 1 else ():
            cell = cells[index]
            if cell.cell_type == "code":
                continue
            source, pictures = extract_pictures(cell.source, cell.pictures)
            unique = []
            for picture in pictures:
                name = picture.name if picture.name not in names else f"{cell.number}-{picture.name}"
                # Notebooks write the address with or without percent-encoding.
                for written in (picture.name, quote(picture.name)):
                    source = source.replace(f"attachment:{written}", f"attachment:{name}")
                names.add(name)
                unique.append(replace(picture, name=name))
            renamed[index] = replace(cell, source=source, pictures=tuple(unique))
    return tuple(renamed)


def _copy_released(original: ReleaseCell) -> Cell | Markdown:
    """Return a locked cell as the release has it."""
    if original.cell_type == "code":
        return Cell(original.source, original.grade_id, locked=True)
    return Markdown(original.source, original.grade_id)


def _determine_types(
    cells: Sequence[RawCell], cell_by_id: Mapping[str, ReleaseCell], places: Mapping[str, int]
) -> dict[str, str]:
    """Return the type of each answer: the release's, unless code was turned to a text that is no code."""
    types = {grade_id: cell.cell_type for grade_id, cell in cell_by_id.items()}
    for grade_id, index in places.items():
        cell = cells[index]
        # A converted cell with code is still run: see `duplicate_cells.is_text`.
        if cell_by_id[grade_id].is_answer and cell.cell_type == "markdown" and is_text(cell.source):
            types[grade_id] = "markdown"
    return types


def _collect_answers(
    cells: Sequence[RawCell],
    release: Release,
    places: Mapping[str, int],
    answer_cells: Mapping[str, Sequence[int]],
    types: Mapping[str, str],
) -> dict[str, Answer]:
    """Return the answer to every answer cell of the release."""
    answers, stubs = {}, list_stubs(release)
    for grade_id, original in release.by_id.items():
        if not original.is_answer:
            continue
        if grade_id in answer_cells:
            source = "\n\n".join(cells[index].source for index in answer_cells[grade_id])[:MAX_SOURCE]
        else:
            source = cells[places[grade_id]].source if grade_id in places else original.source
        # Compare before pictures and placeholders are removed, which would also change the release's text.
        changed = normalize_source(source) != normalize_source(original.source)
        if types[grade_id] != "code":
            source, _ = extract_pictures(source)
        elif changed:
            source = remove_stubs_below(source, stubs)
        answers[grade_id] = Answer(grade_id, types[grade_id], source, changed)
    return answers


def _limit_notes(notes: Sequence[Note]) -> tuple[Note, ...]:
    """Return the notes, limited in number."""
    if len(notes) <= MAX_NOTES:
        return tuple(notes)
    # Requests for manual review must not drown in notes that an attacker can produce at will.
    first = sorted(notes, key=lambda note: note.code != LOST)[: MAX_NOTES - 1]
    return (*first, Note("more-notes", f"{len(notes) - len(first)} more notes are not kept."))


def read_details(cells: Iterable[Cell | Markdown]) -> dict[str, str]:
    """Return the texts and numbers that cells assign to the student's details, without running any code.

    The first value that is not empty counts; each is cut to a hundred characters.
    """
    values: dict[str, str] = {}
    for cell in cells:
        if not isinstance(cell, Cell) or cell.locked or len(cell.source) > _MOST_CODE:
            continue
        if any(name in cell.source for name in FIELDS):
            values = {**_read_assigned(cell.source), **values}
    return {name: values[name] for name in FIELDS if name in values}


def _read_assigned(source: str) -> dict[str, str]:
    """Return the texts and numbers that one cell assigns to the student's details."""
    try:
        body = parse_module(source).body
    except UNREADABLE:
        return {}
    values: dict[str, str] = {}
    for statement in body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
            continue
        value = statement.value.value
        # Not isinstance: True is no student number. The limit avoids converting huge integers to text.
        if type(value) is int and abs(value) < 10**_MOST_SIGNS:
            value = str(value)
        if isinstance(value, str) and value.strip():
            text = " ".join(value.split())[:_MOST_SIGNS]
            values |= {target.id: text for target in statement.targets if isinstance(target, ast.Name)}
    return {name: text for name, text in values.items() if name in FIELDS}


def _collect_remarks(
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
    return tuple(sorted(placed, key=lambda remark: remark.position)[:_MOST_REMARKS])


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
