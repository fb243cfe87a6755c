"""Credit for an answer: steps in order, the first of which that it meets decides."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import msgspec
from msgspec import Struct

from autograder.core.records import Message
from autograder.formulas import Undecided
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.nodes import Add, Mul, Neg, Node, Num, Relation, Tuple, collect_symbols
from autograder.formulas.values.evaluate import Irrational, TooLarge, Undefined, evaluate_exactly
from autograder.questions.formula.answer_key import Facts, is_any_proven
from autograder.questions.formula.options import FormRule

Own = Literal["right", "wrong", "missing"]


class Situation(Struct, frozen=True, eq=False):
    """All the input of a condition."""

    facts: Facts
    own_state: Own = "missing"
    """The student's earlier results that are carried forward."""
    earned: frozenset[str] = frozenset()
    """Names of those that earned points."""
    diagnosed: bool = True
    """Whether a diagnosis of the answer is worth computing."""


class Condition(Struct, frozen=True):
    """Decides whether a step is taken."""

    @property
    def proves(self) -> bool:
        """Whether meeting it proves that the answer is a foreseen one."""
        return False

    @abstractmethod
    def is_met(self, situation: Situation) -> bool:
        """Return whether the answer meets it.

        Raises:
            Undecided: neither could be proven.
        """


class Right(Condition, frozen=True):
    """The answer is right."""

    strictly: bool = False
    """Without any assumption."""

    @property
    def proves(self) -> bool:
        """Right answers and those of the rubric are foreseen."""
        return True

    def is_met(self, situation: Situation) -> bool:
        """Compare with every right answer."""
        return situation.facts.is_right(strictly=self.strictly)


class IsForeseen(Condition, frozen=True):
    """The answer equals a formula in the rubric."""

    index: int

    @property
    def proves(self) -> bool:
        """Right answers and those of the rubric are foreseen."""
        return True

    def is_met(self, situation: Situation) -> bool:
        """Compare with this formula."""
        return situation.facts.is_named(self.index)


class Either(Condition, frozen=True, eq=False):
    """At least one of several conditions is met."""

    parts: tuple[Condition, ...]

    @property
    def proves(self) -> bool:
        """True only if each of them proves equality."""
        return all(part.proves for part in self.parts)

    def is_met(self, situation: Situation) -> bool:
        """Check them in turn; an undecided one counts only if none of the others is met.

        Raises:
            Undecided: neither could be proven.
        """
        return is_any_proven(lambda part: part.is_met(situation), self.parts)


class IsCopied(Condition, frozen=True):
    """The answer is an unchanged copy of an earlier one."""

    indices: tuple[tuple[str, int], ...]
    """Names of earlier results, and their indices among the foreseen formulas."""
    earned: bool = False
    """Whether the earlier result must have earned points."""

    def is_met(self, situation: Situation) -> bool:
        """Compare without any relation."""
        same = [name for name, index in self.indices if situation.facts.is_named(index)]
        return any(name in situation.earned or not self.earned for name in same)


class Not(Condition, frozen=True):
    """Another condition is not met."""

    part: Condition

    def is_met(self, situation: Situation) -> bool:
        """Negate the other condition."""
        return not self.part.is_met(situation)


class IsEarly(Condition, frozen=True):
    """The answer is right, but only under relations that the item does not grant."""

    def is_met(self, situation: Situation) -> bool:
        """Compare under every relation of the assignment."""
        return situation.facts.is_early()


class OwnIs(Condition, frozen=True):
    """The student's earlier result was right or wrong, or there is none that can be carried forward."""

    state: Own = "missing"

    def is_met(self, situation: Situation) -> bool:
        """Compare the state of the earlier result."""
        return situation.own_state == self.state


class HasDiagnosis(Condition, frozen=True):
    """The answer differs from the right one in a way that has a name."""

    code: str = ""
    """Empty: any."""

    def is_met(self, situation: Situation) -> bool:
        """Diagnose the answer; a right one has no diagnosis."""
        if not situation.diagnosed or situation.facts.is_right(strictly=False):
            return False
        difference = situation.facts.find_difference()
        return difference is not None and self.code in ("", difference.code)


_ONCE, _TWICE = Fraction(1, 2), Fraction(2)
_LARGEST = 1000
"""Bound of the numerator and denominator of the factor by which a coefficient may be off."""


class OneNumber(Condition, frozen=True):
    """The answer has the right terms, but one wrong coefficient: an arithmetic slip.

    Only after results that are not wrong, and only if the sum of all coefficients is between half and twice
    the right one: beyond that it is not a slip.
    """

    built_on: frozenset[str] = frozenset()
    """Earlier results that must have earned points."""

    def is_met(self, situation: Situation) -> bool:
        """Compare the sums of all coefficients; then test whether the difference is a multiple of a term."""
        facts = situation.facts
        answer, right = facts.answer, facts.main
        if situation.own_state == "wrong" or not self.built_on <= situation.earned:
            return False
        if isinstance(answer, Relation | Tuple) or isinstance(right, Relation | Tuple):
            return False
        # With 1 for every symbol a formula evaluates to the sum of its coefficients.
        ones = dict.fromkeys(collect_symbols(answer) | collect_symbols(right), Fraction(1))
        try:
            share = Fraction(evaluate_exactly(answer, ones)) / Fraction(evaluate_exactly(right, ones))
        except (TooLarge, Irrational, Undefined):
            return False
        return _ONCE < share < _TWICE and any(
            _is_off_by_multiple(answer, right, comparer) for comparer in facts.readings
        )


def _is_off_by_multiple(answer: Node, right: Node, comparer: Comparer) -> bool:
    """Return whether the difference is a number times one of the right terms."""
    gap = Add((answer, Neg(right)))
    value = comparer.evaluate_at_point(gap)
    for term in right.terms if isinstance(right, Add) else (right,):
        term_value = comparer.evaluate_at_point(term)
        if value is None or not term_value:
            continue
        times = Fraction(value) / Fraction(term_value)
        # At one point every difference is a multiple of a term; only a simple factor is worth a proof.
        if max(abs(times.numerator), times.denominator) > _LARGEST:
            continue
        try:
            if comparer.is_equal(gap, Mul((Num(times), term))):
                return True
        except Undecided:
            continue
    return False


class HasForm(Condition, frozen=True):
    """The answer is written in a certain form."""

    rule: FormRule

    def is_met(self, situation: Situation) -> bool:
        """Check the answer as it was written."""
        return self.rule.find_broken(situation.facts.answer) is None


class Every(Condition, frozen=True, eq=False):
    """All of several conditions are met."""

    parts: tuple[Condition, ...]

    @property
    def proves(self) -> bool:
        """True if one of them proves equality."""
        return any(part.proves for part in self.parts)

    def is_met(self, situation: Situation) -> bool:
        """Check them in turn, and stop at the first that is not met."""
        return all(part.is_met(situation) for part in self.parts)


def find_required(condition: Condition) -> frozenset[int] | None:
    """Return the foreseen formulas, one of which an answer must equal to meet a condition, or None."""
    if isinstance(condition, IsForeseen):
        return frozenset((condition.index,))
    if not isinstance(condition, Either | Every):
        return None
    parts = [find_required(part) for part in condition.parts]
    indices = [part for part in parts if part is not None]
    if isinstance(condition, Every):
        return min(indices, key=len, default=None)
    return frozenset().union(*indices) if len(indices) == len(parts) else None


def needs_known_answer(condition: Condition) -> bool:
    """Return whether no answer that is proven neither right nor foreseen can meet a condition."""
    if isinstance(condition, Either):
        return all(map(needs_known_answer, condition.parts))
    if isinstance(condition, Every):
        return needs_known_answer(condition.parts[0])  # the others might leave it open
    return isinstance(condition, Right | IsForeseen | IsEarly)


NO_POINTS = Decimal(0)


class CreditStep(Struct, frozen=True, eq=False):
    """One way to earn points.

    Attributes:
        id: its name within the item, and the code of the result.
        condition: decides whether it is taken.
        points: for the answer.
        text: shown, by language; may be empty.
        message: a sentence of the vocabulary, if the rubric has no text.
        silent: has no message and gives the result no code.
        full: is full credit regardless of its points; for items that only deduct points.
        any_form: full credit also for an answer that is not in the required form.
    """

    id: str
    condition: Condition
    points: Decimal = NO_POINTS
    text: dict[str, str] = {}
    message: str = ""
    silent: bool = False
    full: bool = False
    any_form: bool = False
    carries: bool = False
    """Right only on the basis of an earlier result of the student's own."""


class Credit(Struct, frozen=True, eq=False):
    """The step that was taken, and what it is worth."""

    step: CreditStep | None = None
    points: Decimal = NO_POINTS
    lacks_form: bool = False
    """The answer is right, but not in the required form."""

    @property
    def full(self) -> bool:
        """Whether it is full credit by itself."""
        return self.step is not None and self.step.full and not self.lacks_form

    @property
    def carries(self) -> bool:
        """Whether the answer is right only on the basis of an earlier result."""
        return self.step is not None and self.step.carries

    @property
    def code(self) -> str:
        """The id of the step; empty if it is silent or there is none."""
        return "" if self.step is None or self.step.silent else self.step.id

    @property
    def message(self) -> Message | None:
        """The text of the step, or its sentence; None if it has none."""
        if self.step is None or not (self.step.text or self.step.message):
            return None
        return Message(self.code, text=self.step.text) if self.step.text else Message(self.step.message)


class CreditSteps(Struct, frozen=True, eq=False):
    """The steps in order; the first one whose condition is met decides.

    Attributes:
        steps: the ways to earn points.
        rule: the required form of an answer with full credit.
        named: for each step, the foreseen formulas of which the answer must be one; None if there is no such
            rule.
        unnamed: for each step, the first one from there on that requires no foreseen formula.
        loose: for each step, the first one from there on that an answer can take which is proven to be
            neither right nor foreseen.
        most: the most points that such an answer can earn; infinite if a step is full credit by itself.
        most_undiagnosed: the same without a diagnosis.
    """

    steps: tuple[CreditStep, ...]
    rule: FormRule | None = None
    named: tuple[frozenset[int] | None, ...] = ()
    unnamed: tuple[int, ...] = ()
    loose: tuple[int, ...] = ()
    most: Decimal = NO_POINTS
    most_undiagnosed: Decimal = NO_POINTS

    def __post_init__(self) -> None:
        """Analyse the conditions once: most steps are about formulas that an answer is proven not to be."""
        of_each = tuple(find_required(step.condition) for step in self.steps)
        loose = [step for step in self.steps if not needs_known_answer(step.condition)]
        undiagnosed = [step for step in loose if not isinstance(step.condition, HasDiagnosis)]
        # The struct is frozen; its derived fields are set once, here.
        for name, value in (
            ("named", of_each),
            ("unnamed", _find_next([required is None for required in of_each])),
            ("loose", _find_next([step in loose for step in self.steps])),
            ("most", _find_most(loose)),
            ("most_undiagnosed", _find_most(undiagnosed)),
        ):
            msgspec.structs.force_setattr(self, name, value)

    def find_credit(self, situation: Situation) -> Credit:
        """Return the credit for one answer.

        A condition that could not be proven either way makes the outcome doubtful, unless a later step is
        taken because the answer is proven to be a foreseen one.

        Raises:
            Undecided: it needs manual review.
        """
        index, facts = 0, situation.facts
        doubt: Undecided | None = None
        while index < len(self.steps):
            named = self.named[index]
            # Skip steps that the answer is proven not to take, without evaluating their conditions.
            if named is not None and not facts.may_be(named):
                index = index + 1 if facts.candidates else self.unnamed[index]
                continue
            step = self.steps[index]
            try:
                holds = step.condition.is_met(situation)
            except Undecided as error:
                doubt, holds = doubt or error, False
            if holds:
                # The undecided step might have been taken instead, unless this one proves what the answer is.
                if doubt is not None and not step.condition.proves:
                    raise doubt
                return self._give_credit(step, situation)
            index += 1
            # No step about a known answer can be met, so skip to the next loose one.
            if index < len(self.steps) and facts.unforeseen:
                index = self.loose[index]
        if doubt is not None:
            raise doubt
        return Credit()

    def _give_credit(self, step: CreditStep, situation: Situation) -> Credit:
        if self.rule is None or not step.full or step.any_form:
            return Credit(step, step.points)
        if self.rule.find_broken(situation.facts.answer) is None:
            return Credit(step, step.points)
        return Credit(step, self.rule.points, lacks_form=True)


def _find_most(steps: Sequence[CreditStep]) -> Decimal:
    return max((Decimal("Infinity") if step.full else step.points for step in steps), default=NO_POINTS)


def _find_next(wanted: Sequence[bool]) -> tuple[int, ...]:
    """Return, for each index, the first wanted one from there on; the number of all if there is none."""
    nearest = [len(wanted)]
    for index in reversed(range(len(wanted))):
        nearest.append(index if wanted[index] else nearest[-1])
    return tuple(reversed(nearest[1:]))
