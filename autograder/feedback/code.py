"""Code by lines: coloured, and beside what was handed out."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup, escape
from msgspec import Struct

MOST_COLOURED = 20_000
"""Characters of code that are coloured; more is shown as it is."""
_MOST_COMPARED = 1_000_000
"""Pairs of lines; beyond them nothing is said of what was handed out."""
_AROUND = 3
"""Lines as they were handed out that stay beside each change."""
_FOLDED = 5
"""So many of them and more are folded."""
_CLASSES = (
    ("c", "Comment"),
    ("k", "Keyword"),
    ("k", "Operator.Word"),
    ("s", "Literal.String"),
    ("m", "Literal.Number"),
    ("f", "Name.Function"),
    ("f", "Name.Class"),
)
"""What is coloured, by the names that Pygments has for it."""


class Line(Struct, frozen=True):
    """One line of code, beside what was handed out."""

    sign: str
    """``+`` new, ``-`` gone, blank: as it was handed out, or nothing is known of that."""
    code: Markup


class CodeBlock(Struct, frozen=True):
    """Lines of code that follow one another."""

    lines: tuple[Line, ...]
    folded: bool = False
    """They are as they were handed out, and far from everything that is not."""


def code_lines(text: str, starter: str | None = None, *, coloured: bool = True) -> tuple[Line, ...]:
    """Code by lines.

    Args:
        text: the code.
        starter: what was handed out in its place; lines that are new and gone are told where the two have
            any line in common.
        coloured: or left as it is, which takes next to no time.
    """
    own = text.splitlines()
    given = (starter or "").splitlines()
    new = _coloured(own) if coloured else [escape(line) for line in own]
    if len(own) * len(given) > _MOST_COMPARED:
        given = []
    steps = difflib.SequenceMatcher(None, given, own, autojunk=False).get_opcodes()
    if not any(tag == "equal" and "".join(given[start:stop]).strip() for tag, start, stop, *_ in steps):
        return tuple(Line("", one) for one in new)
    old = _coloured(given) if coloured else [escape(line) for line in given]
    found: list[Line] = []
    for tag, start, stop, first, last in steps:
        if tag in {"delete", "replace"}:
            found += (Line("-", one) for one in old[start:stop])
        found += (Line("" if tag == "equal" else "+", one) for one in new[first:last])
    return tuple(found)


def is_compared(lines: Sequence[Line]) -> bool:
    """Whether something is new or gone."""
    return any(line.sign for line in lines)


def code_blocks(lines: Sequence[Line]) -> tuple[CodeBlock, ...]:
    """The same lines, with those folded that are as they were handed out and far from any change."""
    if not is_compared(lines):
        return (CodeBlock(tuple(lines)),) if lines else ()
    changed = [number for number, line in enumerate(lines) if line.sign]
    near = {at for one in changed for at in range(one - _AROUND, one + _AROUND + 1)}
    return tuple(_blocks(lines, near))


def _blocks(lines: Sequence[Line], near: set[int]) -> Iterator[CodeBlock]:
    shown: list[Line] = []
    far: list[Line] = []
    for number, line in enumerate(lines):
        if number not in near:
            far.append(line)
            continue
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


def _coloured(lines: Sequence[str]) -> list[Markup]:
    """Each line as markup; what stands over several lines is coloured in each."""
    # Over blank lines with spaces the lexer's time would grow with the square of their number.
    source = "\n".join(line if line.strip() else "" for line in lines)
    if len(source) > MOST_COLOURED:
        return [escape(line) for line in lines]
    made: list[list[Markup]] = [[]]
    for kind, text in _tokens(source):
        first, *others = text.split("\n")
        made[-1].append(_part(kind, first))
        made += ([_part(kind, one)] for one in others)
    joined = [Markup().join(parts) for parts in made]
    return joined if len(joined) == len(lines) else [escape(line) for line in lines]


def _part(kind: str, text: str) -> Markup:
    return Markup('<span class="{}">{}</span>').format(kind, text) if kind and text else escape(text)


def _tokens(source: str) -> Iterator[tuple[str, str]]:
    """Classes and texts, in order; neighbours of one class together."""
    lexer, classes = _lexer()
    last, texts = "", [""]
    for kind, text in lexer.get_tokens(source):
        name = next((name for name, known in classes if kind in known), "")
        if name != last:
            yield last, "".join(texts)
            last, texts = name, []
        texts.append(text)
    yield last, "".join(texts)


@functools.cache
def _lexer() -> tuple[Any, tuple[tuple[str, Any], ...]]:
    from pygments.lexers import PythonLexer  # not on the way of commands that show no code
    from pygments.token import string_to_tokentype

    classes = tuple((name, string_to_tokentype(known)) for name, known in _CLASSES)
    return PythonLexer(stripnl=False, ensurenl=False), classes
