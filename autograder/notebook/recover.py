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

from autograder.notebook.copies import is_unwritten, names, parse_cell
from autograder.notebook.displaced import (
    Rebound,
    SearchedNotebook,
    find_code,
    find_rebound,
    find_unnamed,
    is_details,
)
from autograder.notebook.document import RawCell, canonical, name_cells
from autograder.notebook.headings import name_answers
from autograder.notebook.match import LOST, Matching, region
from autograder.notebook.owntexts import find_further, find_texts
from autograder.notebook.release import Release, ReleaseCell
from autograder.records import Note

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
    rebound: Rebound = Rebound()
    """Changes to the names of answers below the answers."""
    unnamed: Mapping[int, tuple[str, ...]] = {}
    """Cells of code answers that assign nothing → names that the rubric asks for."""
    further: Mapping[str, tuple[int, ...]] = {}
    """Written answers → texts next to them that belong to no answer."""
    notes: tuple[Note, ...] = ()


def recover(
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
    known = release.by_id
    pool = _pool(cells, release, matching)
    named = name_answers(cells, release, pool)
    places: dict[str, int] = {}
    open_ids, notes = list[str](), list[Note]()
    for (before, after), (ids, span) in _groups(known, matching.places, len(cells)).items():
        candidates = [index for index in span if index in pool and _may_be(named, index, ids)]
        found = _by_names(cells, known, ids, candidates)
        if before or after:
            found |= _by_order(cells, known, ids, candidates, found)
        places |= found
        open_ids += [grade_id for grade_id in ids if grade_id not in found]
    for grade_id, index in places.items():
        text = f"The answer cell is missing; cell {cells[index].number} stands in its place and is taken."
        notes.append(Note("answer-recovered", text, grade_id))
    # Each step below takes cells out of the pool, so the strongest evidence comes first.
    rest = pool - set(places.values())
    elsewhere = _beside_stubs(cells, known, matching, rest | matching.away, notes, named=named)
    rest -= {index for indices in elsewhere.values() for index in indices}
    elsewhere |= _inside_others(cells, release, open_ids, matching, notes)
    split = {name: parts for name, parts in matching.parts.items() if len(parts) > 1}
    found_places = {**matching.places, **places}
    notebook = SearchedNotebook(
        cells, release, names_asked, found_places, {**split, **elsewhere}, pool, named
    )
    elsewhere |= (displaced := find_code(notebook, notes))
    notes[:] = [note for note in notes if note.code != BESIDE or note.place not in displaced]
    elsewhere = _without_nameless(notebook, elsewhere, notes)
    notebook = replace(notebook, parts={**split, **elsewhere})
    rest -= {index for indices in displaced.values() for index in indices}
    for grade_id in [one for one in open_ids if one not in elsewhere]:
        near, lost = _lost(cells, known, grade_id, found_places, rest)
        notes += lost
        elsewhere |= {grade_id: near} if near else {}
    rest -= {index for indices in elsewhere.values() for index in indices}
    elsewhere |= _continued(cells, known, matching, rest, notes, named=named)
    # Last, because a text may only be assigned if no other evidence claims it.
    unassigned = find_texts(notebook := replace(notebook, parts={**notebook.parts, **elsewhere}), notes)
    notes += [
        Note("answer-cell-missing", "The answer cell is missing; counted as unanswered.", grade_id)
        for grade_id in open_ids
        if grade_id not in elsewhere and grade_id not in unassigned
    ]
    rebound = find_rebound(notebook, notes)
    written = {**elsewhere, **unassigned, **rebound.reassigned}
    further = find_further(notebook, notes)
    missing = find_unnamed(replace(notebook, parts={**notebook.parts, **written}), notes)
    return Recovery(places, written, frozenset(unassigned), rebound, missing, further, tuple(notes))


def _without_nameless(
    notebook: SearchedNotebook, elsewhere: dict[str, tuple[int, ...]], notes: list[Note]
) -> dict[str, tuple[int, ...]]:
    """Drop code next to an unchanged cell that defines none of the names asked for.

    It is scratch code or needs manual review; it cannot be judged.
    """
    found = replace(notebook, parts={**notebook.parts, **elsewhere})
    beside = {note.place for note in notes if note.code == BESIDE}
    is_code = (name for name in beside if notebook.release.by_id[name].cell_type == "code")
    nameless = {name for name in is_code if not found.defines(name)}
    notes[:] = [note for note in notes if note.code != BESIDE or note.place not in nameless]
    return {name: indices for name, indices in elsewhere.items() if name not in nameless}


def _pool(cells: Sequence[RawCell], release: Release, matching: Matching) -> set[int]:
    """Return the cells that may be an answer: not matched, and not a copy or half of given text."""
    known = release.by_id
    given = {canonical(cell.source) for cell in release.cells if not cell.is_answer}
    # Untouched copies are not run and must not become answers.
    passed = matching.taken | matching.untouched
    return {
        index
        for index, cell in enumerate(cells)
        if index not in passed
        and cell.source.strip()
        and canonical(cell.source) not in given
        and not _is_half_of_locked(cell, known)
        and not is_details(cell)
    }


def _is_half_of_locked(cell: RawCell, known: Mapping[str, ReleaseCell]) -> bool:
    """Decide whether a cell is a remainder of a split locked cell: it has its id and part of its text."""
    original = known.get(str((cell.nbgrader or {}).get("grade_id")))
    return original is not None and original.is_locked and canonical(cell.source.lstrip()) in original.source


def _groups(
    known: Mapping[str, ReleaseCell], places: Mapping[str, int], end: int
) -> dict[tuple[str, str], tuple[list[str], range]]:
    """Return the missing answers grouped by their nearest neighbours, with the cells between these."""
    groups: dict[tuple[str, str], tuple[list[str], range]] = {}
    for grade_id, cell in known.items():
        if cell.is_answer and grade_id not in places:
            before, after, span = region(grade_id, known, places, end, locked=False)
            groups.setdefault((before, after), ([], span))[0].append(grade_id)
    return groups


def _may_be(named: Mapping[int, Sequence[str]], index: int, ids: Collection[str]) -> bool:
    """Decide whether the headings of a cell, if they name answers at all, name one of these."""
    return index not in named or bool({*named[index]} & {*ids})


def _by_names(
    cells: Sequence[RawCell], known: Mapping[str, ReleaseCell], ids: Sequence[str], candidates: Iterable[int]
) -> dict[str, int]:
    """Return answers identified by the functions, classes and variables that their stub defines."""
    claims: dict[int, list[str]] = defaultdict(list)
    defined = {index: names(cells[index].source) for index in candidates if cells[index].cell_type == "code"}
    for grade_id in ids:
        wanted = names(known[grade_id].source)
        hits = [index for index, own in defined.items() if wanted and wanted <= own]
        # Several hits, or several answers with one hit, identify no cell.
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
    """Assign cells in order, for each type with as many unknown cells as missing answers."""
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
    *,
    named: Mapping[int, Sequence[str]],
) -> dict[str, tuple[int, ...]]:
    """Return answers in new cells next to a given cell that was left unchanged."""
    owner = {index: grade_id for grade_id, index in matching.places.items()}
    owner |= {index: grade_id for grade_id, parts in matching.parts.items() for index in parts}
    found: dict[str, tuple[int, ...]] = {}
    used: set[int] = set()
    for grade_id, index in matching.places.items():
        original = known[grade_id]
        if not original.is_answer or not is_unwritten(cells[index].source, original):
            continue
        start = next((at for at in range(index - 1, -1, -1) if at in owner), -1)
        stop = next((at for at in range(index + 1, len(cells)) if at in owner), len(cells))
        if start >= 0 and known[owner[start]].is_answer:
            start = index  # what follows another answer belongs to that one
        # A cell serves one answer only; the first stub in order gets it.
        near = tuple(
            at
            for at in range(start + 1, stop)
            if at in rest - used
            and cells[at].cell_type == original.cell_type
            and _may_be(named, at, [grade_id])
        )
        if near:
            found[grade_id] = near
            used.update(near)
            taken = f"{name_cells(cells, near)} beside it {'is' if len(near) == 1 else 'are'} taken"
            text = f"The answer cell is unchanged; the student's {taken}."
            notes.append(Note(BESIDE, text, grade_id))
    return found


def _continued(
    cells: Sequence[RawCell],
    known: Mapping[str, ReleaseCell],
    matching: Matching,
    rest: set[int],
    notes: list[Note],
    *,
    named: Mapping[int, Sequence[str]],
) -> dict[str, tuple[int, ...]]:
    """Return written answers that continue in the student's own texts, directly below or with a heading."""
    found: dict[str, tuple[int, ...]] = {}
    for grade_id, index in matching.places.items():
        original = known[grade_id]
        parts = matching.parts.get(grade_id, (index,))
        unwritten = canonical(cells[index].source) == canonical(original.source)
        if not original.is_answer or original.cell_type != "markdown" or unwritten:
            continue
        # The first cell that is code, matched, or named by a heading ends the answer.
        below = itertools.takewhile(
            lambda at: at in rest and at not in named and cells[at].cell_type != "code",
            range(parts[-1] + 1, len(cells)),
        )
        more = [*below, *(at for at in sorted(rest) if named.get(at) == (grade_id,))]
        if more:
            found[grade_id] = (*parts, *more)
            text = f"The answer goes on in {name_cells(cells, more)}."
            notes.append(Note("answer-continued", text, grade_id))
    return found


def _inside_others(
    cells: Sequence[RawCell],
    release: Release,
    open_ids: Sequence[str],
    matching: Matching,
    notes: list[Note],
) -> dict[str, tuple[int, ...]]:
    """Return missing answers with a cell that was merged into the cell of another answer.

    Code identifies itself by the names it defines. A text next to the missing one, with no cell between them
    in the release, may contain both answers, which needs manual review.
    """
    known = release.by_id
    found: dict[str, tuple[int, ...]] = {}
    for grade_id in open_ids:
        original = known[grade_id]
        wanted = names(original.source)
        for other in (known[name] for name in matching.places if known[name].is_answer):
            index = matching.places[other.grade_id]
            written = canonical(cells[index].source) != canonical(other.source)
            if not written or cells[index].cell_type != original.cell_type:
                continue
            # Names of the other answer's own stub do not show that a second answer is there.
            if wanted and wanted <= names(cells[index].source) - names(other.source):
                text = f"Its cell was merged into cell {cells[index].number}, which defines its names."
                notes.append(Note("answer-merged", text, grade_id))
            elif not wanted and abs(original.number - other.number) == 1:
                text = f"The answer cell is missing; cell {cells[index].number} may hold it: manual review."
                notes.append(Note(LOST, text, grade_id))
            else:
                continue
            found[grade_id] = (index,)
            break
    return found


def _lost(
    cells: Sequence[RawCell],
    known: Mapping[str, ReleaseCell],
    grade_id: str,
    places: Mapping[str, int],
    rest: set[int],
) -> tuple[tuple[int, ...], list[Note]]:
    """Return all cells that may contain a lost answer, and a note that asks for manual review.

    A written answer is not searched in code, but prose in a code cell is no code.
    """
    is_code = known[grade_id].cell_type == "code"
    fitting = [index for index in sorted(rest) if is_code or not _is_python(cells[index])]
    same_type = [index for index in fitting if (cells[index].cell_type == "code") == is_code]
    _, _, span = region(grade_id, known, places, len(cells), locked=False)
    inside = tuple(index for index in fitting if index in span)
    # From the most to the least likely cells: right type and place, right place, any.
    near = tuple(index for index in same_type if index in span) or inside or tuple(same_type or fitting)
    if not near:
        return (), []
    text = f"The answer cell is missing; the answer may be in {name_cells(cells, near)}: manual review."
    return near, [Note(LOST, text, grade_id)]


def _is_python(cell: RawCell) -> bool:
    """Decide whether a cell is code and valid Python."""
    return cell.cell_type == "code" and parse_cell(cell.source) is not None
