"""The answer key of one item: right answers, remarks, named mistakes; looked up by exact values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct

from autograder.algebra.compare import Comparer
from autograder.algebra.diagnose import Diagnosis, Difference
from autograder.algebra.nodes import Relation, Tree, Tuple
from autograder.errors import Undecided


class Named(Struct, frozen=True, eq=False):
    """An answer that the question's author foresaw."""

    code: str
    tree: Tree
    readings: tuple[Comparer, ...]
    """It fits when it is equal under any of these."""
    right: bool = False


class Verdict(Struct, frozen=True):
    """What an answer is.

    Attributes:
        right: whether it is right.
        named: index of the named answer that it is; -1 for none.
        difference: how it differs from the right answer, where no named one fits.
        early: it is right only under assumptions that the item does not grant.
    """

    right: bool
    named: int = -1
    difference: Difference | None = None
    early: bool = False


class _Known(Struct, frozen=True, eq=False):
    """Exact values of everything foreseen, under one comparer."""

    comparer: Comparer
    right: list[tuple[Tree, Hashable | None]]
    named: dict[Hashable, list[int]]
    slow: list[int]
    """Indices of named answers without an exact value."""


class AnswerKey:
    """Judges answers to one item. Made once; its tables are filled when it is made."""

    __slots__ = ("_beyond", "_diagnosis", "_known", "_named", "_readings")

    def __init__(
        self,
        right: Sequence[Tree],
        readings: Sequence[Comparer],
        named: Sequence[Named] = (),
        beyond: Comparer | None = None,
    ) -> None:
        """Prepare the lookup.

        Args:
            right: right answers, the main one first; at least one.
            readings: ways to compare with them: without assumptions first, then under assumptions.
            named: foreseen answers; the first that fits is reported.
            beyond: a comparer under assumptions that are not granted, to notice their early use.
        """
        self._named = tuple(named)
        known: dict[int, _Known] = {}
        for comparer in (*readings, *(comparer for entry in self._named for comparer in entry.readings)):
            known.setdefault(id(comparer), _Known(comparer, [], {}, []))
        for comparer in readings:
            known[id(comparer)].right.extend((tree, _fingerprint(tree, comparer)) for tree in right)
        for index, entry in enumerate(self._named):
            for comparer in entry.readings:
                _enter(known[id(comparer)], index, _fingerprint(entry.tree, comparer))
        self._known = tuple(known.values())
        self._readings = len(set(map(id, readings)))
        self._beyond: _Known | None = None
        if beyond is not None:
            self._beyond = _Known(beyond, [(tree, _fingerprint(tree, beyond)) for tree in right], {}, [])
        self._diagnosis = None
        if not isinstance(right[0], Relation | Tuple):
            self._diagnosis = Diagnosis(right[0], readings[-1])

    def verdict(self, answer: Tree) -> Verdict:
        """Judge an answer.

        Right without assumptions comes first, then named right answers, then right under assumptions,
        then named mistakes, then what can be said by comparison.

        Raises:
            Undecided: it could be proven neither right nor wrong.
        """
        values = [_fingerprint(answer, known.comparer) for known in self._known]
        candidates = self._candidates(values)
        doubt: Undecided | None = None
        for place in range(self._readings):
            try:
                if _is_right(answer, values[place], self._known[place]):
                    return Verdict(right=True)
            except Undecided as error:
                doubt = error
            if place == 0 and (named := self._first(candidates, answer, right=True)) >= 0:
                return Verdict(right=True, named=named)
        if (named := self._first(candidates, answer, right=False)) >= 0:
            return Verdict(right=False, named=named)
        if doubt is not None:
            raise doubt
        if self._early(answer):
            return Verdict(right=False, early=True)
        if self._diagnosis is None or isinstance(answer, Relation | Tuple):
            return Verdict(right=False)
        return Verdict(right=False, difference=self._diagnosis.difference(answer))

    def _candidates(self, values: Sequence[Hashable | None]) -> list[int]:
        """Indices of the named answers that may fit, in order."""
        found: set[int] = set()
        for value, known in zip(values, self._known, strict=True):
            if value is None:
                return list(range(len(self._named)))
            found.update(known.slow, known.named.get(value, ()))
        return sorted(found)

    def _first(self, candidates: Sequence[int], answer: Tree, *, right: bool) -> int:
        """Index of the first named answer that fits; -1 for none."""
        for index in candidates:
            entry = self._named[index]
            if entry.right is right and any(
                _equal(comparer, answer, entry.tree) for comparer in entry.readings
            ):
                return index
        return -1

    def _early(self, answer: Tree) -> bool:
        if self._beyond is None:
            return False
        try:
            return _is_right(answer, _fingerprint(answer, self._beyond.comparer), self._beyond)
        except Undecided:
            return False


def _enter(known: _Known, index: int, value: Hashable | None) -> None:
    if value is None:
        known.slow.append(index)
    else:
        known.named.setdefault(value, []).append(index)


def _is_right(answer: Tree, value: Hashable | None, known: _Known) -> bool:
    """Whether an answer equals a right one. Different exact values are a proof that it does not.

    Raises:
        Undecided: that is open for one of them, and it equals none of the others.
    """
    doubt: Undecided | None = None
    for tree, expected in known.right:
        if value is not None and expected is not None and value != expected:
            continue
        try:
            if known.comparer.equal(answer, tree):
                return True
        except Undecided as error:
            doubt = error
    if doubt is not None:
        raise doubt
    return False


def _equal(comparer: Comparer, first: Tree, second: Tree) -> bool:
    try:
        return comparer.equal(first, second)
    except Undecided:
        return False


def _fingerprint(tree: Tree, comparer: Comparer) -> Hashable | None:
    """Equal for equal answers; None where only comparing can tell."""
    if isinstance(tree, Relation):
        return None
    if isinstance(tree, Tuple):
        values = tuple(comparer.value(element) for element in tree.elements)
        return None if None in values else values
    return comparer.value(tree)
