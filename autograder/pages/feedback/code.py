"""Code by lines: highlighted, and compared with the released code."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup, escape
from msgspec import Struct

MOST_COLOURED = 20_000
"""Most characters of code that are highlighted; longer code is shown as it is."""
_MOST_COMPARED = 1_000_000
"""Most pairs of lines; with more there is no comparison with the released code."""
_AROUND = 3
"""Unchanged lines that are shown around each change."""
_FOLDED = 5
"""Fewest unchanged lines that are folded."""
_CLASSES = (
    ("c", "Comment"),
    ("k", "Keyword"),
    ("k", "Operator.Word"),
    ("s", "Literal.String"),
    ("m", "Literal.Number"),
    ("f", "Name.Function"),
    ("f", "Name.Class"),
)
"""CSS classes of tokens, by Pygments' names."""


class Line(Struct, frozen=True):
    """One line of code, compared with the released code."""

    sign: str
    """``+`` new, ``-`` removed, blank: unchanged, or not compared."""
    code: Markup


class CodeBlock(Struct, frozen=True):
    """Consecutive lines of code."""

    lines: tuple[Line, ...]
    folded: bool = False
    """They are unchanged, and far from every change."""


def build_code_lines(text: str, starter: str | None = None, *, coloured: bool = True) -> tuple[Line, ...]:
    """Return code by lines.

    Args:
        text: the code.
        starter: released code at its place; new and removed lines are marked if the two have any line in
            common.
        coloured: highlight the code; without it the conversion takes hardly any time.
    """
    written_lines = text.splitlines()
    given_lines = (starter or "").splitlines()
    new = _highlight_lines(written_lines) if coloured else [escape(line) for line in written_lines]
    if len(written_lines) * len(given_lines) > _MOST_COMPARED:
        given_lines = []
    # autojunk would ignore lines that occur often, such as blank ones, in long code.
    steps = difflib.SequenceMatcher(None, given_lines, written_lines, autojunk=False).get_opcodes()
    # Two unrelated texts would only show everything as removed and new.
    if not any(tag == "equal" and "".join(given_lines[start:stop]).strip() for tag, start, stop, *_ in steps):
        return tuple(Line("", markup) for markup in new)
    old = _highlight_lines(given_lines) if coloured else [escape(line) for line in given_lines]
    compared: list[Line] = []
    for tag, start, stop, first, last in steps:
        if tag in {"delete", "replace"}:
            compared += (Line("-", markup) for markup in old[start:stop])
        compared += (Line("" if tag == "equal" else "+", markup) for markup in new[first:last])
    return tuple(compared)


def is_compared(lines: Sequence[Line]) -> bool:
    """Decide whether any line is new or removed."""
    return any(line.sign for line in lines)


def fold_code_blocks(lines: Sequence[Line]) -> tuple[CodeBlock, ...]:
    """Return the same lines, with those folded that are unchanged and far from any change."""
    if not is_compared(lines):
        return (CodeBlock(tuple(lines)),) if lines else ()
    changed = [number for number, line in enumerate(lines) if line.sign]
    # Context on both sides of each change.
    near = {position for index in changed for position in range(index - _AROUND, index + _AROUND + 1)}
    return tuple(_list_blocks(lines, near))


def _list_blocks(lines: Sequence[Line], near: set[int]) -> Iterator[CodeBlock]:
    """Yield blocks of lines that are shown or folded."""
    shown: list[Line] = []
    far: list[Line] = []
    for number, line in enumerate(lines):
        if number not in near:
            far.append(line)
            continue
        # Folding only a few lines would save no space.
        if len(far) >= _FOLDED:
            if shown:
                yield CodeBlock(tuple(shown))
            yield CodeBlock(tuple(far), folded=True)
            shown = []
        else:
            shown += far
        far = []
        shown.append(line)
    if len(far) >= _FOLDED:
        yield CodeBlock(tuple(shown))
        yield CodeBlock(tuple(far), folded=True)
    else:
        yield CodeBlock(tuple(shown + far))


def _highlight_lines(lines: Sequence[str]) -> list[Markup]:
    """Return each line as markup; a token over several lines is highlighted in each."""
    # With blank lines that contain spaces the lexer takes quadratic time.
    source = "\n".join(line if line.strip() else "" for line in lines)
    if len(source) > MOST_COLOURED:
        return [escape(line) for line in lines]
    rows: list[list[Markup]] = [[]]
    for kind, text in _read_tokens(source):
        first, *following = text.split("\n")
        rows[-1].append(_render_token(kind, first))
        rows += ([_render_token(kind, piece)] for piece in following)
    joined = [Markup().join(parts) for parts in rows]
    # If the lexer drops or adds a line, an uncoloured listing is better than a shifted one.
    return joined if len(joined) == len(lines) else [escape(line) for line in lines]


def _render_token(kind: str, text: str) -> Markup:
    """Return one token as markup."""
    return Markup('<span class="{}">{}</span>').format(kind, text) if kind and text else escape(text)


def _read_tokens(source: str) -> Iterator[tuple[str, str]]:
    """Yield classes and texts in order; neighbours with one class are joined."""
    lexer, classes = _load_lexer()
    last, texts = "", [""]
    for kind, text in lexer.get_tokens(source):
        name = next((name for name, token_type in classes if kind in token_type), "")
        if name != last:
            yield last, "".join(texts)
            last, texts = name, []
        texts.append(text)
    yield last, "".join(texts)


@functools.cache
def _load_lexer() -> tuple[Any, tuple[tuple[str, Any], ...]]:
    """Return the lexer and its token types, loaded at first use."""
    from pygments.lexers import PythonLexer  # slow to import, and most commands show no code
    from pygments.token import string_to_tokentype

    classes = tuple((name, string_to_tokentype(token_name)) for name, token_name in _CLASSES)
    # The lexer must not strip or add lines, which are compared by number.
    return PythonLexer(stripnl=False, ensurenl=False), classes
