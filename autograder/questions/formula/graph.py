"""Partial credit as a graph of steps, each taken if the answer meets a condition."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import msgspec
from msgspec import Struct

from autograder.core.records import Message
from autograder.formulas import Undecided
from autograder.questions.formula.conditions import (
    Condition,
    HasDiagnosis,
    Situation,
    find_required,
    needs_known_answer,
)

END = -1
NO_POINTS = Decimal(0)


class CreditStep(Struct, frozen=True, eq=False):
    """One node of the graph.

    Attributes:
        id: its name within the item; the code of the result if it is the last step taken.
        condition: decides whether it is taken.
        points: added if it is taken.
        text: shown if it is taken, by language; may be empty.
        message: a sentence of the vocabulary, if the rubric has no text.
        onward: index of the step at which the search continues; `END` ends it.
        silent: has no message and gives the result no code.
        full: ends with full points regardless of their number; for items that only deduct points.
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
    """The steps that were taken, and the sum of their points."""

    taken: tuple[CreditStep, ...]
    points: Decimal

    @property
    def full(self) -> bool:
        """Whether a step was taken that is full credit by itself."""
        return any(step.full for step in self.taken)

    @property
    def carries(self) -> bool:
        """Whether the answer is right only on the basis of an earlier result."""
        return any(step.carries for step in self.taken)

    @property
    def unfinished(self) -> bool:
        """Whether the last step led on, and no further step was taken."""
        return bool(self.taken) and self.taken[-1].onward != END

    @property
    def code(self) -> str:
        """The id of the last step that is not silent; empty if there is none."""
        return next((step.id for step in reversed(self.taken) if not step.silent), "")

    @property
    def message(self) -> Message | None:
        """The texts of the steps, joined in order; None if they have none."""
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
        named: for each step, the foreseen formulas of which the answer must be one; None if there is no such
            rule.
        unnamed: for each step, the first one from there on that requires no foreseen formula.
        loose: for each step, the first one from there on that an answer can take which is proven to be
            neither right nor foreseen.
        most: the most points that such an answer can earn; infinite if a step is full credit by itself.
        most_undiagnosed: the same without a diagnosis.
    """

    steps: tuple[CreditStep, ...]
    named: tuple[frozenset[int] | None, ...] = ()
    unnamed: tuple[int, ...] = ()
    loose: tuple[int, ...] = ()
    most: Decimal = NO_POINTS
    most_undiagnosed: Decimal = NO_POINTS

    def __post_init__(self) -> None:
        """Analyse the conditions once: most steps are about formulas that an answer is proven not to be."""
        of_each = tuple(find_required(step.condition) for step in self.steps)
        loose = [not needs_known_answer(step.condition) for step in self.steps]
        undiagnosed = [
            required and not isinstance(step.condition, HasDiagnosis)
            for required, step in zip(loose, self.steps, strict=True)
        ]
        # The struct is frozen; its derived fields are set once, here.
        for name, value in (
            ("named", of_each),
            ("unnamed", _find_next([required is None for required in of_each])),
            ("loose", _find_next(loose)),
            ("most", self._find_most(loose)),
            ("most_undiagnosed", self._find_most(undiagnosed)),
        ):
            msgspec.structs.force_setattr(self, name, value)

    def _find_most(self, taken: Sequence[bool]) -> Decimal:
        """Return the points of the best path on which only these steps are taken."""
        best = [NO_POINTS] * (len(self.steps) + 1)
        # From the end, because a step only leads on to later ones.
        for index in reversed(range(len(self.steps))):
            step = self.steps[index]
            best[index] = best[index + 1]
            if taken[index]:
                onward = NO_POINTS if step.onward == END else best[step.onward]
                worth = Decimal("Infinity") if step.full else step.points + onward
                best[index] = worth if step.condition.always else max(worth, best[index])
        return best[0]

    def walk_steps(self, situation: Situation) -> Credit:
        """Take steps for one answer.

        A condition that could not be proven either way makes the outcome doubtful, unless a later step is
        taken because the answer is proven to be a foreseen one.

        Raises:
            Undecided: it needs manual review.
        """
        taken: list[CreditStep] = []
        index, facts = 0, situation.facts
        doubt: Undecided | None = None
        while 0 <= index < len(self.steps):
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
            if not holds:
                index += 1
                # No step about a known answer can be met, so skip to the next loose one.
                if index < len(self.steps) and facts.unforeseen:
                    index = self.loose[index]
                continue
            # The undecided step might have been taken instead, unless this one proves what the answer is.
            if doubt is not None and not step.condition.proves:
                raise doubt
            doubt = None
            taken.append(step)
            index = step.onward
        if doubt is not None:
            raise doubt
        return Credit(tuple(taken), sum((step.points for step in taken), NO_POINTS))


def _find_next(wanted: Sequence[bool]) -> tuple[int, ...]:
    """Return, for each index, the first wanted one from there on; the number of all if there is none."""
    nearest = [len(wanted)]
    for index in reversed(range(len(wanted))):
        nearest.append(index if wanted[index] else nearest[-1])
    return tuple(reversed(nearest[1:]))
