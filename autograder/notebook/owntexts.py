"""Texts of the student's own that may be a blank answer: only a person can tell, so they get manual review.

A text cell that belongs to no answer may be any blank written answer of the notebook. The cell of a written
answer beside a blank one may hold both if it has several paragraphs. Comments and strings in
code count only next to a blank written answer, because most of them explain the code. A code answer may stand
in a text, too, as a block of code or as a formula, or in code under a name that nothing else uses.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator, Sequence

from autograder.notebook.copies import names, parse_cell
from autograder.notebook.displaced import MOST_TEXTS, SearchedNotebook
from autograder.notebook.document import RawCell, canonical, name_cells
from autograder.notebook.match import LOST, region
from autograder.notebook.release import ReleaseCell
from autograder.records import Note
from autograder.syntax import bound_names, first_line

_FEWEST_WORDS = 3
_FEWEST_WORDS_IN_CODE = 5
"""Of a cell's comments together, or of one string: a shorter one hardly answers a question."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_TEXT_MAGIC = re.compile(r"\s*%%(?:markdown|html|latex)\b[^\n]*\n")
_CODE_BLOCK = re.compile(r"^```python\n.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[[^\]]*\]\(|<img\b")
_FORMULA = re.compile(r"\$[^$]+\$")
_WORDS_APART = re.compile(r"\b[^\W\d_]{2,}[,;:.]? (?=[^\W\d_])")
"""A word that another follows: in code, operators and brackets stand between most names."""
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_END_OF_LIST = re.compile(r"^([ \t]*(?:[-*+]|\d+[.)])[ \t].*[.!?][ \t]*)\n(?=([^\W\d_]))", re.MULTILINE)
_CONTINUES = re.compile(r"[ \t]*(?:[-*+][ \t]|\||```)")
_MARKUP = re.compile(r"^[ \t>*`$-]+", re.MULTILINE)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def find_texts(notebook: SearchedNotebook, notes: list[Note]) -> dict[str, tuple[int, ...]]:
    """Return the blank answers that may stand in texts of the student's own: grade_id → these cells."""
    texts = _texts_of_no_answer(notebook)
    found: dict[str, tuple[int, ...]] = {}
    for grade_id, original in notebook.release.by_id.items():
        if not original.is_answer or not notebook.is_blank(grade_id):
            continue
        if original.cell_type == "code":
            near = _texts_with_code(notebook, original, texts) | _values_of_no_use(notebook, original)
        else:
            named_here = {at for at in texts if grade_id in notebook.named.get(at, (grade_id,))}
            near = named_here | _code_with_texts(notebook, original) | _shared_cells(notebook, original)
        if near:
            at = _expected_position(notebook, original)
            nearest = sorted(near, key=lambda index: abs(index - at))[:MOST_TEXTS]
            found[grade_id] = tuple(sorted(nearest))
            where = name_cells(notebook.cells, found[grade_id])
            text = f"The answer is blank, but may stand in {where}; needs manual review."
            notes.append(Note(LOST, text, grade_id))
    return found


def find_further(notebook: SearchedNotebook, notes: list[Note]) -> dict[str, tuple[int, ...]]:
    """Return texts of the student's own that belong to no answer, by the written answers beside them.

    They may go on with the answer above them, or with the one between whose prompt and cell they stand,
    unless their heading names another. Texts on the title page stay there: they may hold a name, which
    whoever marks must not read.

    Args:
        notebook: with all cells that are read as an answer for certain.
        notes: takes a note for each of these answers.
    """
    known, read = notebook.release.by_id, notebook.owners()
    texts = {index for index in notebook.own if index not in read and _is_prose(notebook.cells[index])}
    texts |= _texts_of_no_answer(notebook) - read.keys()
    repeated = {canonical(notebook.cells[index].source) for index in read}
    texts = {index for index in texts if canonical(notebook.cells[index].source) not in repeated}
    first = next((name for name, original in known.items() if original.is_answer), "")
    title = region(first, known, notebook.places, len(notebook.cells), locked=True)[2].start if first else 0
    written = [
        name
        for name, original in known.items()
        if original.is_answer and original.cell_type != "code" and not notebook.is_blank(name)
    ]
    last = {name: max(notebook.cells_of(name)) for name in written}
    spans = {
        name: region(name, known, notebook.places, len(notebook.cells), locked=True)[2] for name in written
    }
    found: dict[str, list[int]] = {}
    for index in sorted(index for index in texts if index >= title and written):
        if index in notebook.named:
            for name in set(notebook.named[index]).intersection(written):
                found.setdefault(name, []).append(index)
            continue
        above = [name for name in written if last[name] < index]
        nearest = max(above, key=last.__getitem__) if above else min(written, key=last.__getitem__)
        for name in dict.fromkeys([nearest, *(name for name in written if index in spans[name])]):
            found.setdefault(name, []).append(index)
    for name, indices in found.items():
        text = f"Text in {name_cells(notebook.cells, indices)} belongs to no answer; shown with this one."
        notes.append(Note("further-text", text, name))
    return {name: tuple(indices) for name, indices in found.items()}


def _texts_of_no_answer(notebook: SearchedNotebook) -> set[int]:
    """The student's own text cells that are read as no answer.

    A text below the last cell of the release follows an answer by chance, so it is one of them although it is
    shown with that answer, unless its headings name no other.
    """
    end, owners = max(notebook.places.values(), default=-1), notebook.owners()
    certain = {index for index, names in notebook.named.items() if owners.get(index, set()).issuperset(names)}
    certain.update(notebook.places.values())
    read = {index for index in owners if index < end or index in certain}
    given = _given_lines(notebook)
    return {
        index
        for index in notebook.own
        if index not in read and _is_text(notebook.cells[index]) and _has_text(notebook.cells[index], given)
    }


def _given_lines(notebook: SearchedNotebook) -> set[str]:
    return {line.strip() for cell in notebook.release.cells for line in cell.source.split("\n")}


def _is_text(cell: RawCell) -> bool:
    return cell.cell_type != "code" or bool(_TEXT_MAGIC.match(cell.source))


def _has_text(cell: RawCell, given: set[str]) -> bool:
    """Whether a text cell has more than headings, code and what was given."""
    source = _CODE_BLOCK.sub("", _TEXT_MAGIC.sub("", cell.source, count=1))
    own = [line for line in source.split("\n") if line.strip() not in given and not line.startswith("#")]
    text = "\n".join(own)
    return len(_WORD.findall(text)) >= _FEWEST_WORDS or bool(_PICTURE.search(text) or _FORMULA.search(text))


def _shared_cells(notebook: SearchedNotebook, original: ReleaseCell) -> set[int]:
    """The cells of the written answers next to a blank one, if they have room for two answers.

    A student who writes into the wrong cell, below its own answer, leaves the right cell blank. A copy of
    another answer's cell in the place of the blank one may hold it, too.
    """
    written = [
        cell.grade_id for cell in notebook.release.cells if cell.is_answer and cell.cell_type != "code"
    ]
    known, end = notebook.release.by_id, len(notebook.cells)
    _, _, span = region(original.grade_id, known, notebook.places, end, locked=True)
    parts = {index for name in written for index in notebook.parts.get(name, ()) if index in span}
    parts -= {*notebook.places.values(), *notebook.named}
    if copied := {index for index in parts if _is_text(notebook.cells[index])}:
        return copied
    number = written.index(original.grade_id)
    found: set[int] = set()
    for name in (*written[max(0, number - 1) : number], *written[number + 1 : number + 2]):
        if notebook.is_blank(name):
            continue
        read = (index for index in notebook.cells_of(name) if index not in notebook.named)
        cells = [index for index in read if _is_text(notebook.cells[index])]
        text = "\n\n".join(notebook.cells[index].source for index in cells)
        if _count_paragraphs(text, _given_lines(notebook)) > 1:
            found.update(cells)
    return found


def _count_paragraphs(text: str, given: set[str]) -> int:
    """Count the paragraphs with words or a picture; lists, tables and code belong to the paragraph above."""
    blocks = _BLANK_LINES.split(_END_OF_LIST.sub(_part_if_sentence, text.strip()))
    own = ("\n".join(line for line in block.split("\n") if line.strip() not in given) for block in blocks)
    return sum(
        len(_WORD.findall(block)) >= _FEWEST_WORDS or bool(_PICTURE.search(block))
        for number, block in enumerate(own)
        if not (number and _CONTINUES.match(block))
    )


def _part_if_sentence(found: re.Match[str]) -> str:
    """Add a blank line below a list if a new sentence follows; another line is part of the last entry."""
    return f"{found[1]}\n\n" if found[2].isupper() else found[0]


def _code_with_texts(notebook: SearchedNotebook, original: ReleaseCell) -> set[int]:
    """The code cells next to a written answer whose comments or strings may be it."""
    answers = [cell.grade_id for cell in notebook.release.cells if cell.is_answer]
    number = answers.index(original.grade_id)
    before = [notebook.places[name] for name in answers[:number] if name in notebook.places]
    after = [notebook.places[name] for name in answers[number + 1 :] if name in notebook.places]
    span = range(before[-1] + 1 if before else 0, after[0] if after else len(notebook.cells))
    near = {index: set[str]() for index in notebook.own if index in span}
    previous = answers[number - 1] if number else ""
    if previous and not notebook.is_blank(previous):
        near |= {index: notebook.names_of(previous) for index in notebook.cells_of(previous)}
    given = _given_lines(notebook)
    return {
        index
        for index, asked in near.items()
        if notebook.cells[index].cell_type == "code" and _explains(notebook.cells[index].source, given, asked)
    }


def _explains(source: str, given: set[str], asked: set[str]) -> bool:
    """Whether code has a longer text outside of its functions and classes.

    Args:
        source: of a cell.
        given: lines of the release.
        asked: names whose values are an answer themselves.
    """
    lines = source.split("\n")
    tree = parse_cell(source)
    strings: list[str] = []
    for statement in tree.body if tree else ():
        if isinstance(statement, _Definition):
            for number in range(first_line(statement) - 1, statement.end_lineno or 0):
                lines[number] = ""
        elif not bound_names(statement) & asked:
            strings += [
                node.value
                for node in ast.walk(statement)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
    comments = [line.lstrip("# \t") for line in lines if line.startswith("#")]
    own = [text for text in comments if text and f"# {text}" not in given and parse_cell(text) is None]
    own_strings = (text for text in strings if not given.issuperset(text.strip().split("\n")))
    if tree is None and _has_sentences(source):
        own = lines  # prose in a code cell
    return any(len(_WORD.findall(text)) >= _FEWEST_WORDS_IN_CODE for text in ("\n".join(own), *own_strings))


def _is_prose(cell: RawCell) -> bool:
    """Whether a code cell holds prose and nothing else: bare, in comments, as a string or printed."""
    tree = parse_cell(cell.source) if cell.cell_type == "code" else None
    if tree is None:
        return cell.cell_type == "code" and _has_sentences(cell.source)
    return all(map(_only_shows_text, tree.body)) and _explains(cell.source, set(), set())


def _has_sentences(source: str) -> bool:
    """Whether most lines of what is no Python are sentences."""
    lines = [line for line in source.split("\n") if line.strip()]
    sentences = [line for line in lines if len(_WORDS_APART.findall(line)) >= _FEWEST_WORDS]
    return len(_WORD.findall(source)) >= _FEWEST_WORDS_IN_CODE and 2 * len(sentences) >= len(lines) > 0


def _only_shows_text(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    shown = value.args if isinstance(value, ast.Call) else [value]
    return bool(shown) and all(
        isinstance(node, ast.Constant) and isinstance(node.value, str) for node in shown
    )


def _texts_with_code(notebook: SearchedNotebook, original: ReleaseCell, texts: set[int]) -> set[int]:
    """The text cells that define a code answer's names, or that show a formula where the answer belongs."""
    known = notebook.release.by_id
    _, _, span = region(original.grade_id, known, notebook.places, len(notebook.cells), locked=True)
    written = {index for name in known if known[name].is_answer for index in notebook.cells_of(name)}
    wanted = notebook.names_of(original.grade_id)
    return {
        index
        for index in _text_cells(notebook, {*notebook.own, *written})
        if wanted & names(_MARKUP.sub("", notebook.cells[index].source))
        or (index in texts and index in span and _FORMULA.search(notebook.cells[index].source))
    }


def _values_of_no_use(notebook: SearchedNotebook, original: ReleaseCell) -> set[int]:
    """The student's own cells that give a value to a name that nothing uses: the answer under another name.

    They count beside the answer's cell and at the end of the notebook; beside another answer they are notes.
    """
    stub = parse_cell(original.source)
    if stub and any(isinstance(statement, _Definition) for statement in stub.body):
        return set()
    known, end = notebook.release.by_id, max(notebook.places.values(), default=-1)
    _, _, span = region(original.grade_id, known, notebook.places, len(notebook.cells), locked=True)
    owned = notebook.owners()
    near = [index for index in notebook.own if index not in owned and (index in span or index > end)]
    code = [index for index in near if notebook.cells[index].cell_type == "code"]
    used = _names_used(notebook.cells) if code else set()
    return {index for index in code if _names_of_values(notebook.cells[index].source) - used}


def _names_used(cells: Sequence[RawCell]) -> set[str]:
    """The names that code uses otherwise than to show their values."""
    trees = [parse_cell(cell.source) for cell in cells if cell.cell_type == "code"]
    statements = [statement for tree in trees if tree for statement in tree.body]
    return {
        node.id
        for statement in statements
        if not isinstance(statement, ast.Expr)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _names_of_values(source: str) -> set[str]:
    """The names to which a cell assigns a plain value at top level."""
    tree = parse_cell(source)
    found: set[str] = set()
    for statement in tree.body if tree else ():
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            if value is not None and ast.literal_eval(value) not in (None, ..., "", "..."):
                found |= bound_names(statement)
    return found


def _text_cells(notebook: SearchedNotebook, indices: set[int]) -> Iterator[int]:
    return (index for index in indices if _is_text(notebook.cells[index]))


def _expected_position(notebook: SearchedNotebook, original: ReleaseCell) -> int:
    """Return where an answer stands, or would stand."""
    if original.grade_id in notebook.places:
        return notebook.places[original.grade_id]
    known = notebook.release.by_id
    _, _, span = region(original.grade_id, known, notebook.places, len(notebook.cells), locked=False)
    return span.start
