"""Says how a wrong formula differs from the right one, in words that do not give the right one away.

Every statement is exactly true: with each `Difference` comes the right formula with the slip that was
named (`Difference.slip`), and that is equal to the wrong formula. What depends on the right formula
alone is computed once, in `slips`, and looked up by its exact value at a secret point; the rest is
arithmetic on a handful of exact values, recognised as monomials.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.mistakes.atoms import Atoms
from autograder.algebra.mistakes.bases import Base
from autograder.algebra.mistakes.monomials import Monomial, changed, small_ratio
from autograder.algebra.mistakes.slips import Slip
from autograder.algebra.nodes import Add, Fn, Mul, Neg, Node, Pow, children, rebuilt, symbols
from autograder.algebra.printing.text import to_text
from autograder.algebra.terms import terms
from autograder.algebra.values.evaluate import Rational

MOST_OWN_TERMS = 8
"""Terms of an answer that are looked at one by one."""
MOST_FUNCTIONS = 8
"""Functions and symbolic exponents of an answer that are tried without."""
MOST_RIGHT = 3
"""Right formulas that slips are looked for in."""

CODES = (
    "sign", "factor-too-large", "factor-too-small", "reciprocal",
    "power-too-large", "power-too-small", "factor-forgotten", "extra-factor", "divided", "several-factors",
    "missing-term", "missing-terms", "extra-term", "wrong-term", "coefficient", "sign-in-term",
    "power-in-term", "extra-factor-in-term", "swapped-in-term", "swapped-symbols", "symbol-replaced",
    "sum-for-product", "product-for-sum", "brackets", "product-for-power", "sum-for-power",
    "product-for-quotient", "quotient-for-product", "base-and-exponent", "function-forgotten",
    "function-too-much", "power-for-product", "off-by-one", "relation-misread",
    "symbol-missing", "symbol-foreign",
)  # fmt: skip
"""Every code of a `Difference`; they do not change between versions."""


SYMBOL_CODES = frozenset(("symbol-missing", "symbol-foreign"))
"""The codes that say only which symbols occur."""


class Difference(Struct, frozen=True):
    """How a formula differs from the right one.

    Attributes:
        code: one of `CODES`.
        params: what a student may read: symbols and terms that the student wrote, never others.
        note: the same for staff, with ``{}`` for each of ``about``.
        made: see `slip`.
        about: formulas that staff may see.
    """

    code: str
    params: dict[str, str] = {}
    note: str = ""
    made: Node | Monomial | None = None
    about: tuple[Node | Monomial, ...] = ()

    @property
    def slip(self) -> Node | None:
        """The right formula with this slip, equal to the wrong formula under the reading granted.

        None for the two codes about symbols that occur or do not.
        """
        return self.made.tree() if isinstance(self.made, Monomial) else self.made

    @property
    def staff(self) -> str:
        """What staff read, in English."""
        shown = (to_text(one.tree() if isinstance(one, Monomial) else one) for one in self.about)
        return self.note.format(*shown)

    @property
    def sentence(self) -> str:
        """The key of the student's sentence, which depends on what may be named."""
        named = "".join(f".{name}" for name in ("term", "symbol", "first") if name in self.params)
        return f"diagnosis.{self.code}{named}"


class Diagnosis:
    """Everything that can be said about wrong answers to one question. Its tables are made when needed."""

    __slots__ = ("_atoms", "_bases", "_readings", "_right")

    def __init__(self, right: Sequence[Node], readings: Sequence[Comparer]) -> None:
        """Remember what is right.

        Args:
            right: right formulas, the main one first.
            readings: comparers, without assumptions first.
        """
        self._right = tuple(right)[:MOST_RIGHT]
        self._readings = tuple(dict.fromkeys(readings))
        self._bases: tuple[tuple[Base, ...], ...] | None = None
        self._atoms: Atoms | None = None

    def difference(self, wrong: Node, values: Sequence[Rational | None] = ()) -> Difference | None:
        """The first explanation that fits; None when none does.

        Args:
            wrong: a wrong formula.
            values: its exact values under the readings, where they are known already.
        """
        readings = self._prepared()
        tree = wrong if self._atoms is None else self._atoms.replaced(wrong)
        written = symbols(tree)
        known = len(values) == len(readings) and tree is wrong
        for place, bases in enumerate(readings):
            value = values[place] if known else bases[0].comparer.value(tree)
            if value is None:
                continue
            for base in bases:
                slip = base.table.get(value)
                if slip is not None:
                    return _told(slip, wrong, written, base)
            for base in bases:
                difference = _Comparison(base, wrong, written, tree, value).difference()
                if difference is not None:
                    return difference
        return self._last_resort(wrong, tree, readings)

    def _prepared(self) -> tuple[tuple[Base, ...], ...]:
        """For each reading, the right formulas that have a value there."""
        if self._bases is None:
            right, readings = self._right, self._readings
            if all(readings[0].value(tree) is None for tree in right):
                self._atoms = Atoms(right, readings[0])
                readings = tuple(map(self._atoms.comparer, readings))
            made = (
                tuple(base for tree in right if (base := Base.of(tree, comparer, self._atoms)) is not None)
                for comparer in readings
            )
            self._bases = tuple(bases for bases in made if bases)
        return self._bases

    def _last_resort(self, wrong: Node, tree: Node, readings: Sequence[Sequence[Base]]) -> Difference | None:
        for bases in readings:
            difference = _function(tree, bases[0])
            if difference is not None:
                return difference
        return _symbols(wrong, readings[-1]) if readings and self._atoms is None else None


class _Comparison(Struct, frozen=True):
    """One wrong answer beside one right formula."""

    base: Base
    wrong: Node
    """As the student wrote it."""
    written: frozenset[str]
    """The symbols that stand in ``tree``; what they stand for was written by the student, too."""
    tree: Node
    """The answer with symbols in the places of what has no exact value."""
    value: Rational

    def difference(self) -> Difference | None:
        """What single change makes the right formula the wrong one."""
        value, base = self.value, self.base
        monomial = base.recogniser.monomial(value)
        if monomial is not None and base.monomial is not None:
            return self._factors(base.monomial, monomial)
        ratio = small_ratio(value, base.value) if value else None
        if ratio is not None:
            return _multiple(ratio, Mul((Monomial(ratio, {}).tree(), base.right)))
        return self._own_terms(value - base.value) or self._added(value - base.value)

    def _factors(self, right: Monomial, wrong: Monomial) -> Difference:
        """Both are single products: what is multiplied too often, or not often enough."""
        steps = changed(right, wrong)
        ratio = wrong.number / right.number
        note, about = "{} became {}", (right, wrong)
        if not steps:
            return _multiple(ratio, wrong)
        if wrong.powers == {name: -power for name, power in right.powers.items()}:
            return Difference("reciprocal", {}, note, wrong, about)
        if not wrong.powers:
            return Difference("symbol-missing", {}, note, None, about)
        code, name = _change(steps, right, self.written)
        written = name in self.written
        if not written and name in right.powers:
            if right.powers[name] < 0:
                return Difference("symbol-missing", {}, note, None, about)
            code = "factor-forgotten"
        elif ratio != 1:  # undoing the change of a power would not be enough
            return Difference("several-factors", {}, note, wrong, about)
        return Difference(code, {"symbol": name} if written else {}, note, wrong, about)

    def _own_terms(self, delta: Rational) -> Difference | None:
        """One term of the student's own is too much, or would be right with one change."""
        parts = terms(self.tree)
        if not 1 < len(parts) <= MOST_OWN_TERMS:
            return None
        value = self.base.comparer.value
        own = [(part, at) for part in parts if (at := value(part))]
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
                    return self._term_changed(part, needed, stands)
        return None

    def _term_changed(self, part: Node, needed: Monomial, stands: Monomial) -> Difference:
        """What is wrong with a term, given the term that is needed in its place."""
        params = self._term(part)
        tree = Add((self.base.right, Neg(needed.tree()), part))
        note, about = "{} stands for {}", (part, needed)
        steps = changed(needed, stands)
        if not steps:
            code = "sign-in-term" if stands.number == -needed.number else "coefficient"
            return Difference(code, params, note, tree, about)
        if stands.number != needed.number:
            return Difference("wrong-term", params, note, tree, about)
        code, name = _change(steps, needed, symbols(part))
        names = {
            "power-too-large": "power-in-term",
            "power-too-small": "power-in-term",
            "divided": "power-in-term",
        }
        code = {**names, "extra-factor": "extra-factor-in-term", "several-factors": "wrong-term"}.get(
            code, code
        )
        if name in self.written and code != "wrong-term":
            params = {**params, "symbol": name}
        return Difference(code, params, note, tree, about)

    def _added(self, delta: Rational) -> Difference | None:
        """The answer is the right formula and one term more, or one term of it counted otherwise."""
        extra = self.base.recogniser.monomial(delta)
        if extra is None:
            return None
        tree = Add((self.base.right, extra.tree()))
        for part, _ in self.base.parts:
            if part.powers == extra.powers:
                ratio = 1 + extra.number / part.number
                return Difference("coefficient", {}, f"{{}} counts {ratio} times", tree, (part,))
        return Difference("extra-term", {}, "extra: {}", tree, (extra,))

    def _term(self, part: Node) -> dict[str, str]:
        """A term as the student wrote it; nothing for one that came of multiplying out."""
        written = isinstance(self.wrong, Add) and part in self.wrong.terms
        return {"term": to_text(part)} if written else {}


def _multiple(ratio: Fraction, tree: Node | Monomial) -> Difference:
    """The whole formula is off by a number."""
    if ratio == -1:
        return Difference("sign", {}, "the sign is wrong", tree)
    code = "factor-too-large" if abs(ratio) > 1 else "factor-too-small"
    return Difference(code, {}, f"off by the constant factor {ratio}", tree)


def _change(steps: Mapping[str, int], right: Monomial, written: frozenset[str]) -> tuple[str, str]:
    """The code of a change of powers, and the symbol it is about."""
    if len(steps) == 1:
        ((name, step),) = steps.items()
        if step == -2 and right.powers.get(name) == 1:
            return "divided", name
        if step < 0:
            return "power-too-small", name
        return ("power-too-large" if name in right.powers else "extra-factor"), name
    if len(steps) == 2 and sum(steps.values()) == 0:
        name = max(steps, key=lambda one: steps[one])
        if name in written:
            return "symbol-replaced", name
    return "several-factors", ""


def _told(slip: Slip, wrong: Node, written: frozenset[str], base: Base) -> Difference:
    """What a student may read about a slip that was recognised."""
    params: dict[str, str] = {}
    if slip.code.startswith("swapped"):
        if slip.symbol in written and slip.other in written:
            params = {"first": slip.symbol, "second": slip.other}
    elif slip.symbol in written:
        params["symbol"] = slip.symbol
    code = slip.code
    if code == "power-too-small" and not params:
        code = "factor-forgotten"
    if slip.part is not None and isinstance(wrong, Add) and len(wrong.terms) <= MOST_OWN_TERMS:
        value = base.comparer.value(slip.part)
        found = (to_text(part) for part in wrong.terms if base.comparer.value(part) == value)
        term = next(found, "")
        if term:
            params["term"] = term
    note = " ".join(filter(None, (slip.code, slip.symbol, slip.other, "at {}" if slip.at else "")))
    return Difference(code, params, note, slip.tree, (slip.at,) if slip.at else ())


def _function(wrong: Node, base: Base) -> Difference | None:
    """The answer would be right without one function, or with base and exponent exchanged."""
    for tried, (at, code, tree) in enumerate(_simpler(wrong)):
        if tried == MOST_FUNCTIONS:
            return None
        if base.comparer.value(tree) == base.value:
            params = {"name": at.name} if isinstance(at, Fn) else {}
            return Difference(code, params, f"{code} at {{}}", wrong, (at,))
    return None


def _simpler(node: Node) -> Iterator[tuple[Node, str, Node]]:
    """Places with a function or a symbolic exponent, what is wrong if that is, and the whole without it."""
    match node:
        case Fn(_, arguments):
            yield node, "function-too-much", arguments[0]
        case Pow(below, exponent) if symbols(exponent):
            yield node, "base-and-exponent", Pow(exponent, below)
            yield node, "power-for-product", Mul((below, exponent))
    parts = children(node)
    for index, part in enumerate(parts):
        for at, code, simpler in _simpler(part):
            yield at, code, rebuilt(node, (*parts[:index], simpler, *parts[index + 1 :]))


def _symbols(wrong: Node, bases: Sequence[Base]) -> Difference | None:
    """The answer lacks a symbol, or depends on one that has nothing to do with any right formula."""
    expanded = bases[0].expanded(wrong)
    present = symbols(expanded)
    for name in sorted(frozenset.intersection(*(base.needed for base in bases)) - present):
        return Difference("symbol-missing", {}, f"{name} does not occur")
    for name in sorted((present & symbols(wrong)).difference(*(base.needed for base in bases))):
        if bases[0].depends(expanded, name):
            return Difference("symbol-foreign", {"symbol": name}, f"depends on {name}")
    return None
