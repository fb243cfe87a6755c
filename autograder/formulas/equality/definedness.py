"""Finds out whether a formula has a value wherever another one has.

Two formulas that agree wherever both have values may still differ in their domains: over the real numbers
``sqrt(x)^2`` agrees with ``x`` and with ``abs(x)``, and has no value for negative ``x``. Isolated points do
not count, such as ``n = 1`` of ``(n^2 - 1)/(n - 1)``: the gap there is removable.

What a formula requires is collected from its roots, logarithms, powers and quotients. A requirement is met if
interval arithmetic or linear combinations of the other formula's requirements prove it, and violated if a
point shows it. Everything else is `Undecided`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from autograder.formulas.equality.cases import from_one, in_positive, patterns
from autograder.formulas.errors import Undecided
from autograder.formulas.forms.signomials import clash, excess
from autograder.formulas.nodes import Div, Fn, Mul, Neg, Node, Num, Pow, Sym, children, symbols, walk
from autograder.formulas.printing.text import to_text
from autograder.formulas.values import balls
from autograder.formulas.values.evaluate import Rational, TooLarge, Undefined, constant_value
from autograder.formulas.values.intervals import enclose
from autograder.formulas.values.points import Point, Points
from autograder.formulas.values.rounding import is_whole, rounds

SECRET = 24
"""Secret points at which a violation is looked for: every pattern of signs of three real symbols, thrice."""
_SMALL_DIGITS = 3
MAX_SMALL = 5**_SMALL_DIGITS
"""Small points at which it is looked for first: gaps such as those of ``sqrt(n - 5)`` lie there."""
_SMALL: Mapping[str, tuple[Rational, ...]] = {
    "positive integer": (1, 2, 3, 4, 7),
    # Powers of negative numbers have values at whole exponents, which are isolated among real numbers.
    "positive": (Fraction(1, 9), Fraction(2, 3), Fraction(11, 10), Fraction(22, 10), Fraction(73, 10)),
    "real": (Fraction(-73, 10), Fraction(-11, 10), Fraction(-1, 3), Fraction(1, 2), Fraction(22, 10)),
    "probability": (Fraction(1, 99), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(98, 99)),
    "unit": (0, Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), 1),
}
_CASES = frozenset(("max", "min", "abs", "ceil", "floor"))
"""Functions that may be constant, and so zero, on a part of the domain."""

Substitute = Callable[[Node], Node]


class Requirement(Struct, frozen=True):
    """What an argument must be so that a part of a formula has a value.

    Attributes:
        part: the root, logarithm, power or quotient, as its author wrote it.
        argument: the formula that must not be negative, or not be zero.
        exponent: of a power: where its value is whole, the argument may be negative.
        may_be_negative: the argument must not be zero.
        is_odd_root: some define the part for negative arguments, too.
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
    """Return a part of an answer without a value where the right answer has one, or None if there is none.

    Args:
        answer: a formula that agrees with the right one wherever both have values.
        right: the right one.
        points: the symbols' domains, and where a violation is looked for.
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
    granted = list(_requirements(right))
    left = [one for one in left if not any(_implies(other, one) for other in granted)]
    search = _GapSearch(right, granted, points, allows)
    for one in left:
        if one.may_be_negative:
            if search.finds_flat_zero(one):
                return one.part
        elif search.finds_negative(one):
            return one.part
    return None


def is_rational(node: Node) -> bool:
    """Whether a formula has only isolated gaps because it is a quotient of polynomials."""
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
    elif exponent.denominator != 1:
        yield Requirement(power, power.base, is_odd_root=exponent.denominator % 2 == 1)
    if exponent is not None and exponent < 0:
        yield Requirement(power, power.base, may_be_negative=True)


def _is_met(one: Requirement, domains: Mapping[str, str]) -> bool:
    """Whether a requirement is met on the whole domain, but for isolated points."""
    argument = one.argument
    if one.may_be_negative:  # the zeros of other formulas are isolated
        return not _may_be_flat(argument) or enclose(argument, domains).is_nonzero
    if one.exponent is not None and is_whole(one.exponent, domains):
        return True
    return enclose(argument, domains).low >= 0


def _may_be_flat(node: Node) -> bool:
    """Whether a formula may be zero on a part of the domain without being zero everywhere.

    ``abs(x) - x`` is; ``abs(x)``, ``x*abs(y)`` and ``max(x, y)`` are zero at isolated points only.
    """
    match node:
        case Neg(operand) | Div(operand, _) | Fn("abs" | "sqrt", (operand,)):
            return _may_be_flat(operand)
        case Pow(base, exponent) if _is_number(exponent):
            return _may_be_flat(base)
        case Mul(factors):
            return any(map(_may_be_flat, factors))
        case Fn("max" | "min", arguments):
            return not all(map(_is_monomial, arguments))
    return any(
        (isinstance(part, Fn) and part.name in (*_CASES, "sqrt"))
        or (isinstance(part, Pow) and not isinstance(part.exponent, Sym) and not _is_integer(part.exponent))
        for part in walk(node)
    )


def _is_number(node: Node) -> bool:
    return not symbols(node)


def _is_monomial(node: Node) -> bool:
    """Whether a formula is a product of powers of symbols and numbers, none of them zero."""
    match node:
        case Sym():
            return True
        case Num(value):
            return value != 0
        case Neg(operand) | Fn("sqrt" | "abs", (operand,)):
            return _is_monomial(operand)
        case Pow(base, exponent):
            return _is_monomial(base) and _is_number(exponent)
        case Mul() | Div():
            return all(map(_is_monomial, children(node)))
    return False


def _implies(known: Requirement, one: Requirement) -> bool:
    """Whether a requirement is the same as a known one."""
    return (known.argument, known.exponent, known.may_be_negative) == (
        one.argument, one.exponent, one.may_be_negative,
    )  # fmt: skip


class _GapSearch:
    """Looks for points at which a requirement is violated and the right answer has a value, or for a proof.

    Attributes:
        right: the right answer, with the assumptions put in.
        granted: what the right answer requires itself.
    """

    def __init__(
        self, right: Node, granted: Sequence[Requirement], points: Points, allows: Callable[[Point], bool]
    ) -> None:
        self.right, self.granted = right, granted
        self._points, self._allows = points, allows

    def finds_negative(self, one: Requirement) -> bool:
        """Whether the argument is negative somewhere.

        Raises:
            Undecided: that could be neither found nor excluded, or the part is an odd root.
        """
        for at in self._places(symbols(self.right) | symbols(one.argument)):
            if _is_negative(one, at) and self._counts(at):
                if one.is_odd_root:
                    raise Undecided(f"{to_text(one.part)} is an odd root of what may be negative")
                return True
        if not self._is_proven(one.argument):
            raise Undecided(f"{to_text(one.part)} may have no value where the right answer has one")
        return False

    def finds_flat_zero(self, one: Requirement) -> bool:
        """Whether the argument is zero on a part of the domain: at one of several secret points already.

        Raises:
            Undecided: that could be neither found nor excluded.
        """
        if rounds(one.argument):  # whole numbers that are drawn are not far apart: some zeros are isolated
            raise Undecided(f"{to_text(one.part)} may have no value where the right answer has one")
        for number in range(self._points.least):
            at = self._points.anywhere(number)
            if balls.is_zero(one.argument, at) and self._counts(at):
                return True
        if any(isinstance(part, Fn) and part.name in _CASES for part in walk(one.argument)):
            raise Undecided(f"{to_text(one.part)} may have no value where the right answer has one")
        return False

    def _counts(self, at: Point) -> bool:
        """Whether every symbol has a value of its domain at a point, and the right answer has one, too."""
        return self._allows(at) and balls.has_value(self.right, at)

    def _places(self, names: frozenset[str]) -> Iterator[Point]:
        """Points of the symbols' domains: small ones, then secret ones."""
        ordered = sorted(names)
        small = [_SMALL[self._points.domains[name]] for name in ordered]
        for number in range(MAX_SMALL):
            # Each digit of the number, in base 5, chooses the value of one symbol; later symbols repeat.
            chosen = (number // 5 ** (place % _SMALL_DIGITS) % 5 for place in range(len(ordered)))
            yield {
                name: Fraction(values[digit])
                for name, values, digit in zip(ordered, small, chosen, strict=True)
            }
            if number + 1 == 5 ** len(ordered):
                break
        for number in range(SECRET):
            yield self._points.inside(number)

    def _is_proven(self, argument: Node) -> bool:
        """Whether an argument is surely nowhere negative where those of the right answer are not."""
        if isinstance(argument, Fn) and argument.name in ("max", "min"):
            enough = any if argument.name == "max" else all
            return enough(map(self._is_proven, argument.arguments))
        known = [one.argument for one in self.granted if self._is_never_negative(one)]
        names = frozenset[str]().union(*map(symbols, (argument, *known)))
        domains = {name: self._points.domains[name] for name in sorted(names)}
        signs = patterns(domains)
        return signs is not None and all(_clashes(argument, known, domains, negative) for negative in signs)

    def _is_never_negative(self, granted: Requirement) -> bool:
        """Whether an argument is not negative where the right answer has a value, but for isolated points."""
        if granted.may_be_negative or granted.exponent is None:
            return not granted.may_be_negative
        domains = {self._points.domains[name] for name in symbols(granted.exponent)}
        flat = any(isinstance(part, Fn) and part.name in _CASES for part in walk(granted.exponent))
        return not flat and bool(domains) and "positive integer" not in domains


def _is_negative(one: Requirement, at: Point) -> bool:
    """Whether an argument is certainly negative at a point, and its exponent no whole number."""
    return balls.is_negative(one.argument, at) and (
        one.exponent is None or balls.is_no_whole_number(one.exponent, at)
    )


def _clashes(
    argument: Node, known: Sequence[Node], domains: Mapping[str, str], negative: tuple[str, ...]
) -> bool:
    """Whether an argument below zero contradicts known ones above zero, for one pattern of signs."""
    inequalities = []
    for place, (larger, smaller) in enumerate([(Num(0), argument), *((one, Num(0)) for one in known)]):
        try:
            sides = (in_positive(side, domains, negative) for side in (larger, smaller))
            inequalities.append(excess(*sides))
        except Undecided:
            if place == 0:
                return False
    return not inequalities[0] or clash([one for one in inequalities if one], from_one(domains))
