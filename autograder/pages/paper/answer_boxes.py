"""The boxes for answers on paper: their given content, and the space left for writing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from markupsafe import Markup, escape
from msgspec import Struct

from autograder.notebook.markers import REGIONS, STUB_LINES, split_regions
from autograder.notebook.release import ReleaseCell
from autograder.pages.feedback.prose import render_prose
from autograder.questions import load_kind
from autograder.rubric import Question

TEXT_MILLIMETRES, CODE_MILLIMETRES = 14, 16
"""Height per point."""
LEAST_TEXT, LEAST_CODE = 20, 40
MOST_MILLIMETRES = 190
"""A box must fit on one page."""
SHORT_FORMS = ("formula", "number", "shape", "choice")
"""Forms of answers that are short values, unless they call something."""
SPARE_ROWS = 2
MOST_UNTORN = 45
"""Lines of a listing that are kept on one page; a longer listing may be split."""
_LINE, _LETTER = 160, 2.15
"""Millimetres: the width of a line in a box, and of one character."""
_CODE_LINE, _CODE_LETTERS = 4.15, 90
"""The height of a line of code in millimetres, and the number of its characters."""
_PAGE = 205
"""Millimetres available for a box on a page, below a question of a few lines."""
_MOST_SHRUNK = 0.7
_NARROWEST, _WIDEST, _AROUND = 30, 90, 2
"""Millimetres: the limits for the width of a blank, and the space around it."""
_CLOSING = ",;:.)]}"
"""Characters that stay on the same line as the blank before them."""

# A quoted text with an ellipsis, a bare `...`, or the character "…".
_BLANK = re.compile(r"""(?<!\w)(["'])(?:(?!\1).)*\.\.\.(?:(?!\1).)*\1|(?<![.\w])\.\.\.(?![.\w])|…""")
# A name that is assigned an empty text.
_FIELD = re.compile(r"""[A-Za-z_]\w*\s*=\s*(""|'')""")
_EMPTY = re.compile(r"""\s*=\s*(""|'')$""")
# The sign before an assignment that is commented out.
_COMMENTED = re.compile(r"#\s*(?=[A-Za-z_]\w*\s*=)")


_MARKER = re.compile(rf"(?:BEGIN|END) (?:{'|'.join(REGIONS)})")


class Piece(Struct, frozen=True):
    """A part of a box; a box consists of pieces from top to bottom."""

    kind: str
    """``"code"``, ``"listing"`` (with space between the lines), ``"blanks"``, ``"space"``, ``"grid"`` or
    ``"text"``."""
    text: str = ""
    millimetres: int = 0
    markup: Markup = Markup()
    columns: tuple[str, ...] = ()
    rows: int = 0
    changed: tuple[bool, ...] = ()
    """For a listing in a solution: which lines differ from the released ones."""

    @property
    def lines(self) -> list[tuple[str, bool]]:
        """The lines of code, each with whether it is new."""
        lines = self.text.split("\n")
        return list(zip(lines, self.changed or [False] * len(lines), strict=True))


class AnswerBox(Struct, frozen=True):
    """An answer cell on paper."""

    id: str
    points: Decimal
    pieces: tuple[Piece, ...]
    bonus: bool = False
    """Whether its points do not count towards the possible ones."""

    @property
    def whole(self) -> bool:
        """Whether the box must not be split between pages."""
        return sum(piece.text.count("\n") for piece in self.pieces) <= MOST_UNTORN


def make_empty_box(question: Question, cell: ReleaseCell, points: Decimal) -> AnswerBox:
    """Return the box that a student writes into.

    Args:
        question: the question that the cell answers, at least in part.
        cell: of the release.
        points: the possible points for this cell.
    """
    return AnswerBox(cell.grade_id, points, tuple(_make_pieces(question, cell, points)), question.bonus)


def make_solved_box(question: Question, cell: ReleaseCell, points: Decimal, key: str) -> AnswerBox:
    """Return the box with the answer key's content.

    Args:
        question: as for `make_empty_box`.
        cell: of the release.
        points: as for `make_empty_box`.
        key: the source of the same cell in the answer key.
    """
    if cell.cell_type == "markdown":
        return AnswerBox(
            cell.grade_id,
            points,
            (Piece("text", markup=render_prose(_extract_solution(key))),),
            question.bonus,
        )
    code = _extract_solution(key)
    changed: tuple[bool, ...] = ()
    if load_kind(question.kind).form == "listing":
        # Compared without indentation: a line that was only moved is not new.
        released_lines = {line.strip() for line in cell.source.split("\n")}
        changed = tuple(
            bool(line.strip()) and line.strip() not in released_lines for line in code.split("\n")
        )
    return AnswerBox(cell.grade_id, points, (Piece("code", code, changed=changed),), question.bonus)


def _extract_solution(key: str) -> str:
    """Return the code that the answer key adds.

    If that is the body of functions with given heads, return the whole cell.
    """
    parts = split_regions(key, "answer key")
    inside = next((line for line in parts.withheld if line.strip()), "").startswith((" ", "\t"))
    if "SOLUTION" in parts.regions and not inside:
        return "\n".join(parts.withheld).strip("\n")
    return "\n".join(line for line in key.split("\n") if not _MARKER.search(line)).strip("\n")


def _make_pieces(question: Question, cell: ReleaseCell, points: Decimal) -> list[Piece]:
    before, after = _split_at_stub(cell.source)
    if cell.cell_type == "markdown":
        texts = [Piece("text", markup=render_prose(text)) for text in (before, after) if text]
        return [*texts[:1], _make_space(points, TEXT_MILLIMETRES, LEAST_TEXT), *texts[1:]]
    shown_code = "\n".join(filter(None, (before, after)))
    form = load_kind(question.kind).form
    if form == "listing":
        return [Piece("listing", shown_code)]
    columns = tuple(str(column.get("id", "")) for column in _get_tables(question, "column"))
    if columns:
        grid = Piece("grid", columns=columns, rows=len(_get_tables(question, "row")) + SPARE_ROWS)
        return [*([Piece("code", shown_code)] if shown_code else []), grid]
    if form in SHORT_FORMS:
        return _make_blanks(question, shown_code)
    parts = [Piece("code", text) for text in (before, after) if text]
    return [*parts[:1], _make_space(points, CODE_MILLIMETRES, LEAST_CODE, shown_code), *parts[1:]]


def render_form(source: str) -> Markup | None:
    """Render a cell that assigns empty texts to names, such as the student's details, as lines to fill in.

    Returns None for any other cell.
    """
    lines = [line for line in source.split("\n") if line.strip()]
    fields = [_FIELD.fullmatch(line) for line in lines if not line.startswith("#")]
    if not fields or None in fields:
        return None
    shown = [_render_line(_EMPTY.sub(" = ...", line)) for line in lines]
    return Markup('<div class="form">{}</div>').format(Markup("\n").join(shown))


def _split_at_stub(source: str) -> tuple[str, str]:
    """Return the source of a released cell before and after the position of the answer."""
    lines = source.split("\n")
    stubs = [number for number, line in enumerate(lines) if line.strip() in STUB_LINES]
    if not stubs:
        return source.strip("\n"), ""
    return "\n".join(lines[: stubs[0]]).strip("\n"), "\n".join(lines[stubs[-1] + 1 :]).strip("\n")


def _make_space(points: Decimal, each: int, least: int, shown_code: str = "") -> Piece:
    """Return space for an answer. It shrinks slightly if the box then fits on one page with its code."""
    wanted = min(max(least, round(points * each)), MOST_MILLIMETRES)
    left = _PAGE - round(_CODE_LINE * sum(1 + len(line) // _CODE_LETTERS for line in shown_code.split("\n")))
    return Piece("space", millimetres=left if _MOST_SHRUNK * wanted <= left < wanted else wanted)


def _make_blanks(question: Question, shown_code: str) -> list[Piece]:
    """Return a line for every short answer, as in the released cell."""
    lines = [_COMMENTED.sub("", line, count=1) for line in shown_code.split("\n") if line.strip()]
    if not any(map(_BLANK.search, lines)):
        # Without a visible blank in the cell, each expected name gets one, in the rubric's order.
        names = dict.fromkeys(
            str(item.options.get("answer") or question.answer) for item in question.items if not item.manual
        )
        lines += [f"{name} = ..." for name in names if name]
    return [Piece("blanks", markup=_render_line(line)) for line in lines]


def _render_line(line: str) -> Markup:
    """Render a line with ruled blanks in place of ``...`` and of texts that contain it."""
    parts = _BLANK.split(line)
    texts = parts[::2]  # odd parts are the pattern's group, the quote
    # The blanks of a line share the space that its text leaves.
    left = _LINE - _LETTER * sum(map(len, texts))
    width = int(min(max(left / max(1, len(texts) - 1) - _AROUND, _NARROWEST), _WIDEST))
    blank = Markup('<span class="blank" style="width:{}mm"></span>').format(width)
    fragments = [escape(texts[0])]
    for text in texts[1:]:
        # Punctuation must not wrap to the next line without the blank before it.
        remainder = text.lstrip(_CLOSING)
        closing = text[: len(text) - len(remainder)]
        fragments.append(
            Markup('<span class="kept">{}{}</span>').format(blank, closing) if closing else blank
        )
        fragments.append(escape(remainder))
    return Markup("").join(fragments)


def _get_tables(question: Question, name: str) -> list[Mapping[str, Any]]:
    values = question.options.get(name, ())
    return [entry for entry in values if isinstance(entry, Mapping)]
