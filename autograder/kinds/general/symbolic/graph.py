"""Partial credit as a graph: steps in order, each with a condition, points, a text, and where to go on.

From the first step on, the first whose condition holds is taken: its points are added, its text is
shown. It ends the search, unless it names a later step from which the search goes on. Every ``next``
leads forward, so there is no circle, and every way through the graph can be listed with its points.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from msgspec import Struct

from autograder.checks.options import CENT
from autograder.errors import RubricError, Undecided
from autograder.kinds.general.symbolic.conditions import Condition, Situation
from autograder.records import Message

END = -1
MOST_STEPS = 32
MOST_WAYS = 500
"""Ways through one graph."""

NO_POINTS = Decimal(0)


class Step(Struct, frozen=True, eq=False):
    """One node of the graph.

    Attributes:
        id: its name within the item; the code of the result when it is the last step taken.
        condition: when it is taken.
        points: added then.
        text: shown then, by language; may be empty.
        message: a sentence of the vocabulary, where there is no text of the rubric's own.
        onward: index of the step from which the search goes on; `END` ends it.
        silent: says nothing, and gives the result no code.
        full: ends with full points whatever they are; for items that only take points away.
    """

    id: str
    condition: Condition
    points: Decimal = NO_POINTS
    text: dict[str, str] = {}
    message: str = ""
    onward: int = END
    silent: bool = False
    full: bool = False
    carries: bool = False
    """Right only on the basis of an earlier result of the student's own."""


class Outcome(Struct, frozen=True, eq=False):
    """The steps that were taken, and what they add up to."""

    taken: tuple[Step, ...]
    points: Decimal

    @property
    def full(self) -> bool:
        """Whether a step was taken that is full credit by itself."""
        return any(step.full for step in self.taken)

    @property
    def carries(self) -> bool:
        """Whether it is right only on the basis of an earlier result."""
        return any(step.carries for step in self.taken)

    @property
    def unfinished(self) -> bool:
        """Whether the last step led on, and nothing further was taken."""
        return bool(self.taken) and self.taken[-1].onward != END

    @property
    def code(self) -> str:
        """The id of the last step that is worth naming; empty where none is."""
        return next((step.id for step in reversed(self.taken) if not step.silent), "")

    @property
    def message(self) -> Message | None:
        """What the steps say, one after the other; None where they say nothing."""
        texts = [step.text for step in self.taken if step.text]
        if texts:
            languages = dict.fromkeys(language for text in texts for language in text)
            joined = {
                language: " ".join(text.get(language, text["en"]) for text in texts) for language in languages
            }
            return Message(self.code, text=joined)
        return next((Message(step.message) for step in reversed(self.taken) if step.message), None)


class Way(Struct, frozen=True):
    """One way through a graph."""

    steps: tuple[str, ...]
    """Ids of the steps that are taken; none for an answer that fits no step."""
    points: Decimal


class CreditGraph(Struct, frozen=True, eq=False):
    """The steps in order.

    Attributes:
        steps: the nodes.
        stated: the rubric states them; otherwise they follow from mistakes and remarks.
    """

    steps: tuple[Step, ...]
    stated: bool = False

    def walk(self, situation: Situation) -> Outcome:
        """Take steps for one answer.

        A condition that could not be proven either way makes the outcome doubtful, unless a later step
        is taken because the answer is proven to be one that was foreseen.

        Raises:
            Undecided: a person has to look at it.
        """
        taken: list[Step] = []
        place = 0
        doubt: Undecided | None = None
        while 0 <= place < len(self.steps):
            step = self.steps[place]
            try:
                holds = step.condition.holds(situation)
            except Undecided as error:
                doubt, holds = doubt or error, False
            if not holds:
                place += 1
                continue
            if doubt is not None and not step.condition.proves:
                raise doubt
            doubt = None
            taken.append(step)
            place = step.onward
        if doubt is not None:
            raise doubt
        return Outcome(tuple(taken), sum((step.points for step in taken), NO_POINTS))

    def ways(self) -> Iterator[Way]:
        """Every way through the graph, whatever the conditions are; the better ones first."""
        for places in self._onward(0):
            steps = [self.steps[place] for place in places]
            yield Way(tuple(step.id for step in steps), sum((step.points for step in steps), NO_POINTS))

    def _onward(self, start: int) -> Iterator[tuple[int, ...]]:
        for place in range(start, len(self.steps)):
            step = self.steps[place]
            if step.onward == END:
                yield (place,)
            else:
                yield from ((place, *rest) for rest in self._onward(step.onward))
            if step.condition.always:
                return
        yield ()


def checked(graph: CreditGraph, possible: Decimal, where: str) -> CreditGraph:
    """The graph, when each step can be reached and no way is worth more than the item.

    Raises:
        RubricError: a step cannot be reached, a way is worth too much or less than nothing, no way is
            worth everything, or points are finer than a hundredth.
    """
    steps = graph.steps
    if len(steps) > MOST_STEPS:
        raise RubricError(f"{where}: step: at most {MOST_STEPS} steps, got {len(steps)}")
    for step in steps:
        if step.points != step.points.quantize(CENT):
            raise RubricError(f"{where}, step {step.id!r}: points: at most two decimals, got {step.points}")
    for place in sorted(set(range(len(steps))) - _reached(graph)):
        raise RubricError(f"{where}, step {steps[place].id!r}: no way leads here")
    best = Decimal("-Infinity")
    for number, way in enumerate(graph.ways(), start=1):
        if number > MOST_WAYS:
            raise RubricError(f"{where}: step: more than {MOST_WAYS} ways through the graph; use fewer steps")
        if not 0 <= way.points <= possible:
            raise RubricError(
                f"{where}: the way {' → '.join(way.steps)} is worth {way.points}; "
                f"expected from 0 to {possible}"
            )
        best = max(best, way.points)
    if best != possible:
        raise RubricError(f"{where}: no way is worth all {possible} points; the best one is worth {best}")
    return graph


def _reached(graph: CreditGraph) -> set[int]:
    """The steps that some answer could take."""
    reached: set[int] = set()
    starts, seen = [0], set()
    while starts:
        start = starts.pop()
        if start in seen:
            continue
        seen.add(start)
        for place in range(start, len(graph.steps)):
            reached.add(place)
            if graph.steps[place].onward != END:
                starts.append(graph.steps[place].onward)
            if graph.steps[place].condition.always:
                break
    return reached
