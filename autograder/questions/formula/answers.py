"""Conversion of values from a student's sandbox to formulas, and explanations of wrong ones."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from autograder.core.records import Message, OpaqueValue, Status, Tensor
from autograder.formulas import Undecided, Unreadable, Vocabulary, to_text
from autograder.formulas.answer_parser import read_formula, read_text
from autograder.formulas.answer_parser import read_tuple as read_tuple_text
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.nodes import Node, Relation, Tree, Tuple
from autograder.questions.base.judging.results import Finding
from autograder.questions.base.planning.targets import is_unwritten_value
from autograder.questions.base.values import shape_differences as shapes
from autograder.questions.base.values.literal import NoFormula
from autograder.questions.base.values.shape_differences import Roles
from autograder.questions.formula.answer_key import Facts
from autograder.questions.formula.options import Form

MAX_BITS = 4096
"""Integers above this cannot be printed in linear time."""
MAX_ELEMENTS = 16


_SPELLINGS = (
    (r"\\(?:cdot|times|ast)\b|[·×⋅]", "*"),
    (r"\\(?:text|mathrm|mathit)\b|\\(?=_)|[{}$`]", ""),
    ("[²³]", "^2"),
)
"""LaTeX and Markdown notation of characters in a formula, and the same form in plain text."""


class NotAFormula(Exception):
    """The value has a type that is no formula; carries the name of the type."""


def extract_text(value: Any) -> str:
    """Return the text of a value that represents one formula.

    Raises:
        NotAFormula: its type cannot represent one.
        NoFormula: it is None or empty.
    """
    if isinstance(value, tuple | list) and len(value) == 1:  # a comma at the end of the line
        value = value[0]
    if value is None or (isinstance(value, OpaqueValue) and value.type_name == "ellipsis"):
        raise NoFormula
    if isinstance(value, OpaqueValue) and value.text:
        return value.text
    if isinstance(value, str):
        if is_unwritten_value(value):
            raise NoFormula
        return value
    number = _unwrap_scalar(value)
    if isinstance(number, int) and not isinstance(number, bool) and number.bit_length() <= MAX_BITS:
        return str(int(number))
    if isinstance(number, float) and math.isfinite(number):
        return repr(float(number))
    raise NotAFormula(value.type_name if isinstance(value, OpaqueValue) else type(value).__name__)


def _unwrap_scalar(value: Any) -> Any:
    """Return the number in an array or tensor without axes; return everything else unchanged."""
    array = value.array if isinstance(value, Tensor) else value
    return array.item() if isinstance(array, np.ndarray) and array.ndim == 0 else value


def show_answer(value: Any) -> str:
    """Return the submitted formula as text for the caret; empty if there is none."""
    try:
        return extract_text(value)
    except (NotAFormula, NoFormula):
        return ""


def read_tuple(value: Any, vocabulary: Vocabulary) -> Tuple:
    """Return a tuple of formulas, from a text or from the elements of a tuple or list.

    Raises:
        Unreadable: an element is not in the grammar.
        NotAFormula: an element is of another type.
        NoFormula: there is nothing.
    """
    if not isinstance(value, tuple | list):
        return read_tuple_text(extract_text(value), vocabulary)
    if not value:
        raise NoFormula
    if len(value) > MAX_ELEMENTS:
        raise Unreadable("too-many-parts", 0, limit=str(MAX_ELEMENTS))
    elements: list[Node] = []
    for element in value:
        if isinstance(element, tuple | list):
            raise NotAFormula(type(element).__name__)
        elements.append(_read_element(extract_text(element), vocabulary))
    return Tuple(tuple(elements))


def _read_element(text: str, vocabulary: Vocabulary) -> Node:
    """Return one element; an error carries its text, for the caret."""
    try:
        return read_formula(text, vocabulary)[-1]
    except Unreadable as error:
        raise Unreadable(error.code, error.offset, **{**error.params, "text": text}) from None


def read_answer(value: Any, form: Form, vocabulary: Vocabulary) -> tuple[Tree, ...]:
    """Return the submitted formula in the form that an item requires.

    Returns:
        One tree; for a formula written as a chain of equations, its sides; for a chain of relations,
        those between neighbours.

    Raises:
        Unreadable: it is not in the grammar.
        NotAFormula: its type cannot be read.
        NoFormula: there is nothing.
    """
    if form == "tuple":
        return (read_tuple(value, vocabulary),)
    return read_text(extract_text(value), form, vocabulary)


def explain_wrong(
    facts: Facts, accept: tuple[Tree, ...], comparer: Comparer, reading: str, points: Decimal
) -> tuple[Finding, str]:
    """Return the finding about a wrong answer that no step of the rubric mentions, and its stable code.

    Args:
        facts: about the answer.
        accept: the right answers of the rubric.
        comparer: the most lenient reading.
        reading: how the answer was read.
        points: that it earns.
    """
    if facts.gap is not None:
        part = to_text(facts.gap)
        staff = f"read as {reading}; equal, but {part} has no value everywhere where the right answer has one"
        message = Message("formula.undefined", {"part": part})
        return Finding(Status.FAILED, message, staff, points), message.code
    difference = facts.find_difference()
    if difference is not None:
        message = Message(difference.sentence, difference.params)
        staff = f"read as {reading}; {difference.staff}"
        return Finding(Status.FAILED, message, staff, points), f"diagnosis.{difference.code}"
    message = Message("formula.wrong")
    if isinstance(facts.answer, Relation):
        message = Message("formula.relation-wrong")
    elif isinstance(facts.answer, Tuple):
        message = _explain_tuple(facts.answer, accept, comparer)
    staff = f"read as {reading}; not equal, and no known mistake"
    return Finding(Status.FAILED, message, staff, points), message.code


def count_right_entries(answer: Tuple, right: Iterable[Tree], readings: Sequence[Comparer]) -> int:
    """Return the number of entries in the right position, compared with the most similar right tuple.

    Raises:
        Undecided: one entry is undecided.
    """
    # No right tuple may have the length of the answer.
    counts = [0]
    for tree in right:
        if isinstance(tree, Tuple) and len(tree.elements) == len(answer.elements):
            pairs = zip(answer.elements, tree.elements, strict=True)
            counts.append(sum(any(reading.is_accepted(*pair) for reading in readings) for pair in pairs))
    return max(counts)


def _explain_tuple(answer: Tuple, accept: tuple[Tree, ...], comparer: Comparer) -> Message:
    """Explain a wrong tuple, compared with the most similar right one."""
    right = [tree.elements for tree in accept if isinstance(tree, Tuple)]
    try:
        results = [
            shapes.find_difference(answer.elements, elements, comparer.is_equal, Roles())
            for elements in right
        ]
    except Undecided:
        return Message("formula.tuple-wrong")
    differences = [difference for difference in results if difference is not None]
    if any(difference.code in shapes.FAMILIES["permuted"] for difference in differences):
        return Message("formula.tuple-order")
    in_place = [difference.axes for difference in differences if difference.code in ("axis", "axes")]
    # Name the entries that differ from the most similar right tuple.
    if in_place:
        wrong = (to_text(answer.elements[axis]) for axis in min(in_place, key=len))
        return Message("formula.tuple-entries", {"entries": ", ".join(wrong)})
    if any(difference.code == "product" for difference in differences):
        return Message("formula.tuple-product", {"entry": to_text(answer.elements[0])})
    return Message("formula.tuple-length", {"count": str(len(answer.elements))})


def has_formula(text: str, names: Iterable[str]) -> bool:
    """Return whether a text contains a formula: a symbol with a factor, summand or exponent, or in a tuple.

    A symbol alone is none, because explanations mention symbols.

    Args:
        text: written by a student, in Markdown.
        names: every spelling of the symbols.
    """
    for pattern, plain in _SPELLINGS:
        text = re.sub(pattern, plain, text)
    symbol = "(?:" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + ")"
    operand = rf"(?:\d+(?:[.,]\d+)?|{symbol})"
    operator = r"(?:[ \t]*(?:\*\*|[*/+^])[ \t]*|[ \t](?:x|times|mal)[ \t])\(?[ \t]*"
    forms = (
        rf"{symbol}{operator}{operand}",
        rf"{operand}{operator}{symbol}",
        rf"\d(?:[ \t](?=\w\w))?{symbol}",  # "2n", but not "1 a day"
        rf"[ \t]-[ \t]{symbol}|{symbol}[ \t]-[ \t]\d",
        rf"\([ \t]*{symbol}[ \t]*,[ \t]*{operand}",
        rf"\bO[ \t]*\([ \t]*{operand}",
    )
    return bool(names) and bool(re.search(rf"(?<![\w\\])(?:{'|'.join(forms)})(?!\w)", text))
