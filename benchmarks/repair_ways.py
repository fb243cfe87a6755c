"""The decoder's faults judged in two ways, side by side: `python benchmarks/repair_ways.py [--held]`.

By the hand-made experiments of the kind ``repair``, and by the kind ``debugging`` with the task in
``reference/repair/decoder.toml``. Both grade all sets of the eight faults and the catalogue of rewritings,
each through the whole pipeline and the real sandbox. An answer is *exact* where every item is as it has to
be, goes *to a person* where nothing is wrong but something is left open, and is *wrong* otherwise. The held
lists (tests/submissions/repair/held*.toml) are of people who knew neither; their `arguable` items
do not count.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from autograder.records import ItemResult, Status
from autograder.sandbox.pool import Pool
from reference.faults.decoder import EXAM, listing, trials
from reference.listings import GIVEN
from tests.support.debugging_course import DebuggingCourse, task
from tests.support.repair_course import RepairCourse
from tests.support.repair_variants import FILES, FOLDER, variants

HELD = ("held", "held-2", "held-3", "held-4")


@dataclass(frozen=True)
class Case:
    """One answer, and what it must lose."""

    group: str
    name: str
    source: str
    loses: frozenset[str]
    open: frozenset[str] = frozenset()
    """Items that do not count."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held", action="store_true", help="the held lists alone")
    parser.add_argument("--no-subsets", action="store_true", help="leave the 256 sets of faults out")
    options = parser.parse_args()
    cases = [*held()]
    if not options.held:
        cases = [*([] if options.no_subsets else subsets()), *catalogue(), *cases]
    found: Counter[tuple[str, str, str]] = Counter()
    with Pool() as pool, tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        general = DebuggingCourse(Path(folder) / "general", pool, *task("decoder"))
        print(f"search: {time.perf_counter() - started:.1f} s, {len(general.named)} listings")
        by_hand = RepairCourse(Path(folder) / "by-hand", pool)
        spent: dict[str, dict[str, list[float]]] = {"by hand": {}, "general": {}}
        for case in cases:
            sources = {"by hand": case.source, "general": f"{GIVEN}\n\n{case.source}"}
            for way, course in (("by hand", by_hand), ("general", general)):
                before = time.process_time()
                judged = course.sit(sources[way])
                took = time.process_time() - before + course.processor_seconds
                spent[way].setdefault(case.group, []).append(took)
                how, items = rating(case, judged)
                found[case.group, way, how] += 1
                if how != "exact":
                    print(f"{way}: {how}: {case.group}: {case.name}: {', '.join(items)}", flush=True)
    table(found, spent)


def subsets() -> Iterator[Case]:
    """Every set of faults left, as planted."""
    for size in range(len(EXAM) + 1):
        for left in combinations(EXAM, size):
            yield Case(
                "sets of faults", " + ".join(left) or "none", f"{listing(left)}# mine\n", frozenset(left)
            )


def catalogue() -> Iterator[Case]:
    """What ``verify`` plants for the exam, and the variants with its eight faults."""
    for trial in trials():
        yield Case("planted by verify", trial["name"], trial["source"], frozenset(trial["loses"]))
    for file in FILES:
        for variant in variants(file):
            if set(variant.planted) == set(EXAM):
                source = "\n\n".join([variant.source(), *variant.cells_after()])
                yield Case(file, variant.name, source, frozenset(variant.loses), frozenset(variant.review))


def held() -> Iterator[Case]:
    """The held lists."""
    for name in HELD:
        for answer in tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["answer"]:
            loses, arguable = frozenset(answer["faults_left"]), frozenset(answer["arguable"])
            yield Case(f"{name}, {answer['class']}", answer["name"], answer["source"], loses, arguable)


def rating(case: Case, results: Mapping[str, ItemResult]) -> tuple[str, list[str]]:
    """How an answer was judged, and the items that are not as they have to be."""
    counted = [item for item in EXAM if item not in case.open]
    waiting = [item for item in counted if results[item].status is Status.NEEDS_REVIEW]
    decided = (item for item in counted if item not in waiting)
    wrong = [item for item in decided if (results[item].status is not Status.PASSED) != (item in case.loses)]
    return ("wrong", wrong) if wrong else ("to a person", waiting) if waiting else ("exact", [])


def table(found: Counter[tuple[str, str, str]], spent: Mapping[str, Mapping[str, list[float]]]) -> None:
    """Print what came of it: exact / to a person / wrong, and the mean processor time of box and grader."""
    print(f"{'':22}" + "".join(f"{way:>26}" for way in spent))
    for group in dict.fromkeys(group for group, _, _ in found):
        told = ""
        for way, of_group in spent.items():
            counts = "/".join(str(found[group, way, how]) for how in ("exact", "to a person", "wrong"))
            told += f"{counts:>16}{1000 * statistics.mean(of_group[group]):7.0f} ms"
        print(f"{group:22}{told}")
    for name, of in (("mean of all", statistics.mean), ("median", statistics.median), ("most", max)):
        all_of = ([one for some in of_group.values() for one in some] for of_group in spent.values())
        print(f"{name:22}" + "".join(f"{1000 * of(some):23.0f} ms" for some in all_of))


if __name__ == "__main__":
    main()
