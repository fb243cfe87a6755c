"""Trials of a ``choice`` question: every other option, in the place of a right one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from msgspec import Struct

from autograder.checks.base import Trial
from autograder.checks.options import Mistake, place
from autograder.checks.options import share as equal_share
from autograder.checks.planting import assigned, lost_with
from autograder.records import Answer
from autograder.rubric import Item, Question

UNKNOWN = "no such option"


class ChoiceTrials(Struct, frozen=True):
    """Makes the trials of one item.

    Attributes:
        question: its question.
        item: the item.
        name: the variable it reads.
        entry: the entry of the answer that it reads.
        right: ids of the right options, each once.
        pick: so many of them are wanted; 0: all.
        each: points are given in parts.
        mistakes: named wrong options.
        ids: every option.
        key: the answer key's answer.
    """

    question: Question
    item: Item
    name: str
    entry: str | int | None
    right: tuple[str, ...]
    pick: int
    each: bool
    mistakes: tuple[Mistake, ...]
    ids: tuple[str, ...]
    key: Answer

    def all(self) -> Iterator[Trial]:
        """Every trial of the item."""
        yield from self._picked() if self.pick else self._marked()

    def _picked(self) -> Iterator[Trial]:
        """A closed list: each right option counts, each other one does not."""
        part = equal_share(self.item.points, self.pick, place(self.question, self.item))
        for start in range(0, len(self.right), self.pick):
            chosen = [self.right[(start + step) % len(self.right)] for step in range(self.pick)]
            yield self._trial(f"right: {', '.join(chosen)}", chosen, self.item.points)
        rest = list(self.right[: self.pick - 1])
        for name in (*self.ids, UNKNOWN):
            if name not in self.right:
                credit = next((one.points for one in self.mistakes if one.when == name), Decimal(0))
                family = "" if self._is_named(name) else "another option"
                points = part * len(rest) + credit
                yield self._trial(f"{name} in the place of a right one", [*rest, name], points, family)
        if rest:
            yield self._trial("one too few", rest, part * len(rest))

    def _marked(self) -> Iterator[Trial]:
        """All right options and no other."""
        named = [([one.when] if isinstance(one.when, str) else list(one.when)) for one in self.mistakes]
        yield self._trial("right", self.right, self.item.points)
        for mistake, chosen in zip(self.mistakes, named, strict=True):
            if named.index(chosen) == self.mistakes.index(mistake):
                name = f"mistake {mistake.code}: {', '.join(chosen)}"
                yield self._trial(name, chosen, mistake.points)
        for name in (*self.ids, UNKNOWN):
            if name in self.right:
                chosen, done = [one for one in self.right if one != name], f"without {name}"
            elif len(self.right) == 1:
                chosen, done = [name], f"{name} instead"
            else:
                chosen, done = [*self.right, name], f"{name} as well"
            if chosen and sorted(chosen) not in map(sorted, named):
                yield self._trial(done, chosen, self._parts(chosen), "" if name in self.right else "others")

    def _parts(self, chosen: Sequence[str]) -> Decimal:
        if not self.each:
            return Decimal(0)
        part = equal_share(self.item.points, len(self.right), place(self.question, self.item))
        good = len(set(chosen) & set(self.right))
        return part * max(0, good - len(set(chosen) - set(self.right)))

    def _is_named(self, name: str) -> bool:
        return any(one.when == name for one in self.mistakes)

    def _trial(self, name: str, chosen: Sequence[str], points: Decimal, family: str = "") -> Trial:
        full = points == max(self.item.points, Decimal(0))
        text = ", ".join(chosen)
        value = text if self.key.cell_type != "code" else chosen[0] if len(chosen) == 1 else list(chosen)
        return Trial(
            f"{self.item.id}: {name}",
            assigned(self.key, self.name, value, self.entry),
            () if full else lost_with(self.question, self.item.id),
            {} if full or self.item.points < 0 else {self.item.id: points},
            family=f"{self.item.id}: {family}" if family else "",
        )
