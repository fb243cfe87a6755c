"""Forms of answers that are judged in their own way: growths, tuples, lists and sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import pairwise
from typing import ClassVar, Protocol

from msgspec import Struct

from autograder.checks.judging import results
from autograder.checks.judging.results import NO_POINTS, Finding
from autograder.checks.options import share
from autograder.errors import RubricError
from autograder.formulas import Undecided, Vocabulary, to_text
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.growth import GrowthComparison, Order, compared, order
from autograder.formulas.nodes import Node, Tree, Tuple, symbols
from autograder.formulas.notation.landau import parse_statements, sign_of
from autograder.formulas.notation.several import parse_list
from autograder.kinds.general.formula.answers import read_tuple, text_of
from autograder.kinds.general.formula.options import FormOptions, FormRule, FormulaMistake, Remark, form_rule
from autograder.records import Message, Status
from autograder.rubric import Item


class SpecialVerdict(Struct, frozen=True):
    """What came of an answer; ``finding`` is None for full points."""

    finding: Finding | None
    reading: str
    word: Message | None = None
    """For right answers that deserve one."""


class ForeseenAnswer(Struct, frozen=True, eq=False):
    """A mistake or a remark with its tree."""

    option: FormulaMistake | Remark
    tree: Tree
    readings: tuple[Comparer, ...]
    """It is compared under each of these."""


class StatedItem(Struct, frozen=True, eq=False):
    """What the rubric states about an item, read.

    Attributes:
        item: the item.
        options: how answers are judged.
        accept: the right answers.
        foreseen: remarks and mistakes, in order.
        readings: without assumptions; then, where the item grants some, under them.
        vocabulary: the symbols of the question.
        spoken: the same in the languages of the course, to read answers with.
        where: how errors name the item.
    """

    item: Item
    options: FormOptions
    accept: tuple[Tree, ...]
    foreseen: tuple[ForeseenAnswer, ...]
    readings: tuple[Comparer, ...]
    vocabulary: Vocabulary
    spoken: Vocabulary
    where: str


class Special(Protocol):
    """One item that judges its answers itself."""

    several: ClassVar[bool]
    """An answer in a text cell may consist of several formulas."""

    def judge(self, value: object, reference: Node | None) -> SpecialVerdict:
        """Judge what was handed in.

        Args:
            value: a text, a number, a tuple, …
            reference: the reference's formula, where the item uses it.

        Raises:
            Unreadable: it is not in the grammar.
            NotAFormula: its type is none that can be read.
            NoFormula: there is nothing.
        """


def mistaken(option: FormulaMistake | Remark, reading: str) -> SpecialVerdict:
    """The outcome of a named mistake."""
    points = option.points if isinstance(option, FormulaMistake) else NO_POINTS
    message = Message(option.code, text=option.text)
    return SpecialVerdict(
        Finding(Status.FAILED, message, f"read as {reading}; {option.code}", points), reading
    )


def remarked(option: FormulaMistake | Remark, reading: str) -> SpecialVerdict:
    """The outcome of a right answer that deserves a word."""
    return SpecialVerdict(None, reading, Message(option.code, text=option.text))


DEFAULT_SIGN = "O"
_STRONGER = {("O", "Θ"), ("Ω", "Θ")}
"""(asked, written): the second says more than the first and implies it."""


class _Key(Struct, frozen=True, eq=False):
    """A right answer: its sign, and its order under each reading."""

    sign: str
    orders: tuple[tuple[Comparer, Order], ...]


class _Foreseen(Struct, frozen=True, eq=False):
    answer: ForeseenAnswer
    key: _Key


class Asymptotics:
    """One item about growth. The key's side is prepared when the rubric is read."""

    several: ClassVar[bool] = False

    def __init__(self, stated: StatedItem) -> None:
        """Tell the growth of everything the rubric states.

        Raises:
            RubricError: the growth of a formula cannot be told, or an option does not fit the answers.
        """
        options, readings, vocabulary, where = (
            stated.options,
            stated.readings,
            stated.vocabulary,
            stated.where,
        )
        self._options = options
        self._rule: FormRule | None = form_rule(options, vocabulary)
        self._readings = readings
        self._spoken = stated.spoken
        for name in ("O", "o"):
            if name in vocabulary.names:
                raise RubricError(f"{name!r} is a symbol here and cannot stand for growth", where, "form")
        self._signed = frozenset(name for name, domain in vocabulary.domains.items() if domain == "real")
        try:
            self._keys = tuple(self._key(tree, readings) for tree in stated.accept)
            self._foreseen = tuple(
                _Foreseen(one, self._key(one.tree, one.readings)) for one in stated.foreseen
            )
        except Undecided as error:
            raise RubricError(f"the growth of a formula cannot be told: {error}", where) from error

    def judge(self, value: object, reference: Node | None) -> SpecialVerdict:
        """Judge a statement; see `Special`."""
        statements = parse_statements(text_of(value), self._spoken)
        answer = statements[-1]
        reading = to_text(answer)
        try:
            self._check_domains(answer)
            keys = self._keys if reference is None else (self._key(reference, self._readings), *self._keys)
            finding = self._chain(statements)
            return (
                SpecialVerdict(finding, reading)
                if finding is not None
                else self._judged(answer, keys, reading)
            )
        except Undecided as error:
            return SpecialVerdict(results.review(f"read as {reading}; {error}", "formula.undecided"), reading)

    def _key(self, tree: Tree, readings: tuple[Comparer, ...]) -> _Key:
        if not isinstance(tree, Node):
            raise Undecided("no formula")
        self._check_domains(tree)
        return _Key(
            sign_of(tree) or DEFAULT_SIGN,
            tuple((comparer, order(tree, comparer.assumptions)) for comparer in dict.fromkeys(readings)),
        )

    def _check_domains(self, tree: Node) -> None:
        """Growth is only told of what is positive."""
        signed = sorted(self._signed & symbols(tree))
        if signed:
            raise Undecided(f"{', '.join(signed)} may be negative")

    def _chain(self, statements: Sequence[Node]) -> Finding | None:
        """Statements with equals signs between them must say the same; formulas there are not looked at."""
        signed = [statement for statement in statements if sign_of(statement)]
        for left, right in pairwise(signed):
            if not any(
                compared(order(left, comparer.assumptions), order(right, comparer.assumptions)).alike
                for comparer in self._readings
            ):
                return results.failed("formula.sides-differ", left=to_text(left), right=to_text(right))
        return None

    def _judged(self, answer: Node, keys: Sequence[_Key], reading: str) -> SpecialVerdict:
        orders = _Orders(answer)
        sign = sign_of(answer)
        doubt: Undecided | None = None
        found: list[tuple[_Key, GrowthComparison]] = []
        for key in keys:
            try:
                found.extend((key, comparison) for comparison in _comparisons(key, orders))
            except Undecided as error:
                doubt = error
        alike = [key for key, comparison in found if comparison.alike]
        if any(_fits(key.sign, sign) for key in alike):
            named = self._first(orders, sign, lambda one: not isinstance(one.answer.option, FormulaMistake))
            finding = None if self._rule is None else self._rule.finding(answer, reading)
            if finding is not None or named is None:
                return SpecialVerdict(finding, reading)
            return remarked(named.answer.option, reading)
        named = self._first(orders, sign, lambda one: isinstance(one.answer.option, FormulaMistake))
        if named is not None:
            return mistaken(named.answer.option, reading)
        if alike:
            staff = f"read as {reading}; right order of growth"
            return SpecialVerdict(results.failed("asymptotic.sign", staff, sign=sign), reading)
        if doubt is not None:
            raise doubt
        return SpecialVerdict(_wrong(found[-1][1], answer, keys[0].sign, reading), reading)

    def _first(self, orders: _Orders, sign: str, wanted: Callable[[_Foreseen], bool]) -> _Foreseen | None:
        """The first foreseen answer that this one is like, with the same sign where both have one."""
        for one in self._foreseen:
            stated = sign_of(one.answer.tree) if isinstance(one.answer.tree, Node) else ""
            if not wanted(one) or (stated and sign and stated != sign):
                continue
            for comparer, asked in one.key.orders:
                with suppress(Undecided):
                    if compared(asked, orders.under(comparer)).alike:
                        return one
        return None


def _fits(asked: str, written: str) -> bool:
    """Whether a sign says at least what is asked for; a bare formula stands for any."""
    return written in ("", asked) or (asked, written) in _STRONGER


class _Orders:
    """An answer's order of growth under each reading, each told once."""

    __slots__ = ("_answer", "_known")

    def __init__(self, answer: Node) -> None:
        self._answer = answer
        self._known: dict[int, Order] = {}

    def under(self, comparer: Comparer) -> Order:
        known = self._known.get(id(comparer))
        if known is None:
            known = self._known[id(comparer)] = order(self._answer, comparer.assumptions)
        return known


def _comparisons(key: _Key, orders: _Orders) -> list[GrowthComparison]:
    """How an answer compares with a key, under each reading until it is alike.

    Raises:
        Undecided: it is like the key under no reading, and under one that is not sure.
    """
    doubt: Undecided | None = None
    found: list[GrowthComparison] = []
    for comparer, asked in key.orders:
        try:
            found.append(compared(asked, orders.under(comparer)))
        except Undecided as error:
            doubt = error
            continue
        if found[-1].alike:
            return found
    if doubt is not None:
        raise doubt
    return found


def _wrong(comparison: GrowthComparison, answer: Node, asked: str, reading: str) -> Finding:
    """Why an order of growth is not the one asked for."""
    faster, slower = comparison.faster_in, comparison.slower_in
    growing = f"faster in {', '.join(faster) or 'none'}, slower in {', '.join(slower) or 'none'}"
    staff = f"read as {reading}; what {asked} is asked of grows {growing}"
    if not comparison.at_most and not comparison.at_least:
        return results.failed("asymptotic.different", staff)
    written = sign_of(answer)  # a looser Θ, o or ω is false
    is_upper = asked in ("O", "o") and written in ("", "O") and comparison.at_most
    is_lower = asked in ("Ω", "ω") and written in ("", "Ω") and comparison.at_least
    names = slower if comparison.at_most else faster
    code = "not-tight" if is_upper or is_lower else "too-large" if comparison.at_most else "too-small"
    if len(names) == 1 and names[0] in symbols(answer):  # no other symbol is given away
        return results.failed(f"asymptotic.{code}-in", staff, symbol=names[0])
    return results.failed(f"asymptotic.{code}", staff)


class _Match(Struct, frozen=True):
    """How an answer compares with one right collection.

    Attributes:
        right: how many elements are right.
        wrong: the answer's elements that are not.
        missing: how many are missing.
        reordered: the elements are those of a list, in another order.
        excess: how many elements the answer has too many.
    """

    right: int
    wrong: tuple[Node, ...]
    missing: int
    reordered: bool = False
    excess: int = 0

    @property
    def complete(self) -> bool:
        """Everything is there, and nothing else."""
        return not self.wrong and not self.missing


class Collection:
    """One item whose answer is a list or a set of formulas."""

    several: ClassVar[bool] = True

    def __init__(self, stated: StatedItem, *, ordered: bool) -> None:
        """Take the right answers.

        Raises:
            RubricError: the points cannot be divided among the elements.
        """
        self._options = stated.options
        self._ordered = ordered
        self._rule = form_rule(stated.options, stated.vocabulary)
        self._spoken = stated.spoken
        self._readings = tuple(dict.fromkeys(stated.readings))
        self._foreseen = stated.foreseen
        self._accept = tuple(tree for tree in stated.accept if isinstance(tree, Tuple))
        self._shares: tuple[Decimal, ...] = ()
        if stated.options.credit == "each":
            points = stated.item.points
            self._shares = tuple(share(points, len(tree.elements), stated.where) for tree in self._accept)

    def judge(self, value: object, reference: Node | None) -> SpecialVerdict:  # noqa: ARG002 - formulas only
        """Judge a list or set; see `Special`."""
        answer = read_collection(value, self._spoken)
        reading = to_text(answer)
        doubt: Undecided | None = None
        matches: list[tuple[_Match, Decimal]] = []
        for place, right in enumerate(self._accept):
            part = self._shares[place] if self._shares else NO_POINTS
            for comparer in self._readings:
                try:
                    match = self._match(answer, right, comparer)
                except Undecided as error:
                    doubt = error
                    continue
                if match.complete:
                    return self._right(answer, reading)
                matches.append((match, part))
        for one in self._foreseen:
            if isinstance(one.option, FormulaMistake) and self._is(answer, one):
                return mistaken(one.option, reading)
        if doubt is not None:
            return SpecialVerdict(results.review(f"read as {reading}; {doubt}", "formula.undecided"), reading)
        best, part = max(
            matches, key=lambda entry: (self._earned(*entry), entry[0].right, -len(entry[0].wrong))
        )
        return SpecialVerdict(self._finding(best, part, reading), reading)

    def _right(self, answer: Tuple, reading: str) -> SpecialVerdict:
        finding = None if self._rule is None else self._rule.finding(answer, reading)
        if finding is not None:
            return SpecialVerdict(finding, reading)
        for one in self._foreseen:
            if not isinstance(one.option, FormulaMistake) and self._is(answer, one):
                return remarked(one.option, reading)
        return SpecialVerdict(None, reading)

    def _is(self, answer: Tuple, one: ForeseenAnswer) -> bool:
        for comparer in one.readings:
            try:
                if isinstance(one.tree, Tuple) and self._match(answer, one.tree, comparer).complete:
                    return True
            except Undecided:
                continue
        return False

    def _match(self, answer: Tuple, right: Tuple, comparer: Comparer) -> _Match:
        if self._ordered:
            return _in_order(answer.elements, right.elements, comparer)
        return _in_any_order(answer.elements, right.elements, comparer)

    def _earned(self, match: _Match, part: Decimal) -> Decimal:
        """An equal part for each right element; one too many takes a part away."""
        return part * max(match.right - match.excess, 0)

    def _finding(self, match: _Match, part: Decimal, reading: str) -> Finding:
        earned = self._earned(match, part)
        staff = f"read as {reading}; {match.right} right, {len(match.wrong)} wrong, {match.missing} missing"
        return Finding(Status.FAILED, self._message(match), staff, earned)

    def _message(self, match: _Match) -> Message:
        missing = {"missing": str(match.missing)}
        if self._ordered:
            if match.reordered:
                return Message("list.order")
            if match.excess and len(match.wrong) == match.excess:
                return Message("list.too-many", _entries(match.wrong))
            if match.wrong:
                return Message("list.entries", _entries(match.wrong))
            return Message("list.too-few", missing)
        if match.wrong and match.missing:
            return Message("set.both", {**_entries(match.wrong), **missing})
        if match.wrong:
            return Message("set.extra", _entries(match.wrong))
        return Message("set.missing", missing)


def read_collection(value: object, vocabulary: Vocabulary) -> Tuple:
    """Read several formulas: a tuple or list, or a text with commas, semicolons, "and" or line breaks.

    Raises:
        Unreadable: one of them is not in the grammar.
        NotAFormula: one of them is of another type.
        NoFormula: there is nothing.
    """
    if isinstance(value, tuple | list):
        return read_tuple(value, vocabulary)
    return parse_list(text_of(value), vocabulary)


def _in_order(answer: Sequence[Node], right: Sequence[Node], comparer: Comparer) -> _Match:
    equal = [comparer.accepts(one, other) for one, other in zip(answer, right, strict=False)]
    wrong = [element for element, fits in zip(answer, equal, strict=False) if not fits]
    excess = max(len(answer) - len(right), 0)
    wrong.extend(answer[len(right) :])
    reordered = bool(wrong) and len(answer) == len(right) and not _left(answer, right, comparer)
    return _Match(sum(equal), tuple(wrong), max(len(right) - len(answer), 0), reordered, excess)


def _in_any_order(answer: Sequence[Node], right: Sequence[Node], comparer: Comparer) -> _Match:
    distinct: list[Node] = []
    for element in answer:
        if not any(comparer.equal(element, other) for other in distinct):
            distinct.append(element)
    wrong = _left(distinct, right, comparer)
    found = len(distinct) - len(wrong)
    return _Match(found, tuple(wrong), len(right) - found, excess=len(wrong))


def _left(answer: Sequence[Node], right: Sequence[Node], comparer: Comparer) -> list[Node]:
    """The elements that are left when each takes away one of the right ones."""
    waiting = list(right)
    left: list[Node] = []
    for element in answer:
        match = next((other for other in waiting if comparer.accepts(element, other)), None)
        if match is None:
            left.append(element)
        else:
            waiting.remove(match)
    return left


def _entries(elements: Sequence[Node]) -> dict[str, str]:
    return {"entries": ", ".join(map(to_text, elements))}
