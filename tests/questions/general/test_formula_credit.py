"""Test credit for formulas: the step that decides."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided
from autograder.formulas.nodes import Num, Relation
from autograder.formulas.notation.parse import parse_sides
from autograder.formulas.values.points import Points
from autograder.questions.formula.answer_key import FormulaKey
from autograder.questions.formula.credit import Condition, CreditStep, CreditSteps, Situation
from autograder.questions.formula.steps import CarriedResults
from tests.formulas import exam
from tests.formulas.exam import FORMULAS, VOCABULARY


class Doubtful(Condition, frozen=True):
    """A condition that is never decided."""

    def is_met(self, situation: Situation) -> bool:
        """Raise `Undecided`."""
        raise Undecided("never")


class Met(Condition, frozen=True):
    """A condition that every answer meets."""

    is_proof: bool

    @property
    def proves(self) -> bool:
        """Return the value set by the test."""
        return self.is_proof

    def is_met(self, situation: Situation) -> bool:
        """Return True."""
        return True


SITUATION = Situation(
    FormulaKey(
        [parse_sides("n", VOCABULARY)[0]], [Comparer(Points(VOCABULARY.domains, b"a test"))]
    ).make_facts(Num(1))
)
"""The conditions of these tests ignore the answer."""


def test_undecided_conditions_need_a_person() -> None:
    """A step behind an undecided one counts only if it is proven."""
    for proves in (True, False):
        steps = CreditSteps(
            (
                CreditStep("doubtful", Doubtful(), Decimal(1)),
                CreditStep("next", Met(is_proof=proves), Decimal(2)),
            )
        )
        if proves:
            assert Decimal(2) == steps.find_credit(SITUATION).points
        else:
            with pytest.raises(Undecided):
                steps.find_credit(SITUATION)


@pytest.mark.parametrize("name", list(FORMULAS))
def test_steps_that_are_passed_over_would_not_be_taken(name: str) -> None:
    """Skipping conditions by the values of an answer never changes its credit."""
    formula = FORMULAS[name]
    item = exam.check(formula.question)._items[formula.item]
    key = item.make_key(item.accept[0], CarriedResults())
    for text in (*formula.right, *formula.wrong):
        answer = parse_sides(text, VOCABULARY)
        facts = key.make_facts(answer[0] if len(answer) == 1 else Relation(*answer))
        situation = Situation(facts)
        credit = item.steps.find_credit(situation)
        first = next((step for step in item.steps.steps if step.condition.is_met(situation)), None)
        assert first is credit.step
        if facts.unforeseen:
            assert credit.points <= item.steps.most
            undiagnosed = item.steps.find_credit(Situation(facts, diagnosed=False))
            assert undiagnosed.points <= item.steps.most_undiagnosed
