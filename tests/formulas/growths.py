"""Pairs of orders of growth whose comparison is known from how they were made.

Three families: products and sums in one symbol, ordered by their exponents one after the other; sums,
quotients, maxima and minima of powers of two symbols, whose degree in every direction is counted; and
products of powers and logarithms of three symbols, each of which decides for itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product as combinations_of
from random import Random

from msgspec import Struct

Speed = tuple[Fraction, float, Fraction, Fraction, int, int]
"""Of a product in n: how often its logarithm holds n*log(n), n, sqrt(n), log(n), log log n, and the next."""
Degree = Callable[[int, int], Fraction]
WAYS = [way for way in combinations_of(range(13), repeat=2) if math.gcd(*way) == 1]


class Pair(Struct, frozen=True):
    """Two statements, and whether the first is at most, and at least, a constant times the second."""

    family: str
    first: str
    second: str
    at_most: bool
    at_least: bool


def drawn(count: int, seed: int) -> Iterator[Pair]:
    """Pairs of all families in turn, the same ones for the same seed."""
    draw = Random(seed)
    families = (_one_symbol, _two_symbols, _three_symbols)
    for number in range(count):
        yield families[number % len(families)](draw)


def _power(draw: Random, base: str, by: Fraction) -> str:
    """A power of a symbol or bracket, in one of several spellings."""
    if by == 0:
        return draw.choice(["1", f"{base}^0", "7"])
    shown = str(by) if by.denominator == 1 and by > 0 else f"({by})"
    ways = [
        f"{base}^{shown}",
        f"{base}^({by + 1})/{base}",
        f"({base}^({by / 2}))^2",
        f"exp({by}*log({base}))",
    ]
    ways += [f"sqrt({base}^({2 * by}))", f"2^({by}*log_2({base}))", f"{base}^{shown}*3/2"]
    return draw.choice(ways)


def _logarithms(draw: Random, name: str, count: int) -> str:
    one = draw.choice([f"log({name})", f"log_2({name})", f"lg({name})", f"log({name}^3)", f"log({name} + 5)"])
    return {0: "1", 1: one, 2: f"{one}^2", -1: f"1/{one}"}[count]


def _one_product(draw: Random) -> tuple[str, Speed]:
    """A product in n, and its exponents."""
    factorials = draw.choice([0, 0, 0, 0, 1])
    base = draw.choice([1, 1, 1, 2, 3, 4, 6])
    root = draw.choice([0, 0, 0, 0, 1])
    power = Fraction(draw.choice(["0", "1", "1", "2", "3", "1/2", "5/2", "-1"]))
    logs, slow = draw.choice([0, 0, 1, 2, -1]), draw.choice([0, 0, 0, 0, 1])
    parts = [_power(draw, "n", power), _logarithms(draw, "n", logs)]
    exponents = [Fraction(factorials), math.log(base) - factorials, Fraction(root), power, logs, slow]
    if factorials:
        exact = draw.choice([True, False])
        parts.append(draw.choice(["n!", "factorial(n)"]) if exact else "n^n/e^n")
        exponents[3] = power + (Fraction(1, 2) if exact else 0)
    if base > 1:
        ways = [f"{base}^n", f"{base}^(n + 2)", f"{base * base}^(n/2)", f"exp(n*log({base}))", f"{base}^n"]
        ways += ["2^n*3^n"] if base == 6 else ["2^(2*n)"] if base == 4 else [f"sqrt({base})^(2*n)"]
        parts.append(draw.choice(ways))
    if root:
        parts.append(draw.choice(["2^sqrt(n)", "2^(n^0.5)"]))
    if slow:
        parts.append(draw.choice(["log(log(n))", "log_2(lg(n))", "log(log(n^2))"]))
    draw.shuffle(parts)
    return "*".join(f"({part})" for part in parts), tuple(exponents)  # type: ignore[return-value]


def _rounded(speed: Speed) -> tuple[float, ...]:
    return tuple(round(float(value), 9) for value in speed)


def _one_sum(draw: Random) -> tuple[str, tuple[float, ...]]:
    """A sum, a largest value or a difference of products in n, and the exponents of the largest."""
    products = sorted(
        (_one_product(draw) for _ in range(draw.choice([1, 1, 2, 3]))), key=lambda one: _rounded(one[1])
    )
    largest = products[-1]
    texts = [f"{draw.randint(1, 9)}*{text}" for text, _ in products]
    apart = len(products) > 1 and _rounded(products[-2][1]) < _rounded(largest[1])
    way = draw.choice(["+", "+", "max", "-"])
    if way == "-" and apart:
        return f"{texts[-1]} - {' - '.join(texts[:-1])}", _rounded(largest[1])
    draw.shuffle(texts)
    if way == "max" and len(texts) > 1:
        return f"max({', '.join(texts)})", _rounded(largest[1])
    return " + ".join(texts), _rounded(largest[1])


def _one_symbol(draw: Random) -> Pair:
    (first, left), (second, right) = _one_sum(draw), _one_sum(draw)
    if draw.random() < 0.3:  # the same order, written otherwise: with a smaller term, or a constant
        second, right = draw.choice([f"7*({first})", f"({first})/3", f"({first})*(1 + 1/n)"]), left
    sign = draw.choice(["", "O", "Θ", "Ω"])
    wrapped = [f"{sign}({text})" if sign else text for text in (first, second)]
    return Pair("one symbol", *wrapped, left <= right, left >= right)


def _two(draw: Random, depth: int) -> tuple[str, Degree]:
    """A formula in n and d without differences, and its degree where n grows like x^a and d like x^b."""
    if depth == 0 or draw.random() < 0.2:
        first, second = draw.choice([0, 1, 1, 2, 3]), draw.choice([0, 0, 1, 2])
        text = f"{draw.randint(1, 9)}*n^{first}*d^{second}"
        return text, lambda a, b: Fraction(first * a + second * b)
    (left, one), (right, other) = _two(draw, depth - 1), _two(draw, depth - 1)
    way = draw.choice(["+", "+", "+", "*", "*", "/", "max", "min", "square", "root"])
    if way == "+":
        return f"({left} + {right})", lambda a, b: max(one(a, b), other(a, b))
    if way == "*":
        return f"({left})*({right})", lambda a, b: one(a, b) + other(a, b)
    if way == "/":
        return f"({left})/({right})", lambda a, b: one(a, b) - other(a, b)
    if way in ("max", "min"):
        choice = max if way == "max" else min
        return f"{way}({left}, {right})", lambda a, b: choice(one(a, b), other(a, b))
    if way == "square":
        return f"({left})^2", lambda a, b: 2 * one(a, b)
    return f"sqrt({left})", lambda a, b: one(a, b) / 2


def _two_symbols(draw: Random) -> Pair:
    first, left = _two(draw, draw.choice([1, 2, 2]))
    second, right = _two(draw, draw.choice([1, 2, 2]))
    if draw.random() < 0.3:  # the same order, or nearly
        extra, more = _two(draw, 0)
        base = left
        second, right = draw.choice([
            (f"max({first}, {extra})", lambda a, b: max(base(a, b), more(a, b))),
            (
                f"({first})/2 + sqrt(({first})*({extra}))",
                lambda a, b: max(base(a, b), (base(a, b) + more(a, b)) / 2),
            ),
            (f"({first})*min(n, d)/n", lambda a, b: base(a, b) + min(a, b) - a),
            (f"({first})*(n*d)/(n + d)/min(n, d)", base),
        ])  # fmt: skip
    differences = [left(a, b) - right(a, b) for a, b in WAYS]
    return Pair(
        "two symbols", f"O({first})", f"O({second})",
        all(value <= 0 for value in differences), all(value >= 0 for value in differences),
    )  # fmt: skip


def _three_symbols(draw: Random) -> Pair:
    texts: list[list[str]] = [[], []]
    sides: list[list[tuple[Fraction, int]]] = [[], []]
    for name in ("n", "d", "h"):
        for text, side in zip(texts, sides, strict=True):
            power = Fraction(draw.choice(["0", "1", "1", "2", "1/2"]))
            logs = draw.choice([0, 0, 0, 1, 2])
            side.append((power, logs))
            text.append(f"({_power(draw, name, power)})*{_logarithms(draw, name, logs)}")
    if draw.random() < 0.6:  # otherwise hardly any pair would be comparable
        place = draw.randrange(3)
        for other in {0, 1, 2} - {place}:
            sides[1][other], texts[1][other] = sides[0][other], texts[0][other]
    first, second = ("*".join(text) for text in texts)
    pairs = list(zip(*sides, strict=True))
    return Pair(
        "three symbols", f"Θ({first})", f"Θ({second})",
        all(left <= right for left, right in pairs), all(left >= right for left, right in pairs),
    )  # fmt: skip
