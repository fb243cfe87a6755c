"""Signomials: sums of a number times rational powers of positive symbols, and when some of them clash.

``4*n*d - sqrt(n)`` is one. Whether there is a place where several of them are positive at once is decided
as far as two kinds of proofs reach; both are linear programs, solved exactly. A sum of them with weights
from 0 that has no positive coefficient proves that they are never positive together. So do, for those that
have one positive term each, logarithms: there a product of powers becomes a linear form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from operator import mul

from msgspec import Struct

from autograder.algebra.forms.linear import cheapest, feasible
from autograder.algebra.nodes import Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Sym
from autograder.algebra.values.evaluate import Rational, TooLarge, Undefined, constant_value
from autograder.errors import Undecided
from autograder.stream import Stream

MAX_TERMS = 100
MAX_POWER = 24
MAX_BITS = 512
"""Size of a coefficient."""
MAX_CHOICES = 8
"""Ways to choose the largest positive term of each signomial."""
STARTS = 8
"""Places from which `inside` starts."""
MOVES = 40
"""Steps from each."""
MARGIN = 0.05
"""Of a logarithm; with so much room on every side no better place is looked for."""
FARTHEST = 69.0
"""The natural logarithm of 10^30."""
MAX_SQUARED = 6
"""Negative terms of one signomial that squares are looked for with."""
_FINE = 1 << 30

Powers = tuple[tuple[str, Rational], ...]
"""What is raised to which power, by name and in the order of names; see `_name`."""
Signomial = dict[Powers, Fraction]
"""The number in front of each product of powers; none is zero."""
Quotient = tuple[Signomial, Signomial]

LOGARITHM = "log "
"""Begins the name of a logarithm. That of what is at least 1 is positive, of others the sign is open."""
_ONE: Signomial = {(): Fraction(1)}


class NoSignomial(Exception):
    """A formula with parts whose sign is not known, or one that is too large."""


def excess(larger: Node, smaller: Node) -> Signomial:
    """What has the sign of the difference of two formulas, for positive symbols.

    Raises:
        NoSignomial: there is none within the limits.
    """
    return difference(quotient(larger), quotient(smaller))


def difference(larger: Quotient, smaller: Quotient) -> Signomial:
    """The same for formulas that were made quotients before.

    Raises:
        NoSignomial: there is none within the limits.
    """
    above, below = _added(larger, (_scaled(smaller[0], Fraction(-1)), smaller[1]))
    if any(name.startswith(LOGARITHM) for powers in below for name, _ in powers):
        raise NoSignomial  # of a sign that is not known, and no product of powers
    signs = {coefficient > 0 for coefficient in below.values()}
    if signs == {True}:
        return above
    if signs == {False}:
        return _scaled(above, Fraction(-1))
    return _times(above, below)


def canonical(one: Signomial) -> tuple[tuple[tuple[Powers, Fraction], ...], bool]:
    """The same for all positive multiples, by numbers and powers; and whether it was turned round."""
    least: dict[str, Rational] = {}
    for place, powers in enumerate(one):
        own = {name: by for name, by in powers if not name.startswith(LOGARITHM)}
        for node in {*least, *own}:
            found = own.get(node, 0)
            least[node] = min(least.get(node, 0 if place else found), found)
    below = _ordered({node: -power for node, power in least.items()})
    moved = {_joined(powers, below): coefficient for powers, coefficient in one.items()}
    ordered = sorted(moved.items())
    scale = ordered[0][1] if ordered else Fraction(1)
    return tuple((powers, coefficient / scale) for powers, coefficient in ordered), scale < 0


def positive(one: Signomial, from_one: frozenset[str]) -> bool:
    """Whether a signomial is surely positive everywhere.

    Args:
        one: of positive symbols.
        from_one: the symbols that are 1 or more.
    """
    if one and all(value > 0 and _sure(powers, from_one, strictly=True) for powers, value in one.items()):
        return True
    shifted = _shifted(one, from_one)
    if shifted is None or shifted.get((), 0) <= 0:
        return False
    return all(value > 0 and _sure(powers, from_one) for powers, value in shifted.items())


def clash(several: Sequence[Signomial], from_one: frozenset[str]) -> bool:
    """Whether some signomials are surely nowhere positive together.

    Args:
        several: of positive symbols.
        from_one: the symbols that are 1 or more.
    """
    several = [*several, *_known_of_logarithms(several)]
    if any(all(value < 0 and _sure(powers, from_one) for powers, value in one.items()) for one in several):
        return True
    sure = [one for one in several if all(_sure(powers, from_one) for powers in one)]
    try:
        if _weighted(several, from_one) or _in_logarithms(sure, from_one):
            return True
        if not from_one:
            return False
        shifted = [_shifted(one, from_one) for one in several]
        return _weighted([one for one in shifted if one is not None], from_one)
    except Undecided:
        return False


def _sure(powers: Powers, from_one: frozenset[str], *, strictly: bool = False) -> bool:
    """Whether a product of powers is positive for sure: no logarithm in it may be below zero, or be zero."""
    return not any(
        name.startswith(LOGARITHM)
        and not (
            name.removeprefix(LOGARITHM).startswith("#")
            or (name.removeprefix(LOGARITHM) in from_one and not strictly)
        )
        for name, _ in powers
    )


def _known_of_logarithms(several: Sequence[Signomial]) -> list[Signomial]:
    """What is known of the logarithms in some signomials: ``n - 1`` and ``2*sqrt(n) - 2`` are no less."""
    names = {name for one in several for powers in one for name, _ in powers if name.startswith(LOGARITHM)}
    found: list[Signomial] = []
    for name in sorted(names):
        of = name.removeprefix(LOGARITHM)
        if "(" in of or of.startswith("#"):
            continue
        for root in (1, 2):
            power: Rational = Fraction(1, root) if root > 1 else 1
            found.append({
                ((of, power),): Fraction(root), (): Fraction(-root), ((name, 1),): Fraction(-1)
            })  # fmt: skip
    return found


def quotient(node: Node) -> Quotient:
    """A formula as a quotient of signomials.

    Raises:
        NoSignomial: it is none within the limits.
    """
    match node:
        case Num(value):
            return _constant(Fraction(value)), _ONE
        case Sym() | Const():
            return _symbol(node), _ONE
        case Neg(operand):
            above, below = quotient(operand)
            return _scaled(above, Fraction(-1)), below
        case Add(terms):
            total: Quotient = {}, _ONE
            for term in terms:
                total = _added(total, quotient(term))
            return total
        case Mul(factors):
            above, below = _ONE, _ONE
            for factor in factors:
                upper, lower = quotient(factor)
                above, below = _times(above, upper), _times(below, lower)
            return above, below
        case Div(numerator, denominator):
            upper, lower = quotient(numerator)
            above, below = quotient(denominator)
            return _divided(upper, lower, above, below)
    return _part(node)


def _part(node: Node) -> Quotient:
    match node:
        case Pow(base, exponent):
            return _power(node, base, _exponent(exponent))
        case Fn("sqrt", (base,)):
            return _power(node, base, Fraction(1, 2))
        case Fn("exp" | "factorial"):
            return _symbol(node), _ONE
        case Fn("log" | "ln", (argument,)):
            return _logarithm(argument), _ONE
    raise NoSignomial


def _logarithm(argument: Node) -> Signomial:
    """A sum of logarithms of symbols and numbers; of a sum it is a symbol of its own."""
    (above, below) = quotient(argument)
    if len(above) != 1 or len(below) != 1:
        return {((f"{LOGARITHM}({_name(argument)})", 1),): Fraction(1)}
    total: Signomial = {}
    for part, way in ((above, 1), (below, -1)):
        ((powers, coefficient),) = part.items()
        if coefficient < 0:
            raise NoSignomial
        numbers = ((f"#{coefficient.numerator}", 1), (f"#{coefficient.denominator}", -1))
        for name, by in (*powers, *numbers):
            if name != "#1":
                total = _sum(total, {((LOGARITHM + name, 1),): Fraction(way * by)})
    return total


def _symbol(node: Node) -> Signomial:
    return {((_name(node), 1),): Fraction(1)}


def _name(node: Node) -> str:
    """A symbol's name; of another part how it is made, in brackets that no name has."""
    return node.name if isinstance(node, Sym) else repr(node)


def _exponent(node: Node) -> Fraction | None:
    try:
        value = constant_value(node)
    except (TooLarge, Undefined) as error:
        raise NoSignomial from error
    return None if value is None else Fraction(value)


def _power(node: Node, base: Node, power: Fraction | None) -> Quotient:
    """A power; a root of a sum counts as a symbol of its own, and so does any power of what is positive."""
    if power is None:
        terms = [entry for part in quotient(base) for entry in part.items()]
        if terms and all(value > 0 and _sure(powers, frozenset()) for powers, value in terms):
            return _symbol(node), _ONE
        raise NoSignomial
    if abs(power) > MAX_POWER:
        raise NoSignomial
    above, below = quotient(base)
    if power.denominator == 1:
        whole = abs(int(power))
        raised = _raised(above, whole), _raised(below, whole)
        return raised if power >= 0 else _divided(_ONE, _ONE, *raised)
    if len(above) == len(below) == 1:
        return _root(above, power), _root(below, power)
    if power < 0:
        return _divided(_ONE, _ONE, *_power(Pow(base, Num(-power)), base, -power))
    return _symbol(node), _ONE


def _root(one: Signomial, power: Fraction) -> Signomial:
    """A power of a single term; a root of a number that has none among fractions is a symbol of its own."""
    ((powers, coefficient),) = one.items()
    if coefficient < 0:
        raise NoSignomial
    raised: Powers = tuple((node, by * power) for node, by in powers)
    for number, way in ((coefficient.numerator, 1), (coefficient.denominator, -1)):
        if number != 1:
            raised = _joined(raised, ((f"#{number}", way * power),))
    return {raised: Fraction(1)}


def _divided(upper: Signomial, lower: Signomial, above: Signomial, below: Signomial) -> Quotient:
    if not above:
        raise NoSignomial
    if len(above) == 1:  # by a single term: no denominator is needed
        ((powers, coefficient),) = above.items()
        inverse = {tuple((node, -by) for node, by in powers): 1 / coefficient}
        return _times(_times(upper, inverse), below), lower
    return _times(upper, below), _times(lower, above)


def _constant(value: Fraction) -> Signomial:
    return {(): value} if value else {}


def _scaled(one: Signomial, by: Fraction) -> Signomial:
    return {powers: by * coefficient for powers, coefficient in one.items()}


def _added(first: Quotient, second: Quotient) -> Quotient:
    if first[1] == second[1]:
        return _sum(first[0], second[0]), first[1]
    above = _sum(_times(first[0], second[1]), _times(second[0], first[1]))
    return above, _times(first[1], second[1])


def _sum(first: Signomial, second: Signomial) -> Signomial:
    total = dict(first)
    for powers, coefficient in second.items():
        total[powers] = total.get(powers, Fraction(0)) + coefficient
    return _checked(total)


def _times(first: Signomial, second: Signomial) -> Signomial:
    if len(first) * len(second) > MAX_TERMS**2:
        raise NoSignomial
    total: Signomial = {}
    for powers, coefficient in first.items():
        for others, number in second.items():
            joined = _joined(powers, others)
            total[joined] = total.get(joined, Fraction(0)) + coefficient * number
    return _checked(total)


def _raised(base: Signomial, power: int) -> Signomial:
    if math.comb(len(base) + power - 1, power) > MAX_TERMS if base else False:
        raise NoSignomial
    result = _ONE
    for _ in range(power):
        result = _times(result, base)
    return result


def _joined(first: Powers, second: Powers) -> Powers:
    if not first or not second:
        return first or second
    total = dict(first)
    for node, power in second:
        total[node] = total.get(node, 0) + power
    return _ordered(total)


def _ordered(powers: Mapping[str, Rational]) -> Powers:
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def _checked(one: Signomial) -> Signomial:
    kept = {powers: coefficient for powers, coefficient in one.items() if coefficient}
    if len(kept) > MAX_TERMS or any(
        max(entry.numerator.bit_length(), entry.denominator.bit_length()) > MAX_BITS
        for entry in kept.values()
    ):
        raise NoSignomial
    return kept


def _weighted(several: Sequence[Signomial], from_one: frozenset[str]) -> bool:
    """Whether a sum with weights from 0, not all 0, has no positive coefficient.

    Squares may be added to it: they are never negative. Terms whose sign is open must cancel.
    """
    columns = [*several, *_squares(several)]
    terms = sorted({powers for column in columns for powers in column})
    zero = Fraction(0)
    rows = []
    for place, powers in enumerate(terms):
        slack = [Fraction(place == other and _sure(powers, from_one)) for other in range(len(terms))]
        rows.append([*(column.get(powers, zero) for column in columns), *slack, zero])
    weights = [Fraction(place < len(several)) for place in range(len(columns))]
    rows.append([*weights, *(zero for _ in terms), Fraction(1)])
    return bool(several) and feasible(rows)


def _squares(several: Sequence[Signomial]) -> list[Signomial]:
    """Squares ``(a*u - b*v)^2`` whose middle term is a positive one, and the others are negative ones."""
    found: list[Signomial] = []
    for one in several:
        negative = [powers for powers, coefficient in one.items() if coefficient < 0]
        for place, first in enumerate(negative[:MAX_SQUARED]):
            for second in negative[place + 1 : MAX_SQUARED]:
                middle = tuple((node, Fraction(by) / 2) for node, by in _joined(first, second))
                if one.get(middle, 0) <= 0:
                    continue
                scale = Fraction(math.isqrt(int(4 * one[first] * one[second] * _FINE**2)), _FINE)
                found.append({first: -one[first], second: -one[second], middle: -scale})
    return found


def _in_logarithms(several: Sequence[Signomial], from_one: frozenset[str]) -> bool:
    """Whether logarithms of single terms clash: each positive one is at least every negative one.

    Where positive terms are two, at least one of them is at least half of every negative term.
    """
    choices = []
    for one in several:
        positive = [powers for powers, coefficient in one.items() if coefficient > 0]
        negative = [powers for powers, coefficient in one.items() if coefficient < 0]
        if not negative:
            continue
        choices.append([
            [(_joined(upper, tuple((node, -by) for node, by in lower)),
              -len(positive) * one[upper] / one[lower]) for lower in negative]
            for upper in positive
        ])  # fmt: skip
    if math.prod(len(entry) for entry in choices) > MAX_CHOICES:
        choices = [entry for entry in choices if len(entry) == 1]
    return bool(choices) and all(
        _forms_clash([form for entry in chosen for form in entry], from_one) for chosen in product(*choices)
    )


def _forms_clash(forms: Sequence[tuple[Powers, Fraction]], from_one: frozenset[str]) -> bool:
    """Whether products of powers, each times a number, are nowhere all above 1."""
    atoms = sorted({node for powers, _ in forms for node, _ in powers})
    rows: list[list[Fraction]] = []
    free = [node for node in atoms if node in from_one]
    for node in atoms:
        slack = [Fraction(node == other) for other in free]
        rows.append([*(Fraction(dict(powers).get(node, 0)) for powers, _ in forms), *slack, Fraction(0)])
    rows.append([Fraction(1)] * len(forms) + [Fraction(0)] * len(free) + [Fraction(1)])
    costs = [Fraction(round(math.log(number) * _FINE), _FINE) for _, number in forms]
    weights = cheapest(rows, [*costs, *(Fraction(0) for _ in free)])
    if weights is None:
        return False
    common = math.lcm(*(weight.denominator for weight in weights))
    if common > MAX_POWER**2:
        return False
    least = math.prod(
        (number ** int(weight * common) for (_, number), weight in zip(forms, weights, strict=False)),
        start=Fraction(1),
    )
    return least <= 1


def _shifted(one: Signomial, from_one: frozenset[str]) -> Signomial | None:
    """The same in what is left of the symbols when 1 is taken away; None where it is none, or large."""
    try:
        return _expanded(one, from_one)
    except NoSignomial:
        return None


def _expanded(one: Signomial, from_one: frozenset[str]) -> Signomial | None:
    total: Signomial = {}
    for powers, coefficient in one.items():
        term: Signomial = {(): coefficient}
        for node, by in powers:
            if node not in from_one:
                term = _times(term, {((node, by),): Fraction(1)})
                continue
            if by.denominator != 1 or by < 0:
                return None
            whole = int(by)
            expanded: Signomial = {
                (((node, part),) if part else ()): Fraction(math.comb(whole, part))
                for part in range(whole + 1)
            }
            term = _times(term, expanded)
        total = _sum(total, term)
    return total


def inside(
    several: Sequence[Signomial], names: Sequence[str], least: Mapping[str, float], stream: Stream
) -> Iterator[Mapping[str, float]]:
    """Places where some signomials are positive, as far as floating numbers tell: logarithms by name.

    Each starts somewhere and goes towards the side of the signomial that is missed most, again and again.

    Args:
        several: in the symbols that are named.
        names: of all symbols.
        least: the least logarithm, for symbols that have one.
        stream: where to start.
    """
    forms = [_Form.of(one, names) for one in several]
    lowest = [least.get(name, -FARTHEST) for name in names]
    for start in range(STARTS):
        reach = FARTHEST * (start + 1) / STARTS
        at = [max(low, reach * (stream.below(2001) - 1000) / 1000) for low in lowest]
        for _ in range(MOVES):
            surplus, way = min((form.at(at) for form in forms), default=(math.inf, []))
            if surplus > 0:
                yield dict(zip(names, at, strict=True))
            length = sum(step * step for step in way)
            if surplus > MARGIN or length < 1e-12:
                break
            stretch = (2 * MARGIN - surplus) / length
            at = [
                min(FARTHEST, max(low, value + stretch * step))
                for value, step, low in zip(at, way, lowest, strict=True)
            ]


class _Form(Struct, frozen=True):
    """A signomial for floating numbers: logarithms of what stands in front, and powers."""

    above: Sequence[tuple[float, Sequence[float]]]
    below: Sequence[tuple[float, Sequence[float]]]

    @classmethod
    def of(cls, one: Signomial, names: Sequence[str]) -> _Form:
        above: list[tuple[float, Sequence[float]]] = []
        below: list[tuple[float, Sequence[float]]] = []
        for powers, coefficient in one.items():
            own = dict(powers)
            size = math.log(abs(coefficient.numerator)) - math.log(coefficient.denominator)
            entry = size, [float(own.get(name, 0)) for name in names]
            (above if coefficient > 0 else below).append(entry)
        return cls(above, below)

    def at(self, place: Sequence[float]) -> tuple[float, list[float]]:
        """By how much the positive terms outweigh the others, in logarithms, and the way to more of it."""
        size, way = _largest(self.above, place)
        against, back = _largest(self.below, place)
        return size - against, [one - other for one, other in zip(way, back, strict=True)]


def _largest(
    terms: Sequence[tuple[float, Sequence[float]]], place: Sequence[float]
) -> tuple[float, list[float]]:
    """The logarithm of a sum, and how it grows with each symbol's logarithm."""
    if not terms:
        return -math.inf, [0.0] * len(place)
    sizes = [size + sum(map(mul, powers, place)) for size, powers in terms]
    top = max(sizes)
    shares = [math.exp(size - top) for size in sizes]
    total = sum(shares)
    ways = zip(*(powers for _, powers in terms), strict=True)
    return top + math.log(total), [sum(map(mul, shares, way)) / total for way in ways]
