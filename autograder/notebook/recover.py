"""Finds answers whose cell lost its identity or was left empty beside the real answer.

Tools strip metadata, and students write into a new cell below the given one. Nothing is taken away
from anyone here: an answer is only ever found, or marked for a human.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from autograder.notebook.document import RawCell
from autograder.notebook.match import Matching, canonical, region
from autograder.notebook.release import Release, ReleaseCell
from autograder.records import Note

LOST = "answer-cell-lost"
"""Code of the note that asks a human to look: which cell is the answer could not be told."""
_DEFINED = re.compile(r"^(?:(?:def|class)[ \t]+(\w+)|(\w+)[ \t]*=(?!=))", re.MULTILINE)


class Recovery(Struct, frozen=True):
    """What was found for answers whose own cell does not tell."""

    places: Mapping[str, int]
    """Answer cells that were recognised with certainty."""
    written_elsewhere: Mapping[str, tuple[int, ...]]
    """Answers that stand in other cells of the student's, in order."""
    notes: tuple[Note, ...] = ()


def recover(cells: Sequence[RawCell], release: Release, matching: Matching) -> Recovery:
    """Look for the answers that `match` did not find or found empty."""
    known = release.by_id
    pool = _pool(cells, release, matching)
    places: dict[str, int] = {}
    open_ids: list[str] = []
    notes: list[Note] = []
    for (before, after), (ids, span) in _groups(known, matching.places, len(cells)).items():
        candidates = [index for index in span if index in pool]
        found = _by_names(cells, known, ids, candidates)
        if before or after:
            found |= _by_order(cells, known, ids, candidates, found)
        places |= found
        open_ids += [grade_id for grade_id in ids if grade_id not in found]
    for grade_id, index in places.items():
        text = (
            f"The answer cell is missing; cell {cells[index].number} stands in its place and is taken for it."
        )
        notes.append(Note("answer-recovered", text, grade_id))
    rest = pool - set(places.values())
    elsewhere = _beside_stubs(cells, known, matching, rest - matching.copies, notes)
    rest -= {index for indices in elsewhere.values() for index in indices}
    for grade_id in open_ids:
        near, note = _lost(cells, known, grade_id, {**matching.places, **places}, rest)
        notes.append(note)
        if near:
            elsewhere[grade_id] = near
    return Recovery(places, elsewhere, tuple(notes))


def _pool(cells: Sequence[RawCell], release: Release, matching: Matching) -> set[int]:
    """Cells that may hold an answer: matched to nothing, and no copy of what was given."""
    given = {canonical(cell.source) for cell in release.cells if not cell.is_answer}
    taken = set(matching.places.values())
    return {
        index
        for index, cell in enumerate(cells)
        if index not in taken and cell.source.strip() and canonical(cell.source) not in given
    }


def _groups(
    known: Mapping[str, ReleaseCell], places: Mapping[str, int], end: int
) -> dict[tuple[str, str], tuple[list[str], range]]:
    """Missing answers that share their nearest neighbours, with the cells between these."""
    groups: dict[tuple[str, str], tuple[list[str], range]] = {}
    for grade_id, cell in known.items():
        if cell.is_answer and grade_id not in places:
            before, after, span = region(grade_id, known, places, end, locked=False)
            groups.setdefault((before, after), ([], span))[0].append(grade_id)
    return groups


def _by_names(
    cells: Sequence[RawCell], known: Mapping[str, ReleaseCell], ids: Sequence[str], candidates: Iterable[int]
) -> dict[str, int]:
    """Answers told by the functions, classes and variables that their stub defines."""
    claims: dict[int, list[str]] = defaultdict(list)
    defined = {index: _names(cells[index].source) for index in candidates if cells[index].cell_type == "code"}
    for grade_id in ids:
        wanted = _names(known[grade_id].source)
        hits = [index for index, names in defined.items() if wanted and wanted <= names]
        if len(hits) == 1:
            claims[hits[0]].append(grade_id)
    return {claimants[0]: index for index, claimants in claims.items() if len(claimants) == 1}


def _by_order(
    cells: Sequence[RawCell],
    known: Mapping[str, ReleaseCell],
    ids: Sequence[str],
    candidates: Sequence[int],
    found: Mapping[str, int],
) -> dict[str, int]:
    """As many unknown cells as missing answers of a type: the same order."""
    matched: dict[str, int] = {}
    for cell_type in ("code", "markdown"):
        missing = [key for key in ids if key not in found and known[key].cell_type == cell_type]
        free = [
            index
            for index in candidates
            if index not in found.values() and cells[index].cell_type == cell_type
        ]
        if len(missing) == len(free):
            matched.update(zip(missing, free, strict=True))
    return matched


def _beside_stubs(
    cells: Sequence[RawCell],
    known: Mapping[str, ReleaseCell],
    matching: Matching,
    rest: set[int],
    notes: list[Note],
) -> dict[str, tuple[int, ...]]:
    """Answers written into new cells next to a given cell that was left as it was."""
    owner = {index: grade_id for grade_id, index in matching.places.items()}
    found: dict[str, tuple[int, ...]] = {}
    used: set[int] = set()
    for grade_id, index in matching.places.items():
        original = known[grade_id]
        if not original.is_answer or canonical(cells[index].source) != canonical(original.source):
            continue
        start = next((at for at in range(index - 1, -1, -1) if at in owner), -1)
        stop = next((at for at in range(index + 1, len(cells)) if at in owner), len(cells))
        if start >= 0 and known[owner[start]].is_answer:
            start = index  # what follows another answer belongs to that one
        near = tuple(
            at
            for at in range(start + 1, stop)
            if at in rest - used and cells[at].cell_type == original.cell_type
        )
        if near:
            found[grade_id] = near
            used.update(near)
            numbers = ", ".join(str(cells[at].number) for at in near)
            text = (
                f"The answer cell is unchanged; the student wrote beside it (cell {numbers}), which is taken."
            )
            notes.append(Note("answer-beside-stub", text, grade_id))
    return found


def _lost(
    cells: Sequence[RawCell],
    known: Mapping[str, ReleaseCell],
    grade_id: str,
    places: Mapping[str, int],
    rest: set[int],
) -> tuple[tuple[int, ...], Note]:
    """An answer that may stand in any of several cells: all of them are its text, and a human is asked."""
    same_type = sorted(index for index in rest if cells[index].cell_type == known[grade_id].cell_type)
    _, _, span = region(grade_id, known, places, len(cells), locked=False)
    near = tuple(index for index in same_type if index in span) or tuple(same_type)
    if not near:
        return (), Note("answer-cell-missing", "The answer cell is missing; counted as unanswered.", grade_id)
    numbers = ", ".join(str(cells[index].number) for index in near[:10]) + ("…" if len(near) > 10 else "")
    text = f"The answer cell is missing and cannot be told among cells {numbers}; needs a human."
    return near, Note(LOST, text, grade_id)


def _names(source: str) -> set[str]:
    return {defined or assigned for defined, assigned in _DEFINED.findall(source)}
