"""Sets of planted faults: every property must be right about each of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from autograder.checking.check_parser import CheckFile
from autograder.checking.runner import CheckOutcome

MOST_FAULTS = 10
"""Up to this number of faults, all sets of them are tried."""
SAMPLE = 1000
"""Sets that are tried if there are more faults."""

MOST_SETS_SHOWN = 3


def list_subsets(faults: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the sets of faults to try: all of them, or a sample if there are many faults.

    A sample has the empty set, each fault alone, each alone repaired, all pairs as far as there is room, and
    random ones.
    """
    if len(faults) <= MOST_FAULTS:
        for size in range(len(faults) + 1):
            yield from itertools.combinations(faults, size)
        return
    # A dictionary keeps this order, which decides the sets beyond the limit.
    chosen = dict.fromkeys(((), *((fault,) for fault in faults), tuple(faults)))
    chosen |= dict.fromkeys(tuple(other for other in faults if other != fault) for fault in faults)
    chosen |= dict.fromkeys(itertools.combinations(faults, 2))
    generator = random.Random(0)  # noqa: S311 - the same sample each time
    while len(chosen) < SAMPLE:
        chosen[tuple(fault for fault in faults if generator.random() < 0.5)] = None
    yield from itertools.islice(chosen, SAMPLE)


class MisledProperty(NamedTuple):
    """A property that is wrong about a set of faults."""

    fault: str
    left: tuple[str, ...]
    outcome: CheckOutcome


def find_misled(
    file: CheckFile,
    run_all: Callable[[str, str], Mapping[str, CheckOutcome]],
    seeds: Sequence[str],
) -> list[MisledProperty]:
    """Run every property on all sets of faults; return the wrong ones, smallest sets first.

    Args:
        file: with the faults.
        run_all: runs all checks on a source, with inputs drawn from a seed.
        seeds: each set is tried with all of them.
    """
    misled: list[MisledProperty] = []
    for left in list_subsets([fault.id for fault in file.faults]):
        source = file.make_listing(left)
        wrong: dict[str, MisledProperty] = {}
        for seed in seeds:
            outcomes = run_all(source, seed)
            for fault in file.faults:
                outcome = outcomes[fault.id]
                if outcome.status not in _list_expected(fault.id in left):
                    # One example for each fault and set, whichever seed shows it.
                    wrong.setdefault(fault.id, MisledProperty(fault.id, left, outcome))
        misled += wrong.values()
    return misled


def _list_expected(is_left: bool) -> tuple[str, ...]:  # noqa: FBT001
    return ("wrong", "raised", "missing", "unreadable") if is_left else ("passed",)


def describe_misled(misled: Sequence[MisledProperty]) -> list[str]:
    """Return a line for each property that other faults mislead, with the smallest sets of them."""
    lines = []
    for fault in dict.fromkeys(entry.fault for entry in misled):
        of_fault = [entry for entry in misled if entry.fault == fault]
        sets = [", ".join(entry.left) or "no faults" for entry in of_fault[:MOST_SETS_SHOWN]]
        more = f" and {len(of_fault) - MOST_SETS_SHOWN} more sets" if len(of_fault) > MOST_SETS_SHOWN else ""
        first = of_fault[0]
        should = "fail" if fault in first.left else "pass"
        said = first.outcome.message or first.outcome.status
        lines.append(
            f"{fault}: misled where these are left: {'; '.join(sets)}{more}. "
            f"It should {should} there: {first.outcome.status}, {said}"
        )
    return lines
