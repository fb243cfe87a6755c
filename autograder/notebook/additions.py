"""Restore the original text of given cells and keep the text that students added to them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from autograder.notebook.copies import find_defined_names
from autograder.notebook.document import RawCell, normalize_source
from autograder.notebook.release import Release, ReleaseCell

_WORD = re.compile(r"\w+")
_LONGEST = 100_000
"""Longest cell, in characters, that is compared; longer ones are not written by hand."""


def take_additions_out(
    cells: Sequence[RawCell],
    taken_apart: Collection[int],
    release: Release,
    names_asked: Mapping[str, Collection[str]],
) -> tuple[tuple[RawCell, ...], frozenset[int]]:
    """Move text that a student added to a given cell into a separate text cell below it.

    Code of a given cell is never run as the student changed it, so an answer in it is shown as text.
    Additions to the title page, above the first question, stay there: they may contain the student's name,
    which markers must not read.

    Args:
        cells: cells of the submission.
        taken_apart: indices of cells that were already split off from given text.
        release: the student's own release.
        names_asked: grade_id → names that the rubric asks for.

    Returns:
        The cells, and the indices of those that were split off.
    """
    wanted = {name for answer_names in names_asked.values() for name in answer_names}
    wanted |= {name for cell in release.cells if cell.is_answer for name in find_defined_names(cell.source)}
    # A given text that occurs unchanged anywhere in the submission has no addition.
    present = {normalize_source(cell.source) for cell in cells}
    ids = list(release.by_id)
    first = next((position for position, name in enumerate(ids) if release.by_id[name].is_answer), len(ids))
    # From the cell directly above the first answer on, so that the title page is skipped.
    open_ids = {
        name: original
        for name, original in itertools.islice(release.by_id.items(), max(0, first - 1), None)
        if original.is_locked and normalize_source(original.source) not in present
    }
    separated: list[RawCell] = []
    split_off: set[int] = set()
    for index, cell in enumerate(cells):
        split_off |= {len(separated)} if index in taken_apart else set()
        separated.append(cell)
        grade_id = (cell.nbgrader or {}).get("grade_id")
        original = open_ids.pop(grade_id, None) if isinstance(grade_id, str) else None
        added = _find_addition(cell, original, wanted) if original else ""
        if added:
            split_off.add(len(separated))
            # Without metadata and id the new cell cannot be mistaken for a cell of the release.
            text = replace(cell, cell_type="markdown", source=added, nbgrader=None, id="")
            separated.append(text)
    return tuple(separated), frozenset(split_off)


def _find_addition(cell: RawCell, original: ReleaseCell, wanted: Collection[str]) -> str:
    """Return the lines that a student added to a given text, or the whole code if it contains an answer."""
    if len(cell.source) > _LONGEST:
        return ""
    released_lines = {line.strip() for line in original.source.split("\n")}
    added = "\n".join(line for line in cell.source.split("\n") if line.strip() not in released_lines).strip(
        "\n"
    )
    if original.cell_type == "code" and cell.cell_type == "code":
        defined = find_defined_names(added) - find_defined_names(original.source)
        # Only a comment or a wanted name makes changed code an answer.
        is_answer = "#" in added or defined.intersection(wanted)
        return f"```python\n{cell.source}\n```" if is_answer else ""
    words = Counter(_WORD.findall(cell.source)) - Counter(_WORD.findall(original.source))
    return added if words or cell.pictures else ""
