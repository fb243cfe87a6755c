"""Read the value of an answer as the grader will, and render it as a formula."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from autograder.core.wording import has_decimal_comma
from autograder.formulas.errors import FormulaError, Unreadable
from autograder.formulas.nodes import Node, Num, Tree, Tuple
from autograder.formulas.notation.tokens import MAX_DIGITS
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.printing.mathml import to_mathml
from autograder.formulas.printing.text import to_text
from autograder.formulas.reading import read_text
from autograder.formulas.sizes.shapes import read_shape, read_size
from autograder.messages.catalogue import format_sentence, load_sentences
from autograder.messages.reading import describe_unreadable, describe_unreadable_number
from autograder.questions.numbers.answers import read_number
from autograder.questions.numbers.quantities import keep_whole, read_whole, write_quantity
from autograder.questions.numbers.units import read_single_unit

MAX_ELEMENTS = 100
ANY_FORM = ("formula", "relation", "tuple", "asymptotic")
"""Tried in order if one name answers items of different forms."""
_OPEN = frozenset(("placeholder", "ellipsis"))


class ValueReading(NamedTuple):
    """Value that was read as a formula or shape."""

    text: str
    mathml: str


class ReadingFailure(NamedTuple):
    """Reason why a value could not be read: a whole sentence, or the sign that leaves a size open."""

    reason: str = ""
    left_open: str = ""


def build_vocabulary(symbols: Mapping[str, Mapping[str, Any]], languages: Sequence[str]) -> Vocabulary:
    """Return the declared symbols, from their specification, in a course of these languages."""
    declared = tuple((name, str(entry["domain"]), tuple(entry["aliases"])) for name, entry in symbols.items())
    return _make_vocabulary(declared, has_decimal_comma(languages))


# Questions share their symbols, and building a vocabulary takes longer than reading with it.
@functools.lru_cache(maxsize=16)
def _make_vocabulary(declared: tuple[tuple[str, str, tuple[str, ...]], ...], comma: bool) -> Vocabulary:  # noqa: FBT001
    """Return the vocabulary of some symbols."""
    symbols = {name: Symbol(domain=domain, aliases=aliases) for name, domain, aliases in declared}
    return Vocabulary(symbols).with_notation(decimal_comma=comma)


def read_value(
    value: Any, kind: str, form: str, vocabulary: Vocabulary, language: str
) -> ValueReading | ReadingFailure:
    """Read the answer to a question about a formula or a shape.

    Args:
        value: assigned value: text, number, sympy expression, or a row of them.
        kind: ``"formula"`` or ``"shape"``.
        form: form that the rubric asks for; ``"any"`` if there are several.
        vocabulary: the symbols.
        language: language of the reason.
    """
    text = value if isinstance(value, str) else ""
    try:
        trees = _read_shape(value, vocabulary) if kind == "shape" else _read_formula(value, form, vocabulary)
        return ValueReading(" = ".join(map(to_text, trees)), "<span> = </span>".join(map(to_mathml, trees)))
    except Unreadable as error:
        return _explain_failure(error, text, language)


def read_number_text(text: str, name: str, language: str, *, is_whole: bool) -> ValueReading | ReadingFailure:
    """Read a text that answers a question about a number.

    Args:
        text: assigned text.
        name: name of the answer.
        language: language of the reason.
        is_whole: a whole number without a unit is asked for. Otherwise the unit is not known here, and only
            texts that are unreadable with any unit are refused.
    """
    shown = text.strip()[:60]
    try:
        read = read_number(text, read_single_unit(""))
        # A doubtful reading is reported like an unreadable one.
        fault = Unreadable(read.doubt) if read.doubt else None
    except Unreadable as error:
        fault = error
    if fault is not None and (is_whole or fault.code != "contradiction"):
        message = describe_unreadable_number(fault, name, shown)
        return ReadingFailure(format_sentence(message.code, language, **message.params))
    if not is_whole:
        return ValueReading("", "")
    read = keep_whole(read)
    first, *further_readings = read.readings
    params = {"what": name, "value": shown}
    if first.amount.denominator != 1:
        return ReadingFailure(format_sentence("number.whole", language, **params))
    if further_readings and not read.settled:
        numbers = {"first": write_quantity(first), "second": write_quantity(further_readings[0])}
        return ReadingFailure(format_sentence("number.ambiguous", language, **params, **numbers))
    return ValueReading(str(first.amount), "")


def _explain_failure(error: Unreadable, text: str, language: str) -> ReadingFailure:
    """Return why an answer could not be read."""
    if error.code in _OPEN:
        return ReadingFailure(left_open=error.params["sign"])
    message = describe_unreadable(error, error.params.get("text", text))
    if message.code not in load_sentences():  # only shapes have these codes
        return ReadingFailure(
            format_sentence("student.no-size", language, found=str(message.params["text"])[:60])
        )
    return ReadingFailure(format_sentence(message.code, language, **message.params))


def _read_formula(value: Any, form: str, vocabulary: Vocabulary) -> tuple[Tree, ...]:
    """Read a formula, or a tuple of formulas.

    Raises:
        Unreadable: it is none.
    """
    if isinstance(value, (tuple, list)):
        if len(value) != 1 or form in ("tuple", "list", "set"):
            return (Tuple(tuple(_read_element(part, vocabulary) for part in value[:MAX_ELEMENTS])),)
        value = value[0]  # a comma at the end of the line
    text = _convert_to_text(value)
    if form != "any":
        return read_text(text, form or "formula", vocabulary)
    # The last form is tried outside of the loop, so that its error is the one reported.
    for candidate_form in ANY_FORM[:-1]:
        try:
            return read_text(text, candidate_form, vocabulary)
        except FormulaError:
            continue
    return read_text(text, ANY_FORM[-1], vocabulary)


def _read_element(value: Any, vocabulary: Vocabulary) -> Node:
    """Read one element of a tuple; an error quotes this element only."""
    text = _convert_to_text(value)
    try:
        tree = read_text(text, "formula", vocabulary)[-1]
    except Unreadable as error:
        raise Unreadable(error.code, error.offset, **{**error.params, "text": text}) from None
    return tree  # type: ignore[return-value]  # of this form nothing else is read


def _read_shape(value: Any, vocabulary: Vocabulary) -> tuple[Tree, ...]:
    """Read a shape, from a text, a tuple of sizes or an array."""
    if isinstance(value, str):
        return (Tuple(read_shape(value, vocabulary)),)
    sizes = value if isinstance(value, (tuple, list)) else value.shape
    return (Tuple(tuple(_read_size(size, vocabulary) for size in sizes)),)


def _read_size(size: Any, vocabulary: Vocabulary) -> Node:
    # numpy and torch accept -1 for a size that follows from the others, so it names no size.
    """Read one size of a shape.

    Raises:
        Unreadable: the size is open or not readable.
    """
    if size is None or size is ... or (not isinstance(size, str) and size == -1):
        raise Unreadable("placeholder", 0, sign=str(size))
    text = _convert_to_text(size)
    # Whole numbers are read first, in any notation.
    with contextlib.suppress(Unreadable):
        whole = read_whole(text)
        if whole >= 0:
            return Num(whole)
    try:
        return read_size(text, vocabulary)
    except Unreadable as error:
        raise Unreadable(error.code, error.offset, **{**error.params, "text": text}) from None


def _convert_to_text(value: Any) -> str:
    """Return the text of a value: arrays of one number as that number, sympy expressions as they print."""
    if isinstance(value, str):
        return value
    # Arrays and tensors with one element.
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, int) and value.bit_length() > 4 * MAX_DIGITS:  # too long to print
        raise Unreadable("number-too-long", 0, limit=str(MAX_DIGITS), text=f"{hex(value)[:10]}…")
    return repr(value) if isinstance(value, float) else str(value)
