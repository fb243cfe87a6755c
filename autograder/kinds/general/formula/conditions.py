"""Conditions on an answer, which the steps of a credit graph ask for."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal, Protocol

from msgspec import Struct

from autograder.formulas import Undecided
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.nodes import Add, Mul, Neg, Node, Num, Relation, Tuple, symbols
from autograder.formulas.values.evaluate import Irrational, TooLarge, Undefined, exact
from autograder.kinds.general.formula.answer_key import Facts, any_proven
from autograder.kinds.general.formula.options import FormRule

Own = Literal["right", "wrong", "missing"]


class Situation(Struct, frozen=True, eq=False):
    """All that a condition may look at."""

    facts: Facts
    own: Own = "missing"
    """The student's earlier results that are carried forward."""
    earned: frozenset[str] = frozenset()
    """Names of those that were worth something."""
    diagnosed: bool = True
    """Whether it is worth looking for what is wrong."""


class Condition(Protocol):
    """What decides whether a step is taken."""

    @property
    def proves(self) -> bool:
        """Holding means that the answer is proven to be one that was foreseen."""

    @property
    def always(self) -> bool:
        """It holds for every answer."""

    def holds(self, situation: Situation) -> bool:
        """Whether it holds.

        Raises:
            Undecided: neither could be proven.
        """


class _Words(Struct, frozen=True):
    """A condition that is no proof of equality, and does not hold for every answer."""

    proves: ClassVar[bool] = False
    always: ClassVar[bool] = False


class Right(Struct, frozen=True):
    """The answer is right."""

    strictly: bool = False
    """Without any assumption."""
    proves: ClassVar[bool] = True
    always: ClassVar[bool] = False

    def holds(self, situation: Situation) -> bool:
        """Compare with every right answer."""
        return situation.facts.right(strictly=self.strictly)


class IsForeseen(Struct, frozen=True):
    """The answer is a formula that the rubric states."""

    index: int
    proves: ClassVar[bool] = True
    always: ClassVar[bool] = False

    def holds(self, situation: Situation) -> bool:
        """Compare with it."""
        return situation.facts.named(self.index)


class Either(Struct, frozen=True, eq=False):
    """One of several holds."""

    parts: tuple[Condition, ...]

    @property
    def proves(self) -> bool:
        """Only when each of them proves something."""
        return all(part.proves for part in self.parts)

    @property
    def always(self) -> bool:
        """One is enough."""
        return any(part.always for part in self.parts)

    def holds(self, situation: Situation) -> bool:
        """Ask one after the other; a doubt about one counts when none of the others holds.

        Raises:
            Undecided: neither could be proven.
        """
        return any_proven(lambda part: part.holds(situation), self.parts)


class Copied(_Words, frozen=True):
    """The answer is an earlier one as it stands."""

    indices: tuple[tuple[str, int], ...]
    """Names of earlier results, and their places among the foreseen formulas."""
    earned: bool = False
    """One that was worth something."""

    def holds(self, situation: Situation) -> bool:
        """Compare without any relation."""
        same = [name for name, index in self.indices if situation.facts.named(index)]
        return any(name in situation.earned or not self.earned for name in same)


class Not(_Words, frozen=True):
    """Another condition does not hold."""

    part: Condition

    def holds(self, situation: Situation) -> bool:
        """Ask it."""
        return not self.part.holds(situation)


class Early(_Words, frozen=True):
    """Right, but only under relations that the item does not grant."""

    def holds(self, situation: Situation) -> bool:
        """Compare under every relation of the assignment."""
        return situation.facts.early()


class Otherwise(Struct, frozen=True):
    """Any answer."""

    proves: ClassVar[bool] = False
    always: ClassVar[bool] = True

    def holds(self, situation: Situation) -> bool:  # noqa: ARG002 - whatever it is
        """Always."""
        return True


class OwnIs(_Words, frozen=True):
    """The student's earlier result was right, was wrong, or there is none that can be carried forward."""

    state: Own = "missing"

    def holds(self, situation: Situation) -> bool:
        """Look at the earlier result."""
        return situation.own == self.state


class Diagnosed(_Words, frozen=True):
    """The answer differs from the right one in a way that has a name."""

    code: str = ""
    """Empty: any."""

    def holds(self, situation: Situation) -> bool:
        """Diagnose the answer; a right one has no diagnosis."""
        if not situation.diagnosed or situation.facts.right(strictly=False):
            return False
        difference = situation.facts.difference()
        return difference is not None and self.code in ("", difference.code)


_ONCE, _TWICE = Fraction(1, 2), Fraction(2)
_LARGEST = 1000
"""Numerator and denominator of what a number may be off by."""


class OneNumber(_Words, frozen=True):
    """The answer has the right terms, and a wrong number before one of them: a sum was worked out wrongly.

    Only after results that are not wrong, and with a number that is not far off: beyond half and twice it
    is no error.
    """

    built_on: frozenset[str] = frozenset()
    """Earlier results that must have been worth something."""

    def holds(self, situation: Situation) -> bool:
        """Compare the sums of all numbers; then see whether the difference is a multiple of a term."""
        facts = situation.facts
        answer, right = facts.answer, facts.main
        if situation.own == "wrong" or not self.built_on <= situation.earned:
            return False
        if isinstance(answer, Relation | Tuple) or isinstance(right, Relation | Tuple):
            return False
        ones = dict.fromkeys(symbols(answer) | symbols(right), Fraction(1))
        try:
            share = Fraction(exact(answer, ones)) / Fraction(exact(right, ones))
        except (TooLarge, Irrational, Undefined):
            return False
        return _ONCE < share < _TWICE and any(
            _differs_by_a_multiple(answer, right, comparer) for comparer in facts.readings
        )


def _differs_by_a_multiple(answer: Node, right: Node, comparer: Comparer) -> bool:
    """Whether the difference is a number times one of the terms that are right."""
    gap = Add((answer, Neg(right)))
    value = comparer.value(gap)
    for term in right.terms if isinstance(right, Add) else (right,):
        at = comparer.value(term)
        if value is None or not at:
            continue
        times = Fraction(value) / Fraction(at)
        if max(abs(times.numerator), times.denominator) > _LARGEST:
            continue
        try:
            if comparer.equal(gap, Mul((Num(times), term))):
                return True
        except Undecided:
            continue
    return False


class HasForm(Struct, frozen=True):
    """The answer is written in a certain form."""

    rule: FormRule
    proves: ClassVar[bool] = False
    always: ClassVar[bool] = False

    def holds(self, situation: Situation) -> bool:
        """Look at the answer as it was written."""
        return self.rule.broken(situation.facts.answer) is None


class Every(Struct, frozen=True, eq=False):
    """Several conditions hold."""

    parts: tuple[Condition, ...]

    @property
    def proves(self) -> bool:
        """One proof is enough."""
        return any(part.proves for part in self.parts)

    @property
    def always(self) -> bool:
        """Only when each of them always holds."""
        return all(part.always for part in self.parts)

    def holds(self, situation: Situation) -> bool:
        """Ask one after the other, and no more when one does not hold."""
        return all(part.holds(situation) for part in self.parts)


def named(condition: Condition) -> frozenset[int] | None:
    """Foreseen formulas of which the answer must be one for a condition to hold; None where it need not."""
    if isinstance(condition, IsForeseen):
        return frozenset((condition.index,))
    if not isinstance(condition, Either | Every):
        return None
    parts = [named(part) for part in condition.parts]
    stated = [part for part in parts if part is not None]
    if isinstance(condition, Every):
        return min(stated, key=len, default=None)
    return frozenset().union(*stated) if len(stated) == len(parts) else None


def recognises(condition: Condition) -> bool:
    """Whether a condition holds for no answer that is proven to be neither right nor foreseen."""
    if isinstance(condition, Either):
        return all(map(recognises, condition.parts))
    if isinstance(condition, Every):
        return recognises(condition.parts[0])  # the others might leave it open
    return isinstance(condition, Right | IsForeseen | Early)
