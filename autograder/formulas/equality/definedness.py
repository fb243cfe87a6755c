"""Decide whether a formula has a value wherever another formula has one.

Two formulas that agree wherever both have values may still differ in their domains: over the real numbers
``sqrt(x)^2`` agrees with ``x`` and with ``abs(x)``, but is undefined for negative ``x``. Isolated points do
not count, such as ``n = 1`` of ``(n^2 - 1)/(n - 1)``: the gap there is removable.

The requirements of a formula are collected from its roots, logarithms, powers and quotients. Requirements
that are not certainly met are checked at many points of the domain: small, secret and very large ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product

from msgspec import Struct

from autograder.formulas.equality.rounding import is_whole, rounds
from autograder.formulas.errors import Undecided
from autograder.formulas.forms.signs import is_never_negative
from autograder.formulas.nodes import Div, Fn, Neg, Node, Num, Pow, symbols, walk
from autograder.formulas.printing.text import to_text
from autograder.formulas.values import balls
from autograder.formulas.values.evaluate import Rational, TooLarge, Undefined, constant_value
from autograder.formulas.values.points import Point, Points

SECRET = 24
"""Number of secret points: every pattern of signs of three real symbols, three times."""
_SMALL_DIGITS = 3
MAX_SMALL = 5**_SMALL_DIGITS
"""Number of small points, which are checked first: they reveal gaps such as those of ``sqrt(n - 5)``."""
_LARGE = tuple(Fraction(10**power) for power in (60, 160, 260, 360))
"""Compared with one of these, every number that can be written in a formula is small, but still visible."""
_SMALL: Mapping[str, tuple[Rational, ...]] = {
    "positive integer": (1, 2, 3, 4, 7),
    # Powers of negative numbers have values at whole exponents, which are isolated among real numbers.
    "positive": (Fraction(1, 9), Fraction(2, 3), Fraction(11, 10), Fraction(22, 10), Fraction(73, 10)),
    "real": (Fraction(-73, 10), Fraction(-11, 10), Fraction(-1, 3), Fraction(1, 2), Fraction(22, 10)),
    "probability": (Fraction(1, 99), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(98, 99)),
    "unit": (0, Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), 1),
}
_MAY_BE_FLAT = frozenset(("max", "min", "abs", "ceil", "floor", "sqrt"))
"""Functions that can make a formula constant, and therefore zero, on a part of the domain."""

Substitute = Callable[[Node], Node]
"""Puts assumptions into a formula."""


class Requirement(Struct, frozen=True):
    """A condition on an argument, without which a part of a formula has no value.

    Attributes:
        part: the root, logarithm, power or quotient, as its author wrote it.
        argument: the formula that must not be negative, or must not be zero.
        exponent: the exponent of a power: if its value is whole, the argument may be negative.
        may_be_negative: the argument only must not be zero.
        is_odd_root: an odd root, which some conventions define for negative arguments as well.
    """

    part: Node
    argument: Node
    exponent: Node | None = None
    may_be_negative: bool = False
    is_odd_root: bool = False


def find_gap(
    answer: Node,
    right: Node,
    points: Points,
    substitute: Substitute = lambda node: node,
    allows: Callable[[Point], bool] = lambda _: True,
) -> Node | None:
    """Return a part of an answer that is undefined where the expected answer has a value, or None.

    Args:
        answer: a formula that agrees with the expected one wherever both have values.
        right: the expected formula.
        points: the domains of the symbols, and the points at which violations are looked for.
        substitute: puts the assumptions into a formula.
        allows: whether the assumptions give every symbol a value of its domain at a point.

    Raises:
        Undecided: a gap could be neither found nor excluded.
    """
    required = [
        Requirement(
            one.part,
            substitute(one.argument),
            None if one.exponent is None else substitute(one.exponent),
            one.may_be_negative,
            one.is_odd_root,
        )
        for one in _requirements(answer)
    ]
    left = [one for one in required if not _is_met(one, points.domains)]
    if not left:
        return None
    right = substitute(right)
    # A requirement that the expected formula has as well cannot cause a gap.
    granted = list(_requirements(right))
    left = [one for one in left if not any(_implies(other, one) for other in granted)]
    for one in left:
        if one.may_be_negative and rounds(one.argument):  # whole numbers are not far apart: isolated zeros
            raise Undecided(f"{to_text(one.part)} may have no value where the right answer has one")
    for at, is_small in _places(points, symbols(right).union(*(symbols(one.argument) for one in left))):
        if not left or not allows(at) or not balls.has_value(right, at):
            continue
        for one in left:
            if _is_violated(one, at, is_small=is_small):
                if one.is_odd_root:
                    raise Undecided(f"{to_text(one.part)} is an odd root of what may be negative")
                return one.part
    return None


def _places(points: Points, names: frozenset[str]) -> Iterator[tuple[Point, bool]]:
    """Yield points of the symbols' domains, and whether they are small ones."""
    ordered = sorted(names)
    small = [_SMALL[points.domains[name]] for name in ordered]
    for number in range(min(MAX_SMALL, 5 ** len(ordered))):
        # Each digit of the number, in base 5, chooses the value of one symbol; later symbols repeat.
        chosen = (number // 5 ** (place % _SMALL_DIGITS) % 5 for place in range(len(ordered)))
        pairs = zip(ordered, small, chosen, strict=True)
        yield {name: Fraction(values[digit]) for name, values, digit in pairs}, True
    yield from ((points.inside(number), False) for number in range(SECRET))
    unbounded = [name for name in ordered if points.domains[name] not in ("probability", "unit")]
    # A gap may begin only beyond a huge constant, as in sqrt(10^50 - n).
    for number, large in product(range(2), _LARGE):  # real numbers of either sign
        at = points.inside(number)
        yield {**at, **{name: large * at[name] for name in unbounded}}, False


def is_rational(node: Node) -> bool:
    """Return whether a formula is a quotient of polynomials, so that its gaps are isolated points."""
    return not any(
        isinstance(part, Fn) or (isinstance(part, Pow) and not _is_integer(part.exponent))
        for part in walk(node)
    )


def _is_integer(exponent: Node) -> bool:
    number = exponent.operand if isinstance(exponent, Neg) else exponent
    return isinstance(number, Num) and isinstance(number.value, int)


def _requirements(node: Node) -> Iterator[Requirement]:
    for part in walk(node):
        if isinstance(part, Fn) and part.name == "sqrt":
            yield Requirement(part, part.arguments[0])
        elif isinstance(part, Fn) and part.name in ("log", "ln", "lg"):
            for argument in part.arguments:
                # Neither negative nor zero; the base is an argument of the logarithm, too.
                yield Requirement(part, argument)
                yield Requirement(part, argument, may_be_negative=True)
        elif isinstance(part, Div):
            yield Requirement(part, part.denominator, may_be_negative=True)
        elif isinstance(part, Pow):
            yield from _requirements_of_power(part)


def _requirements_of_power(power: Pow) -> Iterator[Requirement]:
    try:
        exponent = constant_value(power.exponent)
    except (TooLarge, Undefined):
        exponent = None
    if exponent is None:
        yield Requirement(power, power.base, power.exponent)
    # x^(1/3) for negative x depends on the convention, so odd roots are marked.
    elif exponent.denominator != 1:
        yield Requirement(power, power.base, is_odd_root=exponent.denominator % 2 == 1)
    if exponent is not None and exponent < 0:
        yield Requirement(power, power.base, may_be_negative=True)


def _is_met(one: Requirement, domains: Mapping[str, str]) -> bool:
    """Return whether a requirement is certainly met on the whole domain, except for isolated points."""
    if one.may_be_negative:
        # The zeros of any other formula are isolated, so the gap is removable or a single point.
        return not _may_be_flat(one.argument)
    if one.exponent is not None and is_whole(one.exponent, domains):
        return True
    return is_never_negative(one.argument, domains)


def _may_be_flat(node: Node) -> bool:
    """Return whether a formula such as ``abs(x) - x`` may be zero on a part of the domain only."""
    return any(
        (isinstance(part, Fn) and part.name in _MAY_BE_FLAT)
        or (isinstance(part, Pow) and symbols(part.base) and not _is_integer(part.exponent))
        for part in walk(node)
    )


def _implies(known: Requirement, one: Requirement) -> bool:
    """Return whether two requirements ask the same of the same argument."""
    return (known.argument, known.exponent, known.may_be_negative) == (
        one.argument, one.exponent, one.may_be_negative,
    )  # fmt: skip


def _is_violated(one: Requirement, at: Point, *, is_small: bool) -> bool:
    """Return whether an argument certainly has a forbidden value at a point."""
    if one.may_be_negative:  # small whole numbers are not far apart, so a zero there may be an isolated one
        return not is_small and balls.is_zero(one.argument, at)
    return balls.is_negative(one.argument, at) and (
        one.exponent is None or balls.is_no_whole_number(one.exponent, at)
    )
