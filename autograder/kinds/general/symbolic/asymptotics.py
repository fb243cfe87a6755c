"""Items with ``form = "asymptotic"``: orders of growth, such as ``O(n*d*(n + d))``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import ClassVar

from msgspec import Struct

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.growth import Comparison, Order, compared, constant, order, surplus
from autograder.algebra.nodes import Node, Tree, symbols
from autograder.algebra.notation.landau import parse_statements, sign_of
from autograder.algebra.printing.text import to_text
from autograder.checks.judging import results
from autograder.checks.judging.results import Finding
from autograder.errors import RubricError, Undecided
from autograder.kinds.general.symbolic.answers import text_of
from autograder.kinds.general.symbolic.form_rule import FormRule, form_rule
from autograder.kinds.general.symbolic.options import Mistake
from autograder.kinds.general.symbolic.special import ForeseenAnswer, Outcome, Stated, mistaken, remarked
from autograder.records import Message, Status

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

    def __init__(self, stated: Stated) -> None:
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
                raise RubricError(f"{where}: form: {name!r} is a symbol here and cannot stand for growth")
        self._signed = frozenset(name for name, domain in vocabulary.domains.items() if domain == "real")
        try:
            self._keys = tuple(self._key(tree, readings) for tree in stated.accept)
            self._foreseen = tuple(
                _Foreseen(one, self._key(one.tree, one.readings)) for one in stated.foreseen
            )
        except Undecided as error:
            raise RubricError(f"{where}: the growth of a formula cannot be told: {error}") from error
        if options.bound == "upper" and any(key.sign != "O" for key in self._keys):
            raise RubricError(f"{where}: bound: 'upper' is for O(…) only")

    def judge(self, value: object, reference: Node | None) -> Outcome:
        """Judge a statement; see `Special`."""
        statements = parse_statements(text_of(value), self._spoken)
        answer = statements[-1]
        reading = to_text(answer)
        try:
            self._check_domains(answer)
            keys = self._keys if reference is None else (self._key(reference, self._readings), *self._keys)
            finding = self._chain(statements)
            return Outcome(finding, reading) if finding is not None else self._judged(answer, keys, reading)
        except Undecided as error:
            return Outcome(results.review(f"read as {reading}; {error}", "formula.undecided"), reading)

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

    def _judged(self, answer: Node, keys: Sequence[_Key], reading: str) -> Outcome:
        orders = _Orders(answer)
        sign = sign_of(answer)
        doubt: Undecided | None = None
        found: list[tuple[_Key, Comparison]] = []
        for key in keys:
            try:
                found.extend((key, comparison) for comparison in _comparisons(key, orders))
            except Undecided as error:
                doubt = error
        enough = [key for key, comparison in found if self._enough(comparison)]
        fitting = [key for key in enough if self._fits(key.sign, sign)]
        if fitting:
            named = self._first(orders, sign, lambda one: not isinstance(one.answer.option, Mistake))
            finding = self._form(answer, reading)
            if finding is not None or named is None:
                return Outcome(finding, reading)
            return remarked(named.answer.option, reading)
        named = self._first(orders, sign, lambda one: isinstance(one.answer.option, Mistake))
        if named is not None:
            return mistaken(named.answer.option, reading)
        if enough:
            return Outcome(self._wrong_sign(sign, reading), reading)
        if doubt is not None:
            raise doubt
        return Outcome(_wrong(found[-1][1], answer, keys[0].sign, reading), reading)

    def _enough(self, comparison: Comparison) -> bool:
        return comparison.alike or (self._options.bound == "upper" and comparison.at_most)

    def _fits(self, asked: str, written: str) -> bool:
        if not written:
            return self._options.symbol == "optional"
        return asked == written or (
            self._options.symbol != "exact"
            and self._options.bound == "tight"
            and (asked, written) in _STRONGER
        )

    def _wrong_sign(self, sign: str, reading: str) -> Finding:
        staff = f"read as {reading}; right order of growth"
        if sign:
            return results.failed("asymptotic.sign", staff, sign=sign)
        points = self._options.form_points
        return Finding(Status.FAILED, Message("asymptotic.no-sign"), staff, points)

    def _form(self, answer: Node, reading: str) -> Finding | None:
        """What is wrong with the way a right order of growth is written."""
        message: Message | None = None
        if self._options.constants == "refuse" and (part := constant(answer)) is not None:
            message = Message("asymptotic.constant", {"part": to_text(part)})
        elif self._options.lower_order == "refuse" and (part := surplus(answer)) is not None:
            message = Message("asymptotic.lower-order", {"part": to_text(part)})
        if message is not None:
            staff = f"read as {reading}; right order of growth, {message.code}"
            return Finding(Status.FAILED, message, staff, self._options.form_points)
        return None if self._rule is None else self._rule.finding(answer, reading)

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


def _comparisons(key: _Key, orders: _Orders) -> list[Comparison]:
    """How an answer compares with a key, under each reading until it is alike.

    Raises:
        Undecided: it is like the key under no reading, and under one that is not sure.
    """
    doubt: Undecided | None = None
    found: list[Comparison] = []
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


def _wrong(comparison: Comparison, answer: Node, asked: str, reading: str) -> Finding:
    """Why an order of growth is not the one asked for."""
    faster, slower = comparison.faster_in, comparison.slower_in
    growing = f"faster in {', '.join(faster) or 'none'}, slower in {', '.join(slower) or 'none'}"
    staff = f"read as {reading}; what {asked} is asked of grows {growing}"
    if not comparison.at_most and not comparison.at_least:
        return results.failed("asymptotic.different", staff)
    true = (asked in ("O", "o") and comparison.at_most) or (asked in ("Ω", "ω") and comparison.at_least)
    names = slower if comparison.at_most else faster
    code = "not-tight" if true else "too-large" if comparison.at_most else "too-small"
    if len(names) == 1 and names[0] in symbols(answer):  # no other symbol is given away
        return results.failed(f"asymptotic.{code}-in", staff, symbol=names[0])
    return results.failed(f"asymptotic.{code}", staff)
