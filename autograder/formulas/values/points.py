"""Points at which formulas are compared.

Without the seed it is not possible to construct two formulas that agree there. Every number follows from the
seed, so the same two formulas get the same verdict in every process. Grading derives the seed from the secret
of the course and the question.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from fractions import Fraction

from flint import arb

from autograder.formulas.nodes import Node
from autograder.formulas.values.evaluate import Rational

BITS = 90
"""Size of a coordinate: three digits of Python's integers, as fast as 61 bits.

Two different formulas of degree 2^6 agree with a probability below 2^-83."""
SPANS = (1, 3, 2, 9, 1, 4, 2, 30)
"""Decades over which the symbols of a point are spread, each independently; used in turn."""
MOST_SIGNED = 3
"""Number of real symbols for which every pattern of signs is tried; of seven, every pattern of two."""
_BITS_OF_SIGNS = (1, 2, 4, 3, 5, 6, 7)
"""Mask on the number of a pattern, for each real symbol; an odd number of common bits makes it negative."""
MOST_ENDED = 2
"""Number of symbols of the domain ``unit`` for which every pattern of ends is tried."""
# Binary fractions of this size are exact, and far too many to be met by chance.
_SCALE = 1 << 40

Point = Mapping[str, Fraction]
"""A value for every symbol."""


def is_in_domain(value: Rational, domain: str) -> bool:
    """Return whether a symbol of a domain may have a value."""
    if domain in ("probability", "unit"):
        return 0 < value < 1 or (domain == "unit" and value in (0, 1))
    return domain == "real" or (value > 0 and (domain == "positive" or value.denominator == 1))


class SecretNumbers:
    """Whole numbers that follow from a seed: the same on every machine, independent for each purpose."""

    __slots__ = ("_drawn", "_key")

    def __init__(self, seed: bytes, purpose: str) -> None:
        self._key = hmac.digest(seed, purpose.encode(), "sha256")
        self._drawn = 0

    def draw_below(self, bound: int) -> int:
        """Return one of ``range(bound)``."""
        self._drawn += 1
        # 64 more bits than the bound: the bias of the modulo stays below 2^-64.
        size = bound.bit_length() // 8 + 9
        drawn = hashlib.shake_256(self._key + self._drawn.to_bytes(8)).digest(size)
        return int.from_bytes(drawn) % bound


class Points:
    """Values of every symbol at secret points.

    Attributes:
        domains: name → domain.
        exact: one point of integers of `BITS` bits, for polynomials and their quotients: if two of them agree
            there they agree everywhere, so only the sign of the domain matters.
        remembered: cached values of `balls`: a class is compared with the same formulas repeatedly.
    """

    __slots__ = ("_anywhere", "_inside", "_seed", "domains", "exact", "remembered")

    def __init__(self, domains: Mapping[str, str], seed: bytes) -> None:
        """Draw points for symbols.

        Args:
            domains: name → domain, as in `Vocabulary.domains`.
            seed: determines every point; it must stay secret.
        """
        self.domains = dict(domains)
        self._seed = seed
        # Each purpose has its own stream, so that drawing for one does not change the others.
        exact = self.create_stream("exact")
        self.exact = {name: _draw_integer(domains[name], exact) for name in domains}
        self._anywhere: dict[int, Point] = {}
        self._inside: dict[int, Point] = {}
        self.remembered: dict[tuple[int, int, int], tuple[Node, Point, arb | type[Exception] | None]] = {}

    def create_stream(self, purpose: str) -> SecretNumbers:
        """Return the numbers for one purpose, from the beginning at each call."""
        return SecretNumbers(self._seed, purpose)

    def derive_seed(self, purpose: str) -> bytes:
        """Return a seed for the points of one purpose."""
        return hmac.digest(self._seed, purpose.encode(), "sha256")

    def get_point_anywhere(self, number: int) -> Point:
        """Return a point for formulas as functions of real numbers: whole symbols have fractions, too.

        Agreement at such points that is not chance means agreement everywhere, so they are stronger evidence
        than the small whole numbers at which an exponential function can be evaluated.
        """
        return self._get_point(number, self._anywhere, "anywhere")

    def get_point_inside(self, number: int) -> Point:
        """Return a point inside the domains of the symbols; the ends of an interval are drawn, too."""
        return self._get_point(number, self._inside, "inside")

    @property
    def least(self) -> int:
        """Number of points of either sort that show every sign of a few real symbols, and all ends."""
        domains = list(self.domains.values())
        signs, ends = domains.count("real"), domains.count("unit")
        return 2 * max(1 << min(signs, MOST_SIGNED), (1, 3, 9)[min(ends, MOST_ENDED)])

    def _get_point(self, number: int, cache: dict[int, Point], purpose: str) -> Point:
        point = cache.get(number)
        if point is None:  # two threads may draw it at once; they draw the same
            stream, span = self.create_stream(f"{purpose} {number}"), SPANS[number % len(SPANS)]
            point, real, units = {}, 0, 0
            for name, domain in self.domains.items():
                value = _draw_value(domain, stream, span, inside=purpose == "inside")
                if domain == "real":
                    value, real = _apply_sign(value, number, real, stream), real + 1
                elif domain == "unit" and purpose == "inside":
                    value, units = _apply_end(value, number, units, stream), units + 1
                point[name] = value
            cache[number] = point
        return point


def _apply_sign(value: Fraction, number: int, index: int, stream: SecretNumbers) -> Fraction:
    """Apply a sign: every second point is positive, the others use the patterns of signs in turn."""
    if number % 2 == 0:
        return value
    bits = _BITS_OF_SIGNS[index] if index < len(_BITS_OF_SIGNS) else stream.draw_below(2**MOST_SIGNED)
    return -value if (number // 2 + 1 & bits).bit_count() % 2 else value


def _apply_end(value: Fraction, number: int, index: int, stream: SecretNumbers) -> Fraction:
    """Replace a value by zero, one or neither: every second point uses the patterns in turn."""
    if number % 2 == 0:
        return value
    # Base 3: the first symbol changes at every second point, the second one at every sixth.
    kind = number // 2 // (1, 3)[index] % 3 if index < MOST_ENDED else stream.draw_below(3)
    return value if kind == 2 else Fraction(kind)


def _draw_value(domain: str, stream: SecretNumbers, span: int, *, inside: bool) -> Fraction:
    """Draw a value of a domain without a sign; its scale is drawn within the given decades."""
    # Each symbol has its own magnitude: with a common one, an argument of a maximum that is missing is not
    # seen.
    scale = int(10 ** stream.draw_below(span))
    if domain == "positive integer" and inside:
        return Fraction(scale + stream.draw_below(9 * scale))
    if domain in ("probability", "unit"):
        return _draw_share(stream, scale)
    # A mantissa between 1 and 10, times a power of ten.
    value = scale * (1 + Fraction(stream.draw_below(9 * _SCALE), _SCALE))
    return value if domain == "positive integer" or stream.draw_below(2) else 1 / value


def _draw_share(stream: SecretNumbers, scale: int) -> Fraction:
    """Draw a value between 0 and 1, often close to one of them."""
    value = Fraction(1 + stream.draw_below(_SCALE - 1), _SCALE)
    if stream.draw_below(2):
        value /= scale
    return 1 - value if stream.draw_below(2) else value


def _draw_integer(domain: str, stream: SecretNumbers) -> int:
    # The top bit is set, so that every coordinate has the full size.
    value = (1 << (BITS - 1)) + stream.draw_below(1 << (BITS - 1))
    return -value if domain == "real" and stream.draw_below(2) else value
