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

from autograder.formulas.equality.rounding import has_rounding, is_whole
from autograder.formulas.errors import Undecided
from autograder.formulas.forms.signs import is_never_negative
from autograder.formulas.nodes import Div, Fn, Neg, Node, Num, Pow, collect_symbols, walk_tree
from autograder.formulas.printing.text import to_text
from autograder.formulas.values import balls
from autograder.formulas.values.evaluate import Rational, try_constant
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
    expected: Node,
    points: Points,
    substitute: Substitute = lambda node: node,
    allows: Callable[[Point], bool] = lambda _: True,
) -> Node | None:
    """Return a part of an answer that is undefined where the expected answer has a value, or None.

    Args:
        answer: a formula that agrees with the expected one wherever both have values.
        expected: the expected formula.
        points: the domains of the symbols, and the points at which violations are looked for.
        substitute: puts the assumptions into a formula.
        allows: whether the assumptions give every symbol a value of its domain at a point.

    Raises:
        Undecided: a gap could be neither found nor excluded.
    """
    requirements = [
        Requirement(
            requirement.part,
            substitute(requirement.argument),
            None if requirement.exponent is None else substitute(requirement.exponent),
            requirement.may_be_negative,
            requirement.is_odd_root,
        )
        for requirement in _collect_requirements(answer)
    ]
    unmet = [requirement for requirement in requirements if not _is_met(requirement, points.domains)]
    if not unmet:
        return None
    expected = substitute(expected)
    # A requirement that the expected formula has as well cannot cause a gap.
    granted = list(_collect_requirements(expected))
    unmet = [
        requirement
        for requirement in unmet
        if not any(_is_same_requirement(other, requirement) for other in granted)
    ]
    for requirement in unmet:
        # Whole numbers are not far apart: isolated zeros.
        if requirement.may_be_negative and has_rounding(requirement.argument):
            raise Undecided(f"{to_text(requirement.part)} may have no value where the right answer has one")
    for point, is_small in _generate_points(
        points,
        collect_symbols(expected).union(*(collect_symbols(requirement.argument) for requirement in unmet)),
    ):
        if not unmet or not allows(point) or not balls.has_value(expected, point):
            continue
        for requirement in unmet:
            if _is_violated(requirement, point, is_small=is_small):
                if requirement.is_odd_root:
                    raise Undecided(f"{to_text(requirement.part)} is an odd root of what may be negative")
                return requirement.part
    return None


def _generate_points(points: Points, names: frozenset[str]) -> Iterator[tuple[Point, bool]]:
    """Yield points of the symbols' domains, and whether they are small ones."""
    ordered = sorted(names)
    small = [_SMALL[points.domains[name]] for name in ordered]
    for index in range(min(MAX_SMALL, 5 ** len(ordered))):
        # Each digit of the number, in base 5, chooses the value of one symbol; later symbols repeat.
        chosen = (index // 5 ** (position % _SMALL_DIGITS) % 5 for position in range(len(ordered)))
        pairs = zip(ordered, small, chosen, strict=True)
        yield {name: Fraction(values[digit]) for name, values, digit in pairs}, True
    yield from ((points.get_point_inside(index), False) for index in range(SECRET))
    unbounded = [name for name in ordered if points.domains[name] not in ("probability", "unit")]
    # A gap may begin only beyond a huge constant, as in sqrt(10^50 - n).
    for index, large in product(range(2), _LARGE):  # real numbers of either sign
        point = points.get_point_inside(index)
        yield {**point, **{name: large * point[name] for name in unbounded}}, False


def is_rational(node: Node) -> bool:
    """Return whether a formula is a quotient of polynomials, so that its gaps are isolated points."""
    return not any(
        isinstance(part, Fn) or (isinstance(part, Pow) and not _is_integer(part.exponent))
        for part in walk_tree(node)
    )


def _is_integer(exponent: Node) -> bool:
    number = exponent.operand if isinstance(exponent, Neg) else exponent
    return isinstance(number, Num) and isinstance(number.value, int)


def _collect_requirements(node: Node) -> Iterator[Requirement]:
    for part in walk_tree(node):
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
            yield from _collect_power_requirements(part)


def _collect_power_requirements(power: Pow) -> Iterator[Requirement]:
    exponent = try_constant(power.exponent)
    if exponent is None:
        yield Requirement(power, power.base, power.exponent)
    # x^(1/3) for negative x depends on the convention, so odd roots are marked.
    elif exponent.denominator != 1:
        yield Requirement(power, power.base, is_odd_root=exponent.denominator % 2 == 1)
    if exponent is not None and exponent < 0:
        yield Requirement(power, power.base, may_be_negative=True)


def _is_met(requirement: Requirement, domains: Mapping[str, str]) -> bool:
    """Return whether a requirement is certainly met on the whole domain, except for isolated points."""
    if requirement.may_be_negative:
        # The zeros of any other formula are isolated, so the gap is removable or a single point.
        return not _may_be_flat(requirement.argument)
    if requirement.exponent is not None and is_whole(requirement.exponent, domains):
        return True
    return is_never_negative(requirement.argument, domains)


def _may_be_flat(node: Node) -> bool:
    """Return whether a formula such as ``abs(x) - x`` may be zero on a part of the domain only."""
    return any(
        (isinstance(part, Fn) and part.name in _MAY_BE_FLAT)
        or (isinstance(part, Pow) and collect_symbols(part.base) and not _is_integer(part.exponent))
        for part in walk_tree(node)
    )


def _is_same_requirement(first: Requirement, second: Requirement) -> bool:
    """Return whether two requirements ask the same of the same argument."""
    return (first.argument, first.exponent, first.may_be_negative) == (
        second.argument, second.exponent, second.may_be_negative,
    )  # fmt: skip


def _is_violated(requirement: Requirement, point: Point, *, is_small: bool) -> bool:
    """Return whether an argument certainly has a forbidden value at a point."""
    # Small whole numbers are not far apart, so a zero there may be an isolated one.
    if requirement.may_be_negative:
        return not is_small and balls.is_zero(requirement.argument, point)
    return balls.is_negative(requirement.argument, point) and (
        requirement.exponent is None or balls.is_no_whole_number(requirement.exponent, point)
    )
