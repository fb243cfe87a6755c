"""Forms of answers with special judgements: growth and sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import pairwise
from typing import ClassVar, Protocol

from msgspec import Struct

from autograder.core.errors import RubricError
from autograder.core.records import Message, Status
from autograder.formulas import Undecided, Vocabulary, to_text
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.growth import GrowthComparison, Order, compare_orders, compute_order
from autograder.formulas.nodes import Node, Tree, Tuple, collect_symbols
from autograder.formulas.notation.formula_lists import parse_list
from autograder.formulas.notation.landau import get_sign, parse_statements
from autograder.questions.base.judging import results
from autograder.questions.base.judging.results import NO_POINTS, Finding
from autograder.questions.base.options import split_points
from autograder.questions.formula.answers import extract_text, read_tuple
from autograder.questions.formula.options import (
    FormOptions,
    FormRule,
    FormulaMistake,
    Remark,
    make_form_rule,
)
from autograder.rubric import Item


class SpecialVerdict(Struct, frozen=True):
    """The judgement of an answer; ``finding`` is None for full points."""

    finding: Finding | None
    reading: str
    word: Message | None = None
    """The remark about a right answer."""


class ForeseenAnswer(Struct, frozen=True, eq=False):
    """A mistake or a remark with its tree."""

    option: FormulaMistake | Remark
    tree: Tree
    readings: tuple[Comparer, ...]
    """It is compared under each of these."""


class ParsedItem(Struct, frozen=True, eq=False):
    """The options of an item, with its formulas parsed.

    Attributes:
        item: the item.
        options: how answers are judged.
        accept: the right answers.
        foreseen: remarks and mistakes, in order.
        readings: without assumptions; then under them, if the item grants some.
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
    """Whether an answer in a text cell may consist of several formulas."""

    def judge(self, value: object, reference: Node | None) -> SpecialVerdict:
        """Judge the submitted value.

        Args:
            value: a text, a number, a tuple, …
            reference: the reference's formula, if the item uses it.

        Raises:
            Unreadable: it is not in the grammar.
            NotAFormula: its type cannot be read.
            NoFormula: there is nothing.
        """


def make_mistake_verdict(option: FormulaMistake | Remark, reading: str) -> SpecialVerdict:
    """Return the outcome of a named mistake."""
    points = option.points if isinstance(option, FormulaMistake) else NO_POINTS
    message = Message(option.code, text=option.text)
    return SpecialVerdict(
        Finding(Status.FAILED, message, f"read as {reading}; {option.code}", points), reading
    )


def make_remark_verdict(option: FormulaMistake | Remark, reading: str) -> SpecialVerdict:
    """Return the outcome of a right answer with a remark."""
    return SpecialVerdict(None, reading, Message(option.code, text=option.text))


DEFAULT_SIGN = "O"
_STRONGER = {("O", "Θ"), ("Ω", "Θ")}
"""(expected, written): the second sign is stronger than the first and implies it."""


class _GrowthKey(Struct, frozen=True, eq=False):
    """A right answer: its sign, and its order under each reading."""

    sign: str
    orders: tuple[tuple[Comparer, Order], ...]


class _ForeseenGrowth(Struct, frozen=True, eq=False):
    answer: ForeseenAnswer
    key: _GrowthKey


class Asymptotics:
    """One item about growth. The key is prepared when the rubric is read."""

    several: ClassVar[bool] = False

    def __init__(self, parsed: ParsedItem) -> None:
        """Determine the growth of all formulas in the rubric.

        Raises:
            RubricError: the growth of a formula cannot be determined, or an option does not fit the answers.
        """
        options, readings, vocabulary, where = (
            parsed.options,
            parsed.readings,
            parsed.vocabulary,
            parsed.where,
        )
        self._options = options
        self._rule: FormRule | None = make_form_rule(options, vocabulary)
        self._readings = readings
        self._spoken = parsed.spoken
        for name in ("O", "o"):
            if name in vocabulary.names:
                raise RubricError(f"{name!r} is a symbol here and cannot stand for growth", where, "form")
        self._signed = frozenset(name for name, domain in vocabulary.domains.items() if domain == "real")
        try:
            self._keys = tuple(self._make_key(tree, readings) for tree in parsed.accept)
            self._foreseen = tuple(
                _ForeseenGrowth(foreseen, self._make_key(foreseen.tree, foreseen.readings))
                for foreseen in parsed.foreseen
            )
        except Undecided as error:
            raise RubricError(f"the growth of a formula cannot be told: {error}", where) from error

    def judge(self, value: object, reference: Node | None) -> SpecialVerdict:
        """Judge a statement; see `Special`."""
        statements = parse_statements(extract_text(value), self._spoken)
        answer = statements[-1]
        reading = to_text(answer)
        try:
            self._check_domains(answer)
            keys = (
                self._keys if reference is None else (self._make_key(reference, self._readings), *self._keys)
            )
            finding = self._check_chain(statements)
            return (
                SpecialVerdict(finding, reading)
                if finding is not None
                else self._judge_answer(answer, keys, reading)
            )
        except Undecided as error:
            return SpecialVerdict(
                results.make_review(f"read as {reading}; {error}", "formula.undecided"), reading
            )

    def _make_key(self, tree: Tree, readings: tuple[Comparer, ...]) -> _GrowthKey:
        if not isinstance(tree, Node):
            raise Undecided("no formula")
        self._check_domains(tree)
        return _GrowthKey(
            get_sign(tree) or DEFAULT_SIGN,
            tuple(
                (comparer, compute_order(tree, comparer.assumptions)) for comparer in dict.fromkeys(readings)
            ),
        )

    def _check_domains(self, tree: Node) -> None:
        """Refuse symbols that may be negative, because growth is defined for positive ones only."""
        signed = sorted(self._signed & collect_symbols(tree))
        if signed:
            raise Undecided(f"{', '.join(signed)} may be negative")

    def _check_chain(self, statements: Sequence[Node]) -> Finding | None:
        """Return a finding if statements in a chain of equations differ; plain formulas in it are ignored."""
        signed = [statement for statement in statements if get_sign(statement)]
        for left, right in pairwise(signed):
            if not any(
                compare_orders(
                    compute_order(left, comparer.assumptions), compute_order(right, comparer.assumptions)
                ).alike
                for comparer in self._readings
            ):
                return results.make_failure("formula.sides-differ", left=to_text(left), right=to_text(right))
        return None

    def _judge_answer(self, answer: Node, keys: Sequence[_GrowthKey], reading: str) -> SpecialVerdict:
        orders = _Orders(answer)
        sign = get_sign(answer)
        doubt: Undecided | None = None
        comparisons: list[tuple[_GrowthKey, GrowthComparison]] = []
        for key in keys:
            try:
                comparisons.extend((key, comparison) for comparison in _compare_growth(key, orders))
            except Undecided as error:
                doubt = error
        alike = [key for key, comparison in comparisons if comparison.alike]
        if any(_is_sign_accepted(key.sign, sign) for key in alike):
            named = self._find_first(
                orders, sign, lambda foreseen: not isinstance(foreseen.answer.option, FormulaMistake)
            )
            finding = None if self._rule is None else self._rule.judge_form(answer, reading)
            if finding is not None or named is None:
                return SpecialVerdict(finding, reading)
            return make_remark_verdict(named.answer.option, reading)
        named = self._find_first(
            orders, sign, lambda foreseen: isinstance(foreseen.answer.option, FormulaMistake)
        )
        if named is not None:
            return make_mistake_verdict(named.answer.option, reading)
        if alike:
            staff = f"read as {reading}; right order of growth"
            return SpecialVerdict(results.make_failure("asymptotic.sign", staff, sign=sign), reading)
        if doubt is not None:
            raise doubt
        return SpecialVerdict(_explain_wrong(comparisons[-1][1], answer, keys[0].sign, reading), reading)

    def _find_first(
        self, orders: _Orders, sign: str, wanted: Callable[[_ForeseenGrowth], bool]
    ) -> _ForeseenGrowth | None:
        """Return the first foreseen answer with the same growth, and the same sign if both have one."""
        for foreseen in self._foreseen:
            foreseen_sign = get_sign(foreseen.answer.tree) if isinstance(foreseen.answer.tree, Node) else ""
            if not wanted(foreseen) or (foreseen_sign and sign and foreseen_sign != sign):
                continue
            for comparer, expected in foreseen.key.orders:
                # A foreseen answer that cannot be compared is not reported.
                with suppress(Undecided):
                    if compare_orders(expected, orders.get_order(comparer)).alike:
                        return foreseen
        return None


def _is_sign_accepted(expected: str, written: str) -> bool:
    """Return whether a sign is at least as strong as the expected one; a bare formula matches any sign."""
    return written in ("", expected) or (expected, written) in _STRONGER


class _Orders:
    """An answer's order of growth under each reading, each computed once."""

    __slots__ = ("_answer", "_known")

    def __init__(self, answer: Node) -> None:
        self._answer = answer
        self._known: dict[int, Order] = {}

    def get_order(self, comparer: Comparer) -> Order:
        growth = self._known.get(id(comparer))
        if growth is None:
            growth = self._known[id(comparer)] = compute_order(self._answer, comparer.assumptions)
        return growth


def _compare_growth(key: _GrowthKey, orders: _Orders) -> list[GrowthComparison]:
    """Return how an answer compares with a key, under each reading until one is alike.

    Raises:
        Undecided: it is like the key under no reading, and one of them is undecided.
    """
    doubt: Undecided | None = None
    results_so_far: list[GrowthComparison] = []
    for comparer, expected in key.orders:
        try:
            results_so_far.append(compare_orders(expected, orders.get_order(comparer)))
        except Undecided as error:
            doubt = error
            continue
        if results_so_far[-1].alike:
            return results_so_far
    if doubt is not None:
        raise doubt
    return results_so_far


def _explain_wrong(comparison: GrowthComparison, answer: Node, expected: str, reading: str) -> Finding:
    """Return why an order of growth is not the expected one."""
    faster, slower = comparison.faster_in, comparison.slower_in
    growing = f"faster in {', '.join(faster) or 'none'}, slower in {', '.join(slower) or 'none'}"
    staff = f"read as {reading}; what {expected} is asked of grows {growing}"
    if not comparison.at_most and not comparison.at_least:
        return results.make_failure("asymptotic.different", staff)
    written = get_sign(answer)  # a looser Θ, o or ω is false
    is_upper = expected in ("O", "o") and written in ("", "O") and comparison.at_most
    is_lower = expected in ("Ω", "ω") and written in ("", "Ω") and comparison.at_least
    names = slower if comparison.at_most else faster
    code = "not-tight" if is_upper or is_lower else "too-large" if comparison.at_most else "too-small"
    if len(names) == 1 and names[0] in collect_symbols(answer):  # no other symbol is given away
        return results.make_failure(f"asymptotic.{code}-in", staff, symbol=names[0])
    return results.make_failure(f"asymptotic.{code}", staff)


class _Match(Struct, frozen=True):
    """How an answer compares with one right collection.

    Attributes:
        right: the number of right elements.
        wrong: the answer's elements that are not right.
        missing: the number of missing elements.
    """

    right: int
    wrong: tuple[Node, ...]
    missing: int

    @property
    def complete(self) -> bool:
        """Whether the elements are exactly the right ones."""
        return not self.wrong and not self.missing


class Collection:
    """One item that a set of formulas answers."""

    several: ClassVar[bool] = True

    def __init__(self, parsed: ParsedItem) -> None:
        """Prepare the right answers.

        Raises:
            RubricError: the points cannot be divided among the elements.
        """
        self._options = parsed.options
        self._rule = make_form_rule(parsed.options, parsed.vocabulary)
        self._spoken = parsed.spoken
        self._readings = tuple(dict.fromkeys(parsed.readings))
        self._foreseen = parsed.foreseen
        self._accept = tuple(tree for tree in parsed.accept if isinstance(tree, Tuple))
        self._shares: tuple[Decimal, ...] = ()
        if parsed.options.credit == "each":
            points = parsed.item.points
            self._shares = tuple(
                split_points(points, len(tree.elements), parsed.where) for tree in self._accept
            )

    def judge(self, value: object, reference: Node | None) -> SpecialVerdict:  # noqa: ARG002 - formulas only
        """Judge a set; see `Special`."""
        answer = read_collection(value, self._spoken)
        reading = to_text(answer)
        doubt: Undecided | None = None
        matches: list[tuple[_Match, Decimal]] = []
        for index, right in enumerate(self._accept):
            part = self._shares[index] if self._shares else NO_POINTS
            for comparer in self._readings:
                try:
                    match = _match_elements(answer.elements, right.elements, comparer)
                except Undecided as error:
                    doubt = error
                    continue
                if match.complete:
                    return self._judge_right(answer, reading)
                matches.append((match, part))
        for foreseen in self._foreseen:
            if isinstance(foreseen.option, FormulaMistake) and self._is_foreseen(answer, foreseen):
                return make_mistake_verdict(foreseen.option, reading)
        if doubt is not None:
            return SpecialVerdict(
                results.make_review(f"read as {reading}; {doubt}", "formula.undecided"), reading
            )
        # Explain the answer by the right collection that earns most, then by the most similar one.
        best, part = max(
            matches, key=lambda entry: (self._count_points(*entry), entry[0].right, -len(entry[0].wrong))
        )
        return SpecialVerdict(self._make_finding(best, part, reading), reading)

    def _judge_right(self, answer: Tuple, reading: str) -> SpecialVerdict:
        finding = None if self._rule is None else self._rule.judge_form(answer, reading)
        if finding is not None:
            return SpecialVerdict(finding, reading)
        for foreseen in self._foreseen:
            if not isinstance(foreseen.option, FormulaMistake) and self._is_foreseen(answer, foreseen):
                return make_remark_verdict(foreseen.option, reading)
        return SpecialVerdict(None, reading)

    def _is_foreseen(self, answer: Tuple, foreseen: ForeseenAnswer) -> bool:
        for comparer in foreseen.readings:
            try:
                if (
                    isinstance(foreseen.tree, Tuple)
                    and _match_elements(answer.elements, foreseen.tree.elements, comparer).complete
                ):
                    return True
            except Undecided:
                continue
        return False

    def _count_points(self, match: _Match, part: Decimal) -> Decimal:
        """Return an equal part for each right element; a wrong one deducts a part."""
        return part * max(match.right - len(match.wrong), 0)

    def _make_finding(self, match: _Match, part: Decimal, reading: str) -> Finding:
        earned = self._count_points(match, part)
        staff = f"read as {reading}; {match.right} right, {len(match.wrong)} wrong, {match.missing} missing"
        return Finding(Status.FAILED, self._make_message(match), staff, earned)

    def _make_message(self, match: _Match) -> Message:
        missing = {"missing": str(match.missing)}
        if match.wrong and match.missing:
            return Message("set.both", {**_format_entries(match.wrong), **missing})
        if match.wrong:
            return Message("set.extra", _format_entries(match.wrong))
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
    return parse_list(extract_text(value), vocabulary)


def _match_elements(answer: Sequence[Node], right: Sequence[Node], comparer: Comparer) -> _Match:
    # Repeating an element does not change a set.
    distinct: list[Node] = []
    for element in answer:
        if not any(comparer.is_equal(element, other) for other in distinct):
            distinct.append(element)
    wrong = _find_unmatched(distinct, right, comparer)
    right_count = len(distinct) - len(wrong)
    return _Match(right_count, tuple(wrong), len(right) - right_count)


def _find_unmatched(answer: Sequence[Node], right: Sequence[Node], comparer: Comparer) -> list[Node]:
    """Return the elements that remain after each has been matched with one of the right ones."""
    waiting = list(right)
    left: list[Node] = []
    for element in answer:
        match = next((other for other in waiting if comparer.is_accepted(element, other)), None)
        if match is None:
            left.append(element)
        else:
            waiting.remove(match)
    return left


def _format_entries(elements: Sequence[Node]) -> dict[str, str]:
    return {"entries": ", ".join(map(to_text, elements))}
