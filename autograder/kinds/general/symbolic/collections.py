"""Items with ``form = "list"`` or ``"set"``: several formulas, with points for each or for all."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar

from msgspec import Struct

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.nodes import Node, Tuple
from autograder.algebra.notation.lists import parse_list
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.algebra.printing.text import to_text
from autograder.checks.judging import results
from autograder.checks.judging.results import NO_POINTS, Finding
from autograder.checks.options import share
from autograder.errors import Undecided
from autograder.kinds.general.symbolic.answers import read_tuple, text_of
from autograder.kinds.general.symbolic.form_rule import form_rule
from autograder.kinds.general.symbolic.options import Mistake
from autograder.kinds.general.symbolic.special import ForeseenAnswer, Outcome, Stated, mistaken, remarked
from autograder.records import Message, Status


class _Match(Struct, frozen=True):
    """How an answer compares with one right collection.

    Attributes:
        right: how many elements are right.
        wrong: the answer's elements that are not.
        missing: how many are missing.
        repeated: the answer's elements that stand twice.
        reordered: the elements are those of a list, in another order.
        excess: how many elements the answer has too many.
    """

    right: int
    wrong: tuple[Node, ...]
    missing: int
    repeated: tuple[Node, ...] = ()
    reordered: bool = False
    excess: int = 0

    @property
    def complete(self) -> bool:
        """Everything is there, and nothing else."""
        return not self.wrong and not self.missing


class Collection:
    """One item whose answer is a list or a set of formulas."""

    several: ClassVar[bool] = True

    def __init__(self, stated: Stated, *, ordered: bool) -> None:
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

    def judge(self, value: object, reference: Node | None) -> Outcome:  # noqa: ARG002 - formulas only
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
                if match.complete and not self._refused(match):
                    return self._right(answer, reading)
                matches.append((match, part))
        for one in self._foreseen:
            if isinstance(one.option, Mistake) and self._is(answer, one):
                return mistaken(one.option, reading)
        if doubt is not None:
            return Outcome(results.review(f"read as {reading}; {doubt}", "formula.undecided"), reading)
        best, part = max(
            matches, key=lambda entry: (self._earned(*entry), entry[0].right, -len(entry[0].wrong))
        )
        return Outcome(self._finding(best, part, reading), reading)

    def _right(self, answer: Tuple, reading: str) -> Outcome:
        finding = None if self._rule is None else self._rule.finding(answer, reading)
        if finding is not None:
            return Outcome(finding, reading)
        for one in self._foreseen:
            if not isinstance(one.option, Mistake) and self._is(answer, one):
                return remarked(one.option, reading)
        return Outcome(None, reading)

    def _is(self, answer: Tuple, one: ForeseenAnswer) -> bool:
        for comparer in one.readings:
            try:
                if isinstance(one.tree, Tuple) and self._match(answer, one.tree, comparer).complete:
                    return True
            except Undecided:
                continue
        return False

    def _refused(self, match: _Match) -> bool:
        return bool(match.repeated) and self._options.duplicates == "refuse"

    def _match(self, answer: Tuple, right: Tuple, comparer: Comparer) -> _Match:
        if self._ordered:
            return _in_order(answer.elements, right.elements, comparer)
        return _in_any_order(answer.elements, right.elements, comparer)

    def _earned(self, match: _Match, part: Decimal) -> Decimal:
        """An equal part for each right element; one too many, or refused, takes a part away."""
        too_many = match.excess + (len(match.repeated) if self._refused(match) else 0)
        return part * max(match.right - too_many, 0)

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
        if match.missing:
            return Message("set.missing", missing)
        return Message("set.duplicate", _entries(match.repeated))


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
    equal = [comparer.equal(one, other) for one, other in zip(answer, right, strict=False)]
    wrong = [element for element, fits in zip(answer, equal, strict=False) if not fits]
    excess = max(len(answer) - len(right), 0)
    wrong.extend(answer[len(right) :])
    reordered = bool(wrong) and len(answer) == len(right) and not _left(answer, right, comparer)
    return _Match(sum(equal), tuple(wrong), max(len(right) - len(answer), 0), (), reordered, excess)


def _in_any_order(answer: Sequence[Node], right: Sequence[Node], comparer: Comparer) -> _Match:
    distinct: list[Node] = []
    repeated: list[Node] = []
    for element in answer:
        known = any(comparer.equal(element, other) for other in distinct)
        (repeated if known else distinct).append(element)
    wrong = _left(distinct, right, comparer)
    found = len(distinct) - len(wrong)
    return _Match(found, tuple(wrong), len(right) - found, tuple(repeated), excess=len(wrong))


def _left(answer: Sequence[Node], right: Sequence[Node], comparer: Comparer) -> list[Node]:
    """The elements that are left when each takes away one of the right ones."""
    waiting = list(right)
    left: list[Node] = []
    for element in answer:
        match = next((other for other in waiting if comparer.equal(element, other)), None)
        if match is None:
            left.append(element)
        else:
            waiting.remove(match)
    return left


def _entries(elements: Sequence[Node]) -> dict[str, str]:
    return {"entries": ", ".join(map(to_text, elements))}
