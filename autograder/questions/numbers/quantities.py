"""Parse numbers with units exactly: ``124M parameters``, ``497.8 MB``, ``1,24 · 10^8``, ``12.5 %``.

A mark between digits may be a decimal mark or separate thousands. Both conventions are tried; if both give a
number (``1.234``) and nothing determines which one is meant, both readings are returned.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from autograder.formulas.errors import Unreadable
from autograder.formulas.printing.text import format_decimal
from autograder.questions.numbers.numerals import MAX_BITS, NUMERALS, normalise_numerals, parse_value
from autograder.questions.numbers.units import (
    Dimension,
    Unit,
    UnitReading,
    format_base_unit,
    is_possible,
    read_single_unit,
    read_unit,
)

MAX_CHARS = 300
MOST_WRITTEN_BITS = 200
"""Larger numbers are printed as powers of two."""

DecimalMark = Literal["either", "point", "comma"]
"""Which mark precedes decimals; the other one separates thousands."""


class Quantity(Struct, frozen=True):
    """A number with its unit.

    Attributes:
        number: the number in the unit, with words such as "million" multiplied in.
        factor: the number of base quantities in the unit.
        dimension: the dimension of the unit.
        unit: the unit as it is printed; if none was written, the unit that the number counts in.
        has_unit: whether a unit was written.
        from_float: whether the number comes from a float, which carries about 15 digits.
    """

    number: Fraction
    factor: Fraction = Fraction(1)
    dimension: Dimension = ()
    unit: str = ""
    has_unit: bool = False
    from_float: bool = False

    @property
    def amount(self) -> Fraction:
        """The number of base quantities, such as bytes or seconds."""
        return self.number * self.factor


class ReadQuantity(Struct, frozen=True):
    """A parsed answer.

    Attributes:
        readings: every quantity that it may mean, the likeliest first; at least one.
        settled: whether the first one may be taken as the meaning.
        text: the text as it was written, if it was a text.
        rough: whether trailing zeros may come from rounding, as in ``124M`` and ``1.2e9``.
        doubt: the reason why it may mean something different; it then needs manual review unless it is right.
    """

    readings: tuple[Quantity, ...]
    settled: bool = True
    text: str = ""
    rough: bool = False
    doubt: str = ""


_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SPLIT = re.compile(rf"(?P<number>.*[0-9{_RAISED})}}\]½¼¾!])(?P<unit>[^0-9]*)", re.DOTALL)
_LONG_EXPONENT = re.compile(r"(?<=[0-9.])[eE][+-]?[0-9]{4}")
_RANGE = re.compile(r"[0-9)]\s*[-–—−]\s*[0-9(]")
"""Four to five, or four minus five."""
_OPENING, _CLOSING = "([", ")]"
_POWER_OF_TEN = re.compile(r"(?<=[0-9.])[eE][+-]?[0-9]|10\s*(?:\^|\*\*|[" + _RAISED + "])")
_LEFT_SIDE = re.compile(r"[^\W\d][\w.{}\\ ]*(?:=|:)(?!=)")
ABOUT = re.compile(
    r"(?:\s|[≈~∼≃=]|\\approx\b|\\sim\b|\b(?:ca|approx)\.|\b(?:about|approximately|circa|etwa|rund|ungefähr)\b)+"
)
_MARKUP = re.compile(
    r"\\(?:text|mathrm|mathit|mathsf|mathbf|mathtt|operatorname|textit|textrm|texttt|mbox)\s*\{([^{}]*)\}"
)
_LATEX = (
    (_MARKUP, r" \1 "),
    (re.compile(r"\\!\s*"), ""),
    (re.compile(r"\{([,.]|\\[,;:])\}"), r"\1"),
    (re.compile(r"\\[,;: ]|\\(?:q?quad|thinspace)(?![A-Za-z])|~"), " "),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\\mu(?![A-Za-z])\s*"), "µ"),
    (re.compile("[’′]"), "'"),
    (re.compile(r"\s+"), " "),
)


def read_quantity(text: str, expected_unit: Unit, mark: DecimalMark = "either") -> ReadQuantity:
    """Parse a number with or without a unit.

    Args:
        text: the answer as it was written.
        expected_unit: the expected unit; a number without a unit counts in it.
        mark: the convention for decimals.

    Raises:
        Unreadable: ``too-long``, ``no-number``, ``not-a-number``, ``number-too-large`` or ``unknown-unit``.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable("too-long", MAX_CHARS, limit=str(MAX_CHARS))
    parts = _SPLIT.fullmatch(clean_text(text))
    if parts is None:
        raise Unreadable("no-number")
    numbers = _parse_numbers(parts["number"], ("point", "comma") if mark == "either" else (mark,))
    units = _select_fitting(read_unit(parts["unit"]), expected_unit)
    readings = [_make_quantity(number, unit, expected_unit) for number in numbers.values() for unit in units]
    readings = [reading for reading in readings if is_possible(reading.amount, reading.dimension)] or readings
    # Reversed twice, so that of equal amounts the first reading is kept.
    distinct = tuple({reading.amount: reading for reading in reversed(readings)}.values())[::-1]
    # 1.234 MB and 1.234e6 never mean thousands; 1,234 MB may.
    scientific = _POWER_OF_TEN.search(parts["number"]) is not None or _is_scaled(units[0])
    likely = scientific and len(units) == 1 and "," not in parts["number"]
    doubt = "not-a-number" if _RANGE.search(parts["number"]) else ""
    return ReadQuantity(distinct, len(distinct) == 1 or likely, text, scientific, doubt)


def keep_whole(read: ReadQuantity) -> ReadQuantity:
    """Drop the readings that are not whole numbers, if others remain."""
    whole = tuple(reading for reading in read.readings if reading.amount.denominator == 1)
    settled = len(whole) == 1 or read.settled
    return ReadQuantity(whole, settled, read.text, read.rough, read.doubt) if whole else read


def read_whole(text: str) -> int:
    """Parse a whole number without a unit.

    Raises:
        Unreadable: see `read_quantity`; ``not-a-number`` if it is not whole, or may be two numbers.
    """
    read = keep_whole(read_quantity(text, read_single_unit("")))
    amount, *alternatives = (reading.amount for reading in read.readings)
    if alternatives or amount.denominator != 1 or read.readings[0].dimension or read.doubt:
        raise Unreadable("not-a-number", 0, text=text)
    return int(amount)


def from_number(number: float | Decimal | Fraction, expected_unit: Unit) -> Quantity:
    """Return a number as a quantity in the expected unit.

    Raises:
        Unreadable: ``not-finite`` or ``number-too-large``.
    """
    if isinstance(number, float | Decimal) and not math.isfinite(number):
        raise Unreadable("not-finite")
    # Converting a huge exponent to a fraction would take too long.
    if isinstance(number, Decimal) and abs(number.adjusted()) > MAX_BITS // 4:
        raise Unreadable("number-too-large")
    # The shortest decimal text of a float is the number that was meant: 0.1, not its binary value.
    exact = Fraction(repr(float(number))) if isinstance(number, float) else Fraction(number)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MAX_BITS:
        raise Unreadable("number-too-large")
    return Quantity(
        exact,
        expected_unit.factor,
        expected_unit.dimension,
        expected_unit.text,
        from_float=isinstance(number, float),
    )


def write_quantity(quantity: Quantity) -> str:
    """Format a quantity, e.g. ``124,000,000 parameters``; parsing the result gives only this quantity."""
    return f"{_format_number(quantity.number)} {quantity.unit}".strip()


def _format_number(number: Fraction) -> str:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MOST_WRITTEN_BITS:
        bits = number.numerator.bit_length() - number.denominator.bit_length()
        return f"{'-' if number < 0 else ''}(≈ 2^{bits})"
    sign, number = "-" if number < 0 else "", abs(number)
    if number.denominator == 1:  # a single mark might be a decimal mark
        return f"{sign}{number.numerator:,}" if number >= 10**6 else f"{sign}{number.numerator}"
    if pow(10, MOST_WRITTEN_BITS, number.denominator):  # its decimals never end
        return f"{sign}({number.numerator}/{number.denominator})"
    text = format_decimal(number)
    whole, _, part = text.partition(".")
    return f"{sign}{text}{'0' if len(part) == 3 and len(whole) < 4 and whole != '0' else ''}"


def clean_text(text: str) -> str:
    """Remove text around the number: a name, a word for "about", markup, brackets."""
    plain = text.strip(" \t\r\n$`*_")
    left = _LEFT_SIDE.match(plain)
    if left is not None:
        plain = plain[left.end() :]
    about = ABOUT.match(plain)
    if about is not None:
        plain = plain[about.end() :]
    for pattern, replacement in _LATEX:
        plain = pattern.sub(replacement, plain)
    plain = plain.strip(" $`*_")
    return plain[1:-1] if plain[:1] in _OPENING and find_opening(plain) == 0 else plain


def find_opening(text: str) -> int:
    """Return the position of the bracket that the end of the text closes; -1 if there is none."""
    depth = 0
    for position in range(len(text) - 1, -1, -1):
        depth += (text[position] in _CLOSING) - (text[position] in _OPENING)
        if depth <= 0:
            return position if text[position] in _OPENING else -1
    return -1


def _parse_numbers(text: str, marks: Sequence[str]) -> dict[str, Fraction]:
    """Return the number by each convention that fits."""
    if _LONG_EXPONENT.search(text):
        raise Unreadable("number-too-large")
    numbers: dict[str, Fraction] = {}
    for mark in marks:
        plain = normalise_numerals(text, NUMERALS[mark])
        if plain is not None:
            numbers[mark] = parse_value(plain)
    if not numbers:
        raise Unreadable("not-a-number", 0, text=text)
    return numbers


def _select_fitting(readings: Sequence[UnitReading], expected_unit: Unit) -> list[UnitReading]:
    """Return the readings that fit the expected unit; the first one if none does."""
    fitting = [
        reading
        for reading in readings
        if reading.unit is not None and reading.unit.dimension == expected_unit.dimension
    ]
    bare = [reading for reading in readings if reading.unit is None]
    if expected_unit.dimension == (("second", 1),):  # 5 m does not mean five million seconds
        bare = [reading for reading in bare if reading.scale_text != "m"]
    # Only a scale that cannot be meant, such as "m" for seconds.
    if not fitting and not bare and readings[0].unit is None:
        raise Unreadable("unknown-unit", 0, name=readings[0].scale_text, suggestion="")
    return fitting or bare or [readings[0]]


def _make_quantity(number: Fraction, reading: UnitReading, expected_unit: Unit) -> Quantity:
    unit = reading.unit
    if unit is not None:
        return Quantity(number * reading.scale, unit.factor, unit.dimension, unit.text, has_unit=True)
    if not reading.scale_text:
        return Quantity(number, expected_unit.factor, expected_unit.dimension, expected_unit.text)
    return Quantity(
        number * reading.scale,
        Fraction(1),
        expected_unit.dimension,
        format_base_unit(expected_unit.dimension),
    )


def _is_scaled(reading: UnitReading) -> bool:
    """Return whether a prefix or a word for a large number follows."""
    return reading.scale != 1 or (reading.unit is not None and reading.unit.factor != 1)
