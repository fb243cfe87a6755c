"""Shapes of tensors: sequences of numbers, or of formulas in the declared symbols."""

from __future__ import annotations

import re

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import Node, Num, Sym
from autograder.formulas.notation.decoration import extract_sizes
from autograder.formulas.notation.parse import parse, parse_tuple
from autograder.formulas.notation.vocabulary import Vocabulary
from autograder.formulas.values.evaluate import TooLarge, Undefined, evaluate_constant

MAX_CHARS = 400

Axes = tuple[Node, ...]
_AROUND = "`$ \t\r\n\u00a0"
_LEFT_SIDE = re.compile(r"[A-Za-z_][\w.\\{}]*\s*(?:==?|:)(?!=)|==?|≈")
_TIMES = re.compile(r"(?<=[0-9])(\s*)[xX](\s*)(?=[0-9])")
_SPACED_TIMES = re.compile(r"(?<=\s)[xX](?=\s)")
_ELLIPSIS = re.compile(r"\.\.\.|…|\\[lc]?dots(?![A-Za-z])")
_PLACEHOLDER = re.compile(r"(?:^|[(\[,×])\s*(None|[?*_:])\s*(?=$|[)\],×])")
_NO_AXES = re.compile(r"\s*(?:\(\s*\)|\[\s*\])\s*")


def read_shape(text: str, vocabulary: Vocabulary) -> Axes:
    """Parse ``(b, h, s, d)``, ``[8, 12]``, ``b × h × s``, ``8x12``, ``torch.Size([8, 12])`` or LaTeX.

    Raises:
        Unreadable: with the codes of formulas; also ``placeholder`` and ``ellipsis`` (with the ``sign``) for
            unspecified sizes, and ``no-size`` for constants that are not sizes.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable("too-long", MAX_CHARS, limit=str(MAX_CHARS))
    plain = _remove_wrapping(text, vocabulary)
    # Checked before parsing: the grammar would report these signs less specifically.
    for code, pattern in (("ellipsis", _ELLIPSIS), ("placeholder", _PLACEHOLDER)):
        match = pattern.search(plain)
        if match is not None:
            sign = match[pattern.groups]
            raise Unreadable(code, match.start(pattern.groups), sign=sign)
    if _NO_AXES.fullmatch(plain):
        return ()
    axes = parse_tuple(plain, vocabulary).elements
    for axis in axes:
        _check_size(axis)
    return axes


def read_size(text: str, vocabulary: Vocabulary) -> Node:
    """Parse one entry of a shape: a number or a formula.

    Raises:
        Unreadable: see `read_shape`.
    """
    for code, pattern in (("ellipsis", _ELLIPSIS), ("placeholder", _PLACEHOLDER)):
        if pattern.fullmatch(text.strip()):
            raise Unreadable(code, 0, sign=text.strip())
    axis = parse(text, vocabulary)
    _check_size(axis)
    return axis


def _check_size(axis: Node) -> None:
    """Reject constants that are not sizes."""
    if isinstance(axis, Sym):
        return
    try:
        value = axis.value if isinstance(axis, Num) else evaluate_constant(axis)
    except (TooLarge, Undefined):
        raise Unreadable("no-size", 0) from None
    # -1 means "infer this size" in reshape and view.
    if value == -1:
        raise Unreadable("placeholder", 0, sign="-1")
    if value is not None and (value.denominator != 1 or value < 0):
        raise Unreadable("no-size", 0)


def _remove_wrapping(text: str, vocabulary: Vocabulary) -> str:
    """Replace the text around a shape by blanks, so that errors point to the right position."""
    start, end = _strip_marks(text, 0, len(text))
    left = _LEFT_SIDE.match(text, start, end)
    if left is not None:
        start, end = _strip_marks(text, left.end(), end)
    inner = extract_sizes(text[start:end], vocabulary)
    start, end = _strip_marks(" " * start + inner, start, end)
    inner = _TIMES.sub(r"\1×\2", text[start:end])
    # A declared symbol x is not a multiplication sign.
    if not {"x", "X"} & vocabulary.names.keys():
        inner = _SPACED_TIMES.sub("×", inner)
    return " " * start + inner + " " * (len(text) - end)


def _strip_marks(text: str, start: int, end: int) -> tuple[int, int]:
    """Return start and end of a part of the text without surrounding blanks and marks."""
    inner = text[start:end]
    begin = start + len(inner) - len(inner.lstrip(_AROUND))
    return begin, max(begin, start + len(inner.rstrip(_AROUND)))
