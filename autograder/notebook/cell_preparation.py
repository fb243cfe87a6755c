"""Prepare the cells of a submission for matching: split merged cells, join split ones."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import Note
from autograder.notebook.cell_matching import LOST
from autograder.notebook.displaced_answers import take_details_apart
from autograder.notebook.document import MAX_SOURCE, RawCell, normalize_source
from autograder.notebook.duplicate_cells import find_defined_names, parse_cell
from autograder.notebook.pictures import attach_files
from autograder.notebook.release import Release, ReleaseCell

_FENCED = re.compile(r"^```(?:python|py)?[ \t]*\n(.*?)(?:^```[ \t]*(?:\n|\Z)|\Z)", re.MULTILINE | re.DOTALL)


_WORD = re.compile(r"\w+")
_SHORTEST_GIVEN = 10
"""Shortest given text, in characters; shorter ones, such as a heading, occur in answers by chance."""
_LONGEST_CELL = 100_000
"""Longest cell, in characters, that is compared with given texts; longer ones are not written by hand."""
MOST_HALVES = 10
"""Most cells that are appended to one; parsing the growing text for each of a thousand would take minutes."""


class PreparedCells(Struct, frozen=True):
    """Prepared cells, and the changes made to them."""

    cells: tuple[RawCell, ...]
    taken_apart: frozenset[int]
    """Indices of cells that were in one cell with given text."""
    joined: Collection[int]
    """Numbers of cells to which the rest of a split statement was appended."""
    notes: tuple[Note, ...]


def prepare_cells(
    cells: Sequence[RawCell],
    release: Release,
    names_asked: Mapping[str, Collection[str]],
    pictures: Mapping[str, bytes],
) -> PreparedCells:
    """Give every answer and every addition to given text its own cell.

    Args:
        cells: cells as submitted.
        release: the student's own release.
        names_asked: grade_id → names that the rubric asks for.
        pictures: pictures that were submitted with the notebook, by path; texts may show them.
    """
    shown = _show_pictures(cells, release, pictures)
    identified = _restore_ids(shown, release) if release.foreign else shown
    unfenced = tuple(_remove_fences(cell, release) for cell in identified)
    notes: list[Note] = []
    rejoined, joined = _join_split_cells(take_details_apart(unfenced, names_asked), release, notes)
    unmerged, own_parts = _split_merged_cells(rejoined, release, notes)
    apart, taken_apart = _take_additions_out(unmerged, own_parts, release, names_asked)
    return PreparedCells(apart, taken_apart, joined, tuple(notes))


def _show_pictures(
    cells: Iterable[RawCell], release: Release, files: Mapping[str, bytes]
) -> tuple[RawCell, ...]:
    """Return the cells with texts that show the pictures belonging to them.

    In a text without any word of the student the attached pictures are the answer.

    Args:
        cells: cells of the notebook.
        release: the notebook as it was released.
        files: pictures in separate files, by path.
    """
    blank = {"", *(normalize_source(cell.source) for cell in release.cells if cell.is_answer)}
    shown = []
    for cell in cells:
        if cell.cell_type == "code":
            shown.append(cell)
        elif cell.pictures and normalize_source(cell.source) in blank:
            addresses = (f"![](attachment:{quote(picture.name)})" for picture in cell.pictures)
            shown.append(replace(cell, source="\n\n".join(addresses)))
        else:
            source, pictures = attach_files(cell.source, cell.pictures, files)
            shown.append(replace(cell, source=source, pictures=pictures))
    return tuple(shown)


def _remove_fences(cell: RawCell, release: Release) -> RawCell:
    """Return the code of a code answer that was turned to text and fenced; other lines become comments."""
    original = release.by_id.get(cell.grade_id)
    if cell.cell_type == "code" or original is None or not original.is_answer or original.cell_type != "code":
        return cell
    parts = _FENCED.split(cell.source)  # text and code in turn
    if len(parts) == 1:
        return cell
    # Even entries are the text between the code blocks.
    for number in range(0, len(parts), 2):
        parts[number] = "\n".join(f"# {line}" for line in parts[number].split("\n") if line.strip())
    return replace(cell, source="\n".join(part.rstrip("\n") for part in parts if part))


def _restore_ids(cells: Sequence[RawCell], release: Release) -> tuple[RawCell, ...]:
    """Add the release's ids to cells of a submission that never had nbgrader's ids, such as otter's.

    A cell is recognised by the id that Jupyter gave it, and a locked one also by its text. The rest is left
    to `match_cells` and `recover_answers`, as in notebooks from which a tool removed the metadata.
    """
    cell_by_grade_id = release.by_id
    by_cell = {cell.cell_id: name for name, cell in cell_by_grade_id.items() if cell.cell_id}
    by_text = {cell.source.strip(): name for name, cell in cell_by_grade_id.items() if cell.is_locked}
    taken: set[str] = set()
    identified = []
    for cell in cells:
        name = by_cell.get(cell.id) or by_text.get(cell.source.strip(), "")
        if name and name not in taken and cell.nbgrader is None:
            taken.add(name)
            original = cell_by_grade_id[name]
            flags = {
                "grade": original.grade,
                "solution": original.solution,
                "locked": original.locked,
                "task": original.task,
            }
            cell = replace(cell, nbgrader={"grade_id": name, **flags})  # noqa: PLW2901
        identified.append(cell)
    return tuple(identified)


def _join_split_cells(
    cells: Sequence[RawCell], release: Release, notes: list[Note]
) -> tuple[list[RawCell], Collection[int]]:
    """Append cells that begin with indented code to the code cell directly above.

    *Split Cell* cuts a class or function in two. The second half runs without an error, because IPython
    removes the indentation, but its methods are missing from the class.

    Returns:
        The cells, and the numbers of those to which others were appended.
    """
    cell_by_id = release.by_id
    appended: Counter[int] = Counter()
    result: list[RawCell] = []
    for cell in cells:
        above = result[-1] if result else None
        if above is None or not _may_continue(above, cell, cell_by_id):
            result.append(cell)
            continue
        whole = f"{above.source.rstrip()}\n\n{cell.source}"
        owner = above.grade_id or cell.grade_id
        is_valid = parse_cell(whole) is not None
        is_long = len(whole) > MAX_SOURCE or appended[above.number] >= MOST_HALVES
        # Invalid code that belongs to an answer is joined as well, because a human must see the whole.
        if is_long or not (is_valid or owner):
            result.append(cell)
            continue
        marked = above if above.grade_id else replace(above, nbgrader=cell.nbgrader, id=cell.id)
        result[-1] = replace(marked, source=whole)
        appended[above.number] += 1
        text = f"Cell {cell.number} begins with indented code and is read as the rest of cell {above.number}"
        if is_valid:
            notes.append(Note("answer-rejoined", f"{text}.", owner or f"cell {above.number}"))
        else:
            notes.append(Note(LOST, f"{text}, but together they are not valid Python: manual review.", owner))
    return result, appended.keys()


def _may_continue(above: RawCell, below: RawCell, cell_by_id: Mapping[str, ReleaseCell]) -> bool:
    """Decide whether a cell looks like the rest of the one above; a cell of the release never does."""
    if above.cell_type != "code" or below.cell_type != "code":
        return False
    ids = [cell.grade_id for cell in (above, below) if cell.grade_id]
    if len(ids) > 1 or any(name not in cell_by_id or not cell_by_id[name].is_answer for name in ids):
        return False
    given_sources = {original.source.strip() for original in cell_by_id.values()}
    if above.source.strip() in given_sources or below.source.strip() in given_sources:
        return False
    code = [line for line in below.source.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    lines = above.source.rstrip().split("\n")
    # Indented code is only valid below an indented line or a line that opens a block.
    return bool(code) and code[0][0] in " \t" and (lines[-1][:1] in (" ", "\t") or lines[-1].endswith(":"))


def _split_merged_cells(
    cells: Sequence[RawCell], release: Release, notes: list[Note]
) -> tuple[list[RawCell], set[int]]:
    """Split every cell that contains a given cell of the release, if that cell is missing.

    *Merge Cells* keeps the metadata of one cell. An answer that was merged into a given cell would otherwise
    be replaced by the release's text, and a given cell merged into an answer would be read as the student's.

    Returns:
        The cells, in which the parts of one cell have the same number; and the indices of parts that are no
        given text.
    """
    present = {normalize_source(cell.source) for cell in cells}
    # Only missing cells can have been merged into others; ordinary notebooks stay untouched.
    missing = [
        cell
        for cell in release.cells
        if not cell.is_answer
        and len(cell.source.strip()) >= _SHORTEST_GIVEN
        and normalize_source(cell.source) not in present
    ]
    if not missing:
        return [*cells], set()
    claimed = {cell.grade_id for cell in cells}
    answers = {cell.grade_id for cell in release.cells if cell.is_answer}
    missing_texts = {normalize_source(cell.source) for cell in missing}
    separated: list[RawCell] = []
    own_parts: set[int] = set()
    for cell in cells:
        # Within an answer, a given text only marks the border to another answer.
        whole = cell.grade_id in answers and answers <= claimed
        parts = [cell] if whole or len(cell.source) > _LONGEST_CELL else list(_split_cell(cell, missing))
        if len(parts) > 1:
            text = "Holds the text of given cells beside other text; read as the cells it was merged from."
            notes.append(Note("cell-unmerged", text, f"cell {cell.number}"))
            own_parts |= {
                position
                for position, part in enumerate(parts, len(separated))
                if normalize_source(part.source) not in missing_texts
            }
        separated += parts
    return separated, own_parts


def _split_cell(cell: RawCell, missing: Sequence[ReleaseCell]) -> Iterator[RawCell]:
    """Yield the parts of a cell: given texts in their own cells, and the text between them."""
    lines = cell.source.split("\n")
    blocks = _find_given_blocks(lines, missing)
    if not blocks:
        yield cell
        return
    marks, end = cell, 0
    if any(given_cell.grade_id and given_cell.grade_id == cell.grade_id for _, _, given_cell in blocks):
        marks = replace(cell, nbgrader=None, id="")  # the metadata is the given cell's
    for start, stop, given_cell in [*blocks, (len(lines), len(lines), None)]:
        own_text = "\n".join(lines[end:start]).strip("\n")
        if own_text.strip():
            yield replace(marks, source=own_text)
            marks = replace(cell, nbgrader=None, id="")  # one part can be the answer whose metadata it is
        if given_cell is not None:
            kept = cell.nbgrader if given_cell.grade_id and given_cell.grade_id == cell.grade_id else None
            yield replace(
                cell, source=given_cell.source, cell_type=given_cell.cell_type, nbgrader=kept, id=""
            )
        end = stop


def _find_given_blocks(
    lines: Sequence[str], missing: Sequence[ReleaseCell]
) -> list[tuple[int, int, ReleaseCell]]:
    """Return the lines of given texts in a cell, in order and without overlaps."""
    text = [line.rstrip() for line in lines]
    places: dict[str, list[int]] = {}
    for number, line in enumerate(text):
        places.setdefault(line, []).append(number)
    blocks: list[tuple[int, int, ReleaseCell]] = []
    for given_cell in missing:
        wanted = normalize_source(given_cell.source.strip("\n")).split("\n")
        starts = (
            start_line
            for start_line in places.get(wanted[0], ())
            if text[start_line : start_line + len(wanted)] == wanted
        )
        start = next(starts, None)
        if start is not None:
            blocks.append((start, start + len(wanted), given_cell))
    apart: list[tuple[int, int, ReleaseCell]] = []
    # The longest text first, so that one within another is dropped.
    for start, stop, given_cell in sorted(blocks, key=lambda block: (block[0], -block[1])):
        if not apart or start >= apart[-1][1]:
            apart.append((start, stop, given_cell))
    return apart


def _take_additions_out(
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
        The cells, and the indices of all that were split off.
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
        original = open_ids.pop(cell.grade_id, None)
        added = _find_addition(cell, original, wanted) if original else ""
        if added:
            split_off.add(len(separated))
            # Without metadata and id the new cell cannot be mistaken for a cell of the release.
            text = replace(cell, cell_type="markdown", source=added, nbgrader=None, id="")
            separated.append(text)
    return tuple(separated), frozenset(split_off)


def _find_addition(cell: RawCell, original: ReleaseCell, wanted: Collection[str]) -> str:
    """Return the lines that a student added to a given text, or the whole code if it contains an answer."""
    if len(cell.source) > _LONGEST_CELL:
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
