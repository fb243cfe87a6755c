"""What the three contracts of a decoding question have in common: read, compare, recognise a mistake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from autograder.checks.values.arrays import Difference
from autograder.kinds.transformers.decoding import draws, filters, searches
from autograder.kinds.transformers.decoding.options import DecodingItem, DecodingQuestion


class Contract(Protocol):
    """How the answers of one contract are judged; nothing here raises on any value."""

    def right(self, value: Any) -> Any | None:
        """What the reference said, read; None when it is nothing of the kind."""

    def read(self, values: Sequence[Any], right: Any) -> tuple[Any, Difference | None]:
        """What equal calls returned, read, or why it cannot be."""

    def differs(self, given: Any, right: Any, item: DecodingItem, tests: int) -> Difference | None:
        """How what was read is not right. ``tests`` comparisons of the item share its false alarms."""

    def same(self, given: Any, mistake: Any, tests: int) -> bool:
        """Whether what was read is what a mistake gives."""


class Filters:
    """Logits in, logits or probabilities out."""

    def __init__(self, options: DecodingQuestion) -> None:
        self._returns = options.returns

    def right(self, value: Any) -> filters.Kept | None:
        """See `Contract`."""
        return filters.read_right(value)

    def read(self, values: Sequence[Any], right: filters.Kept) -> tuple[Any, Difference | None]:
        """See `Contract`."""
        return filters.read(values[0], right.values.shape)

    def differs(self, given: Any, right: filters.Kept, item: DecodingItem, tests: int) -> Difference | None:
        """See `Contract`."""
        del item, tests
        return filters.differs(given, right, self._returns)

    def same(self, given: Any, mistake: Any, tests: int) -> bool:
        """See `Contract`."""
        del tests
        return filters.same(given, mistake)


class Searches:
    """Tokens in, longer sequences out."""

    def right(self, value: Any) -> list[set[searches.Row]] | None:
        """See `Contract`."""
        return searches.read_right(value)

    def read(self, values: Sequence[Any], right: list[set[searches.Row]]) -> tuple[Any, Difference | None]:
        """See `Contract`."""
        return searches.read(values[0], len(right))

    def differs(self, given: Any, right: Any, item: DecodingItem, tests: int) -> Difference | None:
        """See `Contract`."""
        del item, tests
        return searches.differs(given, right)

    def same(self, given: Any, mistake: Any, tests: int) -> bool:
        """See `Contract`."""
        del tests
        return searches.same(given, mistake)


class Samples:
    """Many equal rows in, a token or sequence drawn for each out."""

    def __init__(self, options: DecodingQuestion) -> None:
        self._draws = options.draws

    def right(self, value: Any) -> dict[draws.Outcome, float] | None:
        """See `Contract`."""
        return draws.read_right(value)

    def read(self, values: Sequence[Any], right: dict[draws.Outcome, float]) -> tuple[Any, Difference | None]:
        """See `Contract`."""
        width = len(next(iter(right)))
        calls = []
        for value in values:
            drawn, difference = draws.read(value, self._draws, width)
            if difference is not None:
                return (), difference
            calls.append(drawn)
        return tuple(calls), None

    def differs(self, given: Any, right: Any, item: DecodingItem, tests: int) -> Difference | None:
        """See `Contract`."""
        return draws.differs(given, right, tests=tests, support=item.measure == "support")

    def same(self, given: Any, mistake: Any, tests: int) -> bool:
        """See `Contract`."""
        chances = draws.read_right(mistake)
        return chances is not None and draws.differs(given, chances, tests=tests) is None


def contract_of(options: DecodingQuestion) -> Contract:
    """How answers to a question are judged."""
    if options.contract == "filter":
        return Filters(options)
    return Searches() if options.contract == "search" else Samples(options)
