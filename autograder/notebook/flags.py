"""What a student's copy of nbgrader's metadata says differently from the release: notes, no effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.notebook.document import RawCell, shown
from autograder.notebook.release import FLAGS, SCHEMA_VERSION, ReleaseCell
from autograder.records import Note


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
