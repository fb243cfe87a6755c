"""Test secret points: they follow from the seed and lie in their domains."""

from __future__ import annotations

from fractions import Fraction

from autograder.formulas.values.points import BITS, Points

DOMAINS = {
    "n": "positive integer", "d": "positive integer", "x": "real", "y": "real", "p": "positive",
    "q": "probability", "u": "unit",
}  # fmt: skip
MANY = range(96)


def test_points_follow_from_the_seed() -> None:
    """The same seed gives the same points in any order; another seed shares none with it."""
    first, second, other = Points(DOMAINS, b"one"), Points(DOMAINS, b"one"), Points(DOMAINS, b"two")
    late = [second.get_point_anywhere(number) for number in reversed(MANY)][::-1]
    assert [first.get_point_anywhere(number) for number in MANY] == late
    assert first.exact == second.exact
    assert first.exact["n"] != other.exact["n"]
    assert not {first.get_point_anywhere(number)["n"] for number in MANY} & {
        other.get_point_anywhere(number)["n"] for number in MANY
    }


def test_points_lie_in_their_domains() -> None:
    """Positive symbols have positive values, whole ones whole values, and shares lie between 0 and 1."""
    points = Points(DOMAINS, b"a seed")
    inside = [points.get_point_inside(number) for number in MANY]
    assert all(at[name].denominator == 1 and at[name] >= 1 for at in inside for name in ("n", "d"))
    assert all(at["p"] > 0 and 0 < at["q"] < 1 and 0 <= at["u"] <= 1 for at in inside)
    assert {True, False} == {at["p"] > 1 for at in inside}
    assert {BITS} == {abs(points.exact[name]).bit_length() for name in DOMAINS}


def test_every_pattern_of_signs_and_ends_occurs_early() -> None:
    """The first points contain every pattern of signs of real symbols, and both ends of shares."""
    points = Points(DOMAINS, b"a seed")
    first = [points.get_point_inside(number) for number in range(points.least)]
    assert 4 == len({(at["x"] > 0, at["y"] > 0) for at in first})
    assert {0, 1} < {at["u"] for at in first}
    assert not {0, 1} & {points.get_point_anywhere(number)["u"] for number in MANY}


def test_symbols_have_scales_of_their_own() -> None:
    """Symbols differ in scale: one may be a billion times another at the same point."""
    points = Points(DOMAINS, b"a seed")
    ratios = [Fraction(at["n"], at["d"]) for at in map(points.get_point_inside, MANY)]
    assert max(ratios) > 10**9
    assert min(ratios) < Fraction(1, 10**9)
    assert any(Fraction(1, 3) < ratio < 3 for ratio in ratios)
