"""How much is run before anybody is graded, counted in calls: the same on every machine, at any load."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from msgspec import Struct

from autograder.errors import Place, RubricError
from autograder.kinds.general.debugging.listing import subsets
from autograder.kinds.general.debugging.use import ListingUses

MOST_CALLS = 1_000_000
"""Of all listings together; small ones take some 0.1 ms each."""


class SearchWork(Struct, frozen=True):
    """What the search for probes runs."""

    faults: int
    listings: int
    """Sets of faults that are run."""
    probes: int
    """That are tried with each of them."""
    calls: int
    """Of all listings together; fewer are made where one ends its box."""
    alternatives: int = 0
    """Listings of them that are run besides, at most: one by itself, and with one or two faults."""

    @classmethod
    def of(cls, faults: Sequence[str], uses: ListingUses, alternatives: int = 0) -> SearchWork:
        """Count it.

        Args:
            faults: their ids.
            uses: with all probes.
            alternatives: how many there are.
        """
        listings = sum(1 for _ in subsets(faults))
        others = alternatives * sum(comb(len(faults), size) for size in range(3))
        each = sum(uses.calls[uses.use_of(probe)] for probe in uses.names)
        return cls(len(faults), listings, len(uses.names), (listings + others) * each, others)

    @property
    def words(self) -> str:
        """For the author."""
        others = f", {self.alternatives} listings of alternatives" if self.alternatives else ""
        return (
            f"{self.listings} of {1 << self.faults} sets of faults are run{others}, {self.probes} probes, "
            f"{self.calls} calls"
        )

    def refuse(self, where: Place, most: int = MOST_CALLS) -> None:
        """Refuse more than is bearable.

        Args:
            where: the question.
            most: how many calls there may be.

        Raises:
            RubricError: there are more; says what to change.
        """
        if self.calls > most:
            raise RubricError(
                f"expected at most {most} calls before anybody is graded, got {self.words}; lower tries, or "
                "state fewer uses, fewer steps in them, or fewer faults",
                where,
                "tries",
            )
