"""Judges asymptotic answers: ``O(n*d*(n + d))`` for a cost of ``12*n*d^2 + n^2*d``.

All symbols are positive and grow without bound, independently of one another; assumptions between them
are put in first. A growth is a quotient of two sums of products; so ``min(n, d)``, which is ``n*d/(n + d)``
up to a factor of two, has one. Two formulas are alike when each is at most a constant times the other.
Whatever is not proven either way is `Undecided`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from flint import fmpz
from msgspec import Struct

from autograder.algebra.equality.compare import Assumption
from autograder.algebra.growth import products
from autograder.algebra.growth.products import ONE, UNKNOWN, Product, Rational, Scale
from autograder.algebra.nodes import Add, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Sym, children, substitute, symbols
from autograder.algebra.notation.landau import body_of
from autograder.algebra.terms import terms
from autograder.errors import Undecided

MAX_LEADING = 8
"""Terms of which none outgrows another."""
MAX_TERMS = 24
"""Terms of a sum; a power of a sum with more is not multiplied out."""
MAX_WORK = 2000
"""Pairs of terms that are multiplied or compared for one formula."""
MAX_CHOSEN = 8
"""Largest second argument of a binomial that is written out."""
MAX_POWER = 1000
"""Largest constant exponent."""
MAX_BITS = 4096
"""Size of the numbers in front of products."""
MAX_FACTORED_BITS = 64
"""Numbers above this are not taken apart into primes."""

Sum = Mapping[Product, Rational]
"""Products with the numbers in front of them, none of which is zero; the empty sum is zero."""

UNIT: Sum = {ONE: 1}
_HALF = Fraction(1, 2)


class Order(Struct, frozen=True, eq=False):
    """An order of growth: the leading terms of a numerator, and those of a denominator."""

    above: tuple[Product, ...]
    below: tuple[Product, ...]


class Comparison(Struct, frozen=True):
    """How the growth asked for compares with an answer's.

    Attributes:
        at_most: it is at most a constant times the answer.
        at_least: it is at least a constant times the answer.
        asked: its leading terms, brought to one denominator with those of the answer.
        answer: the answer's.
    """

    at_most: bool
    at_least: bool
    asked: tuple[Product, ...]
    answer: tuple[Product, ...]

    @property
    def alike(self) -> bool:
        """Both are of the same order."""
        return self.at_most and self.at_least

    @property
    def faster_in(self) -> tuple[str, ...]:
        """Symbols in which it grows faster than the answer, the others being fixed."""
        return products.faster_in(self.asked, self.answer)

    @property
    def slower_in(self) -> tuple[str, ...]:
        """Symbols in which it grows more slowly."""
        return products.faster_in(self.answer, self.asked)


def order(statement: Node, assumptions: Iterable[Assumption] = ()) -> Order:
    """The order of growth of a statement's formula, or of a formula.

    Args:
        statement: what was read by `landau`.
        assumptions: symbol → formula, in an order in which each uses only symbols settled before.

    Raises:
        Undecided: its growth cannot be told.
    """
    node = body_of(statement)
    for name, formula in reversed(tuple(assumptions)):
        node = substitute(node, name, formula)
    growing = _Growing()
    above, below = map(growing.leading, growing.of(node))
    if max(len(above), len(below)) > MAX_LEADING:
        raise Undecided("too many leading terms")
    return Order(above, below)


def compared(asked: Order, answer: Order) -> Comparison:
    """Compare two orders of growth.

    Raises:
        Undecided: neither that one bounds the other, nor that it does not, could be proven.
    """
    left, right = _over_one(asked.above, answer.below), _over_one(answer.above, asked.below)
    if set(left) == set(right):
        return Comparison(True, True, left, right)
    return Comparison(_bounded(left, right), _bounded(right, left), left, right)


def _over_one(first: Sequence[Product], second: Sequence[Product]) -> tuple[Product, ...]:
    if second == (ONE,):
        return tuple(first)
    found = _Growing().leading(dict.fromkeys((_times(one, other) for one in first for other in second), 1))
    if len(found) > MAX_LEADING:
        raise Undecided("too many leading terms")
    return found


def _bounded(left: Sequence[Product], right: Sequence[Product]) -> bool:
    """Whether the sum of some products is at most a constant times the sum of others."""
    verdicts = [bool(right) and (product in right or products.bounds(right, product)) for product in left]
    if None in verdicts and False not in verdicts:
        raise Undecided("the growth could not be compared")
    return False not in verdicts


def surplus(statement: Node) -> Node | None:
    """A term that another term outgrows, so that it says nothing; None where there is none.

    The formula itself stands for a term that is only there when brackets are multiplied out.

    Raises:
        Undecided: the growth of a term cannot be told.
    """
    body = body_of(statement)
    parts = terms(body)
    found = [above for above, below in (_Growing().of(part) for part in parts) if below == UNIT]
    if len(found) < len(parts):
        return None
    if len(parts) == 1:
        above, _ = _Growing().of(body)
        return body if any(_outgrown(one, above) for one in above) else None
    leading = [_Growing().leading(dict.fromkeys(above, 1)) for above in found]
    for part, own in zip(parts, leading, strict=True):
        others = [product for several in leading if several is not own for product in several]
        if all(_outgrown(one, others) for one in own):
            return part if part in children(body) else body
    return None


def _outgrown(product: Product, others: Iterable[Product]) -> bool:
    return any(products.vanishing(products.quotient(product, other)) for other in others)


def constant(statement: Node) -> Node | None:
    """A constant factor, which says nothing; None where there is none. Exponents and bases are none."""
    return _constant(body_of(statement))


def _constant(node: Node) -> Node | None:
    match node:
        case Num() | Const():
            return node if node != Num(1) else None
        case Neg(operand):
            return node if isinstance(operand, Num) else _constant(operand)
        case Add(parts):
            growing = [part for part in parts if symbols(part)]
            return _first(growing) if growing else node
        case Mul(parts):
            return _first(parts)
        case Div(above, below):
            return _first((above, below))
        case Pow(base, exponent):
            return node if not symbols(exponent) and _constant(base) is not None else None
        case Fn("sqrt" | "max" | "min", arguments):
            return node if _first(arguments) is not None else None
    return None


def _first(parts: Iterable[Node]) -> Node | None:
    return next((found for part in parts if (found := _constant(part)) is not None), None)


def _times(first: Product, second: Product) -> Product:
    return products.collected((*first, *second)) if first and second else first or second


def _plus(*sums: Sum) -> Sum:
    found = dict(products.collected(part for one in sums for part in one.items()))
    if len(found) > MAX_TERMS:
        raise Undecided("a sum of too many terms")
    return found


def _primes(value: Rational) -> list[tuple[Scale, Rational]]:
    """The logarithm of a positive number: the scales of primes with their exponents."""
    if value <= 0:
        raise Undecided("a root or logarithm of a number that is not positive")
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_FACTORED_BITS:
        raise Undecided("a root or logarithm of a number that is too large")
    return [
        (((("#" + str(prime), 1), 1),), way * int(count))
        for number, way in ((value.numerator, 1), (value.denominator, -1))
        for prime, count in (fmpz(number).factor() if number > 1 else ())
    ]


def _is_vague(part: tuple[Scale, Rational]) -> bool:
    """Whether a constant in a product has no logarithm that is known."""
    scale, _ = part
    return not products.apart(scale)[0] and any(
        times > 1 or name.startswith(UNKNOWN) for (name, times), _ in scale
    )


class _Growing:
    """Puts one growth together, and counts what that costs.

    What is only known to stay between two positive numbers is a constant of its own, so that two of them never
    cancel, and nothing that grows with such an exponent is compared.
    """

    __slots__ = ("_left", "_unknowns")

    def __init__(self) -> None:
        self._left = MAX_WORK
        self._unknowns = 0

    def of(self, node: Node) -> tuple[Sum, Sum]:
        """The growth of a formula: a sum, and a sum below it that is positive from somewhere on.

        Raises:
            Undecided: it has none that can be told here, within `MAX_WORK`.
        """
        match node:
            case Sym(name):
                return {products.named(name): 1}, UNIT
            case Num(value):
                return {ONE: value} if value else {}, UNIT
            case Const("e"):
                return {(((), 1),): 1}, UNIT
            case Const():
                return {products.named(UNKNOWN): 1}, UNIT
            case Neg(operand):
                return self._product([self.of(operand), ({ONE: -1}, UNIT)])
            case Add(parts):
                return self._total([self.of(part) for part in parts])
            case Mul(parts):
                return self._product([self.of(part) for part in parts])
            case Div(above, below):
                return self._product([self.of(above), self._inverse(self.of(below))])
            case Pow(base, exponent):
                return self._power(self.of(base), self.of(exponent))
        return self._function(node)

    def _function(self, node: Fn) -> tuple[Sum, Sum]:
        match node.name, node.arguments:
            case "sqrt", (part,):
                return self.of(Pow(part, Num(_HALF)))
            case "exp", (part,):
                return self.of(Pow(Const("e"), part))
            case "ln" | "log", (part,):
                return self._logarithm(self.of(part))
            case "lg", (part,):
                return self.of(Div(Fn("ln", (part,)), Fn("ln", (Num(10),))))
            case "log", (part, base):
                return self.of(Div(Fn("ln", (part,)), Fn("ln", (base,))))
            case "max", parts:  # between the mean of positive values and their sum
                return self._total([self._positive(self.of(part)) for part in parts])
            case "min", parts:  # between the harmonic sum of positive values and a multiple of it
                turned = [self._inverse(self._positive(self.of(part))) for part in parts]
                return self._inverse(self._total(turned))
            case "ceil" | "floor", (part,):
                return self._rounded(self.of(part), up=node.name == "ceil")
            case "factorial", (part,):
                return self._factorial(part)
            case "binomial", (part, Num(int(count))) if 0 < count <= MAX_CHOSEN:
                falling = [Add((part, Neg(Num(number)))) for number in range(count)]
                return self.of(Div(Mul(tuple(falling)), Num(math.factorial(count))))
        raise Undecided(f"the growth of {node.name} is not known")

    def leading(self, one: Sum) -> tuple[Product, ...]:
        """The terms that a positive sum is between constants times: those that no other outgrows.

        Raises:
            Undecided: the sum is not seen to become and stay positive.
        """
        self._spend(len(one) * len(one))
        groups: dict[Product, list[tuple[Scale | None, Rational]]] = {}
        for product, number in one.items():
            moving = products.growing(product)
            constant = tuple(part for part in product if part not in moving)
            groups.setdefault(moving, []).append((products.to_scale(constant), number))
        doubt: Undecided | None = None
        signs: dict[Product, int] = {}
        for product, parts in groups.items():
            try:
                signs[product] = products.sign(parts)
            except Undecided as error:
                doubt, signs[product] = error, -1
        positive = [product for product, way in signs.items() if way > 0]
        if not all(way > 0 or _outgrown(product, positive) for product, way in signs.items()):
            raise doubt or Undecided("a difference that may be negative or smaller than either side")
        kept: list[Product] = []
        for place, product in enumerate(positive):
            others = (*kept, *positive[place + 1 :])
            if not any(products.bounded(products.quotient(product, other)) for other in others):
                kept.append(product)
        return tuple(kept)

    def _spend(self, pairs: int) -> None:
        self._left -= pairs
        if self._left < 0:
            raise Undecided("a formula that takes too long")

    def _unknown(self) -> Product:
        self._unknowns += 1
        return products.named(f"{UNKNOWN}{self._unknowns}")

    def _vague(self, several: Iterable[Product]) -> Sum:
        """A sum that is between constants times the sum of some products."""
        factor = self._unknown()
        return {_times(product, factor): 1 for product in several}

    def _times(self, first: Sum, second: Sum) -> Sum:
        self._spend(len(first) * len(second))
        return _plus(*({_times(one, other): left * right for other, right in second.items()} for one, left in first.items()))

    def _total(self, parts: Sequence[tuple[Sum, Sum]]) -> tuple[Sum, Sum]:
        above, below = parts[0]
        for over, under in parts[1:]:
            if under == below:
                above = _plus(above, over)
            else:
                above = _plus(self._times(above, under), self._times(over, below))
                below = self._times(below, under)
        return above, below

    def _product(self, parts: Sequence[tuple[Sum, Sum]]) -> tuple[Sum, Sum]:
        above, below = parts[0]
        for over, under in parts[1:]:
            above, below = self._times(above, over), self._times(below, under)
        return above, below

    def _inverse(self, one: tuple[Sum, Sum]) -> tuple[Sum, Sum]:
        """One divided by it; a single term below is divided by at once."""
        above, below = one
        divisor = above if len(above) == 1 else self._vague(self.leading(above))
        if not divisor:
            raise Undecided("division by zero")
        if len(divisor) > 1:
            return below, divisor
        return self._times(below, {products.raised(part, -1): Fraction(1, by) for part, by in divisor.items()}), UNIT

    def _positive(self, one: tuple[Sum, Sum]) -> tuple[Sum, Sum]:
        return self._vague(self.leading(one[0])), one[1]

    def _power(self, base: tuple[Sum, Sum], exponent: tuple[Sum, Sum]) -> tuple[Sum, Sum]:
        by, below = exponent
        if below == UNIT and not by.keys() - {ONE}:
            number = by.get(ONE, 0)
            if abs(number) > MAX_POWER:
                raise Undecided("a large power")
            above, under = base if number >= 0 else self._inverse(base)
            return self._raised(above, abs(number)), self._raised(under, abs(number))
        if below == UNIT and len(base[0]) > 1 and not any(map(products.growing, by)) and self.leading(by):
            above, under = ((self._raised_to(by, product) for product in self.leading(one)) for one in base)
            return self._vague(above), self._vague(under)
        return self._exponential(self._product([exponent, self._logarithm(base)]))

    def _raised_to(self, by: Sum, product: Product) -> Product:
        (found,) = self._exponential((self._times(by, self._logarithm_of({product: 1})), UNIT))[0]
        return found

    def _raised(self, base: Sum, exponent: Rational) -> Sum:
        """A sum to a power from zero on."""
        if exponent == 0 or base == UNIT:
            return UNIT
        if len(base) == 1:
            ((product, number),) = base.items()
            roots = ONE
            if exponent.denominator != 1:
                roots = products.raised(products.collected(_primes(number)), exponent)
                number = 1
            elif max(number.numerator.bit_length(), number.denominator.bit_length()) * exponent > MAX_BITS:
                raise Undecided("a constant is too large")
            whole = number**exponent.numerator if exponent.denominator == 1 else number
            return {_times(products.raised(product, exponent), roots): whole}
        if exponent.denominator == 1 and len(base) ** exponent.numerator <= MAX_TERMS:
            result = UNIT
            for _ in range(exponent.numerator):
                result = self._times(result, base)
            return result
        return self._vague(products.raised(product, exponent) for product in self.leading(base))

    def _logarithm(self, one: tuple[Sum, Sum]) -> tuple[Sum, Sum]:
        """The natural logarithm."""
        above, below = map(self._logarithm_of, one)
        return _plus(above, {product: -number for product, number in below.items()}), UNIT

    def _logarithm_of(self, one: Sum) -> Sum:
        if len(one) == 1:
            ((product, number),) = one.items()
            if not any(map(_is_vague, product)):
                parts = (*product, *_primes(number))
                return _plus(*({products.of_scale(scale): coefficient} for scale, coefficient in parts))
        found = self.leading(one)
        if not found:
            raise Undecided("the logarithm of zero")
        # It is that of the largest term, up to an added constant, which is small beside what grows.
        largest = [part for product in found for part in self._large(self._logarithm_of({product: 1}))]
        return self._vague(largest)

    def _large(self, one: Sum) -> tuple[Product, ...]:
        """The leading terms of a sum that goes to infinity."""
        found = self.leading(one)
        if not found or not all(_outgrown(ONE, (product,)) for product in found):
            raise Undecided("the logarithm, rounding or factorial of what may stay small")
        return found

    def _rounded(self, one: tuple[Sum, Sum], *, up: bool) -> tuple[Sum, Sum]:
        """What is positive is rounded up to 1 at least; rounded down it halves at most, from 1 on."""
        if up:
            return self._total([self._positive(one), (self._vague((ONE,)), UNIT)])
        if one[1] != UNIT:
            raise Undecided("the rounding of what may stay small")
        return self._vague(self._large(one[0])), UNIT

    def _factorial(self, argument: Node) -> tuple[Sum, Sum]:
        """Stirling: ``n!`` is ``n^(n + 1/2) * e^-n`` up to a factor."""
        if not symbols(argument):
            return self._vague((ONE,)), UNIT
        above, below = self.of(argument)
        if len(above) != 1 or below != UNIT or not self._large(above):
            raise Undecided("the factorial of a sum")
        power = Pow(argument, Add((argument, Num(_HALF))))
        return self.of(Div(power, Pow(Const("e"), argument)))

    def _exponential(self, exponent: tuple[Sum, Sum]) -> tuple[Sum, Sum]:
        """e to the power of a growth that is known up to an added constant."""
        above, below = exponent
        if below != UNIT:
            raise Undecided("a fraction in an exponent")
        parts: list[tuple[Scale, Rational]] = []
        for product, number in above.items():
            scale = products.to_scale(product)
            known = scale is not None and not any(name.startswith(UNKNOWN) for (name, _), _ in scale)
            if scale is not None and known and not products.vanishing(product):
                parts.append((scale, number))
            elif products.growing(product) and not products.vanishing(product):
                raise Undecided("an exponent that is only known up to a constant factor, or an exponential itself")
            else:
                parts.extend((scale, factor) for scale, factor in self._unknown())
        return {products.collected(parts): 1}, UNIT
