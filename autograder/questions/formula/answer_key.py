"""The answer key of one item: right and foreseen answers, looked up by exact values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeVar, cast

from msgspec import Struct

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided
from autograder.formulas.mistakes.diagnose import Diagnosis, Difference
from autograder.formulas.mistakes.relations import RelationDiagnosis
from autograder.formulas.nodes import Add, Neg, Node, Relation, Tree, Tuple
from autograder.formulas.values.evaluate import EXACT_BITS, Rational

_T = TypeVar("_T")


class NamedAnswer(Struct, frozen=True, eq=False):
    """An answer that the question's author foresaw."""

    code: str
    tree: Tree
    readings: tuple[Comparer, ...]
    """The comparers under which it may match; without any it never matches."""
    right: bool = False


class _KnownAnswers(Struct, frozen=True, eq=False):
    """Exact values of all foreseen answers, under one comparer."""

    comparer: Comparer
    right: list[tuple[Tree, Hashable | None]]
    values: set[Hashable | None]
    """The values of the right answers, including None if one has no exact value."""
    named: dict[Hashable, list[int]]
    slow: list[int]
    """Indices of named answers without an exact value."""


class FormulaKey:
    """Judges answers to one item. Made once; its tables are filled at construction.

    Attributes:
        known: exact values under each comparer; the readings of the right answers first.
        readings: the number of readings of the right answers.
        named: foreseen answers.
        beyond: exact values under assumptions that are not granted.
        diagnosis: of wrong answers; None for tuples.
    """

    __slots__ = ("beyond", "diagnosis", "known", "named", "readings")

    def __init__(
        self,
        right: Sequence[Tree],
        readings: Sequence[Comparer],
        named: Sequence[NamedAnswer] = (),
        beyond: Comparer | None = None,
        diagnosis: Diagnosis | RelationDiagnosis | None = None,
    ) -> None:
        """Prepare the lookup.

        Args:
            right: right answers, the main one first; at least one.
            readings: ways to compare with them: without assumptions first, then under assumptions.
            named: foreseen answers; the first match is reported.
            beyond: a comparer under assumptions that are not granted, to notice their early use.
            diagnosis: of another key with the same right answers and readings, to save its tables.
        """
        answers_by_comparer: dict[int, _KnownAnswers] = {}
        for comparer in (*readings, *(comparer for entry in named for comparer in entry.readings)):
            # One table per comparer, so that an answer is evaluated once under each.
            answers_by_comparer.setdefault(id(comparer), _KnownAnswers(comparer, [], set(), {}, []))
        for comparer in dict.fromkeys(readings):
            pairs = [(tree, comparer.compute_fingerprint(tree)) for tree in right]
            answers_by_comparer[id(comparer)].right.extend(pairs)
            answers_by_comparer[id(comparer)].values.update(value for _, value in pairs)
        for index, entry in enumerate(named):
            for comparer in entry.readings:
                _enter_answer(
                    answers_by_comparer[id(comparer)], index, comparer.compute_fingerprint(entry.tree)
                )
        self.known = tuple(answers_by_comparer.values())
        self.readings = len(dict.fromkeys(readings))
        self.named = tuple(named)
        self.diagnosis = diagnosis or _make_diagnosis(right, readings)
        self.beyond: _KnownAnswers | None = None
        if beyond is not None:
            pairs = [(tree, beyond.compute_fingerprint(tree)) for tree in right]
            self.beyond = _KnownAnswers(beyond, pairs, {value for _, value in pairs}, {}, [])

    def make_facts(self, answer: Tree) -> Facts:
        """Return the facts about an answer."""
        return Facts(self, answer)


class Facts:
    """One answer compared with its key. Each fact is computed on demand, and once."""

    __slots__ = (
        "_candidates", "_difference", "_gap", "_key", "_less", "_named", "_outcomes", "_unforeseen",
        "_values", "answer",
    )  # fmt: skip

    def __init__(self, key: FormulaKey, answer: Tree, less: tuple[Facts, Node] | None = None) -> None:
        """Set the answer.

        Args:
            key: of its item.
            answer: the submitted formula.
            less: the facts and the part, if the answer is another one minus a part of it.
        """
        self.answer = answer
        self._key = key
        self._less = less
        self._values: dict[Comparer, Hashable | None] = {}
        self._outcomes: dict[int, bool | Undecided] = {}
        self._named: dict[int, bool | Undecided] = {}
        self._candidates: frozenset[int] | None = None
        self._difference: tuple[Difference | None] | None = None
        self._unforeseen: bool | None = None
        self._gap: Node | None = None

    @property
    def main(self) -> Tree:
        """The first right answer."""
        return self._key.known[0].right[0][0]

    @property
    def readings(self) -> tuple[Comparer, ...]:
        """The ways to compare with it: without assumptions first."""
        return tuple(answers.comparer for answers in self._key.known[: self._key.readings])

    def subtract_part(self, part: Node) -> Facts:
        """Return the facts about the answer, a formula, minus a part of it."""
        answer = cast("Node", self.answer)
        return Facts(self._key, Add((answer, Neg(part))), (self, part))

    def compute_value(self, comparer: Comparer) -> Hashable | None:
        """Return the answer's exact value under a comparer, or None."""
        # None is a valid cached value, so only the exception shows that the entry is missing.
        try:
            return self._values[comparer]
        except KeyError:
            pass
        if self._less is None:
            value = comparer.compute_fingerprint(self.answer)
        else:
            whole, part = self._less
            value = _subtract_exactly(
                cast("Rational | None", whole.compute_value(comparer)), comparer.evaluate_at_point(part)
            )
        self._values[comparer] = value
        return value

    def is_right(self, *, strictly: bool) -> bool:
        """Return whether it is right: without assumptions, or under any reading.

        Raises:
            Undecided: neither could be proven.
        """
        return is_any_proven(self._is_right_under, range(1 if strictly else self._key.readings))

    def _is_right_under(self, index: int) -> bool:
        outcome = self._outcomes.get(index)
        if outcome is None:
            answers = self._key.known[index]
            value = self.compute_value(answers.comparer)
            try:
                outcome = not _is_proven_wrong(value, answers) and self._is_right(value, answers)
            # Cached as well, and raised each time.
            except Undecided as error:
                outcome = error
            self._outcomes[index] = outcome
        return _unwrap_outcome(outcome)

    def _is_right(self, value: Hashable | None, answers: _KnownAnswers) -> bool:
        """Return whether the answer equals a right one. Different exact values prove that it does not.

        Raises:
            Undecided: it is undecided for one of them, and equals none of the others.
        """
        candidates = (
            tree for tree, expected in answers.right if value is None or expected is None or value == expected
        )
        return is_any_proven(partial(self._is_accepted, answers.comparer), candidates)

    def _is_accepted(self, comparer: Comparer, right: Tree) -> bool:
        if not comparer.is_equal(self.answer, right):
            return False
        if self.compute_value(comparer) is not None:  # a quotient of polynomials, whose gaps are isolated
            return True
        gap = comparer.find_gap(self.answer, right)
        self._gap = self._gap or gap
        return gap is None

    @property
    def gap(self) -> Node | None:
        """A part of a wrong answer that is undefined where the right one has a value.

        Elsewhere both are equal.
        """
        return self._gap

    def is_named(self, index: int) -> bool:
        """Return whether it is the named answer with this index.

        Raises:
            Undecided: that could not be proven.
        """
        if index not in self.candidates:
            return False
        outcome = self._named.get(index)
        if outcome is None:
            entry = self._key.named[index]
            try:
                outcome = is_any_proven(
                    lambda comparer: self._is_accepted(comparer, entry.tree), entry.readings
                )
            except Undecided as error:
                outcome = error
            self._named[index] = outcome
        return _unwrap_outcome(outcome)

    @property
    def candidates(self) -> frozenset[int]:
        """The named answers that it may be; that it is none of the others is proven."""
        if self._candidates is None:
            self._candidates = self._find_candidates()
        return self._candidates

    def may_be(self, indices: Iterable[int]) -> bool:
        """Return whether it may be one of these named answers; False is proven."""
        return not self.candidates.isdisjoint(indices)

    @property
    def unforeseen(self) -> bool:
        """Whether exact values prove that it is neither right, nor early, nor a named answer."""
        if self._unforeseen is None:
            beyond = self._key.beyond
            tables = self._key.known if beyond is None else (*self._key.known, beyond)
            self._unforeseen = all(
                _is_proven_unforeseen(self.compute_value(answers.comparer), answers) for answers in tables
            )
        return self._unforeseen

    def is_early(self) -> bool:
        """Return whether it is right under assumptions that the item does not grant."""
        beyond = self._key.beyond
        if beyond is None:
            return False
        try:
            return self._is_right(self.compute_value(beyond.comparer), beyond)
        except Undecided:
            return False

    def find_difference(self) -> Difference | None:
        """Return how a wrong answer differs from the right one; None if no explanation applies."""
        if self._difference is None:
            # Wrapped in a tuple, because None is a valid cached result.
            self._difference = (None if self._gap is not None else self._compute_difference(),)
        return self._difference[0]

    def may_hold(self, part: Node) -> bool:
        """Return whether each term of a part occurs in the answer with some coefficient; True if unknown."""
        diagnosis, answer = self._key.diagnosis, self.answer
        if isinstance(answer, Relation | Tuple) or not isinstance(diagnosis, Diagnosis):
            return True
        return diagnosis.may_contain(answer, part)

    def _compute_difference(self) -> Difference | None:
        diagnosis, answer = self._key.diagnosis, self.answer
        if isinstance(diagnosis, RelationDiagnosis) and isinstance(answer, Relation):
            return diagnosis.find_difference(answer)
        if isinstance(diagnosis, Diagnosis) and not isinstance(answer, Relation | Tuple):
            # The fingerprint of a formula is its value.
            values = cast("list[Rational | None]", [*map(self.compute_value, self.readings)])
            if 0 in values:  # only optional terms are left: right except for an extra term
                return None
            return diagnosis.find_difference(answer, values)
        return None

    def _find_candidates(self) -> frozenset[int]:
        """Return the indices of the named answers that may match."""
        indices: set[int] = set()
        for answers in self._key.known:
            value = self.compute_value(answers.comparer)
            # Without an exact value it may be any of them.
            if value is None:
                return frozenset(range(len(self._key.named)))
            indices.update(answers.slow, answers.named.get(value, ()))
        return frozenset(indices)


def _make_diagnosis(
    right: Sequence[Tree], readings: Sequence[Comparer]
) -> Diagnosis | RelationDiagnosis | None:
    main = right[0]
    if isinstance(main, Tuple):
        return None
    if isinstance(main, Relation):
        return RelationDiagnosis(main, readings[0])
    return Diagnosis([tree for tree in right if not isinstance(tree, Relation | Tuple)], readings)


def is_any_proven(holds: Callable[[_T], bool], values: Iterable[_T]) -> bool:
    """Return whether a predicate is true of at least one value.

    Raises:
        Undecided: it is undecided for one value, and false for all others.
    """
    doubt: Undecided | None = None
    for value in values:
        try:
            if holds(value):
                return True
        except Undecided as error:
            doubt = error
    if doubt is not None:
        raise doubt
    return False


def _unwrap_outcome(outcome: bool | Undecided) -> bool:  # noqa: FBT001 - a cached result
    if isinstance(outcome, Undecided):
        raise outcome
    return outcome


def _enter_answer(answers: _KnownAnswers, index: int, value: Hashable | None) -> None:
    if value is None:
        answers.slow.append(index)
    else:
        answers.named.setdefault(value, []).append(index)


def _is_proven_wrong(value: Hashable | None, answers: _KnownAnswers) -> bool:
    """Return whether the exact values prove that an answer is none of the right ones."""
    # A right answer without an exact value could still be equal, so nothing is proven then.
    return value is not None and value not in answers.values and None not in answers.values


def _is_proven_unforeseen(value: Hashable | None, answers: _KnownAnswers) -> bool:
    """Return whether an answer is proven to be none of the known answers under a comparer."""
    return _is_proven_wrong(value, answers) and not answers.slow and value not in answers.named


def _subtract_exactly(whole: Rational | None, part: Rational | None) -> Rational | None:
    """Return the exact value of a difference of formulas, from their values.

    None if it is beyond the limits.
    """
    if whole is None or part is None:
        return None
    difference = whole - part
    # The same limit on denominators as in `evaluate`.
    for value in (whole, difference):
        if isinstance(value, Fraction) and value.denominator.bit_length() > EXACT_BITS:
            return None
    return difference
