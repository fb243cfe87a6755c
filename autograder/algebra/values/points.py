"""Secret random points. Nobody who reads this code can write two formulas that agree by design.

Points are drawn once per process from the operating system and kept in an object that is passed on.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from fractions import Fraction

from flint import fmpz

POINTS = 1
"""Exact points; and primes."""
BITS = 90
"""Three of the digits that the interpreter computes with: as fast as 61, and two different formulas of
degree 2^20 agree with a probability below 2^-69."""
MAGNITUDES = (4, 12, 40, 4000, 40_000_000, 10**30)
"""Upper ends of the ranges that points for balls are drawn from. At each, one point is drawn and one
with the symbols' order reversed, so that neither ``max(n, d)`` nor ``sqrt((n-d)^2)`` hides a case; the last
is beyond what ``min(n, 10^9)`` could hide."""


class Points:
    """Values of every symbol at a few secret points.

    Attributes:
        domains: name → domain.
        exact: integers of `BITS` bits.
        primes: as many random primes of `BITS` bits.
        real: fractions of moderate size, for transcendental functions.
    """

    __slots__ = ("domains", "exact", "primes", "real")

    def __init__(self, domains: Mapping[str, str]) -> None:
        """Draw points for symbols.

        Args:
            domains: name → ``"positive integer"``, ``"positive"`` or ``"real"``.
        """
        self.domains = dict(domains)
        self.exact = tuple({name: _whole(domains[name]) for name in domains} for _ in range(POINTS))
        self.primes = tuple(_prime() for _ in range(POINTS))
        self.real = tuple(
            {name: _placed(domains[name], value) for name, value in zip(domains, ranked, strict=True)}
            for magnitude in MAGNITUDES
            for ranked in _ranked(len(domains), magnitude)
        )


def _whole(domain: str) -> int:
    return _sign(domain) * ((1 << (BITS - 1)) + secrets.randbelow(1 << (BITS - 1)))


def _sign(domain: str) -> int:
    return secrets.choice((-1, 1)) if domain == "real" else 1


def _placed(domain: str, value: Fraction) -> Fraction:
    """A value of the domain made from one above 1."""
    if domain == "positive integer":
        return value
    return _sign(domain) * secrets.choice((value, 1 / value))


def _ranked(count: int, magnitude: int) -> tuple[list[Fraction], list[Fraction]]:
    """Distinct values between 1 and a magnitude, in a random order and in the reverse order."""
    scale = 1 << 40
    values = sorted({1 + Fraction(secrets.randbelow(magnitude * scale), scale) for _ in range(count + 8)})
    drawn = values[:count]
    order = sorted(range(count), key=lambda _: secrets.randbits(64))
    return [drawn[rank] for rank in order], [drawn[count - 1 - rank] for rank in order]


def _prime() -> int:
    while True:
        candidate = (1 << (BITS - 1)) | secrets.randbits(BITS - 1) | 1
        if fmpz(candidate).is_prime():  # proven, not only probable
            return candidate
