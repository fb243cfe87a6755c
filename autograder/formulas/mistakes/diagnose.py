"""Explain how a wrong formula differs from the correct one, without revealing the correct one.

Every statement is exactly true. Either the student's own formula with that one thing changed is proven to
equal the correct one (`Difference.repaired`, see `search`), or the correct formula with the misconception is
proven to equal the student's (`Difference.misconception`). Most mistakes in polynomials are found by
arithmetic on a few exact values, which are recognised as monomials; the others by a search for one change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.mistakes.bases import (
    Monomial,
    ReferenceFormula,
    collect_terms,
    compare_powers,
    expand_terms,
    find_small_ratio,
)
from autograder.formulas.mistakes.changes import generate_bracketings
from autograder.formulas.mistakes.search import find_change
from autograder.formulas.mistakes.targets import Explanation, Target
from autograder.formulas.nodes import Add, Mul, Neg, Node, Sym, collect_symbols, walk_tree
from autograder.formulas.printing.text import to_text
from autograder.formulas.values.evaluate import Rational

MOST_OWN_TERMS = 8
"""Largest number of terms of an answer that are examined one by one."""
MOST_RIGHT = 3
"""Number of correct formulas in which misconceptions are tried."""

CODES = (
    "sign", "factor-too-large", "factor-too-small", "reciprocal",
    "power-too-large", "power-too-small", "power-of-part", "factor-forgotten", "divisor-forgotten",
    "extra-factor", "extra-divisor", "divided", "several-factors",
    "missing-term", "missing-terms", "term-forgotten", "extra-term", "wrong-term", "coefficient", "number",
    "number-forgotten", "sign-in-term", "sign-of-part",
    "power-in-term", "extra-factor-in-term", "swapped-symbols", "symbol-replaced",
    "part-replaced", "sum-for-product", "product-for-sum",
    "brackets", "brackets-too-wide", "belongs-inside", "product-for-power",
    "sum-for-power", "product-for-quotient",
    "base-and-exponent", "power-for-product", "function-forgotten", "function-too-much", "function-replaced",
    "log-base", "rounding", "rounding-forgotten", "off-by-one",
    "symbol-one", "symbol-zero", "symbol-missing", "symbol-foreign",
)  # fmt: skip
"""Every code of a `Difference`; they do not change between versions."""
SOMEWHERE = frozenset(
    (
        "symbol-replaced", "part-replaced", "number", "power-too-large", "power-too-small", "sign-of-part",
        "extra-factor", "factor-forgotten", "divisor-forgotten", "number-forgotten", "divided",
    )
)  # fmt: skip
"""Codes with a separate message if the part that they name occurs several times, and one of them is meant."""
SYMBOL_CODES = frozenset(("symbol-missing", "symbol-foreign"))
"""Codes that say only which symbols occur."""
_NAMED = ("term", "part", "symbol", "first", "number", "name")
"""Keys of the parts that messages may name, in the order in which they appear in message keys."""


class Difference(Struct, frozen=True):
    """How a formula differs from the correct one.

    Attributes:
        code: one of `CODES`.
        params: values that a student may read: symbols and parts that the student wrote, never others.
        note: the message for staff, with ``{}`` for each of ``about``.
        made: see `misconception`.
        about: formulas that only staff may see.
        repaired: the wrong formula with the mistake corrected, equal to the correct one; None if the
            misconception was applied to the correct one instead.
        kind: variant of the message for this code; empty for the plain one.
    """

    code: str
    params: dict[str, str] = {}
    note: str = ""
    replacement: Node | Monomial | None = None
    about: tuple[Node | Monomial, ...] = ()
    repaired: Node | None = None
    kind: str = ""

    @property
    def misconception(self) -> Node | None:
        """The correct formula with this misconception, equal to the wrong formula under the reading used.

        None if the mistake was corrected in the wrong formula instead, and for the two codes about symbols
        that occur or do not.
        """
        return self.replacement.to_formula() if isinstance(self.replacement, Monomial) else self.replacement

    @property
    def weak(self) -> bool:
        """Whether an explanation by a single change is preferred, if there is one."""
        if self.code in ("extra-term", "coefficient"):
            return "term" not in self.params
        return self.code in ("several-factors", "wrong-term", "symbol-missing")

    @property
    def staff(self) -> str:
        """The message for staff, in English."""
        shown = (
            to_text(formula.to_formula() if isinstance(formula, Monomial) else formula)
            for formula in self.about
        )
        return self.note.format(*shown)

    @property
    def sentence(self) -> str:
        """The key of the message for students, which depends on the parts that may be named."""
        parts = ("diagnosis", self.code, self.kind, *(name for name in _NAMED if name in self.params))
        return ".".join(filter(None, parts))


MOST_REMEMBERED = 500
"""Number of wrong answers for which explanations are cached."""


class Diagnosis:
    """Explains wrong answers to one question. Its tables are computed when needed."""

    __slots__ = ("_bases", "_found", "_readings", "_right", "_targets")

    def __init__(self, right: Sequence[Node], readings: Sequence[Comparer]) -> None:
        """Store the correct formulas and the readings.

        Args:
            right: correct formulas, the main one first.
            readings: comparers, the one without assumptions first.
        """
        self._right = tuple(right)[:MOST_RIGHT]
        self._readings = tuple(dict.fromkeys(readings))
        self._bases: tuple[tuple[ReferenceFormula, ...], ...] | None = None
        self._targets: tuple[Target, ...] | None = None
        self._found: dict[Node, tuple[Difference | None]] = {}
        """Cached explanations: many students of a class make the same mistake."""

    def find_difference(self, wrong: Node, values: Sequence[Rational | None] = ()) -> Difference | None:
        """Return the most telling explanation that is proven; None if there is none.

        Args:
            wrong: a wrong formula.
            values: its exact values under the readings, if they are known already.
        """
        # The entry is read in one step, because other threads may clear the cache at any time.
        cached = self._found.get(wrong)
        if cached is None:
            cached = (self._explain_difference(wrong, values),)
            if len(self._found) >= MOST_REMEMBERED:
                self._found.clear()
            self._found[wrong] = cached
        return cached[0]

    def _explain_difference(self, wrong: Node, values: Sequence[Rational | None]) -> Difference | None:
        has_values = len(values) == len(self._readings)
        written = collect_symbols(wrong)
        # A weak explanation is kept as a fallback, in case no better one is found.
        weak: Difference | None = None
        for index, bases in enumerate(self._prepare_bases()):
            extra: Difference | None = None
            for base in bases:
                value = values[index] if has_values else base.comparer.evaluate_at_point(wrong)
                difference = (
                    None if value is None else _Comparison(base, wrong, written, value).find_difference()
                )
                if difference is None or (difference.weak and written):
                    weak = weak or difference
                elif difference.code == "extra-term":
                    # Another correct formula may contain this term, so the remaining ones are tried first.
                    extra = extra or difference
                else:
                    return difference
            if extra is not None:
                return extra
        return self._search_changes(wrong) or weak or self._compare_symbols(wrong)

    def may_contain(self, answer: Node, part: Node) -> bool:
        """Return whether each term of a part occurs in an answer with some number; True if unknown."""
        for bases in self._prepare_bases():
            for base in bases[:1]:
                held, looked_for = self._collect_powers(answer, base), self._collect_powers(part, base)
                if not held or looked_for <= held:
                    return True
        return False

    @staticmethod
    def _collect_powers(tree: Node, base: ReferenceFormula) -> frozenset[frozenset[tuple[str, int]]]:
        """Return the powers of symbols in the terms of a formula."""
        parts = collect_terms(expand_terms(tree), base.comparer, base.recogniser)
        return frozenset(frozenset(monomial.powers.items()) for monomial, _ in parts)

    def _search_changes(self, wrong: Node) -> Difference | None:
        if self._targets is None:
            self._targets = tuple(
                Target.from_formula(tree, comparer) for comparer in self._readings for tree in self._right
            )
        for target in self._targets:
            explanation = find_change(target, wrong)
            if explanation is not None:
                return _to_difference(explanation, wrong)
        return None

    def _prepare_bases(self) -> tuple[tuple[ReferenceFormula, ...], ...]:
        """Return, for each reading, the correct formulas that have an exact value there."""
        if self._bases is None:
            self._bases = tuple(
                tuple(
                    base
                    for tree in self._right
                    if (base := ReferenceFormula.from_formula(tree, comparer)) is not None
                )
                for comparer in self._readings
            )
        return self._bases

    def _compare_symbols(self, wrong: Node) -> Difference | None:
        """Find a symbol that the answer lacks, or one that is unrelated to every correct formula."""
        targets = self._targets or ()
        written = collect_symbols(wrong)
        present = frozenset.intersection(*(target.find_present_symbols(wrong) for target in targets))
        needed = frozenset.intersection(*(target.needed for target in targets))
        for name in sorted(needed - present):
            return Difference("symbol-missing", {}, f"{name} does not occur")
        for name in sorted(
            written.difference(*(target.find_present_symbols(target.right) for target in targets))
        ):
            if all(target.is_dependent_on(wrong, name) for target in targets):
                return Difference("symbol-foreign", {"symbol": name}, f"depends on {name}")
        return None


class _Comparison(Struct, frozen=True):
    """Compares one wrong answer with one correct formula, by exact values."""

    base: ReferenceFormula
    wrong: Node
    written: frozenset[str]
    """The symbols that occur in the answer."""
    value: Rational

    def find_difference(self) -> Difference | None:
        """Return the single change that turns the correct formula into the wrong one."""
        value, base = self.value, self.base
        missing = base.without.get(value)
        if missing is not None:
            tree = Add((base.right, Neg(missing)))
            return Difference("missing-term", {}, "{} is missing", tree, (missing,))
        monomial = base.recogniser.recognise_monomial(value)
        if monomial is not None and base.monomial is not None:
            return self._compare_factors(base.monomial, monomial)
        ratio = find_small_ratio(value, base.value) if value else None
        if ratio is not None:
            return _describe_multiple(ratio, Mul((Monomial(ratio, {}).to_formula(), base.right)))
        return self._compare_terms(value - base.value) or self._find_added_term(value - base.value)

    def _compare_factors(self, right: Monomial, wrong: Monomial) -> Difference:
        """Compare two monomials: find factors that occur too often, or not often enough."""
        steps = compare_powers(right, wrong)
        ratio = wrong.number / right.number
        note, about = "{} became {}", (right, wrong)
        # The same powers of symbols: only the number differs.
        if not steps:
            return _describe_multiple(ratio, wrong)
        if wrong.number * right.number == 1 and steps == {
            name: -2 * power for name, power in right.powers.items()
        }:
            return Difference("reciprocal", {}, note, wrong, about)
        if not wrong.powers:
            return Difference("symbol-missing", {}, note, None, about)
        swapped = _find_swapped(right, wrong, steps)
        if ratio == 1 and swapped and self.written.issuperset(swapped):
            params = dict(zip(("first", "second"), swapped, strict=True))
            return Difference("swapped-symbols", params, note, wrong, about)
        code, name = _classify_change(steps, right, self.written)
        before, after = right.powers.get(name, 0), wrong.powers.get(name, 0)
        if name not in self.written and before > 0 and after < before:
            absent = after == 0 and self.base.is_missing(self.wrong, name)
            kind = ("absent" if absent else "") if ratio == 1 else "besides"
            return Difference("factor-forgotten", {}, note, wrong, about, kind=kind)
        if name not in self.written and before < 0:
            return Difference("symbol-missing", {}, note, None, about)
        if ratio != 1:  # correcting the power would not be enough
            return Difference("several-factors", {}, note, wrong, about)
        if code in ("several-factors", "divisor-forgotten"):
            return Difference(code, {}, note, wrong, about)
        if code in ("extra-divisor", "power-too-small") and name not in self.written:
            return Difference("several-factors", {}, note, wrong, about)
        named = {"part" if code == "extra-divisor" else "symbol": name} if name in self.written else {}
        kind = _choose_kind(name, self.wrong) if code == "symbol-replaced" else ""
        return Difference(code, named, note, wrong, about, kind=kind)

    def _compare_terms(self, delta: Rational) -> Difference | None:
        """Find a term of the student's own that is extra, or would be correct with one change."""
        parts = expand_terms(self.wrong)
        if not 1 < len(parts) <= MOST_OWN_TERMS:
            return None
        value = self.base.comparer.evaluate_at_point
        own_terms = [(part, term_value) for part in parts if (term_value := value(part))]
        if not isinstance(self.wrong, Add):  # use the terms after multiplying out
            own_terms = [
                (part.to_formula(), term_value)
                for part, term_value in collect_terms(parts, self.base.comparer, self.base.recogniser)
            ]
        for part, term_value in own_terms:
            if term_value == delta:
                tree = Add((self.base.right, part))
                return Difference("extra-term", self._name_term(part), "extra: {}", tree, (part,))
        monomial = self.base.recogniser.recognise_monomial
        for part, term_value in own_terms:
            needed = monomial(term_value - delta)
            if needed is not None:
                actual = monomial(term_value)
                if actual is not None:
                    difference = self._describe_term_change(part, needed, actual)
                    # A named symbol is more specific than moved brackets.
                    return (
                        difference if "symbol" in difference.params else self._find_bracketing() or difference
                    )
        return None

    def _find_bracketing(self) -> Difference | None:
        """Find a factor or divisor of one term that belongs to all of them."""
        for candidate in generate_bracketings(self.wrong) if isinstance(self.wrong, Add) else ():
            if self.base.comparer.evaluate_at_point(candidate) == self.base.value:
                return Difference("brackets", {}, "{} would be right", None, (candidate,), candidate)
        return None

    def _describe_term_change(self, part: Node, needed: Monomial, actual: Monomial) -> Difference:
        """Describe the mistake in a term, given the term that is needed in its place."""
        params = self._name_term(part)
        tree = Add((self.base.right, Neg(needed.to_formula()), part))
        note, about = "{} stands for {}", (part, needed)
        steps = compare_powers(needed, actual)
        if not steps:
            code = "sign-in-term" if actual.number == -needed.number and params else "coefficient"
            return Difference(code, params, note, tree, about)
        if actual.number != needed.number:
            return Difference("wrong-term", params, note, tree, about)
        code, name = _classify_change(steps, needed, collect_symbols(part))
        if not params:
            return Difference("wrong-term", params, note, tree, about)
        if name not in collect_symbols(part):
            forgotten = code == "power-too-small" and actual.powers.get(name, 0) == 0
            return Difference("power-in-term" if forgotten else "wrong-term", params, note, tree, about)
        names = {
            "power-too-large": "power-in-term",
            "power-too-small": "power-in-term",
            "divided": "power-in-term",
            "extra-divisor": "power-in-term",
            "several-factors": "wrong-term",
            "extra-factor": "extra-factor-in-term",
        }
        return Difference(names.get(code, code), {**params, "symbol": name}, note, tree, about)

    def _find_added_term(self, delta: Rational) -> Difference | None:
        """Find one term more than in the correct formula, or one of its terms with another coefficient."""
        extra = self.base.recogniser.recognise_monomial(delta)
        if extra is None:
            return None
        tree = Add((self.base.right, extra.to_formula()))
        for part, _ in self.base.parts if len(self.base.parts) > 1 else ():
            if part.powers == extra.powers:
                ratio = 1 + extra.number / part.number
                return Difference("coefficient", {}, f"{{}} counts {ratio} times", tree, (part,))
        return Difference("extra-term", {}, "extra: {}", tree, (extra,))

    def _name_term(self, part: Node) -> dict[str, str]:
        """Return a term as the student wrote it; empty for a term that results from multiplying out."""
        written = isinstance(self.wrong, Add) and part in self.wrong.terms
        return {"term": to_text(part)} if written else {}


def _describe_multiple(ratio: Fraction, tree: Node | Monomial) -> Difference:
    """Describe an answer that is off by a constant factor."""
    if ratio == -1:
        return Difference("sign", {}, "the sign is wrong", tree)
    code = "factor-too-large" if abs(ratio) > 1 else "factor-too-small"
    kind = "besides" if ratio < 0 else ""
    return Difference(code, {}, f"off by the constant factor {ratio}", tree, kind=kind)


def _classify_change(steps: Mapping[str, int], right: Monomial, written: frozenset[str]) -> tuple[str, str]:
    """Return the code of a change of powers, and the symbol concerned."""
    if len(steps) == 1:
        ((name, step),) = steps.items()
        return _classify_power(right.powers.get(name, 0), step), name
    if len(steps) == 2 and sum(steps.values()) == 0:
        name, other = sorted(steps, key=lambda symbol: -steps[symbol])
        above = right.powers.get(other, 0) >= steps[name] and right.powers.get(name, 0) >= 0
        if name in written and above:
            return "symbol-replaced", name
    return "several-factors", ""


def _find_swapped(right: Monomial, wrong: Monomial, steps: Mapping[str, int]) -> list[str]:
    """Return two symbols with exchanged powers; empty if that is not the difference."""
    both = sorted(steps)
    swapped = len(both) == 2 and all(
        right.powers.get(symbol, 0) == wrong.powers.get(other, 0) != 0
        for symbol, other in (both, reversed(both))
    )
    return both if swapped else []


def _classify_power(before: int, step: int) -> str:
    """Return the code of a change of one power; in a denominator it refers to the power there."""
    after = before + step
    if not before:
        return "extra-factor" if step > 0 else "extra-divisor"
    if not after:
        return "power-too-small" if before > 0 else "divisor-forgotten"
    if (before > 0) is not (after > 0):
        return "divided" if after == -before and abs(before) == 1 else "several-factors"
    return "power-too-large" if abs(after) > abs(before) else "power-too-small"


def _choose_kind(name: str, wrong: Node) -> str:
    """Return the kind of message about a symbol that may occur several times."""
    return "some" if sum(part == Sym(name) for part in walk_tree(wrong)) > 1 else ""


def _to_difference(explanation: Explanation, wrong: Node) -> Difference:
    """Turn an explanation into the difference that a student may read."""
    params = {
        name: text for name, text in explanation.params.items() if name not in ("missing", "everywhere")
    }
    kind = "all" if "everywhere" in explanation.params else ""
    if explanation.code == "symbol-replaced" and explanation.misconception is not None:
        kind = _choose_kind(params["symbol"], wrong)
    elif explanation.some and explanation.code in SOMEWHERE:
        kind = "some"
    note = " ".join((explanation.code, *explanation.params.values()))
    if explanation.repaired is not None:
        return Difference(
            explanation.code,
            params,
            "{} would be right",
            None,
            (explanation.repaired,),
            explanation.repaired,
            kind,
        )
    return Difference(
        explanation.code,
        params,
        note.replace("{", "").replace("}", ""),
        explanation.misconception,
        (),
        None,
        kind,
    )
