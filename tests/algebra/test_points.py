"""Secret random points."""

from __future__ import annotations

from sympy import isprime

from autograder.algebra.values.points import BITS, MAGNITUDES, POINTS, Points

DOMAINS = {"n": "positive integer", "d": "positive integer", "x": "real", "p": "positive"}


def test_points_are_drawn_anew() -> None:
    """No two objects share a point or a prime: there is nothing to look up in the code."""
    first, second = Points(DOMAINS), Points(DOMAINS)
    assert not {at["n"] for at in first.exact} & {at["n"] for at in second.exact}
    assert not set(first.primes) & set(second.primes)
    assert not {at["n"] for at in first.real} & {at["n"] for at in second.real}


def test_primes_are_prime_and_of_full_size() -> None:
    """Every modulus is a prime of full size."""
    primes = [prime for _ in range(10) for prime in Points({}).primes]
    assert [isprime(prime) for prime in primes] == [True] * 10 * POINTS
    assert {BITS} == {prime.bit_length() for prime in primes}


def test_points_lie_in_their_domains() -> None:
    """Positive symbols have positive values; whole ones are whole and of full size."""
    points = [Points(DOMAINS) for _ in range(20)]
    assert {BITS} == {at["n"].bit_length() for drawn in points for at in drawn.exact}
    assert all(at[name] > 0 for drawn in points for at in drawn.real for name in ("n", "d", "p"))
    assert {True, False} == {at["x"] > 0 for drawn in points for at in drawn.exact}
    assert {True, False} == {at["p"] > 1 for drawn in points for at in drawn.real}


def test_every_order_of_two_symbols_occurs() -> None:
    """At each magnitude one point has n < d and one has n > d."""
    real = Points({"n": "positive integer", "d": "positive integer"}).real
    orders = [at["n"] < at["d"] for at in real]
    assert len(MAGNITUDES) == sum(orders) == len(orders) - sum(orders)
