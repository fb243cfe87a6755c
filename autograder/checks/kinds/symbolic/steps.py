"""Makes credit graphs: from the steps of a rubric, or from accept, remark, carry_forward and mistake.

Both spellings give the same graph; there is no other way to points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

import msgspec
from msgspec import Struct

from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.checks.kinds.symbolic import options as spelling
from autograder.checks.kinds.symbolic.conditions import (
    Condition,
    Early,
    Every,
    Foreseen,
    Otherwise,
    OwnIs,
    Reading,
    Right,
    Written,
    read_conditions,
)
from autograder.checks.kinds.symbolic.earlier import CARRIED
from autograder.checks.kinds.symbolic.form_rule import FormRule
from autograder.checks.kinds.symbolic.graph import END, NO_POINTS, CreditGraph, Step, checked
from autograder.checks.options import CENT, check_points, check_text
from autograder.errors import RubricError
from autograder.rubric import Item

Formula = Callable[[str, tuple[str, ...] | None, str], tuple[int, bool]]
"""Takes in a formula, the relations it is compared under, and the place; gives its index, and whether
it speaks of the student's own earlier result."""


class Making(Struct, frozen=True, eq=False):
    """What a graph is made from.

    Attributes:
        item: the item whose points it gives.
        options: the item's options.
        carry: how the item builds on an earlier result; None where it does not.
        vocabulary: the symbols of the question.
        formula: takes in the formulas of steps.
        where: how errors name the item.
        rule: what is asked of the form of a right answer.
    """

    item: Item
    options: spelling.SymbolicItem
    carry: spelling.CarryForward | None
    vocabulary: Vocabulary
    formula: Formula
    where: str
    rule: FormRule | None = None


def credit_graph(making: Making) -> CreditGraph:
    """The graph of an item, however its rubric spells it.

    Raises:
        RubricError: two spellings are mixed, a step is not as it must be, or the points do not fit.
    """
    return _explicit(making) if making.options.step else _simple(making)


def _simple(making: Making) -> CreditGraph:
    """Right without assumptions, remarks, right, carried forward, mistakes, early: the first that fits."""
    item, options, carry = making.item, making.options, making.carry
    formula, where, rule = making.formula, making.where, making.rule
    possible = max(item.points, NO_POINTS)
    steps = [Step("right", Right(strictly=True), possible, silent=True, full=True)]
    for remark in options.remark:
        at = checked_option(remark, item, where)
        index, _ = formula(remark.when, remark.assume, at)
        steps.append(Step(remark.code, Foreseen(index), possible, remark.text, full=True))
    steps.append(Step("right-assuming", Right(), possible, silent=True, full=True))
    if carry is not None:
        steps += _carried(carry, possible, formula, f"{where}: carry_forward")
    for mistake in options.mistake:
        at = checked_option(mistake, item, where)
        index, about_own = formula(mistake.when, mistake.assume, at)
        condition: Condition = Foreseen(index)
        if carry is not None and not about_own:
            # What follows from a wrong result of one's own is not to be blamed on this step.
            condition = Every((OwnIs(state="right"), condition))
        steps.append(Step(mistake.code, condition, mistake.points, mistake.text))
    steps.append(Step("formula.early", Early(), message="formula.early"))
    return CreditGraph(tuple(steps if rule is None else _then_form(steps, rule, possible)))


def _then_form(steps: list[Step], rule: FormRule, possible: Decimal) -> Iterator[Step]:
    """Whatever was worth everything goes on to the form; it is worth the rest."""
    form = len(steps) + 1
    for step in steps:
        yield (
            msgspec.structs.replace(step, points=rule.points, full=False, onward=form) if step.full else step
        )
    yield Step("wrong", Otherwise(), silent=True)
    yield Step("form", Written(rule=rule), possible - rule.points, silent=True, full=True)


def _explicit(making: Making) -> CreditGraph:
    """The steps as the rubric states them."""
    item, options, where = making.item, making.options, making.where
    if options.mistake or options.remark:
        raise RubricError(f"{where}: step: mistakes and remarks become steps here; state one or the other")
    if making.rule is not None:
        raise RubricError(f'{where}: step: must, with and without become conditions here: when = "form:…"')
    if item.points <= 0:
        raise RubricError(f"{where}: step: an item with steps needs points above 0, got {item.points}")
    ids = [step.id for step in options.step]
    steps = []
    for place, step in enumerate(options.step):
        at = _place(step.text, where, step.id, needed=False)
        if ids.index(step.id) != place:
            raise RubricError(f"{at}: id: it stands twice; each may stand once")
        onward = END
        if step.next:
            if step.next not in ids[place + 1 :]:
                raise RubricError(f"{at}: next: {step.next!r} is no later step")
            onward = ids.index(step.next)
        taking = _Taking(making.formula, step.assume, at)
        reading = Reading(at, making.vocabulary, taking, carries=making.carry is not None)
        condition = read_conditions(step.when, reading)
        steps.append(Step(step.id, condition, step.points, step.text, onward=onward, silent=not step.text))
    if not any(_about_right(step) for step in steps):
        raise RubricError(f'{where}: step: at least one step with when = "right" is needed')
    return checked(CreditGraph(tuple(steps), stated=True), item.points, where)


class _Taking:
    """Takes in the formulas of one step."""

    def __init__(self, formula: Formula, assume: tuple[str, ...] | None, at: str) -> None:
        self._formula, self._assume, self._at = formula, assume, at

    def __call__(self, text: str) -> int:
        return self._formula(text, self._assume, self._at)[0]


def _about_right(step: Step) -> bool:
    parts = step.condition.parts if isinstance(step.condition, Every) else (step.condition,)
    return any(isinstance(part, Right) for part in parts)


def _carried(carry: spelling.CarryForward, possible: Decimal, formula: Formula, where: str) -> Iterator[Step]:
    """The right continuation: worth everything when the earlier result was right."""
    index, about_own = formula(carry.expect, None, where) if carry.expect else (0, False)
    if not about_own:
        raise RubricError(f"{where}: expect: 'own' must stand for the earlier result")
    fits = Foreseen(index)
    points = possible
    if carry.points is not None:
        check_points(carry.points, Decimal("Infinity"), f"{where}: points")
        points = min(carry.points, possible)
    if points < possible:
        yield Step(CARRIED, Every((OwnIs(state="right"), fits)), possible, message=CARRIED, full=True)
    yield Step(CARRIED, fits, points, message=CARRIED, full=points == possible)


def checked_option(option: spelling.Mistake | spelling.Remark, item: Item, where: str) -> str:
    """How errors name a mistake or remark; its texts and points are checked.

    Raises:
        RubricError: the English text is missing, braces are not written twice, or it is worth too much.
    """
    at = _place(option.text, where, option.code)
    if isinstance(option, spelling.Mistake):
        check_points(option.points, max(item.points, CENT), f"{at}: points")
    return at


def _place(text: dict[str, str], where: str, code: str, *, needed: bool = True) -> str:
    """How errors name a step; its texts are checked on the way."""
    at = f"{where}, {code!r}"
    if needed or text:
        check_text(text, at)
    return at
