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
from autograder.formulas.mistakes.bases import Base, Monomial, changed, collected, small_ratio
from autograder.formulas.mistakes.changes import in_brackets
from autograder.formulas.mistakes.search import search
from autograder.formulas.mistakes.targets import Found, Target
from autograder.formulas.nodes import Add, Mul, Neg, Node, Sym, symbols, walk
from autograder.formulas.printing.text import to_text
from autograder.formulas.terms import terms
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
    made: Node | Monomial | None = None
    about: tuple[Node | Monomial, ...] = ()
    repaired: Node | None = None
    kind: str = ""

    @property
    def misconception(self) -> Node | None:
        """The correct formula with this misconception, equal to the wrong formula under the reading used.

        None if the mistake was corrected in the wrong formula instead, and for the two codes about symbols
        that occur or do not.
        """
        return self.made.tree() if isinstance(self.made, Monomial) else self.made

    @property
    def weak(self) -> bool:
        """Whether an explanation by a single change is preferred, if there is one."""
        if self.code in ("extra-term", "coefficient"):
            return "term" not in self.params
        return self.code in ("several-factors", "wrong-term", "symbol-missing")

    @property
    def staff(self) -> str:
        """The message for staff, in English."""
        shown = (to_text(one.tree() if isinstance(one, Monomial) else one) for one in self.about)
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

    __slots__ = ("_bases", "_found", "_held", "_readings", "_right", "_targets")

    def __init__(self, right: Sequence[Node], readings: Sequence[Comparer]) -> None:
        """Store the correct formulas and the readings.

        Args:
            right: correct formulas, the main one first.
            readings: comparers, the one without assumptions first.
        """
        self._right = tuple(right)[:MOST_RIGHT]
        self._readings = tuple(dict.fromkeys(readings))
        self._bases: tuple[tuple[Base, ...], ...] | None = None
        self._targets: tuple[Target, ...] | None = None
        self._held: dict[tuple[int, int], tuple[Node, frozenset[frozenset[tuple[str, int]]]]] = {}
        self._found: dict[Node, tuple[Difference | None]] = {}
        """Cached explanations: many students of a class make the same mistake."""

    def difference(self, wrong: Node, values: Sequence[Rational | None] = ()) -> Difference | None:
        """Return the most telling explanation that is proven; None if there is none.

        Args:
            wrong: a wrong formula.
            values: its exact values under the readings, if they are known already.
        """
        # The entry is read in one step, because other threads may clear the cache at any time.
        known = self._found.get(wrong)
        if known is None:
            known = (self._explain(wrong, values),)
            if len(self._found) >= MOST_REMEMBERED:
                self._found.clear()
            self._found[wrong] = known
        return known[0]

    def _explain(self, wrong: Node, values: Sequence[Rational | None]) -> Difference | None:
        known = len(values) == len(self._readings)
        written = symbols(wrong)
        # A weak explanation is kept as a fallback, in case no better one is found.
        weak: Difference | None = None
        for place, bases in enumerate(self._prepared()):
            extra: Difference | None = None
            for base in bases:
                value = values[place] if known else base.comparer.value(wrong)
                difference = None if value is None else _Comparison(base, wrong, written, value).difference()
                if difference is None or (difference.weak and written):
                    weak = weak or difference
                elif difference.code == "extra-term":
                    # Another correct formula may contain this term, so the remaining ones are tried first.
                    extra = extra or difference
                else:
                    return difference
            if extra is not None:
                return extra
        return self._search(wrong) or weak or self._symbols(wrong)

    def may_hold(self, answer: Node, part: Node) -> bool:
        """Return whether each term of a part occurs in an answer with some number; True if unknown."""
        for bases in self._prepared():
            for base in bases[:1]:
                held, looked_for = self._powers(answer, base), self._powers(part, base)
                if not held or looked_for <= held:
                    return True
        return False

    def _powers(self, tree: Node, base: Base) -> frozenset[frozenset[tuple[str, int]]]:
        """Return the powers of symbols in the terms of a formula, cached per formula and reading."""
        place = (id(tree), id(base))
        known = self._held.get(place)
        if known is not None and known[0] is tree:
            return known[1]
        parts = collected(terms(tree), base.comparer, base.recogniser)
        powers = frozenset(frozenset(one.powers.items()) for one, _ in parts)
        if len(self._held) >= MOST_REMEMBERED:
            self._held.clear()
        # The entry keeps a reference to the tree: otherwise its id could be reused.
        self._held[place] = tree, powers
        return powers

    def _search(self, wrong: Node) -> Difference | None:
        if self._targets is None:
            self._targets = tuple(
                Target.of(tree, comparer) for comparer in self._readings for tree in self._right
            )
        for target in self._targets:
            found = search(target, wrong)
            if found is not None:
                return _named(found, wrong)
        return None

    def _prepared(self) -> tuple[tuple[Base, ...], ...]:
        """Return, for each reading, the correct formulas that have an exact value there."""
        if self._bases is None:
            self._bases = tuple(
                tuple(base for tree in self._right if (base := Base.of(tree, comparer)) is not None)
                for comparer in self._readings
            )
        return self._bases

    def _symbols(self, wrong: Node) -> Difference | None:
        """Find a symbol that the answer lacks, or one that is unrelated to every correct formula."""
        targets = self._targets or ()
        written = symbols(wrong)
        present = frozenset.intersection(*(target.present(wrong) for target in targets))
        needed = frozenset.intersection(*(target.needed for target in targets))
        for name in sorted(needed - present):
            return Difference("symbol-missing", {}, f"{name} does not occur")
        for name in sorted(written.difference(*(target.present(target.right) for target in targets))):
            if all(target.depends(wrong, name) for target in targets):
                return Difference("symbol-foreign", {"symbol": name}, f"depends on {name}")
        return None


class _Comparison(Struct, frozen=True):
    """Compares one wrong answer with one correct formula, by exact values."""

    base: Base
    wrong: Node
    written: frozenset[str]
    """The symbols that occur in the answer."""
    value: Rational

    def difference(self) -> Difference | None:
        """Return the single change that turns the correct formula into the wrong one."""
        value, base = self.value, self.base
        missing = base.without.get(value)
        if missing is not None:
            tree = Add((base.right, Neg(missing)))
            return Difference("missing-term", {}, "{} is missing", tree, (missing,))
        monomial = base.recogniser.monomial(value)
        if monomial is not None and base.monomial is not None:
            return self._factors(base.monomial, monomial)
        ratio = small_ratio(value, base.value) if value else None
        if ratio is not None:
            return _multiple(ratio, Mul((Monomial(ratio, {}).tree(), base.right)))
        return self._own_terms(value - base.value) or self._added(value - base.value)

    def _factors(self, right: Monomial, wrong: Monomial) -> Difference:
        """Compare two monomials: find factors that occur too often, or not often enough."""
        steps = changed(right, wrong)
        ratio = wrong.number / right.number
        note, about = "{} became {}", (right, wrong)
        # The same powers of symbols: only the number differs.
        if not steps:
            return _multiple(ratio, wrong)
        if wrong.number * right.number == 1 and steps == {
            name: -2 * power for name, power in right.powers.items()
        }:
            return Difference("reciprocal", {}, note, wrong, about)
        if not wrong.powers:
            return Difference("symbol-missing", {}, note, None, about)
        swapped = _swapped(right, wrong, steps)
        if ratio == 1 and swapped and self.written.issuperset(swapped):
            params = dict(zip(("first", "second"), swapped, strict=True))
            return Difference("swapped-symbols", params, note, wrong, about)
        code, name = _change(steps, right, self.written)
        before, after = right.powers.get(name, 0), wrong.powers.get(name, 0)
        if name not in self.written and before > 0 and after < before:
            absent = after == 0 and self.base.lacks(self.wrong, name)
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
        kind = _places(name, self.wrong) if code == "symbol-replaced" else ""
        return Difference(code, named, note, wrong, about, kind=kind)

    def _own_terms(self, delta: Rational) -> Difference | None:
        """Find a term of the student's own that is extra, or would be correct with one change."""
        parts = terms(self.wrong)
        if not 1 < len(parts) <= MOST_OWN_TERMS:
            return None
        value = self.base.comparer.value
        own = [(part, at) for part in parts if (at := value(part))]
        if not isinstance(self.wrong, Add):  # use the terms after multiplying out
            own = [
                (part.tree(), at) for part, at in collected(parts, self.base.comparer, self.base.recogniser)
            ]
        for part, at in own:
            if at == delta:
                tree = Add((self.base.right, part))
                return Difference("extra-term", self._term(part), "extra: {}", tree, (part,))
        monomial = self.base.recogniser.monomial
        for part, at in own:
            needed = monomial(at - delta)
            if needed is not None:
                stands = monomial(at)
                if stands is not None:
                    found = self._term_changed(part, needed, stands)
                    # A named symbol is more specific than moved brackets.
                    return found if "symbol" in found.params else self._brackets() or found
        return None

    def _brackets(self) -> Difference | None:
        """Find a factor or divisor of one term that belongs to all of them."""
        for made in in_brackets(self.wrong) if isinstance(self.wrong, Add) else ():
            if self.base.comparer.value(made) == self.base.value:
                return Difference("brackets", {}, "{} would be right", None, (made,), made)
        return None

    def _term_changed(self, part: Node, needed: Monomial, stands: Monomial) -> Difference:
        """Describe the mistake in a term, given the term that is needed in its place."""
        params = self._term(part)
        tree = Add((self.base.right, Neg(needed.tree()), part))
        note, about = "{} stands for {}", (part, needed)
        steps = changed(needed, stands)
        if not steps:
            code = "sign-in-term" if stands.number == -needed.number and params else "coefficient"
            return Difference(code, params, note, tree, about)
        if stands.number != needed.number:
            return Difference("wrong-term", params, note, tree, about)
        code, name = _change(steps, needed, symbols(part))
        if not params:
            return Difference("wrong-term", params, note, tree, about)
        if name not in symbols(part):
            forgotten = code == "power-too-small" and stands.powers.get(name, 0) == 0
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

    def _added(self, delta: Rational) -> Difference | None:
        """Find one term more than in the correct formula, or one of its terms with another coefficient."""
        extra = self.base.recogniser.monomial(delta)
        if extra is None:
            return None
        tree = Add((self.base.right, extra.tree()))
        for part, _ in self.base.parts if len(self.base.parts) > 1 else ():
            if part.powers == extra.powers:
                ratio = 1 + extra.number / part.number
                return Difference("coefficient", {}, f"{{}} counts {ratio} times", tree, (part,))
        return Difference("extra-term", {}, "extra: {}", tree, (extra,))

    def _term(self, part: Node) -> dict[str, str]:
        """Return a term as the student wrote it; empty for a term that results from multiplying out."""
        written = isinstance(self.wrong, Add) and part in self.wrong.terms
        return {"term": to_text(part)} if written else {}


def _multiple(ratio: Fraction, tree: Node | Monomial) -> Difference:
    """Describe an answer that is off by a constant factor."""
    if ratio == -1:
        return Difference("sign", {}, "the sign is wrong", tree)
    code = "factor-too-large" if abs(ratio) > 1 else "factor-too-small"
    kind = "besides" if ratio < 0 else ""
    return Difference(code, {}, f"off by the constant factor {ratio}", tree, kind=kind)


def _change(steps: Mapping[str, int], right: Monomial, written: frozenset[str]) -> tuple[str, str]:
    """Return the code of a change of powers, and the symbol concerned."""
    if len(steps) == 1:
        ((name, step),) = steps.items()
        return _of_power(right.powers.get(name, 0), step), name
    if len(steps) == 2 and sum(steps.values()) == 0:
        name, other = sorted(steps, key=lambda one: -steps[one])
        above = right.powers.get(other, 0) >= steps[name] and right.powers.get(name, 0) >= 0
        if name in written and above:
            return "symbol-replaced", name
    return "several-factors", ""


def _swapped(right: Monomial, wrong: Monomial, steps: Mapping[str, int]) -> list[str]:
    """Return two symbols with exchanged powers; empty if that is not the difference."""
    both = sorted(steps)
    swapped = len(both) == 2 and all(
        right.powers.get(one, 0) == wrong.powers.get(other, 0) != 0 for one, other in (both, reversed(both))
    )
    return both if swapped else []


def _of_power(before: int, step: int) -> str:
    """Return the code of a change of one power; in a denominator it refers to the power there."""
    after = before + step
    if not before:
        return "extra-factor" if step > 0 else "extra-divisor"
    if not after:
        return "power-too-small" if before > 0 else "divisor-forgotten"
    if (before > 0) is not (after > 0):
        return "divided" if after == -before and abs(before) == 1 else "several-factors"
    return "power-too-large" if abs(after) > abs(before) else "power-too-small"


def _places(name: str, wrong: Node) -> str:
    """Return the kind of message about a symbol that may occur several times."""
    return "some" if sum(part == Sym(name) for part in walk(wrong)) > 1 else ""


def _named(found: Found, wrong: Node) -> Difference:
    """Turn an explanation into the difference that a student may read."""
    params = {name: text for name, text in found.params.items() if name not in ("missing", "everywhere")}
    kind = "all" if "everywhere" in found.params else ""
    if found.code == "symbol-replaced" and found.misconception is not None:
        kind = _places(params["symbol"], wrong)
    elif found.some and found.code in SOMEWHERE:
        kind = "some"
    note = " ".join((found.code, *found.params.values()))
    if found.repaired is not None:
        return Difference(
            found.code, params, "{} would be right", None, (found.repaired,), found.repaired, kind
        )
    return Difference(
        found.code, params, note.replace("{", "").replace("}", ""), found.misconception, (), None, kind
    )
