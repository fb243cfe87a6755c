"""Whether what a student was told is true, found out from the sentence and what it names alone.

Formulas are evaluated with mpmath at points of their own; nothing here knows how a diagnosis was found.
For most sentences the claim is: *there is* a formula that differs from the student's only as the sentence
says, and it is a right one. So every such formula is made from the student's, by the rules below.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import mpmath
from mpmath import mp, mpf

from autograder.formulas.mistakes import floats
from autograder.formulas.mistakes.changes import rebuild_node
from autograder.formulas.nodes import (
    Add,
    Const,
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
    substitute_symbol,
    walk_tree,
)
from autograder.formulas.printing.text import to_text
from autograder.formulas.terms import expand_terms

mp.dps = 50
POINTS = 32
Put = Callable[[Node], Node]
NUMBERS = sorted(
    {Fraction(top, below) for top in range(-24, 25) for below in (1, 2, 3, 4, 8)}
    | {Fraction(number) for number in (32, 48, 64, 100, 1000, 1024, 2048, 10000, 100000)}
)


class Oracle:
    """One right formula under one reading."""

    def __init__(
        self, right: Node, domains: Mapping[str, str], assumptions: Sequence[tuple[str, Node]] = ()
    ) -> None:
        self.right, self.domains, self.assumptions = right, domains, assumptions
        numbers = random.Random(7)
        self.points = []
        for number in range(POINTS):
            at = {name: _drawn(domain, number, numbers) for name, domain in domains.items()}
            for name, formula in assumptions:
                at[name] = value(formula, at)
            self.points.append(at)
        self._rough = [{name: float(number) for name, number in at.items()} for at in self.points[:4]]
        self.alike: list[Node] | None = None

    def true(self, sentence: str, params: Mapping[str, str], wrong: Node) -> bool:
        """Whether a sentence is true of a wrong formula."""
        code = sentence.removeprefix("diagnosis.")
        name, *rest = code.split(".")
        code = ".".join((name, *(part for part in rest if part not in ("some", *params))))
        return _Claim(self, dict(params), wrong).holds(code)

    def same(self, first: Node, second: Node) -> bool:
        """Whether two formulas are equal wherever both have values."""
        agreed = 0
        for at in self._rough:  # only to be done with most of them soon
            rough, other = floats.evaluate_formula(first, at), floats.evaluate_formula(second, at)
            if abs(rough - other) > 1e-6 * (abs(rough) + abs(other)):
                return False
        for at in self.points:
            mine, own = value(first, at), value(second, at)
            if mine is None or own is None:
                continue
            if abs(mine - own) > mpf(10) ** -20 * (abs(mine) + abs(own)):
                return False
            agreed += 1
        return agreed > 1

    def depends(self, formula: Node, name: str) -> bool:
        """Whether a value changes with a symbol, what is settled by it included."""
        formula = self.expanded(formula)
        return not self.same(formula, substitute_symbol(formula, name, Mul((Num(3), Sym(name)))))

    def expanded(self, formula: Node) -> Node:
        """With what is settled put in."""
        for name, settled in reversed(self.assumptions):
            formula = substitute_symbol(formula, name, settled)
        return formula

    def powers(self, formula: Node) -> tuple[Fraction, dict[str, int]] | None:
        """A monomial's number and powers, from how it grows; None for other formulas."""
        formula, found = self.expanded(formula), {}
        names = [name for name in self.domains if name not in dict(self.assumptions)]
        for name in names:
            at = self.points[1]
            here, there = value(formula, at), value(formula, {**at, name: 2 * at[name]})
            if not here or there is None:
                return None
            power = mpmath.log(abs(there / here), 2)
            if not abs(power) < 100 or abs(power - round(power)) > 1e-20:
                return None
            if round(power):
                found[name] = round(power)
        made = Mul((Num(1), *(Pow(Sym(name), _number(Fraction(power))) for name, power in found.items())))
        ratio = value(Div(formula, made), self.points[1])
        exact = Fraction(str(mpmath.nstr(ratio, 30))).limit_denominator(100000)
        rebuilt_ = Mul((_number(exact), made))
        return (exact, found) if exact and self.same(formula, rebuilt_) else None


def _drawn(domain: str, number: int, numbers: random.Random) -> mpf:
    if domain == "probability":
        return mpf(numbers.uniform(0.05, 0.95))
    if domain == "positive integer":
        return mpf(numbers.randint(1, 10 ** numbers.randint(1, 4) if number % 2 else 12))
    size = mpf(numbers.uniform(0.2, 6))
    return -size if domain == "real" and numbers.random() < 0.5 else size


def value(node: Node, at: Mapping[str, mpf]) -> mpf | None:
    """The value of a formula; None where it has none."""
    try:
        found = _value(node, at)
    except (ZeroDivisionError, ValueError, OverflowError, TypeError):
        return None
    return found if isinstance(found, mpf) and mpmath.isfinite(found) else None


def _value(node: Node, at: Mapping[str, mpf]) -> mpf:
    if isinstance(node, Sym):
        return at[node.name]
    if isinstance(node, Num):
        return mpf(node.value.numerator) / node.value.denominator
    if isinstance(node, Const):
        return +(mp.pi if node.name == "pi" else mp.e)
    values = [_value(child, at) for child in get_children(node)]
    if isinstance(node, Fn):
        return _FUNCTIONS[node.name](*values)
    return {
        Neg: lambda one: -one,
        Add: lambda *all_: mpmath.fsum(all_),
        Mul: lambda *all_: mpmath.fprod(all_),
        Div: lambda above, below: above / below,
        Pow: mpmath.power,
    }[type(node)](*values)


_FUNCTIONS: Mapping[str, Callable[..., mpf]] = {
    "sqrt": mpmath.sqrt, "exp": mpmath.exp, "ln": mpmath.log, "log": mpmath.log, "lg": mpmath.log10,
    "max": max, "min": min, "ceil": mpmath.ceil, "floor": mpmath.floor, "factorial": mpmath.factorial,
    "binomial": mpmath.binomial, "abs": abs, "tanh": mpmath.tanh, "sin": mpmath.sin, "cos": mpmath.cos,
    "sigmoid": lambda one: 1 / (1 + mpmath.exp(-one)),
}  # fmt: skip


def _number(number: Fraction) -> Node:
    size: int | Fraction = abs(number)
    node = Num(int(size) if size.denominator == 1 else size)
    return Neg(node) if number < 0 else node


def places(
    node: Node, put: Put = lambda made: made, parent: Node | None = None
) -> Iterator[tuple[Node, Put, Node | None]]:
    """Every place of a formula: what stands there, the formula with something else there, what it is in."""
    yield node, put, parent
    parts = get_children(node)
    for index, part in enumerate(parts):

        def there(made: Node, index: int = index) -> Node:
            return put(rebuild_node(node, (*parts[:index], made, *parts[index + 1 :])))

        yield from places(part, there, node)


class _Claim:
    """One sentence about one formula."""

    def __init__(self, oracle: Oracle, params: dict[str, str], wrong: Node) -> None:
        self.oracle, self.params, self.wrong = oracle, params, wrong
        self.right = oracle.right
        self.names = list(oracle.domains)

    @cached_property
    def material(self) -> list[Node]:
        """What may be lacking: parts of the right formula, symbols and their powers."""
        parts = [part for part in walk_tree(self.right) if not isinstance(part, Num)]
        powers = [Pow(Sym(name), Num(power)) for name in self.names for power in (2, 3, 4)]
        return [*dict.fromkeys((*parts, *map(Sym, self.names), *powers))]

    def holds(self, code: str) -> bool:
        """Whether one of the formulas that the sentence speaks of is right."""
        special = getattr(self, "_" + code.replace("-", "_").replace(".", "__"), None)
        if special is not None and not code.startswith(("oracle",)):
            outcome = special()
            if isinstance(outcome, bool):
                return outcome
            return any(self.oracle.same(made, self.right) for made in outcome)
        made = (put(other) for node, put, parent in places(self.wrong) for other in _operations(code, node))
        return any(self.oracle.same(one, self.right) for one in made)

    def _called(self, kind: str = "part") -> Iterator[tuple[Node, Put, Node | None]]:
        wanted = self.params[kind]
        for node, put, parent in places(self.wrong):
            if to_text(node) == wanted or (isinstance(node, Neg) and to_text(node.operand) == wanted):
                yield node, put, parent

    # The whole formula.

    def _sign(self) -> Iterable[Node]:
        yield Neg(self.wrong)

    def _ratio(self) -> Fraction | None:
        found = self.oracle.powers(Div(self.wrong, self.right))
        if found is None:
            ratio = value(Div(self.wrong, self.right), self.oracle.points[1])
            exact = Fraction(str(mpmath.nstr(ratio, 30))).limit_denominator(100000) if ratio else Fraction(0)
            return (
                exact if exact and self.oracle.same(self.wrong, Mul((_number(exact), self.right))) else None
            )
        return found[0] if not found[1] else None

    def _factor_too_large(self) -> bool:
        return (self._ratio() or 0) > 1

    def _factor_too_small(self) -> bool:
        return 0 < (self._ratio() or 0) < 1

    def _factor_too_large__besides(self) -> bool:
        return (self._ratio() or 0) < -1

    def _factor_too_small__besides(self) -> bool:
        return -1 < (self._ratio() or 0) < 0

    def _reciprocal(self) -> Iterable[Node]:
        if "part" not in self.params:
            yield Div(Num(1), self.wrong)
            return
        for node, put, _ in self._called():
            yield from [put(Div(node.denominator, node.numerator))] if isinstance(node, Div) else []

    def _several_factors(self) -> bool:
        found = self.oracle.powers(Div(self.wrong, self.right))
        return found is not None and len(found[1]) + (found[0] != 1) > 1

    # Powers and factors.

    def _powers_of(self, larger: bool) -> Iterator[Node]:
        wanted = self.params.get("symbol")
        for name in [wanted] if wanted else self.names:
            for power in (1, 2, 3, 4, Fraction(1, 2)):
                factor = Pow(Sym(name), _number(Fraction(power)))
                yield Div(self.wrong, factor) if larger else Mul((self.wrong, factor))
            exponents = [Fraction(number, 6) for number in range(-24, 25)]
            for node, put, parent in places(self.wrong):
                now = Fraction(1)
                if isinstance(node, Pow) and node.base == Sym(name):
                    exact = value(node.exponent, self.oracle.points[0])
                    now = (
                        Fraction(str(exact)).limit_denominator(100)
                        if not collect_symbols(node.exponent)
                        else now
                    )
                elif (node == Sym(name) and isinstance(parent, Pow)) or node != Sym(name):
                    continue
                for other in exponents:
                    if (other < now) if larger else (other > now):
                        yield put(Pow(Sym(name), _number(other)))
            for other in (Fraction(2), Fraction(1, 2)):
                if (other < 1) is larger:
                    yield substitute_symbol(self.wrong, name, Pow(Sym(name), _number(other)))

    def _power_too_large(self) -> Iterable[Node]:
        return self._powers_of(larger=True)

    def _power_too_small(self) -> Iterable[Node]:
        return self._powers_of(larger=False)

    def _power_of_part(self) -> Iterable[Node]:
        for node, put, _ in places(self.wrong):
            if isinstance(node, Pow) and to_text(node.base) == self.params["part"]:
                yield from (put(Pow(node.base, _number(other))) for other in NUMBERS)

    def _power_too_wide(self) -> Iterable[Node]:
        for node, put, _ in places(self.wrong):
            if isinstance(node, Pow) and isinstance(node.base, Add):
                for index, term in enumerate(node.base.terms):
                    bare = term.operand if isinstance(term, Neg) else term
                    if to_text(bare) == self.params["part"]:
                        raised = Pow(bare, node.exponent)
                        others = (*node.base.terms[:index], *node.base.terms[index + 1 :])
                        yield put(Add((*others, Neg(raised) if isinstance(term, Neg) else raised)))

    def _power_too_narrow(self) -> Iterable[Node]:
        for node, put, _ in places(self.wrong):
            for index, term in enumerate(node.terms if isinstance(node, Add) else ()):
                bare = term.operand if isinstance(term, Neg) else term
                if isinstance(bare, Pow) and to_text(bare.base) == self.params["part"]:
                    base = Neg(bare.base) if isinstance(term, Neg) else bare.base
                    others = (*node.terms[:index], *node.terms[index + 1 :])
                    yield put(Pow(Add((*others, base)), bare.exponent))

    def _factor_forgotten(self) -> Iterable[Node]:
        if "part" in self.params:
            for node, put, _ in self._called():
                yield from (put(Mul((node, factor))) for factor in self.material)
            return
        yield from (Mul((self.wrong, factor)) for factor in self.material)
        yield from (Div(self.wrong, factor) for factor in self.material)

    def _factor_forgotten__absent(self) -> bool:
        lacking = [
            name for name in self.names if name not in collect_symbols(self.oracle.expanded(self.wrong))
        ]
        factors = [Pow(Sym(name), Num(power)) for name in lacking for power in (1, 2, 3, 4)]
        return any(self.oracle.same(Mul((self.wrong, factor)), self.right) for factor in factors)

    def _factor_forgotten__besides(self) -> bool:
        found = self.oracle.powers(Div(self.right, self.wrong))
        return found is not None and found[0] != 1 and any(power > 0 for power in found[1].values())

    def _divisor_forgotten(self) -> Iterable[Node]:
        if "part" in self.params:
            for node, put, _ in self._called():
                yield from (put(Div(node, factor)) for factor in self.material)
            return
        yield from (Div(self.wrong, factor) for factor in self.material)

    def _extra_factor(self) -> Iterable[Node]:
        if "symbol" in self.params or "part" not in self.params:
            names = [self.params["symbol"]] if "symbol" in self.params else self.names
            yield from (
                Div(self.wrong, Pow(Sym(name), Num(power))) for name in names for power in (1, 2, 3, 4)
            )
            return
        for node, put, parent in self._called():
            if isinstance(parent, Mul) or (isinstance(parent, Div) and parent.numerator is node):
                yield put(Num(1))

    def _extra_divisor(self) -> Iterable[Node]:
        for node, put, parent in self._called():
            if isinstance(parent, Div) and parent.denominator is node:
                yield put(Num(1))

    def _divided(self) -> Iterable[Node]:
        if "symbol" in self.params:
            symbol = Sym(self.params["symbol"])
            yield substitute_symbol(self.wrong, symbol.name, Div(Num(1), symbol))
            yield Mul((self.wrong, symbol, symbol))
            yield Div(self.wrong, Mul((symbol, symbol)))
            return
        for node, put, parent in self._called():
            if isinstance(parent, Mul | Div):
                yield put(Div(Num(1), node))

    # Terms and numbers.

    def _terms_of_right(self) -> list[Node]:
        if self.oracle.alike is None:
            self.oracle.alike = self._sought()
        return self.oracle.alike

    def _sought(self) -> list[Node]:
        found: list[Node] = []
        for tree in (self.right, self.oracle.expanded(self.right)):
            for node in walk_tree(tree):
                for parts in (
                    expand_terms(node) if node == tree else (),
                    node.terms if isinstance(node, Add) else (),
                ):
                    found += [part for part in parts if len(parts) > 1]
        alike: list[Node] = []
        for part in found:
            same = [
                other for other in found if (ratio := self.oracle.powers(Div(other, part))) and not ratio[1]
            ]
            alike += [Add(pair) for pair in combinations(dict.fromkeys(same), 2)]
        return list(dict.fromkeys((*found, *alike)))

    def _missing_term(self) -> Iterable[Node]:
        for term in (*self._terms_of_right(), *map(_number, NUMBERS)):
            yield Add((self.wrong, term))
            yield Add((self.wrong, Neg(term)))

    def _missing_terms(self) -> Iterable[Node]:
        found = self._terms_of_right()
        for count in range(2, min(len(found), 6)):
            yield from (Add((self.wrong, *chosen)) for chosen in combinations(found, count))

    def _term_forgotten(self) -> Iterable[Node]:
        for node, put, _ in self._called():
            for term in (*self.material, *map(_number, NUMBERS)):
                yield put(Add((node, term)))
                yield put(Add((node, Neg(term))))

    def _added_terms(self) -> Iterator[tuple[Node, Put]]:
        """The term that is named; or every term, multiplied out."""
        if "term" in self.params:
            yield from ((node, put) for node, put, parent in self._called("term") if isinstance(parent, Add))
            return
        for tree in (self.wrong, self.oracle.expanded(self.wrong)):
            parts = expand_terms(tree)
            for index, part in enumerate(parts):
                rest = (*parts[:index], *parts[index + 1 :])
                yield part, lambda made, rest=rest: Add((*rest, made))

    def _extra_term(self) -> Iterable[Node] | bool:
        if "term" not in self.params:
            return self.oracle.powers(Add((self.wrong, Neg(self.right)))) is not None
        return (put(Num(0)) for _, put in self._added_terms())

    def _needed(self) -> Iterator[tuple[Node, Node]]:
        """Each term with what would have to stand there, at the top or as part of the right sum."""
        delta = Add((self.wrong, Neg(self.right)))
        for term, put in self._added_terms():
            if self.oracle.same(put(term), self.wrong) and self.oracle.same(
                Add((put(Num(0)), term)), self.wrong
            ):
                yield term, Add((term, Neg(delta)))
        if "term" not in self.params:
            yield from ((Add((part, delta)), part) for part in self._terms_of_right())

    def _changes(self) -> Iterator[tuple[Fraction, dict[str, int], Node, Node]]:
        for own, needed in self._needed():
            found = self.oracle.powers(Div(own, needed))
            if found is not None:
                yield *found, own, needed

    def _wrong_term(self) -> bool:
        return any(self.oracle.powers(needed) is not None for _, needed in self._needed())

    def _coefficient(self) -> bool | Iterable[Node]:
        if any(not powers for _, powers, _, _ in self._changes()):
            return True
        return (put(Mul((_number(c), node))) for node, put in self._added_terms() for c in NUMBERS)

    def _number(self) -> Iterable[Node]:
        for _, put, _ in self._called("number"):
            yield from (put(_number(other)) for other in NUMBERS)

    def _number_forgotten(self) -> Iterable[Node] | bool:
        if "part" not in self.params:
            return (self._ratio() or 0) < 0
        return (put(Mul((_number(c), node))) for node, put, _ in self._called() for c in NUMBERS)

    def _sign_in_term(self) -> Iterable[Node]:
        yield from (put(Neg(node)) for node, put in self._added_terms())

    def _sign_of_part(self) -> Iterable[Node]:
        for node, put, _ in self._called():
            yield put(Neg(node))
            if isinstance(node, Sym):
                yield substitute_symbol(self.wrong, node.name, Neg(node))

    def _power_in_term(self) -> bool:
        wanted = self.params.get("symbol")
        return any(
            len(powers) == 1
            and ratio == 1
            and (wanted in powers if wanted else all(power < 0 for power in powers.values()))
            for ratio, powers, _, _ in self._changes()
        )

    def _extra_factor_in_term(self) -> bool:
        return any(
            ratio == 1
            and len(powers) == 1
            and min(powers.values()) > 0
            and self.params.get("symbol", *powers) in powers
            for ratio, powers, _, _ in self._changes()
        )

    def _swapped_in_term(self) -> bool:
        for ratio, powers, _, _ in self._changes():
            if ratio == 1 and len(powers) == 2 and sum(powers.values()) == 0:
                named = {self.params.get("first"), self.params.get("second")} - {None}
                if named <= set(powers):
                    return True
        return False

    def _swapped_symbols(self) -> bool:
        pairs = [(self.params["first"], self.params["second"])] if "first" in self.params else []
        for first, second in pairs or combinations(self.names, 2):
            made = [
                substitute_symbol(
                    substitute_symbol(substitute_symbol(tree, first, Sym("")), second, Sym(first)),
                    "",
                    Sym(second),
                )
                for tree in (self.wrong, self.right)
            ]
            if self.oracle.same(made[0], self.right) or self.oracle.same(made[1], self.wrong):
                return True
        return False

    def _symbol_replaced(self) -> bool:  # noqa: C901 - many ways
        wanted = self.params.get("symbol")
        for ratio, powers, _, _ in self._changes():
            above = [name for name, power in powers.items() if power > 0]
            if ratio == 1 and len(powers) == 2 and sum(powers.values()) == 0 and wanted in (None, *above):
                return True
        found = self.oracle.powers(Div(self.wrong, self.right))
        if "term" not in self.params and found is not None and found[0] == 1:
            powers = found[1]
            if sum(powers.values()) == 0 and (wanted is None or powers.get(wanted, 0) > 0):
                return True
        for other in [wanted] if wanted else self.names:
            for name in self.names:
                if self.oracle.same(substitute_symbol(self.right, name, Sym(other)), self.wrong):
                    return True
                changed = [substitute_symbol(self.wrong, other, Sym(name))]
                for node, put, _ in places(self.wrong):
                    changed += [put(Sym(name))] if node == Sym(other) else []
                    if node == Pow(Sym(other), Num(2)):
                        changed.append(put(Mul((Sym(other), Sym(name)))))
                for node, put, _ in places(self.right):  # once there, twice here
                    if node == Sym(name) and self.oracle.same(put(Sym(other)), self.wrong):
                        return True
                if any(self.oracle.same(made, self.right) for made in changed):
                    return True
        return False

    def _part_replaced(self) -> Iterable[Node]:
        for node, put, _ in self._called():
            for other in (*self.material, *map(_number, NUMBERS), Add((Num(1), Neg(node)))):
                yield put(other)

    # What the right formula is made of.

    def _symbol_one(self) -> bool:
        return self._where(Num(1))

    def _symbol_zero(self) -> bool:
        return self._where(Num(0))

    def _where(self, number: Node) -> bool:
        lacking = collect_symbols(self.right) - collect_symbols(self.wrong)
        return any(
            self.oracle.same(substitute_symbol(self.right, name, number), self.wrong) for name in lacking
        )

    def _symbol_missing(self) -> bool:
        return any(
            self.oracle.depends(self.right, name) and not self.oracle.depends(self.wrong, name)
            for name in self.names
        )

    def _symbol_foreign(self) -> bool:
        name = self.params["symbol"]
        return self.oracle.depends(self.wrong, name) and not self.oracle.depends(self.right, name)

    def _relation_misread(self) -> bool:
        for name, formula in self.oracle.assumptions:
            if isinstance(formula, Mul) and self.params.get("symbol", name) == name:
                made = [put(Add(formula.factors)) for node, put, _ in places(self.right) if node == Sym(name)]
                made.append(substitute_symbol(self.right, name, Add(formula.factors)))
                if any(self.oracle.same(one, self.wrong) for one in made):
                    return True
        return False

    def _function_forgotten(self) -> Iterable[Node]:
        for node, put, _ in self._called() if "part" in self.params else [next(places(self.wrong))]:
            for wrapped in _wrapped(node):
                yield put(wrapped)
        for node, put, _ in places(self.wrong):
            if (
                isinstance(node, Pow)
                and node.exponent == Num(2)
                and to_text(node.base) == self.params.get("part")
            ):
                yield from (put(Mul((node.base, wrapped))) for wrapped in _wrapped(node.base))

    def _rounding_forgotten(self) -> Iterable[Node]:
        for node, put, _ in self._called() if "part" in self.params else [next(places(self.wrong))]:
            yield from (put(Fn(name, (node,))) for name in ("floor", "ceil"))

    def _function_forgotten__all(self) -> bool:
        return any(
            self.oracle.same(
                _everywhere(self.right, lambda fn, name=name: fn.arguments[0] if fn.name == name else fn),
                self.wrong,
            )
            for name in _FUNCTIONS
        )

    def _rounding_forgotten__all(self) -> bool:
        return self._function_forgotten__all()

    def _comparison_forgotten(self) -> bool:
        return any(
            self.oracle.same(
                _everywhere(
                    self.right,
                    lambda fn, i=i: (
                        fn.arguments[min(i, len(fn.arguments) - 1)] if fn.name in ("max", "min") else fn
                    ),
                ),
                self.wrong,
            )
            for i in range(4)
        )

    def _function_too_much(self) -> Iterable[Node]:
        name = self.params["name"]
        yield from (
            put(node.arguments[0])
            for node, put, _ in places(self.wrong)
            if isinstance(node, Fn) and node.name == name
        )
        yield _everywhere(self.wrong, lambda fn: fn.arguments[0] if fn.name == name else fn)

    def _function_replaced(self) -> Iterable[Node]:
        yield from self._other_functions([self.params["name"]], [*_FUNCTIONS])

    def _rounding(self) -> Iterable[Node]:
        yield from self._other_functions(["floor", "ceil"], ["floor", "ceil"])

    def _log_base(self) -> Iterable[Node]:
        for base in (2, 10, mp.e):
            made = lambda fn, base=base: _log(fn.arguments[0], base) if fn.name in ("ln", "log", "lg") else fn  # noqa: E731
            yield _everywhere(self.wrong, made)
            yield from (put(made(node)) for node, put, _ in places(self.wrong) if isinstance(node, Fn))

    def _other_functions(self, names: Sequence[str], others: Sequence[str]) -> Iterator[Node]:
        for other in others:
            for name in names:
                yield _everywhere(
                    self.wrong,
                    lambda fn, name=name, other=other: Fn(other, fn.arguments) if fn.name == name else fn,
                )
                for node, put, _ in places(self.wrong):
                    if isinstance(node, Fn) and node.name == name:
                        yield put(Fn(other, node.arguments))
                        yield put(Pow(node.arguments[0], Num(2)))

    def _power_base(self) -> Iterable[Node]:
        for node, put, _ in places(self.wrong):
            if isinstance(node, Pow) and isinstance(node.base, Num):
                yield put(Fn("exp", (node.exponent,)))
            if isinstance(node, Fn) and node.name == "exp":
                yield from (put(Pow(Num(base), node.arguments[0])) for base in (2, 10))

    def _arguments_swapped(self) -> Iterable[Node]:
        for node, put, _ in places(self.wrong):
            if isinstance(node, Fn) and node.name == self.params["name"]:
                yield put(Fn(node.name, node.arguments[::-1]))

    def _extra_argument(self) -> Iterable[Node]:
        for node, put, _ in places(self.wrong):
            if isinstance(node, Fn) and node.name in ("max", "min"):
                rest = tuple(one for one in node.arguments if to_text(one) != self.params["part"])
                if rest and len(rest) < len(node.arguments):
                    yield put(Fn(node.name, rest))

    def _argument_forgotten(self) -> Iterable[Node]:
        for node, put, _ in places(self.wrong):
            if isinstance(node, Fn) and node.name == self.params["name"]:
                yield from (put(Fn(node.name, (*node.arguments, other))) for other in self.material)

    def _extra_exponent(self) -> Iterable[Node]:
        for node, put, _ in places(self.wrong):
            if isinstance(node, Pow) and to_text(node.exponent) == self.params["part"]:
                yield put(node.base)

    def _off_by_one(self) -> bool:
        steps = (Num(1), Neg(Num(1)))
        made = [Add((self.wrong, one)) for one in steps] if not self.params else []
        if "symbol" in self.params:
            symbol = Sym(self.params["symbol"])
            for one in steps:
                made.append(substitute_symbol(self.wrong, symbol.name, Add((symbol, one))))
                made += [put(Add((symbol, one))) for node, put, _ in places(self.wrong) if node == symbol]
                misconceptions = [substitute_symbol(self.right, symbol.name, Add((symbol, one)))]
                misconceptions += [
                    put(Add((symbol, one))) for node, put, _ in _squares_apart(self.right) if node == symbol
                ]
                if any(self.oracle.same(misconception, self.wrong) for misconception in misconceptions):
                    return True
        if "part" in self.params:
            made = [put(Add((node, one))) for node, put, _ in self._called() for one in steps]
        return any(self.oracle.same(one, self.right) for one in made)

    def _sign_outside(self) -> Iterable[Node]:
        for node, put, _ in self._called():
            if isinstance(node, Fn) and isinstance(node.arguments[0], Neg):
                yield put(Neg(Fn(node.name, (node.arguments[0].operand,))))

    def _sign_inside(self) -> Iterable[Node]:
        for node, put, _ in self._called():
            if isinstance(node, Neg) and isinstance(node.operand, Fn):
                yield put(Fn(node.operand.name, (Neg(node.operand.arguments[0]),)))

    def _belongs_inside(self) -> Iterable[Node]:
        """What is named is taken away outside, and put in somewhere inside of what was beside it."""
        yield from self._moved(inward=True)

    def _belongs_outside(self) -> Iterable[Node]:
        yield from self._moved(inward=False)

    def _moved(self, *, inward: bool) -> Iterator[Node]:  # noqa: C901 - many ways
        wanted = self.params["part"]
        for node, put, _ in places(self.wrong):
            for join, part, rest in _parted(node, wanted):
                for inner, within, parent in places(rest):
                    if parent is None and inward:
                        continue
                    for other in _joined(inner, part):
                        if inward and other is not None:
                            yield put(within(other))
                del join
            if not inward:
                for inner, within, parent in places(node):
                    for _, part, rest in _parted(inner, wanted):
                        if parent is not None:
                            yield from (put(other) for other in _joined(within(rest), part))


def _parted(node: Node, wanted: str) -> Iterator[tuple[str, Node, Node]]:
    """A sum, product or quotient without the part that is named."""
    match node:
        case Add(parts) | Mul(parts):
            for count in range(1, len(parts)):
                for chosen in combinations(range(len(parts)), count):
                    taken = [parts[index] for index in chosen]
                    left = [part for index, part in enumerate(parts) if index not in chosen]
                    part = taken[0] if count == 1 else type(node)(tuple(taken))
                    bare = part.operand if isinstance(part, Neg) else part
                    if wanted in (to_text(part), to_text(bare)):
                        yield (
                            type(node).__name__,
                            part,
                            left[0] if len(left) == 1 else type(node)(tuple(left)),
                        )
        case Div(numerator, denominator):
            if to_text(denominator) == wanted:
                yield "Div", Div(Num(1), denominator), numerator
            if to_text(numerator) == wanted:
                yield "Div", numerator, Div(Num(1), denominator)


def _joined(node: Node, part: Node) -> Iterator[Node]:
    yield Add((node, part))
    yield Add((node, Neg(part)))
    yield Mul((node, part))
    yield Div(node, part)
    yield Div(part, node)


def _squares_apart(tree: Node) -> Iterator[tuple[Node, Put, Node | None]]:
    yield from places(_everywhere_node(tree))


def _everywhere_node(node: Node) -> Node:
    if isinstance(node, Pow) and node.exponent == Num(2):
        return Mul((node.base, node.base))
    below = get_children(node)
    return rebuild_node(node, [_everywhere_node(child) for child in below]) if below else node


def _everywhere(node: Node, change: Callable[[Fn], Node]) -> Node:
    below = get_children(node)
    changed = rebuild_node(node, [_everywhere(child, change) for child in below]) if below else node
    return change(changed) if isinstance(changed, Fn) else changed


def _log(argument: Node, base: object) -> Node:
    return Fn("log", (argument, Num(base))) if isinstance(base, int) else Fn("ln", (argument,))


def _wrapped(node: Node) -> Iterator[Node]:
    yield from (Fn(name, (node,)) for name in _FUNCTIONS if name not in ("max", "min", "binomial", "log"))
    yield from (_log(node, base) for base in (2, 10))
    yield Pow(node, Num(2))


def _operations(code: str, node: Node) -> Iterator[Node]:  # noqa: C901 - many ways
    """One operation taken for another one, anywhere among the parts of a node."""
    if isinstance(node, Add | Mul):
        parts = node.terms if isinstance(node, Add) else node.factors
        for start in range(len(parts)):
            for end in range(start + 2, len(parts) + 1):
                for cut in range(start + 1, end):
                    first, second = _group(node, parts[start:cut]), _group(node, parts[cut:end])
                    for both in _EXCHANGED.get(code, lambda *_: ())(node, first, second):
                        yield _group(node, (*parts[:start], both, *parts[end:]))
                many = _MANY.get(code)
                if many is not None and isinstance(node, many[0]):
                    yield _group(node, (*parts[:start], many[1](parts[start:end]), *parts[end:]))
    if isinstance(node, Div):
        match code:
            case "quotient-for-product":
                yield Mul((node.numerator, node.denominator))
            case "quotient-for-difference":
                yield Add((node.numerator, Neg(node.denominator)))
    if isinstance(node, Pow):
        match code:
            case "power-for-product":
                yield Mul((node.base, node.exponent))
            case "base-and-exponent":
                yield Pow(node.exponent, node.base)
    if code in ("brackets", "brackets-too-wide"):
        yield from _bracketed(code, node)


def _group(node: Node, parts: Sequence[Node]) -> Node:
    return parts[0] if len(parts) == 1 else type(node)(tuple(parts))  # type: ignore[arg-type]


def _if(kind: type, *made: Callable[[Node, Node], Node]) -> Callable[[Node, Node, Node], list[Node]]:
    return lambda node, first, second: [one(first, second) for one in made] if isinstance(node, kind) else []


def _minus(second: Node) -> Node:
    return second.operand if isinstance(second, Neg) else second


_EXCHANGED: Mapping[str, Callable[[Node, Node, Node], list[Node]]] = {
    "sum-for-product": _if(Add, lambda a, b: Mul((a, b))),
    "product-for-sum": _if(Mul, lambda a, b: Add((a, b))),
    "sum-for-power": _if(Add, Pow, lambda a, b: Pow(b, a)),
    "product-for-power": _if(Mul, Pow, lambda a, b: Pow(b, a)),
    "product-for-quotient": _if(Mul, Div),
    "product-for-difference": _if(Mul, lambda a, b: Add((a, Neg(b)))),
    "difference-for-quotient": _if(Add, lambda a, b: Div(a, _minus(b))),
}
_MANY: Mapping[str, tuple[type, Callable[[Sequence[Node]], Node]]] = {
    "sum-for-product": (Add, lambda parts: Mul(tuple(parts))),
    "product-for-sum": (Mul, lambda parts: Add(tuple(parts))),
    "sum-for-extreme": (Add, lambda parts: Fn("max", tuple(parts))),
}


def _bracketed(code: str, node: Node) -> Iterator[Node]:  # noqa: C901 - many ways
    """A factor or divisor of one term made one of all, or of all made one of one term."""
    match code, node:
        case "brackets", Add(parts):
            for index, part in enumerate(parts):
                sign, bare = (True, part.operand) if isinstance(part, Neg) else (False, part)
                for kind, outside, rest in _factored(bare):
                    inner = Neg(rest) if sign else rest
                    whole = Add((*parts[:index], inner, *parts[index + 1 :]))
                    yield Mul((outside, whole)) if kind == "Mul" else Div(whole, outside)
                if sign:
                    yield Neg(Add((bare, *parts[:index], *parts[index + 1 :])))
        case "brackets-too-wide", Mul(factors):
            for index, factor in enumerate(factors):
                if isinstance(factor, Add):
                    outside = (*factors[:index], *factors[index + 1 :])
                    for place, term in enumerate(factor.terms):
                        rest = (*factor.terms[:place], *factor.terms[place + 1 :])
                        for count in range(1, len(outside) + 1):
                            for chosen in combinations(outside, count):
                                left = [one for one in outside if one not in chosen]
                                yield Mul((Num(1), *left, Add((Mul((*chosen, term)), *rest))))
        case "brackets-too-wide", Div(Add(parts), denominator):
            for place, term in enumerate(parts):
                yield Add((Div(term, denominator), *parts[:place], *parts[place + 1 :]))


def _factored(node: Node) -> Iterator[tuple[str, Node, Node]]:
    match node:
        case Mul(factors):
            for count in range(1, len(factors)):
                for chosen in combinations(range(len(factors)), count):
                    outside = Mul((Num(1), *(factors[index] for index in chosen)))
                    left = [factor for index, factor in enumerate(factors) if index not in chosen]
                    yield "Mul", outside, _group(node, left)
        case Div(numerator, denominator):
            yield "Div", denominator, numerator
