"""Formulas with ``max``, ``min`` and roots of squares, compared case by case.

In each case it is settled which argument of every maximum decides, so two formulas without any are left to
compare. A case in which they differ must have no place: its inequalities clash. A point inside it where the
values differ proves the opposite. Where neither is found a person decides, unless the arguments are no
signomials: then it counts that each of them decided at a point where the formulas agreed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

from msgspec import Struct

from autograder.formulas.errors import Undecided
from autograder.formulas.forms.signomials import Signomial, clash, excess, inside, positive
from autograder.formulas.nodes import (
    Add,
    Div,
    Fn,
    Mul,
    Neg,
    Node,
    Num,
    Pow,
    Relation,
    Sym,
    children,
    rebuilt,
    substitute,
    symbols,
    walk,
)
from autograder.formulas.values.balls import certainly_largest, differ_somewhere, work_of
from autograder.formulas.values.evaluate import (
    Irrational,
    Rational,
    TooLarge,
    Undefined,
    constant_value,
    exact,
)
from autograder.formulas.values.points import Point, Points

LIMITS: Mapping[str, int] = {"cases": 4_000, "proofs": 400, "searches": 12, "work": 4_800}
"""Cases of one comparison that are looked at; whose inequalities are; in which a point is looked for; and
what all these points cost."""
_CHEAP = frozenset(("max", "min", "abs"))
"""Functions of which exact values are known at once; any other one makes a point dear."""
MAX_PAIRS = 40_000
"""Cases of both formulas together."""
LOOKED_AT = 24
"""Points that are looked at before anything else."""
MORE = 200
"""Points at which an argument may show that it decides."""

Equal = Callable[[Node, Node], bool]
"""Compares two formulas without maxima."""
Facts = dict[int, bool]
"""Inequalities that hold, by their numbers, and which way round."""
_SAME = (-1, False)
"""Stands for the inequality between a formula and itself."""
Decision = tuple[tuple[int, ...], int]
"""The place of a maximum in a formula, and the argument that decides."""


def has_cases(node: Node) -> bool:
    """Whether a maximum, a minimum, an absolute value or the root of a square occurs."""
    return any(_is_case(part) for part in walk(node))


def has_maxima(node: Node) -> bool:
    """Whether a maximum or a minimum occurs."""
    return any(map(_is_maximum, walk(node)))


def _is_case(node: object) -> bool:
    return _is_maximum(node) or _is_size(node) or _rooted(node) is not None


def _is_maximum(node: object) -> bool:
    """Whether it is a maximum or a minimum."""
    return isinstance(node, Fn) and node.name in ("max", "min") and len(node.arguments) > 1


def _is_size(node: object) -> bool:
    """Whether it is an absolute value."""
    return isinstance(node, Fn) and node.name == "abs"


def _rooted(node: object) -> tuple[Node, Fraction] | None:
    """A base and a power when a node is a root of an even power, such as ``sqrt(x^2)``."""
    if isinstance(node, Fn) and node.name == "sqrt":
        base, power = node.arguments[0], Fraction(1, 2)
    elif isinstance(node, Pow) and isinstance(outer := _number(node.exponent), Fraction):
        base, power = node.base, outer
    else:
        return None
    if isinstance(base, Mul) and len(base.factors) == 2 and base.factors[0] == base.factors[1]:
        base = Pow(base.factors[0], Num(2))
    inner = _number(base.exponent) if isinstance(base, Pow) else None
    if not isinstance(base, Pow) or not isinstance(inner, int) or inner % 2 or power.denominator % 2:
        return None
    return (base.base, power * inner) if symbols(base.base) else None


def _number(node: Node) -> Rational | None:
    try:
        return constant_value(node)
    except (TooLarge, Undefined):
        return None


def unfolded(node: Node) -> Node:
    """The formula with absolute values as maxima: ``max(x, -x)`` for ``|x|`` and ``sqrt(x^2)``."""
    if isinstance(node, Fn) and _is_size(node):
        base = unfolded(node.arguments[0])
        return Fn("max", (base, Neg(base)))
    rooted = _rooted(node)
    if rooted is not None:
        base, power = unfolded(rooted[0]), rooted[1]
        size = Fn("max", (base, Neg(base)))
        exponent = Num(int(power) if power.denominator == 1 else power) if power > 0 else Neg(Num(-power))
        return size if power == 1 else Pow(size, exponent)
    below = children(node)
    if not below:
        return node
    return rebuilt(node, [unfolded(part) for part in below])


def equal_by_cases(
    first: Node, second: Node, points: Points, equal: Equal, *, searching: bool = True
) -> bool:
    """Whether two formulas are equal for all values of the symbols.

    Args:
        first: a formula.
        second: another.
        points: the symbols' domains, and what is drawn.
        equal: compares formulas without maxima.
        searching: whether to look for a place inside a case in which they differ.

    Raises:
        Undecided: neither could be proven.
    """
    first, second = unfolded(first), unfolded(second)
    remembered = _Remembered(equal)
    if any(_differ(first, second, points.inside(number), remembered) for number in range(LOOKED_AT)):
        return False
    cases = _Cases(first, second, points, remembered, searching=searching)
    verdict = cases.verdict()
    if verdict is None and cases.vague and _all_decided(first, second, points, remembered):
        return True
    if verdict is None:
        raise Undecided("a maximum or minimum of which not every case could be decided")
    return verdict


def idle(node: Node, points: Points) -> list[Node]:
    """The arguments of a formula's maxima and minima that were nowhere seen to decide, in order."""
    seen: set[Decision] = set()
    for number in range(MORE):
        _settled(node, points.anywhere(number), seen, ())
    return list(_idle(node, seen, ()))


def _idle(node: Node, seen: set[Decision], place: tuple[int, ...]) -> Iterator[Node]:
    for number, part in enumerate(children(node)):
        if _is_maximum(node) and (place, number) not in seen:
            yield part
        yield from _idle(part, seen, (*place, number))


def _all_decided(first: Node, second: Node, points: Points, equal: Equal) -> bool:
    """Whether each argument decides somewhere, and the formulas agree wherever that was looked at."""
    seen: tuple[set[Decision], set[Decision]] = set(), set()
    for number in range(MORE):
        at = points.anywhere(number)
        left, right = _settled(first, at, seen[0], ()), _settled(second, at, seen[1], ())
        if left is None or right is None:
            continue
        if not equal(left, right):
            return False
        if not any(_idle(first, seen[0], ())) and not any(_idle(second, seen[1], ())):
            return True
    return False


class _Remembered:
    """Compares formulas without maxima, each pair once."""

    def __init__(self, equal: Equal) -> None:
        self._equal = equal
        self._known: dict[tuple[Node, Node], bool | Undecided] = {}

    def __call__(self, first: Node, second: Node) -> bool:
        outcome = self._known.get((first, second))
        if outcome is None:
            try:
                outcome = self._equal(first, second)
            except Undecided as error:
                outcome = error
            self._known[first, second] = outcome
        if isinstance(outcome, Undecided):
            raise outcome
        return outcome


def _differ(first: Node, second: Node, at: Point, equal: Equal) -> bool:
    """Whether two formulas certainly differ at a point."""
    left, right = _settled(first, at, set(), ()), _settled(second, at, set(), ())
    if left is None or right is None:
        return False
    try:
        if equal(left, right):
            return False
        return exact(left, at) != exact(right, at)
    except (Irrational, TooLarge):
        return differ_somewhere(left, right, [at])
    except (Undefined, Undecided):
        return False


class _Branch(Struct, frozen=True, eq=False):
    """What a formula is where some inequalities hold."""

    node: Node
    """Without maxima."""
    facts: Facts
    sure: bool
    """Whether all that holds is among the facts."""


def _together(first: Facts, second: Facts) -> Facts | None:
    """What holds where both do; None where that is impossible."""
    if len(first) < len(second):
        first, second = second, first
    if any(first.get(number, turned) is not turned for number, turned in second.items()):
        return None
    return first | second


class _Cases:
    """All cases of two formulas.

    Attributes:
        vague: whether a case could not be decided for what its arguments are made of.
    """

    def __init__(self, first: Node, second: Node, points: Points, equal: Equal, *, searching: bool) -> None:
        self._formulas, self._points, self._equal = (first, second), points, equal
        self._searching = searching
        names = sorted(symbols(first) | symbols(second))
        self._domains = {name: points.domains[name] for name in names}
        self._known: dict[tuple[Node, Node, tuple[str, ...]], tuple[int, bool] | None] = {}
        self._numbers: dict[object, int] = {}
        self._inequalities: dict[tuple[int, bool], Signomial] = {}
        self._of: dict[Node, list[_Branch]] = {}
        self._left = dict(LIMITS)
        parts = (part for one in (first, second) for part in walk(one))
        dear = any(isinstance(part, Fn) and part.name not in _CHEAP for part in parts)
        self._price = max(8, (work_of(first) + work_of(second)) // 5) if dear else 1
        self.vague = False

    def verdict(self) -> bool | None:
        """Whether the formulas are equal in all cases; None where that is open for one."""
        verdict = self._verdict()
        if verdict is None and "real" not in self._domains.values():
            self._formulas = self._simpler(self._formulas[0]), self._simpler(self._formulas[1])
            self._left = dict(LIMITS)
            verdict = self._verdict()
        return verdict

    def _verdict(self) -> bool | None:
        try:
            return self._of_every_case()
        except Undecided:  # too many cases, or too many that take a proof
            return None

    def _of_every_case(self) -> bool | None:
        signs = patterns(self._domains)
        if signs is None:
            self.vague = True
            return None
        verdict: bool | None = True
        for negative in signs:
            self._of.clear()
            lefts, rights = (self._branches(formula, negative) for formula in self._formulas)
            if len(lefts) * len(rights) > MAX_PAIRS:
                raise Undecided("maxima and minima with too many cases")
            for left, right in product(lefts, rights):
                facts = _together(left.facts, right.facts)
                if facts is None or self._same(left.node, right.node):
                    continue
                self._spend("proofs")
                known = [self._inequalities[fact] for fact in facts.items()]
                if clash(known, from_one(self._domains)):
                    continue
                if not self._searching:
                    return None
                if self._differ_inside(known, negative):
                    return False
                verdict = None
                self.vague = self.vague or not (left.sure and right.sure) or any(map(self._is_vague, known))
        return verdict

    def _is_vague(self, one: Signomial) -> bool:
        return any(name not in self._domains for powers in one for name, _ in powers)

    def _same(self, left: Node, right: Node) -> bool:
        try:
            return self._equal(left, right)
        except Undecided:
            self.vague = True
            return False

    def _spend(self, what: str, price: int = 1) -> None:
        self._left[what] -= price
        if self._left[what] < 0:
            raise Undecided(f"maxima and minima with too many {what}")

    def _branches(self, node: Node, negative: tuple[str, ...]) -> list[_Branch]:
        """What a formula may be, maximum by maximum, without what is impossible at first sight."""
        known = self._of.get(node)
        if known is None:
            below = children(node)
            mixed = [_Branch(node, {}, sure=True)] if not below else self._mixed(node, negative)
            if _is_maximum(node):
                mixed = [one for mix in mixed for one in self._decided(mix, negative)]
            for _ in mixed:
                self._spend("cases")
            known = self._of[node] = mixed
        return known

    def _mixed(self, node: Node, negative: tuple[str, ...]) -> list[_Branch]:
        """Every way to take one branch of each part of a formula."""
        mixed: list[tuple[tuple[Node, ...], Facts, bool]] = [((), {}, True)]
        for part in children(node):
            branches = self._branches(part, negative)
            if len(branches) == 1:
                (only,) = branches
                mixed = [
                    ((*nodes, only.node), facts | only.facts, sure and only.sure)
                    for nodes, facts, sure in mixed
                    if not only.facts or _together(facts, only.facts) is not None
                ]
                continue
            mixed = [
                ((*nodes, branch.node), joined, sure and branch.sure)
                for nodes, facts, sure in mixed
                for branch in branches
                if (joined := _together(facts, branch.facts)) is not None
            ]
            if len(mixed) > self._left["cases"]:
                raise Undecided("maxima and minima with too many cases")
        return [_Branch(rebuilt(node, nodes), facts, sure=sure) for nodes, facts, sure in mixed]

    def _decided(self, mix: _Branch, negative: tuple[str, ...]) -> Iterator[_Branch]:
        """A maximum without others inside: one branch for each argument that may decide."""
        if not isinstance(mix.node, Fn):
            raise TypeError(mix.node)
        arguments, smallest = mix.node.arguments, mix.node.name == "min"
        for number, chosen in enumerate(arguments):
            facts, sure = dict(mix.facts), mix.sure
            for place, other in enumerate(arguments):
                if place == number:
                    continue
                known = self._excess(*((other, chosen) if smallest else (chosen, other)), negative)
                if known is None:
                    sure = False
                elif known != _SAME:
                    if facts.setdefault(*known) is not known[1]:
                        break
                elif place < number:  # the same argument twice: the first one stands for both
                    break
            else:
                yield _Branch(chosen, facts, sure=sure)

    def _simpler(self, node: Node) -> Node:
        """An equal formula with fewer arguments: maxima within maxima opened, and only such as may decide."""
        node = rebuilt(node, [self._simpler(part) for part in children(node)])
        if isinstance(node, Neg) and isinstance(node.operand, Neg):
            return node.operand.operand
        if isinstance(node, Neg) and isinstance(node.operand, Fn) and _is_maximum(node.operand):
            other = "min" if node.operand.name == "max" else "max"
            return self._simpler(Fn(other, tuple(Neg(part) for part in node.operand.arguments)))
        if not (isinstance(node, Fn) and _is_maximum(node)):
            return node
        parts: list[Node] = []
        for part in node.arguments:
            parts += part.arguments if isinstance(part, Fn) and part.name == node.name else (part,)
        kept: list[Node] = []
        for place, part in enumerate(parts):
            if not any(self._behind(part, other, node.name) for other in (*kept, *parts[place + 1 :])):
                kept.append(part)
        return kept[0] if len(kept) == 1 else Fn(node.name, tuple(kept))

    def _behind(self, one: Node, other: Node, name: str) -> bool:
        """Whether a formula surely never decides beside another one; of equal ones the first does not."""
        other_name = "min" if name == "max" else "max"
        if isinstance(one, Fn) and one.name == other_name:  # no larger than any of its arguments
            return one == other or any(self._behind(part, other, name) for part in one.arguments)
        if isinstance(other, Fn) and other.name == other_name:
            return all(self._behind(one, part, name) for part in other.arguments)
        if _arguments(one) or _arguments(other):
            return one == other
        known = self._excess(*((one, other) if name == "max" else (other, one)), ())
        return known is not None and (
            known == _SAME or clash([self._inequalities[known]], from_one(self._domains))
        )

    def _excess(self, larger: Node, smaller: Node, negative: tuple[str, ...]) -> tuple[int, bool] | None:
        """The number of the inequality that a formula is larger, and which way round it is."""
        key = larger, smaller, negative
        if key not in self._known:
            try:
                one = excess(*(in_positive(node, self._domains, negative) for node in (larger, smaller)))
                turned = bool(one) and one[min(one)] < 0
                form = frozenset((powers, -value if turned else value) for powers, value in one.items())
                known = self._numbers.setdefault(form, len(self._numbers)), turned
                self._inequalities.setdefault(known, one)
                self._known[key] = known if one else _SAME
            except Undecided:
                self._known[key] = None
        return self._known[key]

    def _differ_inside(self, known: Sequence[Signomial], negative: tuple[str, ...]) -> bool:
        """Whether the formulas differ at a point that is looked for inside a case."""
        if self._left["searches"] <= 0 or any(map(self._is_vague, known)):
            return False
        self._spend("searches")
        stream = self._points.stream("cases")
        for found in inside(known, tuple(self._domains), self._least(), stream):
            self._spend("work", self._price)
            at = {name: self._placed(name, value, negative) for name, value in found.items()}
            if _differ(*self._formulas, at, self._equal):
                return True
        return False

    def _least(self) -> Mapping[str, float]:
        return {name: 0.0 for name, domain in self._domains.items() if domain == "positive integer"}

    def _placed(self, name: str, logarithm: float, negative: tuple[str, ...]) -> Fraction:
        """A value of the symbol's domain from the logarithm of what stands for it."""
        value = Fraction(math.exp(logarithm))
        domain = self._domains[name]
        if domain == "positive integer":
            return Fraction(max(1, round(value)))
        if domain in ("probability", "unit"):
            return value / (1 + value)
        return -value if name in negative else value


def _arguments(node: Node) -> int:
    """How many arguments the maxima and minima of a formula have together."""
    return sum(len(part.arguments) for part in walk(node) if isinstance(part, Fn) and _is_maximum(part))


def _settled(node: Node, at: Point, seen: set[Decision], place: tuple[int, ...]) -> Node | None:
    """The formula that holds around a point: each maximum is the argument that decides there."""
    below = children(node)
    if not below:
        return node
    parts: list[Node] = []
    for number, part in enumerate(below):
        settled = _settled(part, at, seen, (*place, number))
        if settled is None:
            return None
        parts.append(settled)
    if not (isinstance(node, Fn) and _is_maximum(node)):
        return rebuilt(node, parts)
    deciding = _deciding(parts, at, smallest=node.name == "min")
    seen.update((place, number) for number in deciding)
    return parts[deciding[0]] if deciding else None


def _deciding(parts: Sequence[Node], at: Point, *, smallest: bool) -> list[int]:
    """The places of the largest (or smallest) value; none where that is not certain."""
    try:
        values = [exact(part, at) for part in parts]
    except (Irrational, TooLarge):
        return certainly_largest(parts, at, smallest=smallest)
    except Undefined:
        return []
    top = min(values) if smallest else max(values)
    return [number for number, value in enumerate(values) if value == top]


MAX_SIGNS = 3
"""Real symbols of which every pattern of signs is looked at."""


def from_one(domains: Mapping[str, str]) -> frozenset[str]:
    """The symbols that are 1 or more."""
    return frozenset(name for name, domain in domains.items() if domain == "positive integer")


def patterns(domains: Mapping[str, str]) -> Iterator[tuple[str, ...]] | None:
    """For each pattern of signs the symbols that are negative; None where there are too many."""
    reals = [name for name, domain in domains.items() if domain == "real"]
    if len(reals) > MAX_SIGNS:
        return None
    return (
        tuple(name for name, turned in zip(reals, signs, strict=True) if turned)
        for signs in product((False, True), repeat=len(reals))
    )


def in_positive(node: Node, domains: Mapping[str, str], negative: tuple[str, ...]) -> Node:
    """The formula in positive symbols: a negative one turned round, of a probability its odds.

    The ends of the domain ``unit`` are left out, and so is zero of the real numbers.
    """
    for name, domain in domains.items():
        if name in negative:
            node = substitute(node, name, Neg(Sym(name)))
        elif domain in ("probability", "unit"):
            node = substitute(node, name, Div(Sym(name), Add((Num(1), Sym(name)))))
    return node


def always(relation: Relation, domains: Mapping[str, str]) -> bool:
    """Whether an inequality surely holds for all values of the symbols, such as ``0 < n`` for a whole ``n``.

    Args:
        relation: an inequality.
        domains: name → domain, of its symbols at least.
    """
    smaller, larger = relation.left, relation.right
    if relation.sign in (">", "≥"):
        smaller, larger = larger, smaller
    own = {name: domains[name] for name in sorted(symbols(smaller) | symbols(larger))}
    strict = relation.sign in ("<", ">")
    signs = patterns(own)
    if signs is None or (strict and {"real", "unit"} & set(own.values())):
        return False  # the places that are left out might make both sides equal
    try:
        return all(_holds(smaller, larger, own, negative, strict=strict) for negative in signs)
    except Undecided:
        return False


def _holds(
    smaller: Node, larger: Node, domains: Mapping[str, str], negative: tuple[str, ...], *, strict: bool
) -> bool:
    low, high = (in_positive(side, domains, negative) for side in (smaller, larger))
    if strict:
        return positive(excess(high, low), from_one(domains))
    return not (turned := excess(low, high)) or clash([turned], from_one(domains))
