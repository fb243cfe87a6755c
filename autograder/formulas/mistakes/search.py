"""Search for the one change to a wrong formula that makes it correct.

Every single change within bounds is tried at every position of the student's own formula, and some are tried
everywhere at once. Floating-point numbers select the changes that may fit; the comparer proves them. The
explanation is therefore true of the formula as it was written: with this change it would be correct for all
values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain

from msgspec import Struct

from autograder.formulas.mistakes import floats
from autograder.formulas.mistakes.changes import (
    LOGARITHMS,
    ONE,
    Change,
    logarithm,
    positive,
    values,
)
from autograder.formulas.mistakes.changes import written as operations
from autograder.formulas.mistakes.targets import NODES, Found, Target, applied
from autograder.formulas.nodes import (
    Add,
    Div,
    Fn,
    Mul,
    Neg,
    Node,
    Num,
    Pow,
    Sym,
    children,
    rebuilt,
    substitute,
    symbols,
    walk,
)
from autograder.formulas.printing.text import decimal, to_text

MOST_PARTS = 60
"""Largest number of nodes in an answer that is examined."""
MOST_WORK = 16_000
"""Number of nodes that are evaluated in the search for changes: about ten milliseconds."""
MOST_FITTED = 12_000
"""Number of nodes in all candidates that are evaluated at every point.

If most arguments of a maximum do not decide, nearly every change to them fits at the first point."""
MOST_PROOFS = 6
"""Number of changes that fit by floating-point numbers and are compared exactly."""
SMALL = 1 << 14
"""Largest numerator and denominator of a number that a student may have got wrong."""


def search(target: Target, wrong: Node) -> Found | None:
    """Return the most telling change that is proven to make the formula correct; None if there is none."""
    size = sum(1 for _ in walk(wrong))
    if size > MOST_PARTS:
        return None
    theirs = [floats.value(wrong, point) for point in target.points]
    usable = [place for place in target.order if not math.isnan(target.values[place])]
    # One point could agree by chance.
    if len(usable) < 2:
        return None
    # Points where the answer has a value come first; the sort is stable, so the order is kept otherwise.
    usable.sort(key=lambda place: math.isnan(theirs[place]))
    candidates = [*_Search(target, wrong, usable).candidates(), *target.special_cases(wrong, theirs)]
    # Only the first few candidates are proven, so the most telling ones come first.
    candidates.sort(key=Found.order)
    tried = 0
    for one in candidates[: MOST_FITTED // size]:
        if one.repaired is not None and not target.fits(one.repaired, usable, theirs):
            continue
        tried += 1
        # Giving up is safe: without a proven change, no explanation is shown.
        if tried > MOST_PROOFS:
            return None
        if target.proven(one, wrong):
            return one
    return None


class _Place(Struct, frozen=True, eq=False):
    """A part of the student's formula in its context."""

    node: Node
    parent: Node | None
    whole: Callable[[Node], Node]
    """Returns the whole formula with the part replaced."""
    upward: Callable[[float], float]
    """Returns the value of the whole formula if the part has another value."""
    value: float
    need: float
    """The value that the part must have for the whole to be correct; nan if that is not determined."""
    second: tuple[float, float]
    """Value and need at a second point."""


class _Search:
    """Generates all changes to one formula that may make it correct."""

    def __init__(self, target: Target, wrong: Node, usable: Sequence[int]) -> None:
        self._target, self._wrong = target, wrong
        self._first, self._second = usable[0], usable[1]
        self._at, self._other = target.points[self._first], target.points[self._second]
        self._goal = target.values[self._first]
        self._fraction = any(isinstance(part, Div) for part in walk(wrong))
        self._size = sum(1 for _ in walk(wrong))
        self._count: dict[Node, int] = {}
        for part in walk(wrong):
            if isinstance(part, (*NODES, Num)):
                self._count[part] = self._count.get(part, 0) + 1
        known = ((part, floats.value(part, self._at)) for part in target.material)
        self._material = [(part, value) for part, value in known if not math.isnan(value)]

    def candidates(self) -> Iterator[Found]:
        """Yield explanations that fit at the first point."""
        yield from self._everywhere()
        spent = 0
        for place in self._places():
            size = sum(1 for _ in walk(place.node))
            # Each part of the correct formula is tried in about four ways.
            spent += 4 * len(self._material)
            for change in chain(
                operations(place.node),
                values(place.node, place.parent, self._target.names),
                _signs(place, fraction=self._fraction),
            ):
                spent += size
                if spent > MOST_WORK:
                    return
                if not self._likely(change) or not self._reaches(place, floats.value(change.made, self._at)):
                    continue
                found = self._found(change, place)
                if found is not None:
                    yield found
            for change in (*self._numbers(place), *self._from_right(place)):
                found = self._found(change, place)
                if found is not None:
                    yield found

    def _places(self) -> Iterator[_Place]:
        goal = self._target.values[self._second]
        root = _Place(
            self._wrong,
            None,
            lambda made: made,
            lambda value: value,
            floats.value(self._wrong, self._at),
            self._goal,
            (floats.value(self._wrong, self._other), goal),
        )
        waiting = [root]
        while waiting:
            place = waiting.pop()
            yield place
            waiting.extend(reversed(list(self._below(place))))

    def _below(self, place: _Place) -> Iterator[_Place]:
        node = place.node
        parts = children(node)
        here = [floats.value(part, self._at) for part in parts]
        there = [floats.value(part, self._other) for part in parts]
        for index, part in enumerate(parts):
            # The default binds the index of this iteration.
            def whole(made: Node, index: int = index) -> Node:
                return place.whole(rebuilt(node, (*parts[:index], made, *parts[index + 1 :])))

            def upward(value: float, index: int = index) -> float:
                return place.upward(floats.combined(node, [*here[:index], value, *here[index + 1 :]]))

            need = floats.inverted(node, index, here, place.need)
            second = (there[index], floats.inverted(node, index, there, place.second[1]))
            yield _Place(part, node, whole, upward, here[index], need, second)

    def _likely(self, change: Change) -> bool:
        """Return whether the correct formula has the function that a change inserts, if it inserts one."""
        made = change.made
        if change.code not in _OF_FUNCTIONS or not isinstance(made, Fn):
            return True
        return made.name in self._target.functions

    def _reaches(self, place: _Place, value: float) -> bool:
        if not math.isnan(place.need):
            return floats.close(value, place.need)
        return not math.isnan(value) and floats.close(place.upward(value), self._goal)

    def _found(self, change: Change, place: _Place) -> Found | None:
        """Return the explanation for a change at a position; None if another position explains it better."""
        code, about, kind = change.code, change.about, change.kind
        if (
            place.parent is None
            and code in _OF_THE_WHOLE
            and about in (None, place.node, positive(place.node))
        ):
            code, about, kind = _OF_THE_WHOLE[code], None, ""
        if code == "extra-factor" and place.parent is None and isinstance(about, Num):
            return None
        params: dict[str, str] = {}
        if about is not None and kind:
            params[kind] = about.name if kind == "name" and isinstance(about, Fn) else _shown(about)
        some = about is not None and self._count.get(about, 0) > 1
        return Found(code, params, place.whole(change.made), some=some)

    def _numbers(self, place: _Place) -> Iterator[Change]:  # noqa: C901 - one case after the other
        """Yield changes of a number, and changes by a missing number."""
        node, (value, need) = place.node, place.second
        parent = place.parent
        if isinstance(parent, Pow) and parent.exponent is node and not symbols(node):
            for known in self._constants(place, _EXPONENTS):
                yield Change("power-of-part", _signed(known), parent.base, "part")
        if isinstance(node, Num):
            yield from self._number(node, place)
            return
        # In a maximum or inside a floor the needed value is unknown, so a few usual factors are tried.
        if not _settled(place):
            for tried in _FACTORS if math.isnan(place.need) else ():
                if self._reaches(place, float(tried) * place.value):
                    yield _factor(place, tried)
            return
        if isinstance(node, Sym) and floats.close(place.need, need):
            number = _exact(place.need)
            if number is not None and not (abs(number) == 1 and isinstance(place.parent, Mul | Div)):
                yield Change("part-replaced", _signed(number), node, "part")
        if place.value and value and place.need and need:
            factor = place.need / place.value
            if floats.close(factor, need / value) and abs(factor) != 1:
                number = _exact(factor)
                if number is not None and (number > 0 or parent is not None):
                    yield _factor(place, number)
        if not isinstance(place.parent, Add | Neg):
            extra = place.need - place.value
            if floats.close(extra, need - value) and abs(extra) > floats.CLOSE * abs(place.value):
                number = _exact(extra)
                if number is not None:
                    yield _summand(place, number)

    def _number(self, node: Num, place: _Place) -> Iterator[Change]:
        near = (node.value + 1, node.value - 1, 2 * node.value, Fraction(node.value, 2), *range(11))
        for known in self._constants(place, tuple(dict.fromkeys(map(Fraction, near)))):
            yield Change("number", _signed(known), node, "number")

    def _constants(self, place: _Place, tried: Sequence[Fraction]) -> Iterator[Fraction]:
        """Yield numbers that a position may need; only the given ones if the need cannot be computed."""
        if math.isnan(place.need):
            fits = (other for other in tried if self._reaches(place, floats.of(other)))
            yield from (other for other in fits if not floats.close(floats.of(other), place.value))
        elif floats.close(place.need, place.second[1]):
            known = _exact(place.need)
            if known is not None and not floats.close(float(known), place.value):
                yield known

    def _from_right(self, place: _Place) -> Iterator[Change]:  # noqa: C901 - one case after the other
        """Yield changes that insert parts of the correct formula or replace a part by one of them."""
        node, value = place.node, place.value
        of_sum, of_product = isinstance(place.parent, Add | Neg), isinstance(place.parent, Mul | Div)
        part_sized = 2 * sum(1 for _ in walk(node)) <= self._size
        for part, at in self._material:
            if part == node:
                continue
            if not of_sum and not isinstance(node, Add):
                for sign, made in ((at, part), (-at, Neg(part))):
                    if self._reaches(place, value + sign):
                        yield Change("term-forgotten", Add((node, made)), node, "part")
            elif isinstance(node, Add):
                for sign, made in ((at, part), (-at, Neg(part))):
                    if self._reaches(place, value + sign):
                        yield Change("term-forgotten", Add((*node.terms, made)), node, "part")
            if not of_product:
                if self._reaches(place, value * at):
                    yield Change("factor-forgotten", Mul((node, part)), node, "part")
                if at and self._reaches(place, value / at):
                    yield Change("divisor-forgotten", Div(node, part), node, "part")
            if part_sized and self._reaches(place, at):
                yield Change("part-replaced", part, node, "part")

    def _everywhere(self) -> Iterator[Found]:
        """Yield explanations by one change that is applied wherever it is possible."""
        wrong = self._wrong
        for part in {part.name: part for part in walk(wrong) if isinstance(part, Fn)}.values():
            for code, changed in _functions_everywhere(wrong, part.name):
                called = {} if code in ("log-base", "rounding") else {"name": part.name}
                yield from self._at_once(code, changed, called)
        for name in sorted(symbols(wrong)):
            # A single occurrence is covered by the changes at that position.
            if self._count.get(Sym(name), 0) < 2:
                continue
            shown = {"symbol": name}
            changes: tuple[tuple[str, Node], ...] = (
                ("power-too-small", Pow(Sym(name), Num(2))),
                ("power-too-large", Fn("sqrt", (Sym(name),))),
                ("off-by-one", Add((Sym(name), ONE))),
                ("off-by-one", Add((Sym(name), Neg(ONE)))),
                ("divided", Div(ONE, Sym(name))),
                *(("symbol-replaced", Sym(other)) for other in self._target.names if other != name),
            )
            for code, made in changes:
                yield from self._at_once(code, substitute(wrong, name, made), shown)
            yield from self._at_once("sign-of-part", substitute(wrong, name, Neg(Sym(name))), {"part": name})

    def _at_once(self, code: str, changed: Node, params: dict[str, str]) -> Iterator[Found]:
        if floats.close(floats.value(changed, self._at), self._goal):
            yield Found(code, params, changed)


_OF_FUNCTIONS = frozenset(
    (
        "function-forgotten",
        "rounding-forgotten",
        "function-replaced",
        "rounding",
        "log-base",
    )
)
"""Codes of changes that insert a function."""
_EXPONENTS = tuple(Fraction(sign * number, 2) for number in (1, 2, 3, 4, 6) for sign in (1, -1))
"""Exponents that are tried if the needed one cannot be computed."""
_FACTORS = tuple(map(Fraction, (2, 3, 4, 8))) + tuple(Fraction(1, number) for number in (2, 3, 4, 8))
"""Factors that are tried if the needed one cannot be computed: in a maximum, inside a floor."""
_OF_THE_WHOLE: Mapping[str, str] = {
    "sign-of-part": "sign",
    "reciprocal": "reciprocal",
    "factor-forgotten": "factor-forgotten",
    "divisor-forgotten": "divisor-forgotten",
    "rounding-forgotten": "rounding-forgotten",
    "function-forgotten": "function-forgotten",
    "term-forgotten": "missing-term",
    "off-by-one": "off-by-one",
}
"""Code of a change to a part → code if the part is the whole formula."""


def _signs(place: _Place, *, fraction: bool) -> Iterator[Change]:
    """Yield the part with the other sign, and on the other side of the fraction line."""
    node, parent = place.node, place.parent
    if not isinstance(parent, Mul | Div | Neg):
        made = node.operand if isinstance(node, Neg) else Neg(node)
        in_sum = isinstance(parent, Add)
        if isinstance(parent, Pow) and isinstance(parent.base, Num):
            return
        if not (isinstance(node, Add) and not in_sum and parent is not None):
            yield Change(
                "sign-in-term" if in_sum else "sign-of-part",
                made,
                positive(node),
                "term" if in_sum else "part",
            )
        else:
            yield Change("sign-of-part", made, node, "part")
    if isinstance(parent, Div) and parent.numerator is node:
        yield Change("extra-factor", ONE, node, "part")
    if isinstance(parent, Mul | Div) and not isinstance(node, Num):
        made = Div(ONE, node)
        yield Change("divided", made, node, "part") if fraction else Change("product-for-quotient", made)
    elif parent is None and not (isinstance(node, Div) or (isinstance(node, Fn) and node.name == "exp")):
        yield Change("reciprocal", Div(ONE, node))


def _settled(place: _Place) -> bool:
    return all(math.isfinite(one) for one in (place.value, place.need, *place.second))


def _exact(value: float) -> Fraction | None:
    """Return the small nonzero fraction that is close to a value; None if there is none."""
    # Limiting the denominator removes the noise of floating-point arithmetic.
    known = Fraction(value).limit_denominator(1000)
    if abs(known.numerator) > SMALL or not known or not floats.close(float(known), value):
        return None
    return known


def _signed(value: Fraction) -> Node:
    number: int | Fraction = abs(value)
    number = int(number) if number.denominator == 1 else number
    return Neg(Num(number)) if value < 0 else Num(number)


def _factor(place: _Place, factor: Fraction) -> Change:
    """Return the change by a constant factor."""
    node, parent = place.node, place.parent
    made = Mul((_signed(factor), node))
    if parent is None:
        return Change("factor-too-small" if factor > 1 else "factor-too-large", made)
    if isinstance(parent, Add):
        return Change("coefficient", made, positive(node), "term")
    return Change("number-forgotten", made, node, "part")


def _summand(place: _Place, extra: Fraction) -> Change:
    """Return the change by an added constant."""
    made = Add((place.node, _signed(extra)))
    if abs(extra) == 1:
        return Change("off-by-one", made, place.node, "symbol" if isinstance(place.node, Sym) else "part")
    return Change("term-forgotten", made, place.node, "part")


def _functions_everywhere(node: Node, name: str) -> Iterator[tuple[str, Node]]:
    """Yield the formula with each application of a function replaced in the same way."""
    if name in LOGARITHMS:
        for base in (0, 2, 10):
            yield "log-base", applied(node, name, partial(_to_base, base))
    for group in (("floor", "ceil"), ("max", "min"), ("sin", "cos"), ("sigmoid", "tanh")):
        if name in group:
            other = group[1 - group.index(name)]
            code = "rounding" if name in ("floor", "ceil") else "function-replaced"
            yield code, applied(node, name, partial(_renamed, other))
    yield "function-too-much", applied(node, name, lambda fn: fn.arguments[0])


def _to_base(base: int, function: Fn) -> Node:
    return logarithm(function.arguments[0], base)


def _renamed(name: str, function: Fn) -> Node:
    return Fn(name, function.arguments)


def _shown(node: Node) -> str:
    return decimal(node.value) if isinstance(node, Num) else to_text(node)
