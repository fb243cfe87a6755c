"""Turns what a student handed in (a text, a number, a sympy expression, a tuple) into a formula."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from autograder.algebra.nodes import Node, Tree, Tuple
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.algebra.reading import read_formula, read_text
from autograder.algebra.reading import read_tuple as read_tuple_text
from autograder.checks.planning.targets import nothing_written
from autograder.errors import Unreadable
from autograder.kinds.general.symbolic.options import Form
from autograder.records import Opaque, Tensor

MAX_BITS = 4096
"""Integers above this cannot be printed in linear time."""
MAX_ELEMENTS = 16

_BETWEEN_DOLLARS = re.compile(r"\$\$?([^$]+)\$\$?")


class NotAFormula(Exception):
    """The value is of a type that is no formula; carries the type's name."""


class NoFormula(Exception):
    """Nothing was handed in: None, or an empty text."""


def markdown_formula(source: str) -> str:
    """The formula of a markdown answer: what stands between dollar signs, or the whole text.

    Raises:
        Unreadable: there are several formulas.
        NoFormula: there is nothing.
    """
    found = list(_BETWEEN_DOLLARS.finditer(source))
    if len(found) > 1:
        raise Unreadable("several-formulas", found[1].start())
    text = found[0].group(1) if found else source
    if not text.strip():
        raise NoFormula
    return text


def text_of(value: Any) -> str:
    """The text of a value that stands for one formula.

    Raises:
        NotAFormula: its type is none that can.
        NoFormula: it is None or empty.
    """
    if isinstance(value, tuple | list) and len(value) == 1:  # a comma at the end of the line
        value = value[0]
    if value is None or (isinstance(value, Opaque) and value.type_name == "ellipsis"):
        raise NoFormula
    if isinstance(value, Opaque) and value.text:
        return value.text
    if isinstance(value, str):
        if nothing_written(value):
            raise NoFormula
        return value
    number = _one_number(value)
    if isinstance(number, int) and not isinstance(number, bool) and number.bit_length() <= MAX_BITS:
        return str(int(number))
    if isinstance(number, float) and math.isfinite(number):
        return repr(float(number))
    raise NotAFormula(value.type_name if isinstance(value, Opaque) else type(value).__name__)


def _one_number(value: Any) -> Any:
    """The number in an array or tensor without axes; everything else as it is."""
    array = value.array if isinstance(value, Tensor) else value
    return array.item() if isinstance(array, np.ndarray) and array.ndim == 0 else value


def shown(value: Any) -> str:
    """A text for the caret: the formula as it was handed in."""
    try:
        return text_of(value)
    except (NotAFormula, NoFormula):
        return ""


def read_tuple(value: Any, vocabulary: Vocabulary) -> Tuple:
    """A tuple of formulas, from a text or from the elements of a tuple or list.

    Raises:
        Unreadable: an element is not in the grammar.
        NotAFormula: an element is of another type.
        NoFormula: there is nothing.
    """
    if not isinstance(value, tuple | list):
        return read_tuple_text(text_of(value), vocabulary)
    if not value:
        raise NoFormula
    if len(value) > MAX_ELEMENTS:
        raise Unreadable("too-many-parts", 0, limit=str(MAX_ELEMENTS))
    elements: list[Node] = []
    for element in value:
        if isinstance(element, tuple | list):
            raise NotAFormula(type(element).__name__)
        elements.append(_element(text_of(element), vocabulary))
    return Tuple(tuple(elements))


def _element(text: str, vocabulary: Vocabulary) -> Node:
    """One element; an error carries its text, for the caret."""
    try:
        return read_formula(text, vocabulary)[-1]
    except Unreadable as error:
        raise Unreadable(error.code, error.offset, **{**error.params, "text": text}) from None


def read(value: Any, form: Form, vocabulary: Vocabulary) -> tuple[Tree, ...]:
    """What was handed in, in the form that an item asks for.

    Returns:
        One tree; for a formula written as a chain of equations, its sides; for a chain of relations,
        those between neighbours.

    Raises:
        Unreadable: it is not in the grammar.
        NotAFormula: its type is none that can be read.
        NoFormula: there is nothing.
    """
    if form == "tuple":
        return (read_tuple(value, vocabulary),)
    return read_text(text_of(value), form, vocabulary)
