"""Tolerances are exact, and an explanation is given only if undoing the mistake gives the right amount."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autograder.questions.numbers.numerals import compute_half_unit, count_significant_digits
from autograder.questions.numbers.quantities import Quantity, from_number, read_quantity
from autograder.questions.numbers.tolerance import (
    Tolerance,
    find_difference,
    is_within_tolerance,
)
from autograder.questions.numbers.units import read_single_unit

EXACT = Tolerance()
RIGHT = "497.759232 MB"


def quantity(text: str, unit: str = "MB") -> Quantity:
    """Read a text as a quantity with a decimal point."""
    return read_quantity(text, read_single_unit(unit), "point").readings[0]


def differs(text: str, right: str = RIGHT, tolerance: Tolerance = EXACT, unit: str = "MB") -> str:
    """Return the code of a wrong answer."""
    return find_difference(quantity(text, unit), quantity(right, unit), tolerance)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("497759232 B", ""),
        ("0.497759232 GB", ""),
        ("3982.073856 Mbit", ""),
        ("497.759233 MB", "wrong"),
        ("497.76 MB", "digits"),
        ("500 MB", "wrong"),
        ("497.759232 s", "dimension"),
        ("-497.759232 MB", "sign"),
        ("497.759232 MiB", "binary-prefix"),
        ("497.759232 Mbit", "bits-for-bytes"),
        ("3982.073856 MB", "bits-for-bytes"),
        ("497.759232 GB", "thousand"),
        ("497.759232 kB", "thousand"),
        ("497759232 KiB", "thousand"),
        ("-497759232 MB", "wrong"),  # two misconceptions at once are not named
        ("49.7759232 MB", "power-of-ten"),
        ("497759232 KB", "thousand"),
        ("124.439808 MB", "wrong"),
        ("0", "wrong"),
    ],
)
def test_misconceptions_with_bytes(text: str, code: str) -> None:
    """Each misconception about bytes has its code."""
    assert code == differs(text)


@pytest.mark.parametrize(
    ("text", "right", "code"),
    [
        ("12.5", "12.5 %", ""),
        ("0.125", "12.5 %", "percent"),
        ("1250", "12.5 %", "percent"),
        ("800 %", "12.5 %", "inverse"),
        ("-12.5 %", "12.5 %", "sign"),
        ("12.6 %", "12.5 %", "wrong"),
    ],
)
def test_misconceptions_with_ratios(text: str, right: str, code: str) -> None:
    """A percentage for a ratio and an inverted ratio have their codes."""
    assert code == differs(text, right, unit="%")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("498 MB", ""),
        ("497.5 MB", ""),
        ("497.26 MB", ""),
        ("497.2592 MB", "rounding"),
        ("497 MB", "rounding"),
        ("500 MB", "wrong"),
        ("0.50 GB", "wrong"),
        ("475 MiB", ""),
        ("475 MB", "binary-prefix"),
        ("522 MiB", "binary-prefix"),  # multiplied instead of divided
        ("530 MiB", "wrong"),
        ("498 GB", "thousand"),
        ("49.8 MB", "power-of-ten"),
    ],
)
def test_three_digits(text: str, code: str) -> None:
    """The tolerance is half a unit of the third digit; explanations allow for rounding."""
    assert code == differs(text, tolerance=Tolerance(digits=3))


@given(st.decimals(min_value="0.000001", max_value="1e12", places=6), st.integers(1, 9))
def test_a_rounded_answer_has_enough_digits(right: Decimal, digits: int) -> None:
    """A number rounded to the required digits is right; one that is a full step off is wrong."""
    exact = Quantity(Fraction(right))
    for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP):
        answer = Fraction(right.normalize(Context(prec=digits, rounding=rounding)))
        assert is_within_tolerance(Quantity(answer), exact, Tolerance(digits=digits))
        step = 2 * compute_half_unit(exact.number, digits)
        assert not is_within_tolerance(Quantity(answer + 2 * step), exact, Tolerance(digits=digits))


@given(st.fractions(min_value=-1000, max_value=1000), st.integers(1, 12))
@example(Fraction(10**30 - 1, 10**27), 3)
def test_half_a_unit(number: Fraction, digits: int) -> None:
    """Twice the half unit is the power of ten of the last digit that counts."""
    if number:
        unit = 2 * compute_half_unit(number, digits)
        assert unit * 10 ** (digits - 1) <= abs(number) < unit * 10**digits
        assert {str(part).rstrip("0") for part in unit.as_integer_ratio()} == {"1"}


@given(st.integers(-(10**18), 10**18), st.integers(-20, 20))
def test_significant_digits(number: int, exponent: int) -> None:
    """Significant digits are those of the shortest decimal, without zeros at either end."""
    value = Fraction(number) * Fraction(10) ** exponent
    assert len(str(abs(number)).strip("0")) == count_significant_digits(value)


@given(st.integers(1, 1 << 52), st.integers(1, 1000))
def test_whole_numbers_stay_exact(right: int, off: int) -> None:
    """A whole number never equals another one, as an integer or a float."""
    unit = read_single_unit("parameters")
    expected = from_number(right, unit)
    assert is_within_tolerance(from_number(right, unit), expected, EXACT)
    assert not is_within_tolerance(from_number(right + off, unit), expected, EXACT)
    assert is_within_tolerance(from_number(float(right), unit), expected, EXACT)
    assert (float(right) == right + off) == is_within_tolerance(
        from_number(float(right + off), unit), expected, EXACT
    )


def test_floats_are_forgiven_their_last_digits() -> None:
    """Rounding errors of floats are tolerated: 0.1 + 0.2 equals 0.3 as a float, but not as a text."""
    unit = read_single_unit("s")
    assert is_within_tolerance(from_number(3.14e23, unit), quantity("3.14e23", "s"), EXACT)
    assert is_within_tolerance(from_number(float(1 << 55), unit), from_number(1 << 55, unit), EXACT)
    assert not is_within_tolerance(from_number(1e308, unit), from_number(10**400, unit), EXACT)
    assert is_within_tolerance(from_number(0.1 + 0.2, unit), quantity("0.3 s", "s"), EXACT)
    assert is_within_tolerance(
        from_number(124439808 * 4 / 1e6, read_single_unit("MB")), quantity(RIGHT), EXACT
    )
    assert not is_within_tolerance(from_number(0.3000001, unit), quantity("0.3 s", "s"), EXACT)
    assert not is_within_tolerance(quantity("0.30000000000000004 s", "s"), quantity("0.3 s", "s"), EXACT)


@given(
    st.integers(10**5, 10**9),
    st.integers(1, 4),
    st.sampled_from(["binary-prefix", "thousand", "bits-for-bytes"]),
)
def test_every_misconception_is_named_truly(amount: int, power: int, misconception: str) -> None:
    """The explanation of each misconception is its inverse."""
    factor = {
        "binary-prefix": Fraction(1024, 1000) ** power,
        "thousand": Fraction(1000) ** power,
        "bits-for-bytes": Fraction(8),
    }[misconception]
    right = Quantity(Fraction(amount), dimension=(("byte", 1),))
    for wrong in (amount * factor, amount / factor):
        given_one = Quantity(wrong, dimension=(("byte", 1),))
        assert misconception == find_difference(given_one, right, EXACT)
