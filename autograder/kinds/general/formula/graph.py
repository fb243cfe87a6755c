"""Partial credit as a graph: conditions on an answer, and the steps that they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import msgspec
from msgspec import Struct

from autograder.formulas import Undecided
from autograder.kinds.general.formula.conditions import Condition, Diagnosed, Situation, named, recognises
from autograder.records import Message

END = -1
NO_POINTS = Decimal(0)


class CreditStep(Struct, frozen=True, eq=False):
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


class Credit(Struct, frozen=True, eq=False):
    """The steps that were taken, and what they add up to."""

    taken: tuple[CreditStep, ...]
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


class CreditGraph(Struct, frozen=True, eq=False):
    """The steps in order.

    Attributes:
        steps: the nodes.
        named: of each step the foreseen formulas of which the answer must be one; None where it need not.
        unnamed: of each step the first one from there on that is about no foreseen formulas.
        loose: of each step the first one from there on that can be taken by an answer which is proven to be
            neither right nor foreseen.
        most: points that such an answer can earn at most; without end where a step is full credit by itself.
        most_undiagnosed: the same where no diagnosis is looked for.
    """

    steps: tuple[CreditStep, ...]
    named: tuple[frozenset[int] | None, ...] = ()
    unnamed: tuple[int, ...] = ()
    loose: tuple[int, ...] = ()
    most: Decimal = NO_POINTS
    most_undiagnosed: Decimal = NO_POINTS

    def __post_init__(self) -> None:
        """Look at the conditions once: most steps are about formulas that an answer certainly is not."""
        of_each = tuple(named(step.condition) for step in self.steps)
        loose = [not recognises(step.condition) for step in self.steps]
        undiagnosed = [
            one and not isinstance(step.condition, Diagnosed)
            for one, step in zip(loose, self.steps, strict=True)
        ]
        for name, value in (
            ("named", of_each),
            ("unnamed", _next([one is None for one in of_each])),
            ("loose", _next(loose)),
            ("most", self._most(loose)),
            ("most_undiagnosed", self._most(undiagnosed)),
        ):
            msgspec.structs.force_setattr(self, name, value)

    def _most(self, taken: Sequence[bool]) -> Decimal:
        """What the best way is worth on which only these steps are taken."""
        best = [NO_POINTS] * (len(self.steps) + 1)
        for place in reversed(range(len(self.steps))):
            step = self.steps[place]
            best[place] = best[place + 1]
            if taken[place]:
                onward = NO_POINTS if step.onward == END else best[step.onward]
                worth = Decimal("Infinity") if step.full else step.points + onward
                best[place] = worth if step.condition.always else max(worth, best[place])
        return best[0]

    def walk(self, situation: Situation) -> Credit:
        """Take steps for one answer.

        A condition that could not be proven either way makes the outcome doubtful, unless a later step
        is taken because the answer is proven to be one that was foreseen.

        Raises:
            Undecided: a person has to look at it.
        """
        taken: list[CreditStep] = []
        place, facts = 0, situation.facts
        doubt: Undecided | None = None
        while 0 <= place < len(self.steps):
            named = self.named[place]
            if named is not None and not facts.may_be(named):
                place = place + 1 if facts.candidates else self.unnamed[place]
                continue
            step = self.steps[place]
            try:
                holds = step.condition.holds(situation)
            except Undecided as error:
                doubt, holds = doubt or error, False
            if not holds:
                place += 1
                if place < len(self.steps) and facts.unforeseen:
                    place = self.loose[place]
                continue
            if doubt is not None and not step.condition.proves:
                raise doubt
            doubt = None
            taken.append(step)
            place = step.onward
        if doubt is not None:
            raise doubt
        return Credit(tuple(taken), sum((step.points for step in taken), NO_POINTS))


def _next(wanted: Sequence[bool]) -> tuple[int, ...]:
    """For each place the first one from there on that is wanted; their number where there is none."""
    found = [len(wanted)]
    for place in reversed(range(len(wanted))):
        found.append(place if wanted[place] else found[-1])
    return tuple(reversed(found[1:]))
