"""Compare a quantity with the expected one within a tolerance, and classify a difference. Exact."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from autograder.questions.numbers.numerals import compute_half_unit, count_significant_digits
from autograder.questions.numbers.quantities import Quantity
from autograder.questions.numbers.units import PREFIXES, Dimension

FLOAT = Fraction(1, 1 << 50)
"""Relative error that a float may have: a few units in its last place."""
LARGEST = 1 << 1000
"""Numbers from here on are not compared as floats."""
CLOSE = Fraction(1, 200)
"""A correction explains an answer only if it leads this close, however wide the tolerance is."""
MOST_PREFIXES = 6

DIFFERENCES = (
    "dimension", "sign", "percent", "binary-prefix", "bits-for-bytes", "thousand", "power-of-ten",
    "inverse", "digits", "rounding", "wrong",
)  # fmt: skip
"""Every way in which a quantity may differ, in the order in which they are tried."""
_INFORMATION = ("binary-prefix", "bits-for-bytes")


class Tolerance(Struct, frozen=True):
    """How far an answer may be off; if all are zero, it must be exact.

    Attributes:
        relative: as a fraction of the expected amount.
        absolute: in base quantities.
        digits: number of significant digits that must be right, in the unit of the answer.
    """

    relative: Fraction = Fraction(0)
    absolute: Fraction = Fraction(0)
    digits: int = 0


def is_within_tolerance(answer: Quantity, expected: Quantity, tolerance: Tolerance) -> bool:
    """Return whether an answer of the expected dimension is correct."""
    off, number = abs(answer.amount - expected.amount), expected.amount / answer.factor
    if off == 0:
        return True
    # Digits count in the unit of the answer: 1.2 MB has two digits, whatever the base unit is.
    if tolerance.digits:
        return abs(answer.number - number) <= compute_half_unit(number, tolerance.digits)
    if tolerance.relative or tolerance.absolute:
        return off <= max(tolerance.relative * abs(expected.amount), tolerance.absolute)
    return (answer.from_float or expected.from_float) and _is_equal_as_float(answer.number, number)


def _is_equal_as_float(first: Fraction, second: Fraction) -> bool:
    """Return whether two numbers, one of them a float, are equal within the precision of floats."""
    if max(abs(first), abs(second)) >= LARGEST:
        return False
    if first.denominator == second.denominator == 1:
        return float(first) == float(second)
    return abs(first - second) <= FLOAT * abs(second)


def find_difference(answer: Quantity, expected: Quantity, tolerance: Tolerance) -> str:
    """Return the first of `DIFFERENCES` that explains a wrong answer; empty for a correct one."""
    if answer.dimension != expected.dimension:
        return "dimension"
    if is_within_tolerance(answer, expected, tolerance):
        return ""
    for code, corrected in _generate_corrections(answer, expected):
        close = abs(corrected.amount - expected.amount) <= CLOSE * abs(expected.amount)
        if close and is_within_tolerance(corrected, expected, tolerance):
            return code
    return _classify_rounding(answer, expected, tolerance) or "wrong"


def can_differ(code: str, dimension: Dimension) -> bool:
    """Return whether answers to a question with this dimension can differ in this way."""
    if code == "percent":
        return not dimension
    return code not in _INFORMATION or ("byte", 1) in dimension


def _generate_corrections(answer: Quantity, expected: Quantity) -> Iterator[tuple[str, Quantity]]:
    """Yield possible misconceptions, each with the corrected answer."""
    # Zero has no ratio, so no factor can explain it.
    if answer.number == 0 or expected.amount == 0:
        return
    yield "sign", replace(answer, number=-answer.number)
    ratio = abs(expected.amount / answer.amount)
    larger = max(ratio, 1 / ratio)
    # Ratios too large for any misconception are skipped; 0.0 is in no range.
    near = float(larger) if larger < MOST_OFF else 0.0
    bytes_asked = can_differ("binary-prefix", answer.dimension)
    for code, factor, least, most in (
        (*_BYTE_MISCONCEPTIONS, *_MISCONCEPTIONS) if bytes_asked else _MISCONCEPTIONS
    ):
        if least < near < most and can_differ(code, answer.dimension):
            correction = factor if ratio > 1 else 1 / factor
            yield code, replace(answer, number=answer.number * correction)
    yield "inverse", replace(answer, number=1 / answer.amount, factor=Fraction(1))


def _make_misconception(code: str, factor: Fraction) -> tuple[str, Fraction, float, float]:
    """Return a misconception with the range of ratios for which it is tried.

    The range is a quick filter in floats; the decision is exact.
    """
    return code, factor, float(factor * (1 - 2 * CLOSE)), float(factor * (1 + 2 * CLOSE))


_POWERS = range(1, MOST_PREFIXES + 1)
MOST_OFF = 1 << 70
"""Larger than any factor below."""
_MISCONCEPTIONS = (
    _make_misconception("percent", Fraction(100)),
    *(_make_misconception("thousand", Fraction(1000) ** power) for power in _POWERS),
    *(_make_misconception("power-of-ten", Fraction(10) ** power) for power in range(1, 3 * MOST_PREFIXES)),
)
"""Factors by which an answer may be off in either direction, with the codes of the misconceptions."""
_BYTE_MISCONCEPTIONS = (
    *(_make_misconception("binary-prefix", Fraction(1024, 1000) ** power) for power in _POWERS),
    _make_misconception("bits-for-bytes", Fraction(8)),
    *(_make_misconception("thousand", Fraction(1024) ** power) for power in _POWERS),
)


def _classify_rounding(answer: Quantity, expected: Quantity, tolerance: Tolerance) -> str:
    """Classify answers with too few correct digits, or with an error in the last digit that counts."""
    number = expected.amount / answer.factor
    off, digits = abs(answer.number - number), count_significant_digits(answer.number)
    if digits >= 2 and off <= compute_half_unit(number, digits):
        return "digits"
    # Off by one in the last digit: truncated instead of rounded, for example.
    if tolerance.digits and off <= 2 * compute_half_unit(number, tolerance.digits):
        return "rounding"
    return ""


def is_right_in_some_unit(answer: Quantity, expected: Quantity, tolerance: Tolerance) -> bool:
    """Return whether a number without a unit is correct in one of the units that may be meant."""
    factors = {answer.factor, expected.factor, Fraction(1), *map(Fraction, PREFIXES.values())}
    return any(is_within_tolerance(replace(answer, factor=factor), expected, tolerance) for factor in factors)
