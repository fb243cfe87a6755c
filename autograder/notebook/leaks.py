"""Refuse a release that reveals what its source withholds: solutions, model answers, key formulas.

Code is compared as tokens without comments, docstrings, quotes, brackets of calls and layout; text as words.
A match of a short or trivial solution proves nothing, so every rule requires a minimum of tokens or words,
with which the assignments in ``assignments/`` and the templates of ``autograder new`` pass. Halving one of
the minima stops at most one of them.
"""

from __future__ import annotations

import ast
import base64
import binascii
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from autograder.core.errors import NotebookError
from autograder.core.syntax import UNREADABLE, parse_module
from autograder.formulas import Vocabulary
from autograder.notebook.document import join_source, load_tree
from autograder.notebook.equal_formulas import compute_number, find_equal_formula, find_formulas
from autograder.notebook.markers import split_regions
from autograder.notebook.release import ReleaseCell, load_release

_MARKER = re.compile(
    r"(?:^|(?<=\s))(?:#+|<!--|//)[ \t]*(?:(?:(?:(?:BEGIN|END)[ \t]+)?(?:SOLUTION|MARK SCHEME)"
    r"|(?:BEGIN|END)[ \t]+PROMPT)\b.*"
    r"|(?i:(?:BEGIN|END)[ \t]+(?:SOLUTION|MARK[ \t]+SCHEME))[ \t]*(?:-->|#*)[ \t]*$)",
    re.MULTILINE,
)
"""Lower case only if nothing follows: "# begin solution here" may show students where to write."""
_TOKEN = re.compile(r"[^\W\d]\w*|\d[\d_]*(?:\.\d+)?|[^\s\w\"'`#(),]")
_LAYOUT = re.compile(r"\\(?:[nrt]|\s)|&nbsp;|[\xad\u200b]|(?<!\w)[rR](?=['\"])")
"""Line ends in strings, continued lines, text for spaces and invisible characters, raw-string prefixes."""
_DECIMAL = re.compile(r"(?<![\w.])(?=\d*[.eE])(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"\w+")
_UNCOUNTED = re.compile(r"(?:async\s+)?(?:def|class|import|from|else|try|finally|pass)\b|@")
"""Lines that reveal nothing about a solution: names and imports are often stated in the prompt."""
_RETURN = re.compile(r"^\s*return\b")
"""Removed before a line is searched, because the expression alone reveals as much."""
_FORMULA = re.compile(r"[\w\s.*/^+\-()\[\]{},=<>·]+")
_OPERATOR = re.compile(r"\*\*|[*/^+·]|(?<=[\d\s)])-|-(?=[\d\s(])")
"""A hyphen is an operator only next to a number, a bracket or a space: "pre-trained" is a word."""
_APPLIED = re.compile(r"[\w)\]}]\s*(?:\*\*|[*/^+·-])\s*[-\w(\[{]")
"""An operator with operands on both sides, unlike the tag ``</w>``."""
_LATEX_NAME = re.compile(r"\\(?:text|mathrm|mathit|operatorname)\s*\{(\w+)\}")
_INDEX = re.compile(r"_\{(\w+)\}")
_RAISED = re.compile("[⁰¹²³⁴-⁹]+")
_PARAGRAPH = re.compile(r"\n\s*\n|\n\s*(?:[-*+]|\d{1,2}[.)])\s|\n?<!--[ \t]*\w+[ \t]*-->\n?")
_QUESTION = re.compile(r"[^.!?:]*\?")
_DROPPED_IN_FORMULAS = frozenset({"*", "·", "\\", "{", "}", "$", "cdot", "times", "left", "right", "[", "]"})

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
"""Operators that Python and formulas share: ``^`` has another meaning in Python."""

_LINE_TOKENS = 4
"""Fewest tokens of a line that counts; a shorter one, such as ``x = 1``, occurs anywhere."""
_KEY_TOKENS = 6
"""Fewest tokens of a solution that is searched in texts and in cells for experiments."""
_GIVEN_TOKENS = 14
"""Fewest tokens of a solution that is searched in given code, which naturally resembles solutions."""
_SHARE = 0.5
"""Share of a solution's tokens in a text or a cell for experiments that is no coincidence."""
_FAR_OPERATORS = 4
"""Fewest operators of a formula that is searched everywhere. A shorter one is searched in its own question
only: elsewhere it may be an example of how to write formulas."""
_DIGITS = 4
"""Fewest digits of a number, or of all numbers in a tuple, that is searched in its own question."""
_LONG_NUMBER = 100_000
"""From this size on, a number inside a table or dictionary is searched by itself, and a number that is a
whole answer is searched everywhere, unless it is round."""
_RUN_WORDS = 6
"""Words in a row that count as copied; shorter runs are common phrases."""
_PARAGRAPH_WORDS = 8
_SHORT_ANSWER_WORDS = 5
"""A model answer from five words on is searched as a whole; from eight words on, three quarters of a
paragraph suffice."""
_TEXT_SHARE = 0.75


class GivenText(Struct, frozen=True):
    """A text that students receive."""

    place: str
    """Location, for messages."""
    text: str
    code: bool = False
    fixed: bool = False
    """Given code: locked cells, stubs and files, which a solution may legitimately repeat in part."""
    notebook: str = ""
    number: int = 0
    """Number of the cell, counted from 1; 0 if it is no cell."""


class WithheldAnswer(Struct, frozen=True):
    """Content of one answer that the source withholds."""

    place: str
    text: str
    code: bool
    notebook: str
    number: int
    since: int
    """First cell after the previous answer: the start of this question's prompt."""
    vocabulary: Vocabulary | None = None
    """Symbols of its formulas, if equal formulas reveal it."""


class _CodeLine(Struct, frozen=True):
    """Line of code as it is compared and as it is quoted."""

    tokens: str
    weight: int
    said: str


class _Assignment(Struct, frozen=True):
    """Line that assigns a literal, or a number computed from numbers."""

    tokens: str
    said: str
    is_telling: bool


class _CodeKey(Struct, frozen=True):
    """Solution in the forms that are compared."""

    lines: tuple[_CodeLine, ...]
    definitions: tuple[tuple[_CodeLine, ...], ...]
    formulas: tuple[str, ...]
    values: tuple[str, ...]
    """Numbers, and tuples and lists of them, that are assigned to a name."""
    assignments: tuple[_Assignment, ...]
    """``name = literal``, if the solution consists only of such lines."""
    far: tuple[str, ...] = ()
    """Values among these assignments that are searched everywhere."""


def check_leaks(withheld: Sequence[WithheldAnswer], released_texts: Sequence[GivenText]) -> None:
    """Refuse solutions, model answers and solution markers in texts for students.

    Raises:
        NotebookError: ``solution-left``; names the answer's cell, the place that reveals it, and the passage.
    """
    for text in released_texts:
        if marker := _MARKER.search(text.text):
            raise NotebookError(
                "solution-left",
                f"{text.place}: students would see {_quote_passage(marker[0])}, which marks a "
                "solution. Solutions "
                "are taken out between ### BEGIN SOLUTION and ### END SOLUTION in answer cells alone: move "
                "it there, or delete it.",
            )
    shown = [_SearchableText(text) for text in released_texts]
    for answer in withheld:
        leak = _find_leaked_code(answer, shown) if answer.code else _find_leaked_text(answer, shown)
        if leak := leak or _find_leaked_formula(answer, released_texts):
            place, passage = leak
            raise NotebookError(
                "solution-left",
                f"{place}: gives away the solution of {answer.place}: {_quote_passage(passage)}. "
                "Delete it there, "
                "or put it between ### BEGIN SOLUTION and ### END SOLUTION in its answer cell; if students "
                "may know it, word the two differently.",
            )


def list_withheld_answers(
    source: bytes, notebook: str, vocabularies: Mapping[str, Vocabulary] = {}
) -> Iterator[WithheldAnswer]:
    """Yield the withheld content of a source notebook: solutions, whole model answers, and mark schemes.

    Args:
        source: bytes of the notebook.
        notebook: its name.
        vocabularies: symbols of formulas, by the grade_id of the answer cell.

    Raises:
        CourseError: it is not a notebook, or its metadata is not usable.
        NotebookError: ``bad-markers``.
    """
    since = 1
    for cell in load_release(source, notebook, source=True).cells:
        if not cell.is_answer and not cell.task:
            continue
        parts = split_regions(cell.source, name_cell(notebook, cell))
        # Without solution markers nbgrader replaces the whole answer, so all of it is withheld.
        whole = not cell.task and "SOLUTION" not in parts.regions
        lines = (*parts.kept, *parts.withheld) if whole else parts.withheld
        yield WithheldAnswer(
            name_cell(notebook, cell),
            "\n".join(lines),
            cell.cell_type == "code",
            notebook,
            cell.number,
            since,
            vocabularies.get(cell.grade_id),
        )
        since = cell.number + 1


def list_withheld_in_file(source: str, path: str) -> Iterator[WithheldAnswer]:
    """Yield the content that the answer key's version of a starter file withholds."""
    if lines := split_regions(source, path).withheld:
        yield WithheldAnswer(path, "\n".join(lines), path.endswith(".py"), "", 0, 0)


def list_given_texts(release: bytes, notebook: str, *, tests: bool = True) -> Iterator[GivenText]:
    """Yield all texts in a released notebook: cells, their outputs, attachments and metadata.

    Args:
        release: bytes of the release.
        notebook: its name.
        tests: whether cells with points count; an adopted course shows results in its tests.

    Raises:
        CourseError: it is not a notebook.
    """
    tree = load_tree(release, [])
    for cell, raw in zip(load_release(release, notebook).cells, tree["cells"], strict=True):
        place = name_cell(notebook, cell)
        if tests or cell.is_answer or not cell.grade:
            code = cell.cell_type == "code"
            fixed = code and (cell.is_answer or cell.is_locked)
            yield GivenText(place, cell.source, code, fixed, notebook, cell.number)
        # nbgrader's metadata contains no text of the author.
        metadata = {key: value for key, value in raw.get("metadata", {}).items() if key != "nbgrader"}
        beside = {"outputs": raw.get("outputs"), "metadata": metadata}
        for part_name, tree_of in (*beside.items(), ("an attachment", raw.get("attachments"))):
            if text := "\n".join(_list_strings(tree_of)):
                yield GivenText(f"{place}, {part_name}", text, notebook=notebook, number=cell.number)
    if text := "\n".join(_list_strings({key: value for key, value in tree.items() if key != "cells"})):
        yield GivenText(f"notebook {notebook!r}, metadata", text)


def name_cell(notebook: str, cell: ReleaseCell) -> str:
    """Return the name of a cell in messages."""
    named = f" ({cell.grade_id})" if cell.grade_id else ""
    return f"notebook {notebook!r}, cell {cell.number}{named}"


class _SearchableText:
    """Given text with its tokens and words, each computed at first use."""

    def __init__(self, given_text: GivenText) -> None:
        self.given = given_text
        computed = _normalize_code(given_text.text, compute=True) if given_text.code else given_text.text
        # Numbers are compared as written and as computed: "1024 * 768" also reveals 786432.
        forms = {given_text.text, computed, *([_normalize_code(given_text.text)] if given_text.code else [])}
        self._tokens = [f" {_read_code_tokens(form)} " for form in forms]
        self._formula = " ; ".join(
            f" {_read_formula_tokens(form)} " for form in dict.fromkeys((given_text.text, computed))
        )
        self._words = ""
        self._runs: frozenset[tuple[str, ...]] | None = None

    def has_code(self, tokens: str) -> bool:
        """Decide whether the text contains the tokens of a line of code."""
        return any(f" {tokens} " in form for form in self._tokens)

    def has_formula(self, tokens: str) -> bool:
        """Decide whether the text contains a formula by itself, not as a part of a longer one."""
        position = self._formula.find(f" {tokens} ")
        while position >= 0:
            before, behind = (
                self._formula[:position].rsplit(" ", 1)[-1],
                self._formula[position + len(tokens) + 2 :],
            )
            if before not in ("+", "-", "/", "^") and behind.split(" ", 1)[0] not in ("+", "-", "/", "^"):
                return True
            position = self._formula.find(f" {tokens} ", position + 1)
        return False

    def has_words(self, words: Sequence[str]) -> bool:
        """Decide whether the text contains the words in a row."""
        if not self._words:
            self._words = f" {' '.join(_split_words(self.given.text))} "
        return f" {' '.join(words)} " in self._words

    def count_shared_words(self, words: Sequence[str]) -> int:
        """Return how many of the words occur in the text within a long run of them."""
        if self._runs is None:
            self._runs = frozenset(_list_runs(_split_words(self.given.text)))
        shared = set[int]()
        for position, run in enumerate(_list_runs(words)):
            shared.update(range(position, position + _RUN_WORDS) if run in self._runs else ())
        return len(shared)


def _find_leaked_code(answer: WithheldAnswer, shown: Sequence[_SearchableText]) -> tuple[str, str] | None:
    """Return where a solution in code is revealed, and by which passage; None if it is not."""
    key = _read_key(answer.text)
    fixed = [text for text in shown if text.given.fixed]
    # Lines that given code contains anyway reveal nothing in other places.
    given_lines = {line.tokens for line in key.lines if any(text.has_code(line.tokens) for text in fixed)}
    for text in shown:
        passage = _find_value(text, key, answer)
        if not passage and text.given.fixed:
            passage = _find_covered(key.lines, text, 1.0, _GIVEN_TOKENS)
        elif not passage:
            passage = _find_solution(text, key, given_lines)
        if passage:
            return text.given.place, passage
    return None


def _find_value(text: _SearchableText, key: _CodeKey, answer: WithheldAnswer) -> str:
    """Return the formula or value of a solution that a text contains; empty if it contains none."""
    near = _is_near(answer, text.given)
    for value in (*key.formulas, *(key.values if near else key.far)):
        long = len(_OPERATOR.findall(value)) >= _FAR_OPERATORS or value in key.far
        if (near or long) and text.has_formula(_read_formula_tokens(value)):
            return value
    is_own = _is_own(answer, text.given)  # the stub
    for line in key.assignments:
        if (is_own or (line.is_telling and not text.given.fixed)) and text.has_code(line.tokens):
            return line.said
    return ""


def _find_solution(text: _SearchableText, key: _CodeKey, given_lines: Collection[str]) -> str:
    """Return a line of a solution, or of a definition in it, of which a text contains too much.

    Lines that students receive as code (``known``) reveal nothing.
    """
    for lines, share in ((key.lines, _SHARE), *((definition, 1.0) for definition in key.definitions)):
        if passage := _find_covered(
            [line for line in lines if line.tokens not in given_lines], text, share, _KEY_TOKENS
        ):
            return passage
    return ""


def _find_covered(lines: Iterable[_CodeLine], text: _SearchableText, share: float, least: int) -> str:
    """Return the longest line that is present, if the present lines make up the share; else an empty text."""
    lines = list(lines)
    present = [line for line in lines if text.has_code(line.tokens)]
    weight = sum(line.weight for line in present)
    if weight < least or weight < share * sum(line.weight for line in lines):
        return ""
    return max(present, key=lambda line: line.weight).said


def _find_leaked_text(answer: WithheldAnswer, shown: Sequence[_SearchableText]) -> tuple[str, str] | None:
    """Return where a model answer in words is revealed, and by which paragraph; None if it is not."""
    for paragraph in _PARAGRAPH.split(answer.text):
        said = _QUESTION.sub("", paragraph).strip()  # questions are quoted from the prompt
        words, least = _split_words(said), _TEXT_SHARE * len(_split_words(paragraph))
        # Headings and very short paragraphs occur in many texts.
        if len(words) < _SHORT_ANSWER_WORDS or said.startswith("#"):
            continue
        for text in shown:
            if (
                text.has_words(words)
                if len(words) < _PARAGRAPH_WORDS
                else text.count_shared_words(words) >= least
            ):
                return text.given.place, said
    return None


def _find_leaked_formula(
    answer: WithheldAnswer, released_texts: Sequence[GivenText]
) -> tuple[str, str] | None:
    """Return where an equal formula reveals a key in its own question, and which one; None if none does.

    Copying such a formula would earn the points.
    """
    if answer.vocabulary is None:
        return None
    formulas = (
        _read_key(answer.text).formulas if answer.code else find_formulas(answer.text, answer.vocabulary)
    )
    keys = [key for key in formulas if _OPERATOR.search(key)]
    for text in released_texts:
        if _is_near(answer, text) and (passage := find_equal_formula(text.text, keys, answer.vocabulary)):
            return text.place, passage
    return None


def _is_own(answer: WithheldAnswer, given_text: GivenText) -> bool:
    """Decide whether a text is the cell of an answer itself."""
    return given_text.number > 0 and (given_text.notebook, given_text.number) == (
        answer.notebook,
        answer.number,
    )


def _is_near(answer: WithheldAnswer, given_text: GivenText) -> bool:
    """Decide whether a text belongs to the question of an answer."""
    return given_text.notebook == answer.notebook and answer.since <= given_text.number <= answer.number


def _read_key(source: str) -> _CodeKey:
    """Return a solution in the forms that are compared; unreadable code as lines only."""
    plain = _normalize_code(source)
    try:
        tree = parse_module(_normalize_code(source, compute=True))
    except UNREADABLE:
        return _CodeKey(_read_code_lines(plain), (), (), (), ())
    definitions = [
        _read_code_lines(ast.unparse(ast.Module(node.body, [])))
        for node in parse_module(plain).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    formulas = dict.fromkeys(text.strip() for text in strings if _is_formula(text))
    assigned = [node.value for node in tree.body if isinstance(node, ast.Assign) and _is_plain(node.value)]
    values = [ast.unparse(node) for node in assigned]
    assignments = tuple(_list_assignments(parse_module(plain), tree))
    far = values if assignments else []
    # Long numbers count wherever they are inside a value.
    values += [ast.unparse(node) for value in assigned for node in ast.walk(value) if _is_long_number(node)]
    return _CodeKey(
        _read_code_lines(plain),
        tuple(definitions),
        tuple(formulas),
        tuple(value for value in values if _is_telling(value)),
        assignments,
        tuple(value for value in far if _is_rare(value)),
    )


def _list_assignments(written: ast.Module, computed: ast.Module) -> Iterator[_Assignment]:
    """Yield the assignments of a solution that only assigns plain values to its own names."""
    values = [node.value for node in computed.body if isinstance(node, ast.Assign) and _is_plain(node.value)]
    targets = [ast.unparse(node.targets[0]) for node in computed.body if isinstance(node, ast.Assign)]
    if len(values) < len(computed.body) or len(set(targets)) < len(targets):
        return
    for *forms, value in zip(written.body, computed.body, values, strict=True):
        literal = ast.literal_eval(value)
        # Values that any code may contain are no evidence.
        if literal not in (None, "", 0, 1, [], (), {}) and "..." not in ast.unparse(value):
            for said in dict.fromkeys(ast.unparse(form) for form in forms):
                yield _Assignment(_read_code_tokens(said), said, _is_telling(ast.unparse(value)))


def _is_plain(node: ast.expr) -> bool:
    """Decide whether an expression is a literal."""
    try:
        ast.literal_eval(node)
    except UNREADABLE:
        return False
    return True


def _is_telling(value: str) -> bool:
    """Decide whether a value consists of numbers with so many digits that a match is no coincidence."""
    numbers = re.fullmatch(r"[\d\s.,()\[\]\-]+", value)
    return bool(numbers) and sum(char.isdigit() for char in value) >= _DIGITS


def _is_rare(value: str) -> bool:
    """Decide whether a value is a whole number that no other question would state by coincidence."""
    return value.isdecimal() and int(value) >= _LONG_NUMBER and len(value.rstrip("0")) >= _DIGITS


def _is_long_number(node: ast.AST) -> bool:
    """Decide whether a node is an integer that is searched by itself."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value >= _LONG_NUMBER


def _is_formula(text: str) -> bool:
    """Decide whether a string of a solution is a formula, and not prose with a hyphen."""
    bare = re.sub(r"\s+", " ", text.strip())
    prose = re.search(r"[^\W\d]\w* [^\W\d]\w*", bare)
    is_applied = _OPERATOR.search(bare) and _APPLIED.search(bare)
    return bool(_FORMULA.fullmatch(bare) and is_applied and not prose)


def _read_code_lines(plain: str) -> tuple[_CodeLine, ...]:
    """Return the lines of code that count, without duplicates."""
    lines: dict[str, _CodeLine] = {}
    for line in plain.split("\n"):
        tokens = _read_code_tokens(_RETURN.sub("", line))
        weight = tokens.count(" ") + 1
        if weight >= _LINE_TOKENS and not _UNCOUNTED.match(line.strip()):
            lines[tokens] = _CodeLine(tokens, weight, line.strip())
    return tuple(lines.values())


def _normalize_code(source: str, *, compute: bool = False) -> str:
    """Return code in Python's own layout, without comments and docstrings; unreadable code only dedented.

    Args:
        source: source of a cell or file.
        compute: replace numbers computed from numbers, such as ``1024 * 768``, by their value.
    """
    lines = source.split("\n")
    # A region cut out of a function is indented and would not parse.
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    dedented = "\n".join(line[margin:] for line in lines)
    try:
        tree = parse_module(dedented)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                kept = [statement for statement in body if not _is_remark(statement)]
                node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
        return ast.unparse(_Computing().visit(tree) if compute else tree)
    except UNREADABLE:
        return dedented


class _Computing(ast.NodeTransformer):
    """Replaces whole numbers that are computed from numbers by their values."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        operands = (node.left, node.right)
        if isinstance(node.op, _ARITHMETIC) and all(
            isinstance(operand, ast.Constant) for operand in operands
        ):
            value = compute_number(ast.unparse(node))
            if value is not None:
                return ast.Constant(value)
        return node


def _is_remark(node: Any) -> bool:
    """Decide whether a statement is a bare string, such as a docstring."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _join_tokens(text: str) -> str:
    """Return the tokens of a text, separated by spaces."""
    return " ".join(token.replace("_", "") if token[0].isdigit() else token for token in _TOKEN.findall(text))


def _read_code_tokens(text: str) -> str:
    """Return the tokens of code, independent of its layout; in a text the code is not parsed."""
    joined_lines = _LAYOUT.sub(" ", text).replace("\\", "")
    return _join_tokens(_DECIMAL.sub(lambda match: repr(float(match[0])).removesuffix(".0"), joined_lines))


def _read_formula_tokens(text: str) -> str:
    """Return the tokens of a formula, the same for LaTeX, Python and plain notation."""
    raised = _RAISED.sub(lambda match: f"^{unicodedata.normalize('NFKC', match[0])}", text)
    bare = _INDEX.sub(r"_\1", _LATEX_NAME.sub(r"\1", raised)).replace("**", "^")
    return " ".join(token for token in _join_tokens(bare).split(" ") if token not in _DROPPED_IN_FORMULAS)


def _split_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [word.casefold() for word in _WORD.findall(text)]


def _list_runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield all runs of words of the fixed length."""
    for start in range(len(words) - _RUN_WORDS + 1):
        yield tuple(words[start : start + _RUN_WORDS])


def _list_strings(tree: Any) -> Iterator[str]:
    """Yield every string of a JSON tree: a source's lines as one, a base64 SVG picture as its text."""
    if (whole := join_source(tree)) is not None:
        yield whole
    elif isinstance(tree, list | tuple):
        for entry in tree:
            yield from _list_strings(entry)
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            yield str(key)
            yield from _list_strings(_decode_image(value) if key == "image/svg+xml" else value)


def _decode_image(value: Any) -> Any:
    """Return the text of a base64 picture; other values as they are."""
    text = join_source(value)
    try:
        return text if text is None else base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return text


def _quote_passage(passage: str, limit: int = 80) -> str:
    """Return a passage in quotes on one line, shortened for a message."""
    flat = " ".join(passage.split())
    return repr(flat if len(flat) <= limit else flat[: limit - 1] + "…")
