"""From ten to ten thousand submissions: `python benchmarks/scale.py [--sizes 10 1000] [--json FILE]`.

The class of `make bench` in each size: graded, graded once more without changes, and then the commands that
an instructor runs afterwards. The output has wall-clock and processor seconds, and the peak memory of the
grader itself, without its boxes.

``--known``: ten submissions are graded, and copies of them are recorded for the others as grading records
them; the measured run is the one afterwards, over known results.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import peers_assignment as bench
from msgspec.structs import replace
from peers_assignment import NAME
from peers_tools import Cost, Ours

from autograder import assignment as assignments
from autograder.app.handins import collect
from autograder.app.stores import open_store
from autograder.course import Course
from autograder.grading.batch import as_member
from autograder.store import GradedEntry

DIFFERENT = 10
TOGETHER = 50
"""Results in one transaction, as when a class is graded."""
AFTERWARDS = ("grades", "feedback", "statistics")


def measure(size: int) -> Iterator[tuple[str, Cost]]:
    """Yield the cost of each command with a class of this size, in a separate course."""
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(Path(folder), Path(sys.prefix), alone=True)
        ours.hand_in({"first": bench.answered(ours.release, next(bench.students(1, 1)).answers)})
        yield "one", ours.grade()  # warm-up: self-test of the sandbox, expected values
        ours.hand_in({one.name: bench.answered(ours.release, one.answers) for one in bench.students(size, 0)})
        yield "grade", ours.grade()
        yield "grade again", ours.grade()
        for name in AFTERWARDS:
            yield name, ours.run(name, NAME)


def measure_known(size: int) -> Iterator[tuple[str, Cost]]:
    """Yield the cost of grading if almost nothing is new: copies of ten submissions, recorded before."""
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(Path(folder), Path(sys.prefix), alone=True)
        students = [(one.name, bench.answered(ours.release, one.answers)) for one in bench.students(size, 0)]
        ours.hand_in(dict(students[:DIFFERENT]))
        yield "ten", ours.grade()
        ours.hand_in_more(
            {name: students[place % DIFFERENT][1] for place, (name, _) in enumerate(students[DIFFERENT:])}
        )
        _record_copies(ours.folder)
        # Three runs show how much the time varies.
        for _ in range(3):
            yield "known", ours.grade()


def _record_copies(folder: Path) -> None:
    """Record for each copy the result of the submission with the same bytes."""
    assignment = assignments.load(Course(folder), NAME)
    handins = collect(assignment.course, assignment).handins
    with open_store(assignment, new=False) as store:
        store.prepare(assignment.rubric, assignment.release_bytes)
        keys, results = store.keys(NAME), store.results(NAME)
        known = {keys[one]: results[one] for one in results}
        by_text = {
            (one.folder / f"{NAME}.ipynb").read_bytes(): one.student
            for one in handins
            if one.student in results
        }
        entries = []
        for one in handins:
            if one.student not in results:
                key = keys[by_text[(one.folder / f"{NAME}.ipynb").read_bytes()]]
                graded = as_member(known[key], one)
                entries.append(GradedEntry(replace(key, student=one.student), graded, assignment.rubric))
        for start in range(0, len(entries), TOGETHER):
            problems = store.record(entries[start : start + TOGETHER], language=assignment.language)
            if problems:
                raise RuntimeError(str(problems))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000, 10000])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--known", action="store_true", help="only a run over what is known")
    options = parser.parse_args()
    found: dict[int, dict[str, Cost]] = {}
    for size in options.sizes:
        print(f"{size:,} submissions")
        found[size] = {}
        for name, cost in (measure_known if options.known else measure)(size):
            found[size][name] = cost
            each = 1000 * cost.processor / size
            print(
                f"  {name:12} {cost.wall:9.2f} s   {cost.processor:9.2f} s of the processor"
                f"   {each:8.2f} ms each   {cost.peak_mb:6.0f} MB",
                flush=True,
            )
    if options.json:
        stated = {size: {name: cost._asdict() for name, cost in one.items()} for size, one in found.items()}
        options.json.write_text(json.dumps(stated, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
