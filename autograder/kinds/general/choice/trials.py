"""Trials of a ``choice`` question: every other option, in the place of a right one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from msgspec import Struct

from autograder.checks.base import Trial
from autograder.checks.options import Mistake, place
from autograder.checks.options import share as equal_share
from autograder.checks.planning.planting import Planter

UNKNOWN = "no such option"


class ChoiceTrials(Struct, frozen=True):
    """Makes the trials of one item.

    Attributes:
        planter: of the item.
        right: ids of the right options, each once.
        pick: so many of them are wanted; 0: all.
        each: points are given in parts.
        mistakes: named wrong options.
        names: every option, and what else is tried.
    """

    planter: Planter
    right: tuple[str, ...]
    pick: int
    each: bool
    mistakes: tuple[Mistake, ...]
    names: tuple[str, ...]

    def all(self) -> Iterator[Trial]:
        """Every trial of the item."""
        yield from self._picked() if self.pick else self._marked()

    def _picked(self) -> Iterator[Trial]:
        """A closed list: each right option counts, each other one does not."""
        part = self._part(self.pick)
        for start in range(0, len(self.right), self.pick):
            chosen = [self.right[(start + step) % len(self.right)] for step in range(self.pick)]
            yield self.planter.right(f"right: {', '.join(chosen)}", self._written(chosen))
        rest = list(self.right[: self.pick - 1])
        for name in self.names:
            if name not in self.right:
                named = next((one for one in self.mistakes if one.when == name), None)
                done = f"{name} in the place of a right one"
                if named is None:
                    yield self._trial(done, [*rest, name], part * len(rest), family="another option")
                else:
                    points = part * len(rest) + named.points
                    yield self._trial(done, [*rest, name], points, code=named.code)
        if rest:
            yield self._trial("one too few", rest, part * len(rest))

    def _marked(self) -> Iterator[Trial]:
        """All right options and no other."""
        named = [([one.when] if isinstance(one.when, str) else list(one.when)) for one in self.mistakes]
        yield self.planter.right("right", self._written(self.right))
        for mistake, chosen in zip(self.mistakes, named, strict=True):
            if named.index(chosen) == self.mistakes.index(mistake):
                name = f"mistake {mistake.code}: {', '.join(chosen)}"
                yield self._trial(name, chosen, mistake.points, code=mistake.code)
        for name in self.names:
            if name in self.right:
                chosen, done = [one for one in self.right if one != name], f"without {name}"
            elif len(self.right) == 1:
                chosen, done = [name], f"{name} instead"
            else:
                chosen, done = [*self.right, name], f"{name} as well"
            if chosen and sorted(chosen) not in map(sorted, named):
                family = "" if name in self.right else "others"
                yield self._trial(done, chosen, self._parts(chosen), family=family)

    def _parts(self, chosen: Sequence[str]) -> Decimal:
        if not self.each:
            return Decimal(0)
        part = self._part(len(self.right))
        good = len(set(chosen) & set(self.right))
        return part * max(0, good - len(set(chosen) - set(self.right)))

    def _part(self, parts: int) -> Decimal:
        item = self.planter.item
        return equal_share(item.points, parts, place(self.planter.question, item))

    def _trial(
        self, name: str, chosen: Sequence[str], points: Decimal, *, family: str = "", code: str = ""
    ) -> Trial:
        made = self.planter.trial(name, self._written(chosen), points, code=code)
        return self.planter.of_family(family, made) if family else made

    def _written(self, chosen: Sequence[str]) -> object:
        if self.planter.key.cell_type != "code":
            return ", ".join(chosen)
        return chosen[0] if len(chosen) == 1 else list(chosen)
