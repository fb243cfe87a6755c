"""Match the cells of a submission to the cells of the release.

A grade_id is a claim, not a proof: students copy cells, tools strip metadata, and ids can be edited. Evidence
in order of strength: the exact text of a locked cell, the grade_id, the position between neighbours. Marks
never depend on metadata; every oddity becomes a note for staff.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from autograder.core.records import Note
from autograder.notebook.document import RawCell, format_value, name_cells, normalize_source
from autograder.notebook.duplicate_cells import AnswerCells, is_split_statement, sort_copies
from autograder.notebook.release import FLAGS, Release, ReleaseCell

LOST = "answer-cell-lost"
"""Code of the note that asks for manual review: it is undecidable which cell is the answer."""


class Matching(Struct, frozen=True):
    """Result of matching: indices into the submission's cells, counted from 0."""

    places: Mapping[str, int]
    """grade_id → index of its cell."""
    parts: Mapping[str, tuple[int, ...]] = {}
    """grade_id → all cells of an answer that consists of several, such as the halves of a split cell."""
    untouched: frozenset[int] = frozenset()
    """Copies of empty answer cells, which are not run."""
    apart: Mapping[int, str] = {}
    """Copies of an answer cell that serve another purpose → the grade_id that they carry."""
    away: frozenset[int] = frozenset()
    """Copies at another place that are the only answer with their grade_id; they may also answer another
    question."""
    notes: tuple[Note, ...] = ()

    @property
    def taken(self) -> set[int]:
        """The cells that are a cell of the release, or part of one."""
        return set(self.places.values()) | {index for parts in self.parts.values() for index in parts}


def match_cells(cells: Sequence[RawCell], release: Release) -> Matching:
    """Match a submission's cells to the release by text, grade_id and order."""
    cell_by_id = release.by_id
    notes: list[Note] = []
    claims = _collect_claims(cells, cell_by_id, notes)
    places = _locate_locked(cells, cell_by_id, claims, notes)
    # Locked cells come first: their text is the strongest evidence, and the answers are placed between them.
    locked, taken = dict(places), set(places.values())
    answers: dict[str, AnswerCells] = {}
    for grade_id, indices in claims.items():
        free = [index for index in indices if index not in taken]
        # The remaining claims of a locked cell that was found are copies of it.
        if grade_id not in places and free:
            _, _, near = find_region(grade_id, cell_by_id, locked, len(cells), locked=True)
            answers[grade_id] = copies = sort_copies(cells, cell_by_id[grade_id], free, near)
            notes.extend(_note_copies(cells, grade_id, copies, free))
    places |= {grade_id: copies.place for grade_id, copies in answers.items()}
    # A swap of ids is undone only after all answers are placed.
    moved = _undo_swaps(cells, release, places, notes)
    current_ids = {moved.get(grade_id, grade_id): grade_id for grade_id in places}
    places = {**places, **{grade_id: places[other] for grade_id, other in moved.items()}}
    return Matching(
        places,
        {current_ids[name]: copies.parts for name, copies in answers.items() if len(copies.parts) > 1},
        frozenset(
            index for copies in answers.values() for index in copies.untouched if index != copies.place
        ),
        {index: name for name, copies in answers.items() for index in copies.apart},
        frozenset(index for copies in answers.values() if copies.is_away for index in copies.parts),
        tuple(notes),
    )


def find_region(
    grade_id: str, cell_by_id: Mapping[str, ReleaseCell], places: Mapping[str, int], end: int, *, locked: bool
) -> tuple[str, str, range]:
    """Return the cells between a release cell's nearest neighbours that are present in the submission.

    Args:
        grade_id: cell of the release that is located.
        cell_by_id: the release's cells in order.
        places: indices of the release's cells.
        end: number of cells in the submission.
        locked: only locked cells count as neighbours.

    Returns:
        The neighbours' ids (empty at the start and the end), and the indices strictly between them; none if
        the neighbours are out of order.
    """
    ids = [
        key
        for key in cell_by_id
        if key == grade_id or (key in places and not (locked and cell_by_id[key].is_answer))
    ]
    position = ids.index(grade_id)
    before = ids[position - 1] if position else ""
    after = ids[position + 1] if position + 1 < len(ids) else ""
    return before, after, range(places[before] + 1 if before else 0, places[after] if after else end)


def _collect_claims(
    cells: Sequence[RawCell], cell_by_id: Mapping[str, ReleaseCell], notes: list[Note]
) -> dict[str, list[int]]:
    """Return grade_id of the release → the cells that carry it."""
    claims: dict[str, list[int]] = defaultdict(list)
    for index, cell in enumerate(cells):
        if cell.nbgrader is None:
            continue
        grade_id = cell.grade_id
        if grade_id in cell_by_id:
            claims[grade_id].append(index)
            original = cell_by_id[grade_id]
            if cell.cell_type != original.cell_type:
                text = f"Cell type: released as {original.cell_type}, handed in as {cell.cell_type}."
                notes.append(Note("cell-type-changed", text, grade_id))
        elif any(cell.nbgrader.get(flag) for flag in FLAGS):
            # Without any flag the metadata means nothing, so an unknown id is no oddity.
            claimed = format_value(cell.nbgrader.get("grade_id"))
            text = f"grade_id {claimed} is not in the release; taken as the student's own cell."
            notes.append(Note("unknown-id", text, f"cell {cell.number}"))
    return claims


def _locate_locked(
    cells: Sequence[RawCell],
    cell_by_id: Mapping[str, ReleaseCell],
    claims: Mapping[str, Sequence[int]],
    notes: list[Note],
) -> dict[str, int]:
    """Return the indices of the locked cells: by id and text, then by text alone, then by id alone."""
    by_text: dict[str, list[int]] = defaultdict(list)
    for index, cell in enumerate(cells):
        by_text[normalize_source(cell.source)].append(index)
    locked = {
        grade_id: normalize_source(cell.source) for grade_id, cell in cell_by_id.items() if cell.is_locked
    }
    places: dict[str, int] = {}
    for grade_id, text in locked.items():
        exact = [index for index in claims.get(grade_id, ()) if normalize_source(cells[index].source) == text]
        if exact:
            places[grade_id] = exact[0]
    owners: dict[str, list[str]] = defaultdict(list)
    taken = set(places.values())
    for grade_id, text in locked.items():
        if text and grade_id not in places:
            owners[text].append(grade_id)
    for text, ids in owners.items():
        matches = [index for index in by_text[text] if index not in taken]
        # Fewer copies than cells of this text do not show which of them is missing.
        if len(matches) >= len(ids):
            matches = matches[: len(ids)]
            places.update(zip(ids, matches, strict=True))
            taken.update(matches)
            notes.extend(
                Note("found-by-text", f"Cell {cells[index].number} carries another id or none.", grade_id)
                for grade_id, index in zip(ids, matches, strict=True)
            )
    # An edited locked cell is only recognised by its id, after all exact texts are assigned.
    for grade_id in locked:
        edited = [index for index in claims.get(grade_id, ()) if index not in taken]
        if grade_id not in places and edited:
            places[grade_id] = edited[0]
            taken.add(edited[0])
            notes.append(
                Note("locked-cell-changed", "A locked cell was edited; the release's is used.", grade_id)
            )
    return places


def _note_copies(
    cells: Sequence[RawCell], grade_id: str, copies: AnswerCells, claims: Sequence[int]
) -> list[Note]:
    """Return notes about which of several cells with one answer's grade_id are read as the answer."""
    if len(claims) == 1:
        return []
    of_answer = name_cells(cells, copies.parts)
    if copies.contradict:
        split = is_split_statement([cells[index].source for index in copies.parts])
        why = "are parts of one statement that was split" if split else "give different answers"
        text = f"{of_answer.capitalize()} carry this grade_id and {why}; needs manual review."
        return [Note(LOST, text, grade_id)]
    said = [f"{of_answer} {'are read together' if len(copies.parts) > 1 else 'is read'}"]
    for indices, treatment in (
        (copies.apart, "run as the student's own"),
        (copies.untouched, "untouched, not run"),
    ):
        other_cells = [index for index in indices if index != copies.place]
        said += [f"{name_cells(cells, other_cells)}: {treatment}"] if other_cells else []
    return [Note("duplicate-id", f"{len(claims)} cells carry this grade_id: {'; '.join(said)}.", grade_id)]


def _undo_swaps(
    cells: Sequence[RawCell], release: Release, places: Mapping[str, int], notes: list[Note]
) -> dict[str, str]:
    """Return which answer is in which other's cell, if position or cell type proves an exchange."""
    cell_by_id = release.by_id
    slots: dict[tuple[str, str], list[str]] = defaultdict(list)
    spans: dict[tuple[str, str], range] = {}
    for grade_id, cell in cell_by_id.items():
        if cell.is_answer:
            before, after, span = find_region(grade_id, cell_by_id, places, len(cells), locked=True)
            slots[before, after].append(grade_id)
            spans[before, after] = span
    present = {index: grade_id for grade_id, index in places.items() if cell_by_id[grade_id].is_answer}
    moved: dict[str, str] = {}
    for key, ids in slots.items():
        inside = [present[index] for index in spans[key] if index in present]
        if len(ids) == len(inside) == 1 and ids != inside:
            moved[ids[0]] = inside[0]
        elif (
            len(ids) == 2
            and sorted(ids) == sorted(inside)
            and _are_types_exchanged(cells, cell_by_id, places, ids)
        ):
            moved.update({ids[0]: ids[1], ids[1]: ids[0]})
    # Only a permutation proves an exchange; anything else stays as the ids say.
    if not moved or set(moved) != set(moved.values()):
        return {}
    notes.extend(
        Note("ids-swapped", f"Its cell carries the id of {other!r}; matched by its place.", grade_id)
        for grade_id, other in moved.items()
    )
    return moved


def _are_types_exchanged(
    cells: Sequence[RawCell],
    cell_by_id: Mapping[str, ReleaseCell],
    places: Mapping[str, int],
    ids: Sequence[str],
) -> bool:
    """Decide whether two answers of different types have exchanged them."""
    first, second = (cell_by_id[grade_id].cell_type for grade_id in ids)
    submitted = [cells[places[grade_id]].cell_type for grade_id in ids]
    return first != second and submitted == [second, first]
