"""Points at which formulas are compared. Nobody without the seed can write two formulas that agree there.

Every number follows from the seed, so the same two formulas get the same verdict in every process. Grading
makes the seed of the course secret and the question.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from fractions import Fraction

from flint import arb

from autograder.formulas.nodes import Node
from autograder.formulas.values.evaluate import Rational

POINTS = 1
"""Exact points."""
BITS = 90
"""Three of the digits that the interpreter computes with: as fast as 61, and two different formulas of
degree 2^6 agree with a probability below 2^-83."""
SPANS = (1, 3, 2, 9, 1, 4, 2, 30)
"""Decades over which the symbols of a point are spread, each on its own; in turn."""
MOST_SIGNED = 3
"""Real symbols of which every pattern of signs is tried; of seven every pattern of two."""
_BITS_OF_SIGNS = (1, 2, 4, 3, 5, 6, 7)
"""Of the number of a pattern, for each real symbol; an odd number of them makes the symbol negative."""
MOST_ENDED = 2
"""Symbols of the domain ``unit`` of which every pattern of ends is tried."""
_SCALE = 1 << 40

Point = Mapping[str, Fraction]
"""Values of every symbol."""


def is_in_domain(value: Rational, domain: str) -> bool:
    """Whether a value is one that a symbol of a domain may have."""
    if domain in ("probability", "unit"):
        return 0 < value < 1 or (domain == "unit" and value in (0, 1))
    return domain == "real" or (value > 0 and (domain == "positive" or value.denominator == 1))


class SecretNumbers:
    """Whole numbers that follow from a seed, the same on every machine, independent for each purpose."""

    __slots__ = ("_drawn", "_key")

    def __init__(self, seed: bytes, purpose: str) -> None:
        self._key = hmac.digest(seed, purpose.encode(), "sha256")
        self._drawn = 0

    def below(self, bound: int) -> int:
        """Return one of ``range(bound)``."""
        self._drawn += 1
        # 64 bits more than the bound has: no number is likelier than another one by more than 2^-64.
        size = bound.bit_length() // 8 + 9
        drawn = hashlib.shake_256(self._key + self._drawn.to_bytes(8)).digest(size)
        return int.from_bytes(drawn) % bound


class Points:
    """Values of every symbol at secret points.

    Attributes:
        domains: name → domain.
        exact: integers of `BITS` bits, for polynomials and their quotients: where two of them agree there
            they agree everywhere, so the domain does not matter beyond the sign of what is positive.
        remembered: what `balls` evaluated last: a class is compared with the same formulas again and again.
        whole: whether a symbol that stands only for whole numbers is in the formulas looked at last.
    """

    __slots__ = ("_anywhere", "_inside", "_seed", "domains", "exact", "remembered", "whole")

    def __init__(self, domains: Mapping[str, str], seed: bytes) -> None:
        """Draw points for symbols.

        Args:
            domains: name → domain, as in `Vocabulary.domains`.
            seed: what every point follows from; whoever knows it can cheat.
        """
        self.domains = dict(domains)
        self._seed = seed
        exact = self.stream("exact")
        self.exact = tuple({name: _whole(domains[name], exact) for name in domains} for _ in range(POINTS))
        self._anywhere: dict[int, Point] = {}
        self._inside: dict[int, Point] = {}
        self.remembered: dict[tuple[int, int, int], tuple[Node, Point, arb | type[Exception] | None]] = {}
        self.whole: dict[int, tuple[Node, bool]] = {}

    def stream(self, purpose: str) -> SecretNumbers:
        """Numbers for a purpose of its own, from the beginning each time they are asked for."""
        return SecretNumbers(self._seed, purpose)

    def derived(self, purpose: str) -> bytes:
        """A seed for points of a purpose of its own."""
        return hmac.digest(self._seed, purpose.encode(), "sha256")

    def anywhere(self, number: int) -> Point:
        """A point where formulas are seen as functions of real numbers: a whole symbol has a fraction too.

        What agrees at such points by more than chance agrees everywhere, so they speak louder than the small
        whole numbers that an exponential function can be evaluated at.
        """
        return self._at(number, self._anywhere, "anywhere")

    def inside(self, number: int) -> Point:
        """A point of the symbols' domains; the ends of an interval are drawn, too."""
        return self._at(number, self._inside, "inside")

    @property
    def least(self) -> int:
        """So many points of either sort show every sign of a few real symbols, and both ends of intervals."""
        domains = list(self.domains.values())
        signs, ends = domains.count("real"), domains.count("unit")
        return 2 * max(1 << min(signs, MOST_SIGNED), (1, 3, 9)[min(ends, MOST_ENDED)])

    def _at(self, number: int, known: dict[int, Point], purpose: str) -> Point:
        point = known.get(number)
        if point is None:  # two threads that draw it at once draw the same
            stream, span = self.stream(f"{purpose} {number}"), SPANS[number % len(SPANS)]
            point, real, units = {}, 0, 0
            for name, domain in self.domains.items():
                value = _drawn(domain, stream, span, inside=purpose == "inside")
                if domain == "real":
                    value, real = _signed(value, number, real, stream), real + 1
                elif domain == "unit" and purpose == "inside":
                    value, units = _ended(value, number, units, stream), units + 1
                point[name] = value
            known[number] = point
        return point


def _signed(value: Fraction, number: int, place: int, stream: SecretNumbers) -> Fraction:
    """With a sign: every second point is positive, the others take the patterns of signs in turn."""
    if number % 2 == 0:
        return value
    bits = _BITS_OF_SIGNS[place] if place < len(_BITS_OF_SIGNS) else stream.below(2**MOST_SIGNED)
    return -value if (number // 2 + 1 & bits).bit_count() % 2 else value


def _ended(value: Fraction, number: int, place: int, stream: SecretNumbers) -> Fraction:
    """Zero, one or neither: every second point takes the patterns in turn."""
    if number % 2 == 0:
        return value
    kind = number // 2 // (1, 3)[place] % 3 if place < MOST_ENDED else stream.below(3)
    return value if kind == 2 else Fraction(kind)


def _drawn(domain: str, stream: SecretNumbers, span: int, *, inside: bool) -> Fraction:
    """A value of a domain, of a scale of its own within so many decades, without a sign."""
    scale = int(10 ** stream.below(span))
    if domain == "positive integer" and inside:
        return Fraction(scale + stream.below(9 * scale))
    if domain in ("probability", "unit"):
        return _share(stream, scale)
    value = scale * (1 + Fraction(stream.below(9 * _SCALE), _SCALE))
    return value if domain == "positive integer" or stream.below(2) else 1 / value


def _share(stream: SecretNumbers, scale: int) -> Fraction:
    """A value between 0 and 1, as often as not close to one of them."""
    value = Fraction(1 + stream.below(_SCALE - 1), _SCALE)
    if stream.below(2):
        value /= scale
    return 1 - value if stream.below(2) else value


def _whole(domain: str, stream: SecretNumbers) -> int:
    value = (1 << (BITS - 1)) + stream.below(1 << (BITS - 1))
    return -value if domain == "real" and stream.below(2) else value
