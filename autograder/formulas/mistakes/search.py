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
    generate_value_changes,
    make_logarithm,
    strip_sign,
)
from autograder.formulas.mistakes.changes import generate_structure_changes as operations
from autograder.formulas.mistakes.targets import NODES, Explanation, Target, replace_calls
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
    collect_symbols,
    get_children,
    rebuild_node,
    substitute_symbol,
    walk_tree,
)
from autograder.formulas.printing.text import format_decimal, to_text

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


def find_change(target: Target, wrong: Node) -> Explanation | None:
    """Return the most telling change that is proven to make the formula correct; None if there is none."""
    size = sum(1 for _ in walk_tree(wrong))
    if size > MOST_PARTS:
        return None
    theirs = [floats.evaluate_formula(wrong, point) for point in target.points]
    usable = [index for index in target.order if not math.isnan(target.values[index])]
    # One point could agree by chance.
    if len(usable) < 2:
        return None
    # Points where the answer has a value come first; the sort is stable, so the order is kept otherwise.
    usable.sort(key=lambda index: math.isnan(theirs[index]))
    candidates = [
        *_Search(target, wrong, usable).generate_candidates(),
        *target.generate_special_cases(wrong, theirs),
    ]
    # Only the first few candidates are proven, so the most telling ones come first.
    candidates.sort(key=Explanation.to_sort_key)
    tried = 0
    for candidate in candidates[: MOST_FITTED // size]:
        if candidate.repaired is not None and not target.is_fitting(candidate.repaired, usable, theirs):
            continue
        tried += 1
        # Giving up is safe: without a proven change, no explanation is shown.
        if tried > MOST_PROOFS:
            return None
        if target.is_proven(candidate, wrong):
            return candidate
    return None


class _Position(Struct, frozen=True, eq=False):
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
        self._fraction = any(isinstance(part, Div) for part in walk_tree(wrong))
        self._size = sum(1 for _ in walk_tree(wrong))
        self._count: dict[Node, int] = {}
        for part in walk_tree(wrong):
            if isinstance(part, (*NODES, Num)):
                self._count[part] = self._count.get(part, 0) + 1
        valued = ((part, floats.evaluate_formula(part, self._at)) for part in target.material)
        self._material = [(part, value) for part, value in valued if not math.isnan(value)]

    def generate_candidates(self) -> Iterator[Explanation]:
        """Yield explanations that fit at the first point."""
        yield from self._change_everywhere()
        spent = 0
        for position in self._walk_positions():
            size = sum(1 for _ in walk_tree(position.node))
            # Each part of the correct formula is tried in about four ways.
            spent += 4 * len(self._material)
            for change in chain(
                operations(position.node),
                generate_value_changes(position.node, position.parent, self._target.names),
                _generate_sign_changes(position, fraction=self._fraction),
            ):
                spent += size
                if spent > MOST_WORK:
                    return
                if not self._is_likely(change) or not self._is_fitting(
                    position, floats.evaluate_formula(change.changed_node, self._at)
                ):
                    continue
                explanation = self._explain_change(change, position)
                if explanation is not None:
                    yield explanation
            for change in (
                *self._generate_number_changes(position),
                *self._generate_material_changes(position),
            ):
                explanation = self._explain_change(change, position)
                if explanation is not None:
                    yield explanation

    def _walk_positions(self) -> Iterator[_Position]:
        goal = self._target.values[self._second]
        root = _Position(
            self._wrong,
            None,
            lambda replacement: replacement,
            lambda value: value,
            floats.evaluate_formula(self._wrong, self._at),
            self._goal,
            (floats.evaluate_formula(self._wrong, self._other), goal),
        )
        pending = [root]
        while pending:
            position = pending.pop()
            yield position
            pending.extend(reversed(list(self._generate_children(position))))

    def _generate_children(self, position: _Position) -> Iterator[_Position]:
        node = position.node
        parts = get_children(node)
        here = [floats.evaluate_formula(part, self._at) for part in parts]
        there = [floats.evaluate_formula(part, self._other) for part in parts]
        for index, part in enumerate(parts):
            # The default binds the index of this iteration.
            def replace_part(replacement: Node, index: int = index) -> Node:
                return position.whole(rebuild_node(node, (*parts[:index], replacement, *parts[index + 1 :])))

            def propagate_value(value: float, index: int = index) -> float:
                return position.upward(
                    floats.combine_values(node, [*here[:index], value, *here[index + 1 :]])
                )

            need = floats.invert_node(node, index, here, position.need)
            second = (there[index], floats.invert_node(node, index, there, position.second[1]))
            yield _Position(part, node, replace_part, propagate_value, here[index], need, second)

    def _is_likely(self, change: Change) -> bool:
        """Return whether the correct formula has the function that a change inserts, if it inserts one."""
        replacement = change.changed_node
        if change.code not in _OF_FUNCTIONS or not isinstance(replacement, Fn):
            return True
        return replacement.name in self._target.functions

    def _is_fitting(self, position: _Position, value: float) -> bool:
        if not math.isnan(position.need):
            return floats.is_close(value, position.need)
        return not math.isnan(value) and floats.is_close(position.upward(value), self._goal)

    def _explain_change(self, change: Change, position: _Position) -> Explanation | None:
        """Return the explanation for a change at a position; None if another position explains it better."""
        code, about, kind = change.code, change.about, change.kind
        if (
            position.parent is None
            and code in _OF_THE_WHOLE
            and about in (None, position.node, strip_sign(position.node))
        ):
            code, about, kind = _OF_THE_WHOLE[code], None, ""
        if code == "extra-factor" and position.parent is None and isinstance(about, Num):
            return None
        params: dict[str, str] = {}
        if about is not None and kind:
            params[kind] = about.name if kind == "name" and isinstance(about, Fn) else _format_part(about)
        some = about is not None and self._count.get(about, 0) > 1
        return Explanation(code, params, position.whole(change.changed_node), some=some)

    def _generate_number_changes(self, position: _Position) -> Iterator[Change]:  # noqa: C901 - one case after the other
        """Yield changes of a number, and changes by a missing number."""
        node, (value, need) = position.node, position.second
        parent = position.parent
        if isinstance(parent, Pow) and parent.exponent is node and not collect_symbols(node):
            for constant in self._find_constants(position, _EXPONENTS):
                yield Change("power-of-part", _to_signed_node(constant), parent.base, "part")
        if isinstance(node, Num):
            yield from self._generate_constant_changes(node, position)
            return
        # In a maximum or inside a floor the needed value is unknown, so a few usual factors are tried.
        if not _is_determined(position):
            for tried in _FACTORS if math.isnan(position.need) else ():
                if self._is_fitting(position, float(tried) * position.value):
                    yield _make_factor_change(position, tried)
            return
        if isinstance(node, Sym) and floats.is_close(position.need, need):
            number = _to_small_fraction(position.need)
            if number is not None and not (abs(number) == 1 and isinstance(position.parent, Mul | Div)):
                yield Change("part-replaced", _to_signed_node(number), node, "part")
        if position.value and value and position.need and need:
            factor = position.need / position.value
            if floats.is_close(factor, need / value) and abs(factor) != 1:
                number = _to_small_fraction(factor)
                if number is not None and (number > 0 or parent is not None):
                    yield _make_factor_change(position, number)
        if not isinstance(position.parent, Add | Neg):
            extra = position.need - position.value
            if floats.is_close(extra, need - value) and abs(extra) > floats.CLOSE * abs(position.value):
                number = _to_small_fraction(extra)
                if number is not None:
                    yield _make_summand_change(position, number)

    def _generate_constant_changes(self, node: Num, position: _Position) -> Iterator[Change]:
        near = (node.value + 1, node.value - 1, 2 * node.value, Fraction(node.value, 2), *range(11))
        for constant in self._find_constants(position, tuple(dict.fromkeys(map(Fraction, near)))):
            yield Change("number", _to_signed_node(constant), node, "number")

    def _find_constants(self, position: _Position, tried: Sequence[Fraction]) -> Iterator[Fraction]:
        """Yield numbers that a position may need; only the given ones if the need cannot be computed."""
        if math.isnan(position.need):
            fits = (other for other in tried if self._is_fitting(position, floats.to_float(other)))
            yield from (
                other for other in fits if not floats.is_close(floats.to_float(other), position.value)
            )
        elif floats.is_close(position.need, position.second[1]):
            constant = _to_small_fraction(position.need)
            if constant is not None and not floats.is_close(float(constant), position.value):
                yield constant

    def _generate_material_changes(self, position: _Position) -> Iterator[Change]:  # noqa: C901 - one case after the other
        """Yield changes that insert parts of the correct formula or replace a part by one of them."""
        node, value = position.node, position.value
        of_sum, of_product = isinstance(position.parent, Add | Neg), isinstance(position.parent, Mul | Div)
        part_sized = 2 * sum(1 for _ in walk_tree(node)) <= self._size
        for part, part_value in self._material:
            if part == node:
                continue
            if not of_sum and not isinstance(node, Add):
                for signed_value, signed_part in ((part_value, part), (-part_value, Neg(part))):
                    if self._is_fitting(position, value + signed_value):
                        yield Change("term-forgotten", Add((node, signed_part)), node, "part")
            elif isinstance(node, Add):
                for signed_value, signed_part in ((part_value, part), (-part_value, Neg(part))):
                    if self._is_fitting(position, value + signed_value):
                        yield Change("term-forgotten", Add((*node.terms, signed_part)), node, "part")
            if not of_product:
                if self._is_fitting(position, value * part_value):
                    yield Change("factor-forgotten", Mul((node, part)), node, "part")
                if part_value and self._is_fitting(position, value / part_value):
                    yield Change("divisor-forgotten", Div(node, part), node, "part")
            if part_sized and self._is_fitting(position, part_value):
                yield Change("part-replaced", part, node, "part")

    def _change_everywhere(self) -> Iterator[Explanation]:
        """Yield explanations by one change that is applied wherever it is possible."""
        wrong = self._wrong
        for part in {part.name: part for part in walk_tree(wrong) if isinstance(part, Fn)}.values():
            for code, changed in _replace_functions(wrong, part.name):
                called = {} if code in ("log-base", "rounding") else {"name": part.name}
                yield from self._test_candidate(code, changed, called)
        for name in sorted(collect_symbols(wrong)):
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
            for code, replacement in changes:
                yield from self._test_candidate(code, substitute_symbol(wrong, name, replacement), shown)
            yield from self._test_candidate(
                "sign-of-part", substitute_symbol(wrong, name, Neg(Sym(name))), {"part": name}
            )

    def _test_candidate(self, code: str, changed: Node, params: dict[str, str]) -> Iterator[Explanation]:
        if floats.is_close(floats.evaluate_formula(changed, self._at), self._goal):
            yield Explanation(code, params, changed)


_OF_FUNCTIONS = {"function-forgotten", "rounding-forgotten", "function-replaced", "rounding", "log-base"}
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


def _generate_sign_changes(position: _Position, *, fraction: bool) -> Iterator[Change]:
    """Yield the part with the other sign, and on the other side of the fraction line."""
    node, parent = position.node, position.parent
    if not isinstance(parent, Mul | Div | Neg):
        replacement = node.operand if isinstance(node, Neg) else Neg(node)
        in_sum = isinstance(parent, Add)
        if isinstance(parent, Pow) and isinstance(parent.base, Num):
            return
        if not (isinstance(node, Add) and not in_sum and parent is not None):
            yield Change(
                "sign-in-term" if in_sum else "sign-of-part",
                replacement,
                strip_sign(node),
                "term" if in_sum else "part",
            )
        else:
            yield Change("sign-of-part", replacement, node, "part")
    if isinstance(parent, Div) and parent.numerator is node:
        yield Change("extra-factor", ONE, node, "part")
    if isinstance(parent, Mul | Div) and not isinstance(node, Num):
        replacement = Div(ONE, node)
        yield (
            Change("divided", replacement, node, "part")
            if fraction
            else Change("product-for-quotient", replacement)
        )
    elif parent is None and not (isinstance(node, Div) or (isinstance(node, Fn) and node.name == "exp")):
        yield Change("reciprocal", Div(ONE, node))


def _is_determined(position: _Position) -> bool:
    return all(math.isfinite(value) for value in (position.value, position.need, *position.second))


def _to_small_fraction(value: float) -> Fraction | None:
    """Return the small nonzero fraction that is close to a value; None if there is none."""
    # Limiting the denominator removes the noise of floating-point arithmetic.
    fraction = Fraction(value).limit_denominator(1000)
    if abs(fraction.numerator) > SMALL or not fraction or not floats.is_close(float(fraction), value):
        return None
    return fraction


def _to_signed_node(value: Fraction) -> Node:
    number: int | Fraction = abs(value)
    number = int(number) if number.denominator == 1 else number
    return Neg(Num(number)) if value < 0 else Num(number)


def _make_factor_change(position: _Position, factor: Fraction) -> Change:
    """Return the change by a constant factor."""
    node, parent = position.node, position.parent
    replacement = Mul((_to_signed_node(factor), node))
    if parent is None:
        return Change("factor-too-small" if factor > 1 else "factor-too-large", replacement)
    if isinstance(parent, Add):
        return Change("coefficient", replacement, strip_sign(node), "term")
    return Change("number-forgotten", replacement, node, "part")


def _make_summand_change(position: _Position, extra: Fraction) -> Change:
    """Return the change by an added constant."""
    replacement = Add((position.node, _to_signed_node(extra)))
    if abs(extra) == 1:
        return Change(
            "off-by-one", replacement, position.node, "symbol" if isinstance(position.node, Sym) else "part"
        )
    return Change("term-forgotten", replacement, position.node, "part")


def _replace_functions(node: Node, name: str) -> Iterator[tuple[str, Node]]:
    """Yield the formula with each application of a function replaced in the same way."""
    if name in LOGARITHMS:
        for base in (0, 2, 10):
            yield "log-base", replace_calls(node, name, partial(_to_base, base))
    for group in (("floor", "ceil"), ("max", "min"), ("sin", "cos"), ("sigmoid", "tanh")):
        if name in group:
            other = group[1 - group.index(name)]
            code = "rounding" if name in ("floor", "ceil") else "function-replaced"
            yield code, replace_calls(node, name, partial(_rename_function, other))
    yield "function-too-much", replace_calls(node, name, lambda fn: fn.arguments[0])


def _to_base(base: int, function: Fn) -> Node:
    return make_logarithm(function.arguments[0], base)


def _rename_function(name: str, function: Fn) -> Node:
    return Fn(name, function.arguments)


def _format_part(node: Node) -> str:
    return format_decimal(node.value) if isinstance(node, Num) else to_text(node)
