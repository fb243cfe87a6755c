"""Find students' own texts that may be a blank answer; only a human can decide, so they get manual review.

Text that a student added between the answer cells before and after a blank answer may be it, and so may text
above the first or below the last given cell. Scratch code without a text, a value or a new name cannot, nor
can a cell that is another answer. A text cell that is next to no blank answer may be any blank written one.
The cell of an answer next to a blank written one may contain both if it has several paragraphs, or explains
something in its code. A name that a rubric asks for is evidence, too.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from autograder.core.records import Note
from autograder.core.syntax import collect_bound_names, find_first_line
from autograder.notebook.cell_matching import LOST, find_region
from autograder.notebook.displaced_answers import MOST_TEXTS, SearchedNotebook, find_changed_names
from autograder.notebook.document import RawCell, name_cells, normalize_source
from autograder.notebook.duplicate_cells import parse_cell
from autograder.notebook.headings import find_labelled
from autograder.notebook.release import Release, ReleaseCell

_FEWEST_WORDS = 3
_FEWEST_WORDS_IN_CODE = 5
"""Of a cell's comments together, or of one string: a shorter one is no answer to another question."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_TEXT_MAGIC = re.compile(r"\s*%%(?:markdown|html|latex)\b[^\n]*\n")
_PICTURE = re.compile(r"!\[[^\]]*\]\(|<img\b")
_WORDS_APART = re.compile(r"\b[^\W\d_]{2,}[,;:.]? (?=[^\W\d_])")
"""A word followed by another one; in code, operators and brackets separate most names."""
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_END_OF_LIST = re.compile(r"^([ \t]*(?:[-*+]|\d+[.)])[ \t].*[.!?][ \t]*)\n(?=([^\W\d_]))", re.MULTILINE)
_CONTINUES = re.compile(r"[ \t]*(?:[-*+][ \t]|\||```)")
_ASSIGNED = re.compile(r"\b([^\W\d]\w*)[`*$ \t]*(?::[ \t]*\w+[ \t]*)?=(?!=)")
"""A name and its value, in a text or in code of any depth; an argument looks the same."""
_DEFINED = re.compile(r"^[ \t>]*(?:class|def)[ \t]+([^\W\d]\w*)", re.MULTILINE)
_COMMENT = re.compile(r"^[^'\"\n]*?#[ \t]*(.+)$", re.MULTILINE)
_SHOWING = ("print", "display")
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class _NonAnswers(Struct, frozen=True):
    """Content that a cell may have without being an answer."""

    given_texts: frozenset[str]
    """Lines and texts of the release."""
    asked_names: set[str]
    """Names that answers define."""
    used: set[str]
    """Names that code uses other than to show their values."""
    needed: set[str]
    """Those of them with a definition that is no answer: a bare call that tries an answer does not count as
    use."""
    defined: set[str]
    """Names that code defines."""


def find_texts(notebook: SearchedNotebook, notes: list[Note]) -> dict[str, tuple[int, ...]]:
    """Return the blank answers that may be in the student's own texts: grade_id → these cells."""
    answers = [cell for cell in notebook.release.cells if cell.is_answer]
    blank = [cell for cell in answers if notebook.is_blank(cell.grade_id)]
    candidates = dict[str, set[int]]()
    added = {kind: _find_added(notebook, kind) for kind in {cell.cell_type for cell in blank}}
    read = {index for cell in answers for index in notebook.get_cells(cell.grade_id)}
    labelled = (
        find_labelled(notebook.cells, notebook.release, {*notebook.own_cells} | read, notebook.places)
        if blank
        else {}
    )
    for original in blank:
        name, near = original.grade_id, _find_beside(notebook, original)
        added_cells = added[original.cell_type]
        candidates[name] = {
            index for index in added_cells if index in near and notebook.may_hold(index, [name])
        }
        candidates[name] |= _find_cells_with_names(notebook, original) | _find_cells_with_signature(
            notebook, original
        )
    beside = set().union(*candidates.values())
    texts = _find_unassigned_texts(notebook) - beside
    for original in blank:
        name = original.grade_id
        if original.cell_type != "code":
            candidates[name] |= {index for index in texts if notebook.may_hold(index, [name])}
            candidates[name] |= _find_shared_cells(notebook, original)
        candidates[name] |= labelled.get(name, set()) - {*notebook.get_cells(name)}
        expected = _locate_answer(notebook, original)
        # Show the nearest cells only: a list of all of them would help no marker.
        nearest = sorted(candidates[name], key=lambda index: abs(index - expected))[:MOST_TEXTS]
        candidates[name] = {*nearest}
        if nearest:
            where = name_cells(notebook.cells, sorted(nearest))
            verb = "has" if len(nearest) == 1 else "have"
            text = f"The answer is blank; {where} {verb} text of the student's that may be the answer."
            notes.append(Note(LOST, text, name))
    return {name: tuple(sorted(near)) for name, near in candidates.items() if near}


def find_further(notebook: SearchedNotebook, notes: list[Note]) -> dict[str, tuple[int, ...]]:
    """Return the student's own texts that belong to no answer, by the written answers next to them.

    They may continue the answer above them, or the one they separate from its prompt, unless their heading
    names another. Texts on the title page stay there: they may contain a name, which markers must not read.

    Args:
        notebook: notebook with all cells that are certainly read as an answer.
        notes: receives a note for each of these answers.
    """
    cell_by_id, read = notebook.release.by_id, notebook.map_owners()
    texts = {index for index in notebook.own_cells if index not in read and _is_prose(notebook.cells[index])}
    texts |= _find_unassigned_texts(notebook) - read.keys()
    # A copy of an answer adds nothing to read.
    repeated = {normalize_source(notebook.cells[index].source) for index in read}
    texts = {index for index in texts if normalize_source(notebook.cells[index].source) not in repeated}
    first = next((name for name, original in cell_by_id.items() if original.is_answer), "")
    title = (
        find_region(first, cell_by_id, notebook.places, len(notebook.cells), locked=True)[2].start
        if first
        else 0
    )
    written = [
        name
        for name, original in cell_by_id.items()
        if original.is_answer and original.cell_type != "code" and not notebook.is_blank(name)
    ]
    last = {name: max(notebook.get_cells(name)) for name in written}
    spans = {
        name: find_region(name, cell_by_id, notebook.places, len(notebook.cells), locked=True)[2]
        for name in written
    }
    further: dict[str, list[int]] = {}
    for index in sorted(index for index in texts if index >= title and written):
        # A heading that names answers is stronger than the position.
        if index in notebook.named:
            for name in set(notebook.named[index]).intersection(written):
                further.setdefault(name, []).append(index)
            continue
        above = [name for name in written if last[name] < index]
        nearest = max(above, key=last.__getitem__) if above else min(written, key=last.__getitem__)
        for name in dict.fromkeys([nearest, *(name for name in written if index in spans[name])]):
            further.setdefault(name, []).append(index)
    for name, indices in further.items():
        text = f"Text in {name_cells(notebook.cells, indices)} belongs to no answer; shown with this one."
        notes.append(Note("further-text", text, name))
    return {name: tuple(indices) for name, indices in further.items()}


def _find_beside(notebook: SearchedNotebook, original: ReleaseCell) -> set[int]:
    """Return the cells between the neighbouring answers of an answer, and those around all given cells."""
    cell_by_id, expected, end = (
        notebook.release.by_id,
        _locate_answer(notebook, original),
        len(notebook.cells),
    )
    places = {name: place for name, place in notebook.places.items() if name != original.grade_id}
    answer_places = [place for name, place in places.items() if cell_by_id[name].is_answer]
    start = max((place for place in answer_places if place < expected), default=-1)
    stop = min((place for place in answer_places if place >= expected), default=end)
    first, last = min(notebook.places.values(), default=end), max(notebook.places.values(), default=-1)
    return {*range(first), *range(start + 1, stop), *range(last + 1, end)}


def _find_added(notebook: SearchedNotebook, kind: str) -> set[int]:
    """Return the student's own cells that may be an answer next to them, in code or written.

    Text after another text in an answer's own cell may be the next answer; other cells that are read as an
    answer belong to that answer.
    """
    owners, code = notebook.map_owners(), [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    answers = [cell.grade_id for cell in notebook.release.cells if cell.is_answer]
    answer_names = set[str]().union(*map(notebook.get_names, answers))
    defined = set[str]().union(*map(find_changed_names, code))
    used, needed = _collect_used_names(notebook.cells)
    non_answers = _NonAnswers(
        _collect_given_lines(notebook.release),
        answer_names,
        used,
        needed if kind == "code" else used,
        defined,
    )
    taken = {
        index
        for index, ids in owners.items()
        if notebook.cells[index].cell_type == "code"
        or any(notebook.places.get(name) not in notebook.get_cells(name) for name in ids)
    }
    return {
        index
        for index in {*notebook.own_cells} - taken - {*notebook.places.values()}
        if _has_content(notebook.cells[index], non_answers)
    }


def _has_content(cell: RawCell, non_answers: _NonAnswers) -> bool:
    """Decide whether a cell of the student adds content: a text, or in code a comment, a value or a name."""
    if _is_text(cell):
        return _has_text(cell, non_answers.given_texts)
    tree = parse_cell(cell.source)
    # Invalid Python may be prose, so it counts as content.
    if tree is None:
        return True
    if find_changed_names(cell.source) & non_answers.asked_names:
        return False
    comments = (f"# {text.strip()}" for text in _COMMENT.findall(cell.source))
    return not non_answers.given_texts.issuperset(comments) or any(
        _has_statement_content(statement, non_answers) for statement in tree.body
    )


def _has_statement_content(statement: ast.stmt, non_answers: _NonAnswers) -> bool:
    """Decide whether a statement has a text, shows a value, or defines an unused name, trial runs aside."""
    nodes = [*ast.walk(statement)]
    loaded = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    # A function that calls an answer, or that other code needs, is a helper.
    if isinstance(statement, _Definition):
        return not (loaded & non_answers.asked_names) and statement.name not in non_answers.needed
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    if not non_answers.given_texts.issuperset(text.strip() for text in texts):
        return True
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return not (loaded & non_answers.asked_names) and bool(
            collect_bound_names(statement) - non_answers.used
        )
    shown = [node for value in _list_shown(statement) for node in ast.walk(value)]
    names = {node.id for node in shown if isinstance(node, ast.Name)}
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.BinOp):
        return not names & non_answers.asked_names  # a formula
    is_called = any(isinstance(node, ast.Call) for node in shown)
    return (
        bool(shown)
        and not is_called
        and not names & (non_answers.asked_names | non_answers.used | non_answers.defined)
    )


def _list_shown(statement: ast.stmt) -> list[ast.expr]:
    """Return the expressions that a statement shows: its value, or the arguments it prints."""
    if not isinstance(statement, ast.Expr):
        return []
    value = statement.value
    if not isinstance(value, ast.Call):
        return [value]
    return value.args if isinstance(value.func, ast.Name) and value.func.id in _SHOWING else []


def _find_unassigned_texts(notebook: SearchedNotebook) -> set[int]:
    """Return the student's own text cells that are read as no answer.

    A text below the last cell of the release follows an answer by chance, so it is included although it is
    shown with that answer, unless its headings name no other.
    """
    end, owners = max(notebook.places.values(), default=-1), notebook.map_owners()
    certain = {index for index, names in notebook.named.items() if owners.get(index, set()).issuperset(names)}
    certain.update(notebook.places.values())
    read = {index for index in owners if index < end or index in certain}
    given_lines = _collect_given_lines(notebook.release)
    return {
        index
        for index in notebook.own_cells
        if index not in read
        and _is_text(notebook.cells[index])
        and _has_text(notebook.cells[index], given_lines)
    }


@functools.lru_cache(maxsize=16)  # as `placeholders` does
def _collect_given_lines(release: Release) -> frozenset[str]:
    """Return the lines of the release, and the texts in its code."""
    given_lines = frozenset(line.strip() for cell in release.cells for line in cell.source.split("\n"))
    trees = [parse_cell(cell.source) for cell in release.cells if cell.cell_type == "code"]
    nodes = (node for tree in trees if tree for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return given_lines.union(node.value.strip() for node in nodes if isinstance(node.value, str))


def _is_text(cell: RawCell) -> bool:
    """Decide whether a cell is a text, in Markdown or by a cell magic."""
    return cell.cell_type != "code" or bool(_TEXT_MAGIC.match(cell.source))


def _has_text(cell: RawCell, given_lines: frozenset[str]) -> bool:
    """Decide whether a text cell contains more than given lines."""
    source = _TEXT_MAGIC.sub("", cell.source, count=1)
    return any(re.search(r"\w", line) for line in source.split("\n") if line.strip() not in given_lines)


def _find_shared_cells(notebook: SearchedNotebook, original: ReleaseCell) -> set[int]:
    """Return the cells of the answers next to a blank written one, if they have room for two answers.

    A student who writes into the wrong cell, below its own answer, leaves the right cell blank. A copy of
    another answer's cell at the place of the blank one may contain it, too.
    """
    answers = [cell.grade_id for cell in notebook.release.cells if cell.is_answer]
    written = [name for name in answers if notebook.release.by_id[name].cell_type != "code"]
    cell_by_id, end = notebook.release.by_id, len(notebook.cells)
    _, _, span = find_region(original.grade_id, cell_by_id, notebook.places, end, locked=True)
    parts = {index for name in written for index in notebook.parts.get(name, ()) if index in span}
    parts -= {*notebook.places.values(), *notebook.named}
    # A copy in the right place is better evidence than a neighbour with room.
    if copied := {index for index in parts if _is_text(notebook.cells[index])}:
        return copied
    given_lines, shared = _collect_given_lines(notebook.release), set[int]()
    before = answers.index(original.grade_id) - 1
    if before >= 0 and not notebook.is_blank(answers[before]):
        answer_names = notebook.get_names(answers[before])
        shared = {
            index
            for index in notebook.get_cells(answers[before])
            if notebook.cells[index].cell_type == "code"
            and _has_explanation(notebook.cells[index].source, given_lines, answer_names)
        }
    number = written.index(original.grade_id)
    for name in (*written[max(0, number - 1) : number], *written[number + 1 : number + 2]):
        if notebook.is_blank(name):
            continue
        read = (index for index in notebook.get_cells(name) if index not in notebook.named)
        cells = [index for index in read if _is_text(notebook.cells[index])]
        text = "\n\n".join(notebook.cells[index].source for index in cells)
        if _count_paragraphs(text, given_lines) > 1:
            shared.update(cells)
    return shared


def _count_paragraphs(text: str, given_lines: frozenset[str]) -> int:
    """Count the paragraphs with words or a picture; lists, tables and code belong to the paragraph above."""
    blocks = _BLANK_LINES.split(_END_OF_LIST.sub(_split_before_sentence, text.strip()))
    own_blocks = (
        "\n".join(line for line in block.split("\n") if line.strip() not in given_lines) for block in blocks
    )
    return sum(
        len(_WORD.findall(block)) >= _FEWEST_WORDS or bool(_PICTURE.search(block))
        for number, block in enumerate(own_blocks)
        if not (number and _CONTINUES.match(block))
    )


def _split_before_sentence(match: re.Match[str]) -> str:
    """Add a blank line below a list if a new sentence follows; another line is part of the last entry."""
    return f"{match[1]}\n\n" if match[2].isupper() else match[0]


def _has_explanation(source: str, given_lines: frozenset[str], answer_names: set[str]) -> bool:
    """Decide whether code has a longer text outside of its functions and classes.

    Args:
        source: source of a cell.
        given_lines: lines of the release.
        answer_names: names with values that are themselves an answer.
    """
    lines = source.split("\n")
    tree = parse_cell(source)
    strings: list[str] = []
    for statement in tree.body if tree else ():
        if isinstance(statement, _Definition):
            for number in range(find_first_line(statement) - 1, statement.end_lineno or 0):
                lines[number] = ""
        elif not collect_bound_names(statement) & answer_names:
            strings += [
                node.value
                for node in ast.walk(statement)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
    # Comments at the start of a line only; commented-out code is no explanation.
    comments = [line.lstrip("# \t") for line in lines if line.startswith("#")]
    own_comments = [
        text for text in comments if text and f"# {text}" not in given_lines and parse_cell(text) is None
    ]
    own_strings = (text for text in strings if not given_lines.issuperset(text.strip().split("\n")))
    if tree is None and _has_sentences(source):
        own_comments = lines  # prose in a code cell
    return any(
        len(_WORD.findall(text)) >= _FEWEST_WORDS_IN_CODE for text in ("\n".join(own_comments), *own_strings)
    )


def _is_prose(cell: RawCell) -> bool:
    """Decide whether a code cell contains only prose: bare, in comments, as a string or printed."""
    tree = parse_cell(cell.source) if cell.cell_type == "code" else None
    if tree is None:
        return cell.cell_type == "code" and _has_sentences(cell.source)
    return all(map(_is_shown_text, tree.body)) and _has_explanation(cell.source, frozenset(), set())


def _has_sentences(source: str) -> bool:
    """Decide whether most lines of a text that is no Python are sentences."""
    lines = [line for line in source.split("\n") if line.strip()]
    # At least half of the lines, because prose in a code cell may quote some code.
    sentences = [line for line in lines if len(_WORDS_APART.findall(line)) >= _FEWEST_WORDS]
    return len(_WORD.findall(source)) >= _FEWEST_WORDS_IN_CODE and 2 * len(sentences) >= len(lines) > 0


def _is_shown_text(statement: ast.stmt) -> bool:
    """Decide whether a statement only shows constant texts."""
    shown = _list_shown(statement)
    return bool(shown) and all(
        isinstance(node, ast.Constant) and isinstance(node.value, str) for node in shown
    )


def _find_cells_with_names(notebook: SearchedNotebook, original: ReleaseCell) -> set[int]:
    """Return the cells that give a value to a code answer's names in an unread place: a text or function."""
    if original.cell_type != "code":
        return set()
    wanted = notebook.get_names(original.grade_id)
    cell_by_id = notebook.release.by_id
    read = {index for name in cell_by_id if cell_by_id[name].is_answer for index in notebook.get_cells(name)}
    texts = {index for index in read if _is_text(notebook.cells[index])}
    return {
        index
        for index in {*notebook.own_cells, *texts}
        if wanted.intersection(_list_assigned_names(notebook.cells[index]))
    }


def _find_cells_with_signature(notebook: SearchedNotebook, original: ReleaseCell) -> set[int]:
    """Return the student's code cells with a function that has all parameters of a blank answer."""
    wanted = _list_signatures(original.source) - {()}
    own_code = (index for index in notebook.own_cells if notebook.cells[index].cell_type == "code")
    return {index for index in own_code if wanted & _list_signatures(notebook.cells[index].source)}


def _list_signatures(source: str) -> set[tuple[str, ...]]:
    """Return the names of the parameters of each function that a cell defines."""
    tree = parse_cell(source)
    functions = [
        statement for statement in (tree.body if tree else ()) if isinstance(statement, ast.FunctionDef)
    ]
    return {tuple(argument.arg for argument in function.args.args) for function in functions}


def _list_assigned_names(cell: RawCell) -> list[str]:
    """Return the names to which a text or code gives a value, and those that code in a text defines."""
    defined = _DEFINED.findall(cell.source) if _is_text(cell) else []
    return _ASSIGNED.findall(cell.source) + defined


def _collect_used_names(cells: Sequence[RawCell]) -> tuple[set[str], set[str]]:
    """Return the names that code uses other than to show values, with and without names it only calls."""
    trees = [parse_cell(cell.source) for cell in cells if cell.cell_type == "code"]
    statements = [statement for tree in trees if tree for statement in tree.body]
    shows = [statement for statement in statements if isinstance(statement, ast.Expr)]
    called = [node.func for root in shows for node in ast.walk(root) if isinstance(node, ast.Call)]
    other_statements = [statement for statement in statements if not isinstance(statement, ast.Expr)]
    needed = _collect_loaded_names(node for root in other_statements for node in ast.walk(root))
    return needed | _collect_loaded_names(called), needed


def _collect_loaded_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that some nodes read."""
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _locate_answer(notebook: SearchedNotebook, original: ReleaseCell) -> int:
    """Return the position of an answer, or the one where it is expected."""
    if original.grade_id in notebook.places:
        return notebook.places[original.grade_id]
    cell_by_id = notebook.release.by_id
    _, _, span = find_region(
        original.grade_id, cell_by_id, notebook.places, len(notebook.cells), locked=False
    )
    return span.start
