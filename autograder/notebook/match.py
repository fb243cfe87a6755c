"""Match the cells of a submission to the cells of the release.

A grade_id is a claim, not a proof: students copy cells, tools strip metadata, and ids can be edited. Evidence
in order of strength: the exact text of a locked cell, the grade_id, the position between neighbours. Marks
never depend on metadata; every oddity becomes a note for staff.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from autograder.notebook.copies import AnswerCells, is_split_statement, sort_copies
from autograder.notebook.document import RawCell, canonical, name_cells, shown
from autograder.notebook.release import FLAGS, SCHEMA_VERSION, Release, ReleaseCell
from autograder.records import Note

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


def match(cells: Sequence[RawCell], release: Release) -> Matching:
    """Match a submission's cells to the release by text, grade_id and order."""
    known = release.by_id
    notes: list[Note] = []
    claims = _claims(cells, known, notes)
    places = _locked_places(cells, known, claims, notes)
    # Locked cells come first: their text is the strongest evidence, and the answers are placed between them.
    locked, taken = dict(places), set(places.values())
    answers: dict[str, AnswerCells] = {}
    for grade_id, indices in claims.items():
        free = [index for index in indices if index not in taken]
        # A displaced claim of a locked cell's id may be an answer with an id that was swapped away.
        # The cell itself is found; the remaining claims are copies of it.
        if grade_id in places:
            notes.extend(_notes_on_copies_of_locked(cells, known[grade_id], free))
        elif free:
            _, _, near = region(grade_id, known, locked, len(cells), locked=True)
            answers[grade_id] = found = sort_copies(cells, known[grade_id], free, near)
            notes.extend(_notes_on_copies(cells, grade_id, found, free))
    places |= {grade_id: found.place for grade_id, found in answers.items()}
    # A swap of ids is undone only after all answers are placed.
    moved = _unswapped(cells, release, places, notes)
    whose = {moved.get(grade_id, grade_id): grade_id for grade_id in places}
    places = {**places, **{grade_id: places[other] for grade_id, other in moved.items()}}
    _note_order(known, places, notes)
    return Matching(
        places,
        {whose[name]: found.parts for name, found in answers.items() if len(found.parts) > 1},
        frozenset(index for found in answers.values() for index in found.untouched if index != found.place),
        {index: name for name, found in answers.items() for index in found.apart},
        frozenset(index for found in answers.values() if found.is_away for index in found.parts),
        tuple(notes),
    )


def region(
    grade_id: str, known: Mapping[str, ReleaseCell], places: Mapping[str, int], end: int, *, locked: bool
) -> tuple[str, str, range]:
    """Return the cells between a release cell's nearest neighbours that are present in the submission.

    Args:
        grade_id: cell of the release that is located.
        known: the release's cells in order.
        places: indices of the release's cells.
        end: number of cells in the submission.
        locked: only locked cells count as neighbours.

    Returns:
        The neighbours' ids (empty at the start and the end), and the indices strictly between them; none if
        the neighbours are out of order.
    """
    ids = [
        key for key in known if key == grade_id or (key in places and not (locked and known[key].is_answer))
    ]
    at = ids.index(grade_id)
    before = ids[at - 1] if at else ""
    after = ids[at + 1] if at + 1 < len(ids) else ""
    return before, after, range(places[before] + 1 if before else 0, places[after] if after else end)


def _claims(
    cells: Sequence[RawCell], known: Mapping[str, ReleaseCell], notes: list[Note]
) -> dict[str, list[int]]:
    """Return grade_id of the release → the cells that carry it."""
    claims: dict[str, list[int]] = defaultdict(list)
    for index, cell in enumerate(cells):
        if cell.nbgrader is None:
            continue
        grade_id = cell.nbgrader.get("grade_id")
        if isinstance(grade_id, str) and grade_id in known:
            claims[grade_id].append(index)
            notes.extend(flag_changes(cell, known[grade_id]))
        elif any(cell.nbgrader.get(flag) for flag in FLAGS):
            # Without any flag the metadata means nothing, so an unknown id is no oddity.
            text = f"grade_id {shown(grade_id)} is not in the release; taken as the student's own cell."
            notes.append(Note("unknown-id", text, f"cell {cell.number}"))
    return claims


def _locked_places(
    cells: Sequence[RawCell],
    known: Mapping[str, ReleaseCell],
    claims: Mapping[str, Sequence[int]],
    notes: list[Note],
) -> dict[str, int]:
    """Return the indices of the locked cells: by id and text, then by text alone, then by id alone."""
    by_text: dict[str, list[int]] = defaultdict(list)
    for index, cell in enumerate(cells):
        by_text[canonical(cell.source)].append(index)
    locked = {grade_id: canonical(cell.source) for grade_id, cell in known.items() if cell.is_locked}
    places: dict[str, int] = {}
    for grade_id, text in locked.items():
        exact = [index for index in claims.get(grade_id, ()) if canonical(cells[index].source) == text]
        if exact:
            places[grade_id] = exact[0]
    owners: dict[str, list[str]] = defaultdict(list)
    taken = set(places.values())
    for grade_id, text in locked.items():
        if text and grade_id not in places:
            owners[text].append(grade_id)
    for text, ids in owners.items():
        found = [index for index in by_text[text] if index not in taken]
        # Fewer copies than cells of this text do not show which of them is missing.
        if len(found) >= len(ids):
            found = found[: len(ids)]
            places.update(zip(ids, found, strict=True))
            taken.update(found)
            notes.extend(
                Note("found-by-text", f"Cell {cells[index].number} carries another id or none.", grade_id)
                for grade_id, index in zip(ids, found, strict=True)
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


def _notes_on_copies_of_locked(
    cells: Sequence[RawCell], original: ReleaseCell, free: Sequence[int]
) -> Iterator[Note]:
    """Yield a note for each unchanged copy of a locked cell."""
    for index in free:
        if canonical(cells[index].source) == canonical(original.source):
            text = f"A copy of the locked cell {shown(original.grade_id)}; run or shown as the student's own."
            yield Note("duplicate-id", text, f"cell {cells[index].number}")


def _notes_on_copies(
    cells: Sequence[RawCell], grade_id: str, found: AnswerCells, claims: Sequence[int]
) -> list[Note]:
    """Return notes about which of several cells with one answer's grade_id are read as the answer."""
    if len(claims) == 1:
        return []
    of_answer = name_cells(cells, found.parts)
    if found.contradict:
        split = is_split_statement([cells[index].source for index in found.parts])
        why = "are parts of one statement that was split" if split else "give different answers"
        text = f"{of_answer.capitalize()} carry this grade_id and {why}; needs manual review."
        return [Note(LOST, text, grade_id)]
    said = [f"{of_answer} {'are read together' if len(found.parts) > 1 else 'is read'}"]
    for indices, what in ((found.apart, "run as the student's own"), (found.untouched, "untouched, not run")):
        others = [index for index in indices if index != found.place]
        said += [f"{name_cells(cells, others)}: {what}"] if others else []
    return [Note("duplicate-id", f"{len(claims)} cells carry this grade_id: {'; '.join(said)}.", grade_id)]


def _unswapped(
    cells: Sequence[RawCell], release: Release, places: Mapping[str, int], notes: list[Note]
) -> dict[str, str]:
    """Return which answer is in which other's cell, if position or cell type proves an exchange."""
    known = release.by_id
    slots: dict[tuple[str, str], list[str]] = defaultdict(list)
    spans: dict[tuple[str, str], range] = {}
    for grade_id, cell in known.items():
        if cell.is_answer:
            before, after, span = region(grade_id, known, places, len(cells), locked=True)
            slots[before, after].append(grade_id)
            spans[before, after] = span
    present = {index: grade_id for grade_id, index in places.items() if known[grade_id].is_answer}
    moved: dict[str, str] = {}
    for key, ids in slots.items():
        inside = [present[index] for index in spans[key] if index in present]
        if len(ids) == len(inside) == 1 and ids != inside:
            moved[ids[0]] = inside[0]
        elif len(ids) == 2 and sorted(ids) == sorted(inside) and _types_exchanged(cells, known, places, ids):
            moved.update({ids[0]: ids[1], ids[1]: ids[0]})
    # Only a permutation proves an exchange; anything else stays as the ids say.
    if not moved or set(moved) != set(moved.values()):
        return {}
    notes.extend(
        Note("ids-swapped", f"Its cell carries the id of {other!r}; matched by its place.", grade_id)
        for grade_id, other in moved.items()
    )
    return moved


def _types_exchanged(
    cells: Sequence[RawCell], known: Mapping[str, ReleaseCell], places: Mapping[str, int], ids: Sequence[str]
) -> bool:
    """Decide whether two answers of different types have exchanged them."""
    first, second = (known[grade_id].cell_type for grade_id in ids)
    found = [cells[places[grade_id]].cell_type for grade_id in ids]
    return first != second and found == [second, first]


def _note_order(known: Mapping[str, ReleaseCell], places: Mapping[str, int], notes: list[Note]) -> None:
    """Note the first cell that is out of the release's order."""
    order = [places[grade_id] for grade_id in known if grade_id in places]
    late = next((number for number in range(1, len(order)) if order[number] < order[number - 1]), None)
    if late is not None:
        first = [grade_id for grade_id in known if grade_id in places][late]
        notes.append(
            Note(
                "cells-reordered",
                "Cells stand in another order than in the release; run as they stand.",
                first,
            )
        )


def flag_changes(cell: RawCell, original: ReleaseCell) -> list[Note]:
    """Return one note for a changed cell type and one for changed flags or points, if any."""
    notes = []
    if cell.cell_type != original.cell_type:
        text = f"Cell type: released as {original.cell_type}, handed in as {cell.cell_type}."
        notes.append(Note("cell-type-changed", text, original.grade_id))
    metadata, problem = _current(cell)
    if problem:
        notes.append(Note("metadata-ignored", problem, original.grade_id))
        return notes
    changes = []
    for name in FLAGS:
        expected, found = getattr(original, name), metadata.get(name, False)
        if found is not expected:
            changes.append(f"{name}: {expected} → {shown(found)}")
    # nbgrader sets arbitrary points for a cell that is not graded.
    if original.points is not None and not _same_points(original, metadata.get("points")):
        changes.append(f"points: {original.points} → {shown(metadata.get('points'))}")
    if changes:
        notes.append(Note("flags-changed", "; ".join(changes) + "; no effect.", original.grade_id))
    return notes


def _current(cell: RawCell) -> tuple[Mapping[str, Any], str]:
    """Return the metadata at nbgrader's current schema version, or the reason why it is not used."""
    metadata = cell.nbgrader or {}
    version = metadata.get("schema_version", 0)
    # True would pass as the integer 1.
    if isinstance(version, bool) or not isinstance(version, int) or not 0 <= version <= SCHEMA_VERSION:
        return {}, f"schema_version: expected up to {SCHEMA_VERSION}, got {shown(version)}; metadata ignored."
    if version == SCHEMA_VERSION:
        return metadata, ""
    from autograder.notebook import legacy  # imports nbgrader, which takes seconds

    try:
        upgraded = legacy.upgraded_metadata(metadata, cell.cell_type)
    except ValueError as error:
        return {}, f"schema_version {version}: nbgrader cannot upgrade the metadata ({error}); ignored."
    return upgraded, ""


def _same_points(original: ReleaseCell, found: Any) -> bool:
    """Decide whether a value equals the points of the release."""
    number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return number and original.points is not None and found == float(original.points)
