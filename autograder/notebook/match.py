"""Which cell of a submission is which cell of the release.

A grade_id is a claim, not a proof: students copy cells, tools strip metadata, and ids can be edited.
Evidence in order of strength: the exact text of a locked cell, the grade_id, the place between
neighbours. Marks never depend on metadata; whatever was odd becomes a note for staff.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from autograder.notebook.document import RawCell, shown
from autograder.notebook.release import FLAGS, SCHEMA_VERSION, Release, ReleaseCell
from autograder.records import Note


class Matching(Struct, frozen=True):
    """The outcome: indices into the submission's cells, counted from 0."""

    places: Mapping[str, int]
    """grade_id → the cell that is it."""
    copies: frozenset[int]
    """Cells that claim an id another cell has."""
    notes: tuple[Note, ...] = ()


def match(cells: Sequence[RawCell], release: Release) -> Matching:
    """Match a submission's cells to the release by text, grade_id and order."""
    known = release.by_id
    notes: list[Note] = []
    claims = _claims(cells, known, notes)
    places = _locked_places(cells, known, claims, notes)
    taken = set(places.values())
    copies: set[int] = set()
    for grade_id, indices in claims.items():
        free = [index for index in indices if index not in taken]
        if grade_id in places:
            # A displaced claim with a text of its own may be an answer whose id was swapped away.
            copies.update(_copies_of_locked(cells, known[grade_id], free))
        elif free:
            places[grade_id] = _answer_place(cells, known[grade_id], free, notes)
            copies.update(index for index in free if index != places[grade_id])
    places = _unswapped(cells, release, places, notes)
    _note_order(known, places, notes)
    return Matching(places, frozenset(copies), tuple(notes))


def canonical(source: str) -> str:
    """A source without trailing white space, for comparing."""
    return "\n".join(line.rstrip() for line in source.rstrip().split("\n"))


def region(
    grade_id: str, known: Mapping[str, ReleaseCell], places: Mapping[str, int], end: int, *, locked: bool
) -> tuple[str, str, range]:
    """The cells between a release cell's nearest neighbours that are present in the submission.

    Args:
        grade_id: whose place is wanted.
        known: the release's cells in order.
        places: where the release's cells are.
        end: the number of cells in the submission.
        locked: only locked cells count as neighbours.

    Returns:
        The neighbours' ids (empty at the start and the end), and the indices strictly between them;
        none when the neighbours are not in their order.
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
    """grade_id of the release → the cells that carry it."""
    claims: dict[str, list[int]] = defaultdict(list)
    for index, cell in enumerate(cells):
        if cell.nbgrader is None:
            continue
        grade_id = cell.nbgrader.get("grade_id")
        if isinstance(grade_id, str) and grade_id in known:
            claims[grade_id].append(index)
            notes.extend(flag_changes(cell, known[grade_id]))
        elif any(cell.nbgrader.get(flag) for flag in FLAGS):
            text = f"grade_id {shown(grade_id)} is not in the release; taken as the student's own cell."
            notes.append(Note("unknown-id", text, f"cell {cell.number}"))
    return claims


def _locked_places(
    cells: Sequence[RawCell],
    known: Mapping[str, ReleaseCell],
    claims: Mapping[str, Sequence[int]],
    notes: list[Note],
) -> dict[str, int]:
    """Where the locked cells are: by id and text, then by text alone, then by id alone."""
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
        if len(found) >= len(ids):
            found = found[: len(ids)]
            places.update(zip(ids, found, strict=True))
            taken.update(found)
            notes.extend(
                Note("found-by-text", f"Cell {cells[index].number} carries another id or none.", grade_id)
                for grade_id, index in zip(ids, found, strict=True)
            )
    for grade_id in locked:
        edited = [index for index in claims.get(grade_id, ()) if index not in taken]
        if grade_id not in places and edited:
            places[grade_id] = edited[0]
            taken.add(edited[0])
            notes.append(
                Note("locked-cell-changed", "A locked cell was edited; the release's is used.", grade_id)
            )
    return places


def _copies_of_locked(cells: Sequence[RawCell], original: ReleaseCell, free: Iterable[int]) -> list[int]:
    text = canonical(original.source)
    return [index for index in free if canonical(cells[index].source) == text]


def _answer_place(
    cells: Sequence[RawCell], original: ReleaseCell, free: Sequence[int], notes: list[Note]
) -> int:
    """The first of several cells with the same answer id, or the first that is not the empty stub."""
    stub = canonical(original.source)
    answered = [index for index in free if canonical(cells[index].source) != stub]
    place = answered[0] if answered else free[0]
    if place != free[0]:
        first, second = cells[free[0]].number, cells[place].number
        text = f"Cell {first} has this id first but is unanswered; cell {second} is used."
        notes.append(Note("answered-in-copy", text, original.grade_id))
    return place


def _unswapped(
    cells: Sequence[RawCell], release: Release, places: dict[str, int], notes: list[Note]
) -> dict[str, int]:
    """Put answers back whose ids were exchanged, when place or cell type proves the exchange."""
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
    if not moved or set(moved) != set(moved.values()):
        return places
    notes.extend(
        Note("ids-swapped", f"Its cell carries the id of {other!r}; matched by its place.", grade_id)
        for grade_id, other in moved.items()
    )
    return {**places, **{grade_id: places[other] for grade_id, other in moved.items()}}


def _types_exchanged(
    cells: Sequence[RawCell], known: Mapping[str, ReleaseCell], places: Mapping[str, int], ids: Sequence[str]
) -> bool:
    first, second = (known[grade_id].cell_type for grade_id in ids)
    found = [cells[places[grade_id]].cell_type for grade_id in ids]
    return first != second and found == [second, first]


def _note_order(known: Mapping[str, ReleaseCell], places: Mapping[str, int], notes: list[Note]) -> None:
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
    """One note for a changed cell type and one for changed flags or points, if any."""
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
    # nbgrader leaves the points of a cell that is not graded to chance.
    if original.points is not None and not _same_points(original, metadata.get("points")):
        changes.append(f"points: {original.points} → {shown(metadata.get('points'))}")
    if changes:
        notes.append(Note("flags-changed", "; ".join(changes) + "; no effect.", original.grade_id))
    return notes


def _current(cell: RawCell) -> tuple[Mapping[str, Any], str]:
    """The metadata at nbgrader's current schema version, or why it is not used."""
    metadata = cell.nbgrader or {}
    version = metadata.get("schema_version", 0)
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
    number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return number and original.points is not None and found == float(original.points)
