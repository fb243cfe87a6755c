"""Find answers in cells that lost their identity, or in new cells next to an empty answer cell.

Tools strip metadata, and students write into a new cell below the given one. No student loses anything here:
an answer is only ever found, or left to manual review.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import Note
from autograder.notebook.cell_matching import LOST, Matching, find_region
from autograder.notebook.displaced_answers import (
    Rebindings,
    SearchedNotebook,
    find_code,
    find_rebindings,
    find_unnamed,
    is_details,
)
from autograder.notebook.document import RawCell, name_cells, normalize_source
from autograder.notebook.duplicate_cells import find_defined_names, is_unwritten_cell, parse_cell
from autograder.notebook.headings import name_answers
from autograder.notebook.release import Release, ReleaseCell
from autograder.notebook.student_texts import find_further, find_texts

BESIDE = "answer-beside-stub"
"""Code of the note about an answer in a new cell next to its unchanged cell."""


class Recovery(Struct, frozen=True):
    """Results for answers that their own cell does not identify."""

    places: Mapping[str, int]
    """Answer cells that were recognised with certainty."""
    written_elsewhere: Mapping[str, tuple[int, ...]]
    """Answers in other cells of the student, in order."""
    unassigned: frozenset[str] = frozenset()
    """Those of them that may be in the student's own texts; they need manual review."""
    rebound: Rebindings = Rebindings()
    """Changes to the names of answers below the answers."""
    unnamed: Mapping[int, tuple[str, ...]] = {}
    """Cells of code answers that assign nothing → names that the rubric asks for."""
    further: Mapping[str, tuple[int, ...]] = {}
    """Written answers → texts next to them that belong to no answer."""
    notes: tuple[Note, ...] = ()


def recover_answers(
    cells: Sequence[RawCell],
    release: Release,
    matching: Matching,
    names_asked: Mapping[str, Collection[str]] = {},
) -> Recovery:
    """Look for the answers that `match_cells` did not find or found empty.

    Args:
        cells: cells of the submission.
        release: the student's own release.
        matching: result of matching the cells.
        names_asked: grade_id → names that the rubric asks for.
    """
    pool = _collect_pool(cells, release, matching)
    named = name_answers(cells, release, pool)
    notebook = SearchedNotebook(cells, release, names_asked, matching.places, matching.parts, pool, named)
    places: dict[str, int] = {}
    open_ids, notes = list[str](), list[Note]()
    for (before, after), (ids, span) in _group_missing(notebook).items():
        candidates = [index for index in span if index in pool and notebook.may_hold(index, ids)]
        identified = _match_by_names(notebook, ids, candidates)
        if before or after:
            identified |= _match_by_order(notebook, ids, candidates, identified)
        places |= identified
        open_ids += [grade_id for grade_id in ids if grade_id not in identified]
    for grade_id, index in places.items():
        text = f"The answer cell is missing; cell {cells[index].number} stands in its place and is taken."
        notes.append(Note("answer-recovered", text, grade_id))
    # Each step below takes cells out of the pool, so the strongest evidence comes first.
    unused = pool - set(places.values())
    elsewhere = _find_next_to_stubs(notebook, unused | matching.away, notes)
    unused -= {index for indices in elsewhere.values() for index in indices}
    elsewhere |= _find_merged(notebook, open_ids, notes)
    matched, notebook = notebook, replace(notebook, places={**matching.places, **places})
    displaced = find_code(_add_parts(notebook, elsewhere), notes)
    elsewhere |= displaced
    notes[:] = [note for note in notes if note.code != BESIDE or note.place not in displaced]
    elsewhere = _drop_nameless(_add_parts(notebook, elsewhere), elsewhere, notes)
    unused -= {index for indices in displaced.values() for index in indices}
    for grade_id in [open_id for open_id in open_ids if open_id not in elsewhere]:
        if near := _collect_candidates(notebook, grade_id, unused, notes):
            elsewhere[grade_id] = near
    unused -= {index for indices in elsewhere.values() for index in indices}
    elsewhere |= _find_continued(matched, unused, notes)
    notebook = _add_parts(notebook, elsewhere)
    # Last, because a text may only be assigned if no other evidence claims it.
    unassigned = find_texts(notebook, notes)
    notes += [
        Note("answer-cell-missing", "The answer cell is missing; counted as unanswered.", grade_id)
        for grade_id in open_ids
        if grade_id not in elsewhere and grade_id not in unassigned
    ]
    rebound = find_rebindings(notebook, notes)
    written = {**elsewhere, **unassigned, **rebound.reassigned}
    further = find_further(notebook, notes)
    missing = find_unnamed(_add_parts(notebook, written), notes)
    return Recovery(places, written, frozenset(unassigned), rebound, missing, further, tuple(notes))


def _add_parts(notebook: SearchedNotebook, parts: Mapping[str, tuple[int, ...]]) -> SearchedNotebook:
    """Return the notebook with further answers that consist of several or of other cells."""
    return replace(notebook, parts={**notebook.parts, **parts})


def _drop_nameless(
    notebook: SearchedNotebook, elsewhere: dict[str, tuple[int, ...]], notes: list[Note]
) -> dict[str, tuple[int, ...]]:
    """Drop code next to an unchanged cell that defines none of the names asked for.

    It is scratch code or needs manual review; it cannot be judged.
    """
    beside = {note.place for note in notes if note.code == BESIDE}
    is_code = (name for name in beside if notebook.release.by_id[name].cell_type == "code")
    nameless = {name for name in is_code if not notebook.has_definition(name)}
    notes[:] = [note for note in notes if note.code != BESIDE or note.place not in nameless]
    return {name: indices for name, indices in elsewhere.items() if name not in nameless}


def _collect_pool(cells: Sequence[RawCell], release: Release, matching: Matching) -> set[int]:
    """Return the cells that may be an answer: not matched, and not a copy or half of given text."""
    cell_by_id = release.by_id
    given_sources = {normalize_source(cell.source) for cell in release.cells if not cell.is_answer}
    # Untouched copies are not run and must not become answers.
    passed = matching.taken | matching.untouched
    return {
        index
        for index, cell in enumerate(cells)
        if index not in passed
        and cell.source.strip()
        and normalize_source(cell.source) not in given_sources
        and not _is_half_of_locked(cell, cell_by_id)
        and not is_details(cell)
    }


def _is_half_of_locked(cell: RawCell, cell_by_id: Mapping[str, ReleaseCell]) -> bool:
    """Decide whether a cell is a remainder of a split locked cell: it has its id and part of its text."""
    original = cell_by_id.get(cell.grade_id)
    return (
        original is not None
        and original.is_locked
        and normalize_source(cell.source.lstrip()) in original.source
    )


def _group_missing(notebook: SearchedNotebook) -> dict[tuple[str, str], tuple[list[str], range]]:
    """Return the missing answers grouped by their nearest neighbours, with the cells between these."""
    cell_by_id, end = notebook.release.by_id, len(notebook.cells)
    groups: dict[tuple[str, str], tuple[list[str], range]] = {}
    for grade_id, cell in cell_by_id.items():
        if cell.is_answer and grade_id not in notebook.places:
            before, after, span = find_region(grade_id, cell_by_id, notebook.places, end, locked=False)
            groups.setdefault((before, after), ([], span))[0].append(grade_id)
    return groups


def _match_by_names(
    notebook: SearchedNotebook, ids: Sequence[str], candidates: Iterable[int]
) -> dict[str, int]:
    """Return answers identified by the functions, classes and variables that their stub defines."""
    cells = notebook.cells
    claims: dict[int, list[str]] = defaultdict(list)
    defined = {
        index: find_defined_names(cells[index].source)
        for index in candidates
        if cells[index].cell_type == "code"
    }
    for grade_id in ids:
        wanted = find_defined_names(notebook.release.by_id[grade_id].source)
        hits = [index for index, defined_names in defined.items() if wanted and wanted <= defined_names]
        # Several hits, or several answers with one hit, identify no cell.
        if len(hits) == 1:
            claims[hits[0]].append(grade_id)
    return {claimants[0]: index for index, claimants in claims.items() if len(claimants) == 1}


def _match_by_order(
    notebook: SearchedNotebook, ids: Sequence[str], candidates: Sequence[int], identified: Mapping[str, int]
) -> dict[str, int]:
    """Assign cells in order, for each type with as many unknown cells as missing answers."""
    cells, cell_by_id = notebook.cells, notebook.release.by_id
    matched: dict[str, int] = {}
    for cell_type in ("code", "markdown"):
        missing = [key for key in ids if key not in identified and cell_by_id[key].cell_type == cell_type]
        free = [
            index
            for index in candidates
            if index not in identified.values() and cells[index].cell_type == cell_type
        ]
        if len(missing) == len(free):
            matched.update(zip(missing, free, strict=True))
    return matched


def _find_next_to_stubs(
    notebook: SearchedNotebook, unused: set[int], notes: list[Note]
) -> dict[str, tuple[int, ...]]:
    """Return answers in new cells next to a given cell that was left unchanged."""
    cells, cell_by_id = notebook.cells, notebook.release.by_id
    owner = {index: grade_id for grade_id, index in notebook.places.items()}
    owner |= {index: grade_id for grade_id, parts in notebook.parts.items() for index in parts}
    answer_cells: dict[str, tuple[int, ...]] = {}
    used: set[int] = set()
    for grade_id, index in notebook.places.items():
        original = cell_by_id[grade_id]
        if not original.is_answer or not is_unwritten_cell(cells[index].source, original):
            continue
        start = next((position for position in range(index - 1, -1, -1) if position in owner), -1)
        stop = next((position for position in range(index + 1, len(cells)) if position in owner), len(cells))
        if start >= 0 and cell_by_id[owner[start]].is_answer:
            start = index  # what follows another answer belongs to that one
        # A cell serves one answer only; the first stub in order gets it.
        near = tuple(
            position
            for position in range(start + 1, stop)
            if position in unused - used
            and cells[position].cell_type == original.cell_type
            and notebook.may_hold(position, [grade_id])
        )
        if near:
            answer_cells[grade_id] = near
            used.update(near)
            taken = f"{name_cells(cells, near)} beside it {'is' if len(near) == 1 else 'are'} taken"
            text = f"The answer cell is unchanged; the student's {taken}."
            notes.append(Note(BESIDE, text, grade_id))
    return answer_cells


def _find_continued(
    notebook: SearchedNotebook, unused: set[int], notes: list[Note]
) -> dict[str, tuple[int, ...]]:
    """Return written answers that continue in the student's own texts, directly below or with a heading."""
    cells, named = notebook.cells, notebook.named
    continued: dict[str, tuple[int, ...]] = {}
    for grade_id, index in notebook.places.items():
        original = notebook.release.by_id[grade_id]
        parts = tuple(notebook.parts.get(grade_id, (index,)))
        unwritten = normalize_source(cells[index].source) == normalize_source(original.source)
        if not original.is_answer or original.cell_type != "markdown" or unwritten:
            continue
        # The first cell that is code, matched, or named by a heading ends the answer.
        below = itertools.takewhile(
            lambda position: (
                position in unused and position not in named and cells[position].cell_type != "code"
            ),
            range(parts[-1] + 1, len(cells)),
        )
        more = [*below, *(position for position in sorted(unused) if named.get(position) == (grade_id,))]
        if more:
            continued[grade_id] = (*parts, *more)
            text = f"The answer goes on in {name_cells(cells, more)}."
            notes.append(Note("answer-continued", text, grade_id))
    return continued


def _find_merged(
    notebook: SearchedNotebook, open_ids: Sequence[str], notes: list[Note]
) -> dict[str, tuple[int, ...]]:
    """Return missing answers with a cell that was merged into the cell of another answer.

    Code identifies itself by the names it defines. A text next to the missing one, with no cell between them
    in the release, may contain both answers, which needs manual review.
    """
    cells, cell_by_id = notebook.cells, notebook.release.by_id
    merged: dict[str, tuple[int, ...]] = {}
    for grade_id in open_ids:
        original = cell_by_id[grade_id]
        wanted = find_defined_names(original.source)
        for other in (cell_by_id[name] for name in notebook.places if cell_by_id[name].is_answer):
            index = notebook.places[other.grade_id]
            written = normalize_source(cells[index].source) != normalize_source(other.source)
            if not written or cells[index].cell_type != original.cell_type:
                continue
            # Names of the other answer's own stub do not show that a second answer is there.
            if wanted and wanted <= find_defined_names(cells[index].source) - find_defined_names(
                other.source
            ):
                text = f"Its cell was merged into cell {cells[index].number}, which defines its names."
                notes.append(Note("answer-merged", text, grade_id))
            elif not wanted and abs(original.number - other.number) == 1:
                text = f"The answer cell is missing; cell {cells[index].number} may hold it: manual review."
                notes.append(Note(LOST, text, grade_id))
            else:
                continue
            merged[grade_id] = (index,)
            break
    return merged


def _collect_candidates(
    notebook: SearchedNotebook, grade_id: str, unused: set[int], notes: list[Note]
) -> tuple[int, ...]:
    """Return all cells that may contain a lost answer, and note that it needs manual review.

    A written answer is not searched in code, but prose in a code cell is no code.
    """
    cells, cell_by_id = notebook.cells, notebook.release.by_id
    is_code = cell_by_id[grade_id].cell_type == "code"
    fitting = [
        index
        for index in sorted(unused)
        if is_code or cells[index].cell_type != "code" or parse_cell(cells[index].source) is None
    ]
    same_type = [index for index in fitting if (cells[index].cell_type == "code") == is_code]
    _, _, span = find_region(grade_id, cell_by_id, notebook.places, len(cells), locked=False)
    inside = tuple(index for index in fitting if index in span)
    # From the most to the least likely cells: right type and place, right place, any.
    near = tuple(index for index in same_type if index in span) or inside or tuple(same_type or fitting)
    if near:
        where = name_cells(cells, near)
        text = f"The answer cell is missing; the answer may be in {where}: manual review."
        notes.append(Note(LOST, text, grade_id))
    return near
