"""Which row of an answer is which row of the rubric: by name, with rows that are missing, extra or moved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from autograder.errors import RubricError
from autograder.kinds.general.table.options import Row
from autograder.kinds.general.table.reading import Written, normal


class Matched(Struct, frozen=True, eq=False):
    """The rows of an answer by the rubric's ids."""

    rows: dict[str, tuple[Written, ...]]
    """Row id → what was written under this name; usually one row."""
    extra: tuple[str, ...] = ()
    """Names of rows that are not asked for, as they were written."""
    moved: frozenset[str] = frozenset()
    """Rows that stand in another order than the others."""

    def one(self, row: str) -> Written | None:
        """The row, where it stands there."""
        found = self.rows.get(row, ())
        return found[0] if found else None


class Names:
    """Finds rows by name."""

    def __init__(self, rows: Sequence[Row], where: str, beside: Sequence[str] = ()) -> None:
        """Collect the names.

        Args:
            rows: that are asked for.
            where: how errors name the question.
            beside: patterns of the names of rows that may stand there as well.

        Raises:
            RubricError: a name stands for two rows.
        """
        self._order = [row.id for row in rows]
        self._beside = tuple(pattern.casefold() for pattern in beside)
        self._ids: dict[str, str] = {}
        for row in rows:
            for name in (row.id, *row.aliases):
                if self._ids.setdefault(normal(name), row.id) != row.id:
                    raise RubricError(f"{where}: row: {name!r} stands for two rows")

    def find(self, name: str) -> str:
        """The row of this name; empty where none is."""
        return self._ids.get(normal(name), "")

    def _may_stand(self, name: str) -> bool:
        """Whether a row is not asked for, and true all the same."""
        return any(fnmatchcase(normal(name), pattern) for pattern in self._beside)

    def match(self, written: Iterable[Written]) -> Matched:
        """Sort the rows of an answer."""
        rows: dict[str, tuple[Written, ...]] = {}
        extra: dict[str, None] = {}
        for row in written:
            found = self.find(row.name)
            if found:
                rows[found] = (*rows.get(found, ()), row)
            elif (row.name or row.cells) and not self._may_stand(row.name):
                extra[row.name or "–"] = None
        places = [self._order.index(row) for row in rows]
        kept = _longest_rising(places)
        moved = frozenset(self._order[place] for place in places if place not in kept)
        return Matched(rows, tuple(extra), moved)


def _longest_rising(numbers: Sequence[int]) -> set[int]:
    """The numbers of a longest rising subsequence; the numbers differ."""
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for number in numbers:
        place = bisect_left(ends, number)
        before[number] = ends[place - 1] if place else None
        ends[place : place + 1] = [number]
    kept: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        kept.add(last)
        last = before[last]
    return kept
