"""Test numbers with units: notations, decimal conventions, limits, and reading back."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.formulas.errors import Unreadable
from autograder.questions.numbers.answers import read_number
from autograder.questions.numbers.quantities import Quantity, from_number, read_quantity, write_quantity
from autograder.questions.numbers.units import read_single_unit

UNITS = (
    "", "%", "parameters", "M parameters", "tokens", "B", "bit", "kB", "KiB", "MB", "MiB", "GB",
    "GiB", "TB", "Gbit",
    "FLOP", "GFLOP", "TFLOP/s", "PF-days", "s", "ms", "min", "h", "days", "B/token", "tokens/s", "GB/s",
)  # fmt: skip
FRACTIONS = st.builds(
    lambda whole, part, digits: Fraction(whole * 10**digits + part % 10**digits, 10**digits),
    st.integers(0, 10**12),
    st.integers(0, 10**6),
    st.integers(0, 6),
)


def amounts(text: str, unit: str = "", mark: str = "either") -> list[Fraction]:
    """Return every amount that the text may mean."""
    return [reading.amount for reading in read_quantity(text, read_single_unit(unit), mark).readings]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "124439808", "124,439,808", "124.439.808", "124 439 808", "124_439_808", "124'439'808", "124’439’808",
        "124\u202f439\u202f808", "124{,}439{,}808", r"$124\,439\,808$", "1.24439808e8",
        r"124,\!439,\!808", r"124{,}\!439{,}\!808", "124\u00a0439\u00a0808", "124\u2007439\u2007808",
        "124\u2009439\u2009808", "124\u200a439\u200a808", r"124\;439\;808", "124~439~808",
        r"124{\,}439{\,}808",
        "1,24439808e8", "1.24439808E+8",
        "1.24439808×10^8", "1.24439808 · 10⁸", r"1.24439808 \cdot 10^{8}", "1.24439808*10**8",
        "1.24439808 x 10^8",
        "124439.808e3", "124.439808M", "124.439808 M", "124,439808 M", "124.439808 million",
        "124.439808 Mio.",
        "124,439808 Millionen Parameter", "0.124439808 B", "0.124439808B", "0.124439808 billion parameters",
        "0,124439808 Mrd. Parameter", "124439808 parameters", "124,439,808 params", "124439.808 k parameters",
        "124439.808k", "124.439808 M parameters", "124.439808m", "0.124439808b", "0.124439808 G",
        "124.439808 Mparams",
        "n = 124439808", "parameters: 124,439,808", "≈ 124439808", "~124439808",
        "about 124439808 parameters.",
        "etwa 124439808 Parameter", "**124439808**", "`124439808`", "$124439808$",
        r"124439808\,\text{parameters}",
        "124,439,808.0", "124.439.808,0", "248879616/2", "2*62219904", "+124439808", "124439808.",
    ],
)  # fmt: skip
def test_notations_of_one_number_of_parameters(text: str) -> None:
    """Plain, grouped and scientific numbers, numbers with words, and LaTeX are read alike."""
    assert [Fraction(124439808)] == amounts(text, "parameters")


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("1.234", "", ["1.234", "1234"]),
        ("1,234", "", ["1234", "1.234"]),
        ("1.234", "tokens", ["1234"]),
        ("1,234 bytes", "B", ["1234"]),
        ("131,072 bytes per token", "B/token", ["131072"]),
        ("0.234", "", ["0.234"]),
        ("0,234", "", ["0.234"]),
        ("1.2345", "", ["1.2345"]),
        ("12,5", "", ["12.5"]),
        ("1234.567", "", ["1234.567"]),
        ("1.234,5", "", ["1234.5"]),
        ("1,234.5", "", ["1234.5"]),
        ("1.234.567", "", ["1234567"]),
        ("1 234,5", "", ["1234.5"]),
        (".5", "", ["0.5"]),
        (",5", "", ["0.5"]),
        ("1/3", "", ["1/3"]),
        ("½", "", ["1/2"]),
        ("12,5 %", "%", ["0.125"]),
        (r"12.5\%", "%", ["0.125"]),
        ("0.125", "%", ["0.00125"]),
        ("-5", "", ["-5"]),
        ("−5", "", ["-5"]),
    ],
)
def test_marks_between_digits(text: str, unit: str, expected: list[str]) -> None:
    """Both decimal conventions are tried; impossible ones give no reading."""
    assert [Fraction(amount) for amount in expected] == amounts(text, unit)


@pytest.mark.parametrize(
    ("text", "unit", "settled"),
    [
        ("1.234", "", False),
        ("1,234", "", False),
        ("1.234 s", "s", False),
        ("1.234 GB", "GB", True),
        ("1.234e9 B", "GB", True),
        ("1.234 · 10^9 B", "GB", True),
        ("124.439 M", "parameters", True),
        ("1,234 GB", "GB", False),
        ("124,439 M", "parameters", False),
        ("5 mb", "MB", False),
        ("5 Mb", "MB", True),
        ("0.5 Billion", "parameters", False),
        ("0.5 billion", "parameters", True),
        ("0,5 Billionen", "parameters", True),
    ],
)
def test_what_settles_a_reading(text: str, unit: str, *, settled: bool) -> None:
    """A point before a prefix or an exponent marks decimals; other cases stay ambiguous."""
    assert settled == read_quantity(text, read_single_unit(unit)).settled


@pytest.mark.parametrize(
    ("text", "unit", "amount", "has_unit"),
    [
        ("4", "GiB", 4 * 1024**3, False),
        ("4 GB", "GiB", 4 * 10**9, True),
        ("4G", "GB", 4 * 10**9, False),
        ("0.5 B", "parameters", 5 * 10**8, False),
        ("8 B", "B", 8, True),
        ("5 B", "MB", 5, True),
        ("312 TFLOPS", "FLOP/s", 312 * 10**12, True),
        ("6.2 GFLOPs", "FLOPs", 62 * 10**8, True),
        ("3640 PF-days", "FLOPs", 3640 * 86400 * 10**15, True),
        ("3640", "PF-days", 3640 * 86400 * 10**15, False),
        ("2 h", "s", 7200, True),
    ],
)
def test_what_is_asked_for_decides(text: str, unit: str, amount: int, *, has_unit: bool) -> None:
    """A number alone counts in the expected unit; B is a byte, or a billion if bytes make no sense."""
    (reading,) = read_quantity(text, read_single_unit(unit)).readings
    assert (amount, has_unit, read_single_unit(unit).dimension) == (
        reading.amount,
        reading.has_unit,
        reading.dimension,
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no-number"),
        ("many", "no-number"),
        ("١٢٣", "no-number"),
        ("12 34", "not-a-number"),
        ("1,2,3", "not-a-number"),
        ("1.2.3", "not-a-number"),
        ("1,23,456", "not-a-number"),
        ("4 ± 1", "not-a-number"),
        ("1/0", "not-a-number"),
        ("sqrt(2)", "not-a-number"),
        ("12*d_model^2", "not-a-number"),
        ("__import__('os').system('1')", "not-a-number"),
        ("5 m", "unknown-unit"),
        ("5 quux", "unknown-unit"),
        ("1e999999", "number-too-large"),
        ("1e-999999", "number-too-large"),
        ("10^999999", "number-too-large"),
        ("9^9^9^9", "number-too-large"),
        ("(999^999)", "number-too-large"),
        ("(" * 140 + "1" + ")" * 140, "number-too-large"),
        ("9" * 290 + "e999", "number-too-large"),
        ("9" * 1_000_000, "too-long"),
        ("1" + " " * 1_000_000 + "MB", "too-long"),
    ],
)
def test_what_is_no_quantity_is_refused(text: str, code: str) -> None:
    """Other texts are rejected with their code, whatever their size."""
    with pytest.raises(Unreadable) as caught:
        read_quantity(text, read_single_unit("s"))
    assert code == caught.value.code


@pytest.mark.parametrize("text", ["4-5 GB", "4–5 GB", "10 - 4 s", "768*3-3"])
def test_a_difference_may_be_a_range(text: str) -> None:
    """A difference that may be a range is read as a difference, with doubt."""
    assert "not-a-number" == read_quantity(text, read_single_unit("")).doubt


@given(
    st.text(
        st.sampled_from(list("0123456789.,eE+-*/^() _'x×·⁹½%kMGiBbs\\{}$~≈=;:[]–ap¹١\u00a0\u202f\n"))
        | st.characters(),
        max_size=60,
    )
)
def test_any_text_is_read_or_refused(text: str) -> None:
    """Reading any text gives readings or `Unreadable`, and each reading can be written."""
    for read in (read_quantity, read_number):
        for unit in ("MB", ""):
            try:
                written = read(text, read_single_unit(unit))
            except Unreadable:
                continue
            assert 1 <= len(written.readings) <= 4
            assert all(write_quantity(reading) for reading in written.readings)


@given(FRACTIONS, st.sampled_from(UNITS), st.booleans())
def test_reading_gives_back_what_was_written(number: Fraction, text: str, minus: bool) -> None:
    """A quantity shown to the student can be read in one way only."""
    unit = read_single_unit(text)
    quantity = Quantity(
        -number if minus else number, unit.factor, unit.dimension, unit.text, has_unit=bool(text)
    )
    (again,) = read_quantity(write_quantity(quantity), unit).readings
    assert (quantity.amount, quantity.dimension) == (again.amount, again.dimension)


def test_numbers_of_python_stay_exact() -> None:
    """Integers of any size and decimal floats stay exact."""
    unit = read_single_unit("MB")
    assert 10**15 + 1 == from_number(10**15 + 1, unit).number
    assert (Fraction(1, 10), True) == (from_number(0.1, unit).number, from_number(0.1, unit).from_float)
    assert Fraction(1, 3) == from_number(Fraction(1, 3), unit).number
    assert Fraction("0.1") == from_number(Decimal("0.1"), unit).number
    for number in (float("nan"), float("inf"), Decimal("nan"), Decimal("1e99999"), 1 << 5000):
        with pytest.raises(Unreadable):
            from_number(number, unit)
