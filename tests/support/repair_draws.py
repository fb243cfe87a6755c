"""Which questions on the decoder can be drawn, and which of their faults are left: seeded draws."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from itertools import combinations

from autograder.kinds.transformers.repair.verdicts import PROBES, exclusive

RANDOM_SUBSETS = int(os.environ.get("REPAIR_SUBSETS", "50"))
"""How many random subsets the tests look at; `REPAIR_SUBSETS`."""
ALL_PAIRS = "REPAIR_SUBSETS" in os.environ
"""Whether they look at every pair, and not at every twelfth."""


def question(planted: Iterable[str], numbers: random.Random) -> tuple[str, ...]:
    """As many faults as one question can have, these among them."""
    chosen = list(planted)
    for fault in numbers.sample(list(PROBES), len(PROBES)):
        if fault not in chosen and not any(exclusive(fault, other) for other in chosen):
            chosen.append(fault)
    return tuple(chosen)


COVERING = (
    question(("position_missing", "cross_key", "embedding_dropout"), random.Random(1)),
    question(("position_table", "cross_value", "dropout_always"), random.Random(1)),
)
"""Two questions that together ask for every probe."""


def pairs() -> list[tuple[str, str]]:
    """All pairs of faults that may be in one question."""
    return [pair for pair in combinations(PROBES, 2) if not exclusive(*pair)]


def subsets(count: int) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Random questions, each with the faults that are left in it: any number of them."""
    for seed in range(count):
        numbers = random.Random(seed)
        asked = question((), numbers)
        yield asked, tuple(numbers.sample(asked, numbers.randint(0, len(asked))))
