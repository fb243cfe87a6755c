"""Test units: every prefix in every spelling, distinct units, and ambiguous spellings."""

from __future__ import annotations

from fractions import Fraction

import pytest

from autograder.formulas.errors import Unreadable
from autograder.questions.numbers.units import (
    PREFIXES,
    is_possible,
    read_single_unit,
    read_unit,
)

LONG = {
    "k": "kilo", "M": "mega", "G": "giga", "T": "tera", "P": "peta", "E": "exa",
    "Ki": "kibi", "Mi": "mebi", "Gi": "gibi", "Ti": "tebi", "Pi": "pebi", "Ei": "exbi",
}  # fmt: skip
BYTE = (("byte", 1),)
FLOP = (("flop", 1),)
RATE = (("flop", 1), ("second", -1))


def meanings(text: str) -> set[tuple[Fraction, tuple[tuple[str, int], ...]]]:
    """Return every factor and dimension that a unit may have, multiplied by preceding number words."""
    return {
        (reading.scale * reading.unit.factor, reading.unit.dimension)
        for reading in read_unit(text)
        if reading.unit is not None
    }


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_prefix_of_bytes_and_bits(prefix: str) -> None:
    """SI prefixes are powers of 1000, the others powers of 1024; a bit is an eighth of a byte."""
    size = (1024 if prefix.endswith("i") else 1000) ** ("kMGTPE".index(prefix[0].replace("K", "k")) + 1)
    bytes_in_it = {(Fraction(size), BYTE)}
    for spelling in (f"{prefix}B", f"{LONG[prefix]}bytes", f"{LONG[prefix].title()}byte", f"{prefix}Bytes"):
        assert bytes_in_it == meanings(spelling), spelling
    for spelling in (f"{prefix}bit", f"{LONG[prefix]}bits"):
        assert {(Fraction(size, 8), BYTE)} == meanings(spelling), spelling
    either = meanings(f"{prefix}b".lower())
    assert {(Fraction(size), BYTE), (Fraction(size, 8), BYTE)} == either
    if prefix not in ("k",):
        assert {(Fraction(size, 8), BYTE)} == meanings(f"{prefix}b")


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_prefix_of_operations(prefix: str) -> None:
    """FLOPS may mean operations or operations per second; with /s it is unambiguous."""
    size = Fraction(PREFIXES[prefix])
    for spelling in (f"{prefix}FLOPs", f"{prefix}FLOPS", f"{prefix}FLOP", f"{LONG[prefix]}flops"):
        assert {(size, FLOP), (size, RATE)} == meanings(spelling), spelling
    for spelling in (f"{prefix}FLOP/s", f"{LONG[prefix]}flops per second"):
        assert {(size, RATE)} == meanings(spelling), spelling


@pytest.mark.parametrize(
    ("text", "factor", "dimension"),
    [
        ("KB", 1000, BYTE),
        ("KIB", 1024, BYTE),
        ("GIB", 1024**3, BYTE),
        ("M parameters", 10**6, (("parameter", 1),)),
        ("million params", 10**6, (("parameter", 1),)),
        ("Mio. Parameter", 10**6, (("parameter", 1),)),
        ("Milliarden Parameter", 10**9, (("parameter", 1),)),
        ("B-parameter", 10**9, (("parameter", 1),)),
        ("Mparams", 10**6, (("parameter", 1),)),
        ("k tokens", 1000, (("token", 1),)),
        ("bytes per token", 1, (("byte", 1), ("token", -1))),
        ("KiB/token", 1024, (("byte", 1), ("token", -1))),
        ("tokens/s", 1, (("second", -1), ("token", 1))),
        ("GB/s", 10**9, (("byte", 1), ("second", -1))),
        ("PF-days", 10**15 * 86400, FLOP),
        ("petaflop/s-days", 10**15 * 86400, FLOP),
        ("PFLOP/s·days", 10**15 * 86400, FLOP),
        ("billion floating-point operations", 10**9, FLOP),
        ("Milliarden Operationen", 10**9, FLOP),
        ("h", 3600, (("second", 1),)),
        ("Minuten", 60, (("second", 1),)),
        ("%", Fraction(1, 100), ()),
        ("per cent", Fraction(1, 100), ()),
        ("Prozent", Fraction(1, 100), ()),
        ("‰", Fraction(1, 1000), ()),
    ],
)
def test_units_in_words(text: str, factor: Fraction, dimension: tuple[tuple[str, int], ...]) -> None:
    """English and German words are read, and units joined by a sign or by "per"."""
    assert (Fraction(factor), dimension) in meanings(text)
    assert 1 == len({meaning for meaning in meanings(text) if meaning[1] == dimension})


@pytest.mark.parametrize(
    ("text", "factor"), [("ms", 10**3), ("µs", 10**6), ("\u03bcs", 10**6), ("us", 10**6), ("ns", 10**9)]
)
def test_small_times(text: str, factor: int) -> None:
    """Fractions of a second are read with both micro signs of Unicode."""
    assert {(Fraction(1, factor), (("second", 1),))} == meanings(text)


@pytest.mark.parametrize(
    ("text", "scales"),
    [
        ("M", [10**6]),
        ("K", [1000]),
        ("Ki", [1024]),
        ("million", [10**6]),
        ("B", [10**9]),
        ("billion", [10**9]),
        ("Billion", [10**9, 10**12]),
        ("Billionen", [10**12]),
        ("Mrd.", [10**9]),
        ("T", [10**12]),
        ("", [1]),
    ],
)
def test_words_for_large_numbers(text: str, scales: list[int]) -> None:
    """A prefix or a word without a unit scales the number; a German Billion is an English trillion."""
    assert scales == [reading.scale for reading in read_unit(text) if reading.unit is None]


@pytest.mark.parametrize(
    ("text", "name", "suggestion"),
    [
        ("tokns", "tokns", "tokens"),
        ("M paramters", "paramters", "parameters"),
        ("millon", "millon", "million"),
        ("d_model", "d_model", ""),
        ("GPU", "GPU", ""),
        ("F", "F", ""),
        ("MB²", "MB²", ""),
        ("MB MB", "MB", ""),
        ("MB/", "MB", ""),
        ("/s", "/", ""),
        ("kg", "kg", ""),
        ("b" * 1000, "b" * 40, ""),
        ("B " * 20, ("B " * 20).strip()[:40], ""),
    ],
)
def test_unknown_units_are_named(text: str, name: str, suggestion: str) -> None:
    """An unknown unit is rejected, with a suggestion if there is a similar one."""
    with pytest.raises(Unreadable) as caught:
        read_unit(text)
    assert ("unknown-unit", name, suggestion) == (
        caught.value.code, caught.value.params["name"], caught.value.params["suggestion"],
    )  # fmt: skip


def test_a_rubric_names_one_unit() -> None:
    """The unit in a rubric needs one meaning; a spelling with two is rejected with both."""
    assert ("MB", 10**6, BYTE) == (
        read_single_unit("MB").text,
        read_single_unit("MB").factor,
        read_single_unit("MB").dimension,
    )
    assert (10**6, (("parameter", 1),)) == (
        read_single_unit("M parameters").factor,
        read_single_unit("params").dimension,
    )
    assert ("", 1, ()) == (
        read_single_unit("").text,
        read_single_unit("").factor,
        read_single_unit("").dimension,
    )
    assert (BYTE, FLOP, RATE) == tuple(read_single_unit(text).dimension for text in ("B", "FLOPS", "FLOP/s"))
    for text, first, second in (("mb", "MB", "Mbit"), ("Billion", "Billion", "Billion")):
        with pytest.raises(Unreadable) as caught:
            read_single_unit(text)
        assert ("two-units", first, second) == (
            caught.value.code, caught.value.params["first"], caught.value.params["second"],
        )  # fmt: skip


@pytest.mark.parametrize(
    "text", ["MB", "Gibit", "FLOP", "TFLOP/s", "PF-days", "parameters", "M tokens", "B/token", "%", "days"]
)
def test_a_unit_is_written_so_that_it_can_be_read(text: str) -> None:
    """Reading a unit's own text gives the same unit."""
    unit = read_single_unit(text)
    assert (unit.factor, unit.dimension) in meanings(unit.text)


@pytest.mark.parametrize(
    ("amount", "dimension", "can_be"),
    [
        (Fraction(3, 2), (("parameter", 1),), False),
        (Fraction(3, 2), BYTE, True),  # twelve bits
        (Fraction(1, 3), BYTE, False),
        (Fraction(3, 2), RATE, True),
        (Fraction(3, 2), (), True),
        (Fraction(3, 2), (("second", 1),), True),
        (Fraction(131072, 1000), (("byte", 1), ("token", -1)), False),
    ],
)
def test_what_is_counted_has_no_fractions(
    amount: Fraction, dimension: tuple[tuple[str, int], ...], *, can_be: bool
) -> None:
    """Parameters and bits are whole; rates and times may be fractions."""
    assert can_be == is_possible(amount, dimension)
