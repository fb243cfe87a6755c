"""Makes credit graphs: from the steps of a rubric, or from accept, remark, follow and mistake.

Both spellings give the same graph; there is no other way to points.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.checks.options import CENT, check_points, check_text
from autograder.errors import RubricError
from autograder.kinds.general.symbolic import options as spelling
from autograder.kinds.general.symbolic.conditions import (
    Condition,
    Copied,
    Early,
    Either,
    Every,
    Foreseen,
    Not,
    OneNumber,
    Otherwise,
    OwnIs,
    Reading,
    Right,
    Written,
    read_conditions,
)
from autograder.kinds.general.symbolic.earlier import CARRIED
from autograder.kinds.general.symbolic.form_rule import FormRule
from autograder.kinds.general.symbolic.graph import END, NO_POINTS, CreditGraph, Step, checked
from autograder.rubric import Item


class Formula(Protocol):
    """Takes in a formula that a step speaks of."""

    def __call__(
        self, text: str, assume: tuple[str, ...] | None, at: str, basis: Basis = "stated"
    ) -> tuple[int, frozenset[str]]:
        """Its index, and the names of earlier results in it.

        Args:
            text: the formula.
            assume: relations that it is compared under; None: those of the item.
            at: how errors name the place.
            basis: what it is compared with; see `Basis`.
        """


Basis = Literal["stated", "mistake", "own", "own-early"]
"""``own``: the formula stands for nothing without an earlier result of the student's own, and ``own-early``
is compared under every relation there is. ``mistake``: it stands for nothing beside an earlier result that
is wrong, unless it speaks of it."""


class Making(Struct, frozen=True, eq=False):
    """What a graph is made from.

    Attributes:
        item: the item whose points it gives.
        options: the item's options.
        follow: what follows from earlier results, as the rubric spells it.
        follow_points: for that, where an earlier result is wrong; None: all points.
        sources: names of the earlier results that the item may speak of.
        vocabulary: the symbols of the question.
        formula: takes in the formulas of steps.
        where: how errors name the item.
        rule: what is asked of the form of a right answer.
    """

    item: Item
    options: spelling.SymbolicItem
    follow: tuple[str, ...]
    follow_points: Decimal | None
    sources: tuple[str, ...]
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
    """Right without assumptions, remarks, right, what follows, mistakes, early: the first that fits."""
    item, options = making.item, making.options
    formula, where, rule = making.formula, making.where, making.rule
    possible = max(item.points, NO_POINTS)
    steps = [Step("right", Right(strictly=True), possible, silent=True, full=True)]
    for remark in options.remark:
        at = checked_option(remark, item, where)
        index, _ = formula(remark.when, remark.assume, at)
        steps.append(Step(remark.code, Foreseen(index), possible, remark.text, full=True))
    steps.append(Step("right-assuming", Right(), possible, silent=True, full=True))
    steps += _following(making, possible)
    for mistake in options.mistake:
        at = checked_option(mistake, item, where)
        found = [formula(text, mistake.assume, at, "mistake") for text in formulas_of(mistake)]
        condition = _either([Foreseen(index) for index, _ in found])
        spoken = sorted(frozenset[str]().union(*(names for _, names in found)))
        if spoken and mistake.points and options.form == "formula":
            same = tuple((name, formula(name, (), where, "own")[0]) for name in spoken)
            worthless = Every((condition, Copied(same), Not(Copied(same, earned=True))))
            steps.append(Step(mistake.code, worthless, text=mistake.text))
        steps.append(Step(mistake.code, condition, mistake.points, mistake.text))
    if options.early_points:
        check_points(options.early_points, max(item.points, CENT), f"{where}: early_points")
    early = [formula(text, None, where, "own-early") for text in making.follow]
    before = _either([Early(), *(Foreseen(index) for index, _ in early)])
    steps.append(Step("formula.early", before, options.early_points, message="formula.early"))
    if options.number_points:
        check_points(options.number_points, max(item.points, CENT), f"{where}: number_points")
        built_on = early[0][1] if early else frozenset[str]()
        slip: Condition = OneNumber(built_on)
        slip = slip if rule is None else Every((slip, Written(rule=rule)))
        steps.append(Step("one-number", slip, options.number_points, silent=True))
    return CreditGraph(tuple(steps if rule is None else _then_form(steps, rule, possible)))


def formulas_of(option: spelling.Mistake | spelling.Remark) -> tuple[str, ...]:
    """The formulas that a mistake or a remark is about."""
    return (option.when,) if isinstance(option.when, str) else option.when


def _then_form(steps: list[Step], rule: FormRule, possible: Decimal) -> Iterator[Step]:
    """Whatever was worth everything goes on to the form; it is worth the rest.

    What follows from an earlier result that is wrong may have no such form, and is not asked for it.
    """
    form = len(steps) + 1
    for step in steps:
        asked = step.full and step.id != CARRIED
        yield msgspec.structs.replace(step, points=rule.points, full=False, onward=form) if asked else step
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
        reading = Reading(at, making.vocabulary, taking, carries=bool(making.sources))
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
        return self._formula(text, self._assume, self._at, "own")[0]


def _about_right(step: Step) -> bool:
    parts = step.condition.parts if isinstance(step.condition, Every) else (step.condition,)
    return any(isinstance(part, Right) for part in parts)


def _following(making: Making, possible: Decimal) -> Iterator[Step]:
    """What follows from earlier results: worth everything when those were right."""
    if not making.follow:
        return
    where, points = f"{making.where}: follow", possible
    if making.follow_points is not None:
        check_points(making.follow_points, Decimal("Infinity"), f"{making.where}: follow_points")
        points = min(making.follow_points, possible)
    found: list[tuple[Condition, frozenset[str]]] = []
    for text in making.follow:
        index, names = making.formula(text, None, where, "own")
        if not names:
            listed = ", ".join(map(repr, making.sources))
            raise RubricError(f"{where}: {text!r}: {listed} must stand for the earlier result")
        found.append((Foreseen(index), names))
    fits = _either([one for one, _ in found])
    if making.options.form == "formula" and making.options.assume:
        spoken = sorted(frozenset[str]().union(*(names for _, names in found)))
        same = {name: making.formula(name, (), where, "own")[0] for name in spoken}
        if making.rule is not None and points == possible:  # it may be in the form that is asked for
            copied = Every((fits, Copied(tuple(same.items()), earned=True)))
            yield Step("copied", copied, points, message=CARRIED, full=True, carries=True)
        # Only what a formula speaks of can be copied through it; others may have this value by chance.
        fits = _either([Every((one, Not(_copied(same, names)))) for one, names in found])
    if points < possible:
        yield Step(CARRIED, Every((OwnIs(state="right"), fits)), possible, message=CARRIED, full=True)
    yield Step(CARRIED, fits, points, message=CARRIED, full=points == possible, carries=True)


def _copied(same: Mapping[str, int], names: Collection[str]) -> Copied:
    """One of these earlier results stands there as it is."""
    return Copied(tuple((name, same[name]) for name in sorted(names)))


def _either(conditions: Sequence[Condition]) -> Condition:
    """One of them holds."""
    return conditions[0] if len(conditions) == 1 else Either(tuple(conditions))


def checked_option(
    option: spelling.Mistake | spelling.Remark | spelling.OptionalTerms, item: Item, where: str
) -> str:
    """How errors name a mistake or remark; its texts and points are checked.

    Raises:
        RubricError: the English text is missing, braces are not written twice, or it is worth too much.
    """
    at = _place(option.text, where, option.code)
    if not isinstance(option, spelling.Remark):
        check_points(option.points, max(item.points, CENT), f"{at}: points")
    return at


def _place(text: dict[str, str], where: str, code: str, *, needed: bool = True) -> str:
    """How errors name a step; its texts are checked on the way."""
    at = f"{where}, {code!r}"
    if needed or text:
        check_text(text, at)
    return at
