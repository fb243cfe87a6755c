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

from autograder.app.class_roll import collect_handins
from autograder.app.stores import open_store
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.batch import as_member
from autograder.grading.store import GradedEntry

DIFFERENT = 10
TOGETHER = 50
"""Results in one transaction, as when a class is graded."""
AFTERWARDS = ("grades", "feedback", "statistics")


def measure_size(size: int) -> Iterator[tuple[str, Cost]]:
    """Yield the cost of each command with a class of this size, in a separate course."""
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(Path(folder), Path(sys.prefix), alone=True)
        ours.submit_class(
            {"first": bench.fill_answers(ours.release, next(bench.generate_students(1, 1)).answers)}
        )
        yield "one", ours.grade_class()  # warm-up: self-test of the sandbox, expected values
        ours.submit_class(
            {
                student.name: bench.fill_answers(ours.release, student.answers)
                for student in bench.generate_students(size, 0)
            }
        )
        yield "grade", ours.grade_class()
        yield "grade again", ours.grade_class()
        for name in AFTERWARDS:
            yield name, ours.run_command(name, NAME)


def measure_known(size: int) -> Iterator[tuple[str, Cost]]:
    """Yield the cost of grading if almost nothing is new: copies of ten submissions, recorded before."""
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(Path(folder), Path(sys.prefix), alone=True)
        students = [
            (student.name, bench.fill_answers(ours.release, student.answers))
            for student in bench.generate_students(size, 0)
        ]
        ours.submit_class(dict(students[:DIFFERENT]))
        yield "ten", ours.grade_class()
        ours.submit_more(
            {
                name: students[position % DIFFERENT][1]
                for position, (name, _) in enumerate(students[DIFFERENT:])
            }
        )
        _record_copies(ours.folder)
        # Three runs show how much the time varies.
        for _ in range(3):
            yield "known", ours.grade_class()


def _record_copies(folder: Path) -> None:
    """Record for each copy the result of the submission with the same bytes."""
    assignment = assignments.load_assignment(Course(folder), NAME)
    handins = collect_handins(assignment.course, assignment).handins
    with open_store(assignment, new=False) as store:
        store.prepare_assignment(assignment.rubric, assignment.release_bytes)
        keys, results = store.load_keys(NAME), store.load_results(NAME)
        results_by_key = {keys[handin]: results[handin] for handin in results}
        by_text = {
            (handin.folder / f"{NAME}.ipynb").read_bytes(): handin.student
            for handin in handins
            if handin.student in results
        }
        entries = []
        for handin in handins:
            if handin.student not in results:
                key = keys[by_text[(handin.folder / f"{NAME}.ipynb").read_bytes()]]
                graded = as_member(results_by_key[key], handin)
                entries.append(GradedEntry(replace(key, student=handin.student), graded, assignment.rubric))
        for start in range(0, len(entries), TOGETHER):
            problems = store.record_results(entries[start : start + TOGETHER], language=assignment.language)
            if problems:
                raise RuntimeError(str(problems))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000, 10000])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--known", action="store_true", help="only a run over what is known")
    options = parser.parse_args()
    costs: dict[int, dict[str, Cost]] = {}
    for size in options.sizes:
        print(f"{size:,} submissions")
        costs[size] = {}
        for name, cost in (measure_known if options.known else measure_size)(size):
            costs[size][name] = cost
            each = 1000 * cost.processor / size
            print(
                f"  {name:12} {cost.wall:9.2f} s   {cost.processor:9.2f} s of the processor"
                f"   {each:8.2f} ms each   {cost.peak_mb:6.0f} MB",
                flush=True,
            )
    if options.json:
        report = {
            size: {name: cost._asdict() for name, cost in costs_of_size.items()}
            for size, costs_of_size in costs.items()
        }
        options.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
