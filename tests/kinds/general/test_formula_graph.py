"""Partial credit of formulas as a graph: which steps are taken."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec import Struct

from autograder.core.records import Message
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided
from autograder.formulas.nodes import Num, Relation
from autograder.formulas.notation.parse import parse_sides
from autograder.formulas.values.points import Points
from autograder.questions.formula.answer_key import FormulaKey
from autograder.questions.formula.graph import Credit, CreditGraph, CreditStep, Situation
from autograder.questions.formula.steps import CarriedResults
from tests.formulas import exam
from tests.formulas.exam import FORMULAS, VOCABULARY


class Told(Struct, frozen=True):
    """A condition that holds when it is told to."""

    number: int
    answers: tuple[bool, ...]
    always: bool = False
    proves: bool = False

    def is_met(self, situation: Situation) -> bool:
        """What it was told."""
        return self.always or self.answers[self.number]


def test_texts_of_several_steps_follow_one_another() -> None:
    """Each step's text is shown, in the language asked for where it has it."""
    never = Told(0, (True,))
    steps = (
        CreditStep("a", never, text={"en": "One.", "de": "Eins."}),
        CreditStep("b", never),
        CreditStep("c", never, text={"en": "Two."}),
    )
    assert Message("c", text={"en": "One. Two.", "de": "Eins. Two."}) == Credit(steps, Decimal(0)).message


SITUATION = Situation(
    FormulaKey(
        [parse_sides("n", VOCABULARY)[0]], [Comparer(Points(VOCABULARY.domains, b"a test"))]
    ).make_facts(Num(1))
)
"""No condition looks at the answer."""


def test_undecided_conditions_stop_the_walk() -> None:
    """A step behind a doubtful one is taken only if it is proven."""

    class Doubtful(Told, frozen=True):
        def is_met(self, situation: Situation) -> bool:
            raise Undecided("never")

    doubtful = CreditStep("doubtful", Doubtful(0, ()), Decimal(1))
    for proves in (True, False):
        graph = CreditGraph((doubtful, CreditStep("next", Told(0, (True,), proves=proves), Decimal(2))))
        if proves:
            assert Decimal(2) == graph.walk_steps(SITUATION).points
        else:
            with pytest.raises(Undecided):
                graph.walk_steps(SITUATION)


def one_by_one(graph: CreditGraph, situation: Situation) -> tuple[CreditStep, ...]:
    """The steps that are taken when every condition is asked."""
    taken: list[CreditStep] = []
    place = 0
    while 0 <= place < len(graph.steps):
        step = graph.steps[place]
        if step.condition.is_met(situation):
            taken.append(step)
            place = step.onward
        else:
            place += 1
    return tuple(taken)


@pytest.mark.parametrize("name", list(FORMULAS))
def test_steps_that_are_passed_over_would_not_be_taken(name: str) -> None:
    """What is known of an answer by its values alone spares conditions, and never changes what it earns."""
    formula = FORMULAS[name]
    item = exam.check(formula.question)._items[formula.item]
    key = item.make_key(item.accept[0], CarriedResults())
    for text in (*formula.right, *formula.wrong):
        answer = parse_sides(text, VOCABULARY)
        facts = key.make_facts(answer[0] if len(answer) == 1 else Relation(*answer))
        credit = item.graph.walk_steps(Situation(facts))
        assert one_by_one(item.graph, Situation(facts)) == credit.taken
        if facts.unforeseen:
            assert credit.points <= item.graph.most
            assert (
                item.graph.walk_steps(Situation(facts, diagnosed=False)).points <= item.graph.most_undiagnosed
            )
