"""Signomials: sums of a number times rational powers of positive symbols, and when some of them clash.

``4*n*d - sqrt(n)`` is one. Whether there is a place where several of them are positive at once is decided
as far as one kind of proof reaches: a sum of them with weights from 0 that has no positive coefficient shows
that they are never positive together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, islice

from autograder.formulas.errors import Undecided
from autograder.formulas.forms import linear
from autograder.formulas.forms.polynomials import Polynomial, Ring
from autograder.formulas.nodes import Const, Div, Fn, Mul, Node, Num, Pow, Sym
from autograder.formulas.values.evaluate import Rational, TooLarge, Undefined, constant_value
from autograder.formulas.values.points import SecretNumbers

MAX_TERMS = 400
REMEMBERED = 512
"""Formulas of which the quotient is kept: each is compared with several others."""
MAX_SQUARES = 15
"""Pairs of negative terms of one signomial that squares are looked for with."""
PLACES, REACHES = 400, 7
"""How many places `inside` looks at, and from how far away they come, each half as far as the one before."""
FARTHEST = 69.0
"""The natural logarithm of 10^30."""
_FINE = 1 << 30

Powers = tuple[tuple[str, Rational], ...]
"""What is raised to which power, in the order of names. A number's name is ``#2``, of other parts how they
are made."""
Signomial = dict[Powers, Fraction]
"""The number in front of each product of powers; none is zero."""

_ONE: Signomial = {(): Fraction(1)}

LOGARITHM = "log "
"""Begins the name of a logarithm. That of what is at least 1 is positive, of others the sign is open."""


def excess(larger: Node, smaller: Node) -> Signomial:
    """What has the sign of the difference of two formulas, for positive symbols, divided by what is common.

    Raises:
        Undecided: there is none within the limits, or the sign of a part is not known.
    """
    (above, below), (over, under) = _quotient(larger), _quotient(smaller)
    divisor = below
    if below != under:
        above, over, divisor = _product(above, under), _product(over, below), _product(below, under)
    total = _sum([*above.items(), *((powers, -value) for powers, value in over.items())])
    turned = False
    if divisor != _ONE:
        signs = {value > 0 for value in divisor.values()}
        if not all(_sure(powers, frozenset()) for powers in divisor):
            raise Undecided("a denominator of which the sign is not known")
        total, turned = (total, signs == {False}) if len(signs) == 1 else (_product(total, divisor), False)
    parts = [dict(powers) for powers in total]
    names = {name for powers in parts for name in powers if not name.startswith(LOGARITHM)}
    least = [(name, -by) for name in names if (by := min([powers.get(name, 0) for powers in parts]))]
    if least:
        total = {_joined(powers, least): value for powers, value in total.items()}
    scale = abs(total[min(total)]) if total else Fraction(1)
    scale = -scale if turned else scale
    return total if scale == 1 else {powers: value / scale for powers, value in total.items()}


@lru_cache(maxsize=REMEMBERED)
def _quotient(node: Node) -> tuple[Signomial, Signomial]:
    """A formula as a quotient; of one with a single term below nothing is left there but 1."""
    ring = Ring((node,))
    parts = [_factors(part) for part in ring.generators]
    above, below = (_collected(polynomial, parts) for polynomial in ring.quotient(node))
    if len(below) == 1 and all(_sure(powers, frozenset()) for powers in below):
        ((powers, number),) = below.items()
        return _product(above, {_raised(powers, -1): 1 / number}), _ONE
    return above, below


def positive(one: Signomial, from_one: frozenset[str]) -> bool:
    """Whether a signomial is surely positive everywhere; ``from_one`` are the symbols from 1 on."""
    if one and all(value > 0 and _sure(powers, from_one, strictly=True) for powers, value in one.items()):
        return True
    shifted = _shifted(one, from_one)
    return () in shifted and all(value > 0 and _sure(powers, from_one) for powers, value in shifted.items())


def clash(several: Sequence[Signomial], from_one: frozenset[str]) -> bool:
    """Whether some signomials are surely nowhere positive together; see `positive`."""
    several = _whole([*several, *_known_of_logarithms(several)])
    try:
        return _weighted(several, from_one) or _weighted(
            [moved for one in several if (moved := _shifted(one, from_one))], from_one
        )
    except Undecided:
        return False


def _weighted(several: Sequence[Signomial], from_one: frozenset[str]) -> bool:
    """Whether a sum with weights from 0, and squares, has no positive coefficient."""
    free = {powers for one in several for powers in one if not _sure(powers, from_one)}
    return linear.clash([*several, *_squares(several)], free)


def _factors(node: Node) -> Powers:
    """A product of powers that is positive wherever it is defined, or a logarithm.

    Raises:
        Undecided: the sign is not known.
    """
    match node:
        case Sym(name):
            return ((name, 1),)
        case Num(value) if value:
            return _joined(((f"#{value.numerator}", 1),), ((f"#{value.denominator}", -1),))
        case Mul(parts):
            return _joined(*map(_factors, parts))
        case Div(above, below):
            return _joined(_factors(above), _raised(_factors(below), -1))
        case Fn("sqrt", (base,)):
            return _power(base, Num(Fraction(1, 2)))
        case Pow(base, exponent):
            return _power(base, exponent)
        case Fn("log" | "ln", (argument,)):
            return ((_logarithm_of(argument), 1),)
        case Const() | Fn("exp" | "factorial"):
            return ((repr(node), 1),)
    raise Undecided("a part of which the sign is not known")


def _logarithm_of(argument: Node) -> str:
    if isinstance(argument, Num) and argument.value > 1:
        return f"({argument!r})"
    return LOGARITHM + (argument.name if isinstance(argument, Sym) else repr(argument))


def _power(base: Node, exponent: Node) -> Powers:
    """A power; a root of a sum counts as a symbol of its own, and so does any power of what is positive."""
    try:
        by = constant_value(exponent)
    except (TooLarge, Undefined) as error:
        raise Undecided("a power that is not known") from error
    if by is None:
        if not positive(excess(base, Num(0)), frozenset()):
            raise Undecided("a power of what may be negative")
        return ((repr(Pow(base, exponent)), 1),)
    try:
        return _raised(_factors(base), by)
    except Undecided:
        if by.denominator == 1:
            raise
        return ((repr(Pow(base, Num(max(by, -by)))), 1 if by > 0 else -1),)


def _joined(*several: Iterable[tuple[str, Rational]]) -> Powers:
    total: dict[str, Rational] = {}
    for one in several:
        for name, power in one:
            total[name] = total.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in total.items() if power and name != "#1"))


def _raised(powers: Powers, by: Rational) -> Powers:
    return tuple((name, power * by) for name, power in powers)


def _collected(polynomial: Polynomial, parts: Sequence[Powers]) -> Signomial:
    """A polynomial with the generators taken apart."""
    return _sum(
        (
            _joined(*(_raised(part, int(by)) for part, by in zip(parts, powers, strict=False) if by)),
            Fraction(int(number)),
        )
        for powers, number in polynomial.terms()
    )


def _product(one: Signomial, other: Signomial) -> Signomial:
    return _sum((_joined(first, second), one[first] * other[second]) for first in one for second in other)


def _sum(terms: Iterable[tuple[Powers, Fraction]]) -> Signomial:
    total: Signomial = {}
    for powers, value in terms:
        total[powers] = total[powers] + value if powers in total else value
    if len(total) > MAX_TERMS:
        raise Undecided("too many terms")
    return {powers: value for powers, value in total.items() if value}


def _sure(powers: Powers, from_one: frozenset[str], *, strictly: bool = False) -> bool:
    """Whether a product of powers is positive for sure: no logarithm in it may be below zero, or be zero."""
    return all(
        not name.startswith(LOGARITHM) or (name.removeprefix(LOGARITHM) in from_one and not strictly)
        for name, _ in powers
    )


def _known_of_logarithms(several: Sequence[Signomial]) -> list[Signomial]:
    """What is known of the logarithms in some signomials: ``n - 1`` and ``2*sqrt(n) - 2`` are no less."""
    names = {name for one in several for powers in one for name, _ in powers if name.startswith(LOGARITHM)}
    return [
        {((of, Fraction(1, root)),): Fraction(root), (): Fraction(-root), ((name, 1),): Fraction(-1)}
        for name in sorted(names)
        if "(" not in (of := name.removeprefix(LOGARITHM))
        for root in (1, 2)
    ]


def _whole(several: Sequence[Signomial]) -> list[Signomial]:
    """The same in roots of the symbols, so that powers are whole."""
    roots: dict[str, int] = {}
    for name, power in (part for one in several for powers in one for part in powers):
        roots[name] = math.lcm(roots.get(name, 1), 1 if name.startswith("#") else power.denominator)
    return [
        {tuple((name, power * roots[name]) for name, power in powers): value for powers, value in one.items()}
        for one in several
    ]


def _shifted(one: Signomial, from_one: frozenset[str]) -> Signomial:
    """The same in what is left of the symbols when 1 is taken away; empty where it is none."""
    for name in sorted({name for powers in one for name, _ in powers} & from_one):
        by = {powers: dict(powers).get(name, 0) for powers in one}
        if any(power < 0 or power.denominator != 1 for power in by.values()):
            return {}
        one = _sum(
            (_joined(powers, ((name, part - by[powers]),)), value * math.comb(int(by[powers]), part))
            for powers, value in one.items()
            for part in range(int(by[powers]) + 1)
        )
    return one


def _squares(several: Sequence[Signomial]) -> list[Signomial]:
    """Squares ``(a*u - b*v)^2`` whose middle term is a positive one, and the others are negative ones.

    They are never negative, so they may be added to anything.
    """
    found: list[Signomial] = []
    for one in several:
        negative = [powers for powers, value in one.items() if value < 0]
        for first, second in islice(combinations(negative, 2), MAX_SQUARES):
            middle = _raised(_joined(first, second), Fraction(1, 2))
            if one.get(middle, 0) > 0:
                above, below = (4 * one[first] * one[second]).as_integer_ratio()
                scale = Fraction(math.isqrt(above * below * _FINE**2), below * _FINE)
                found.append({first: -one[first], second: -one[second], middle: -scale})
    return found


def inside(
    several: Sequence[Signomial], names: Sequence[str], least: Mapping[str, float], stream: SecretNumbers
) -> Iterator[Mapping[str, float]]:
    """Places where some signomials are positive, as far as floating numbers tell: logarithms by name.

    Args:
        several: in the symbols that are named.
        names: of all symbols.
        least: the least logarithm, for symbols that have one.
        stream: which places are looked at.
    """
    rooms = [[(math.log(abs(value)), value > 0, powers) for powers, value in one.items()] for one in several]
    for number in range(PLACES):
        reach = FARTHEST * 2.0 ** -(number % REACHES)
        at = {
            name: max(least.get(name, -FARTHEST), reach * (stream.below(2001) - 1000) / 1000)
            for name in names
        }
        if all(_positive_at(one, at) for one in rooms):
            yield at


def _positive_at(terms: Sequence[tuple[float, bool, Powers]], at: Mapping[str, float]) -> bool:
    sizes = [(size + sum(float(by) * at[name] for name, by in powers), sign) for size, sign, powers in terms]
    top = max(size for size, _ in sizes)
    return sum(math.exp(size - top) * (1 if sign else -1) for size, sign in sizes) > 0
