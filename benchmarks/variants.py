"""Cost of personal variants for a class: `python benchmarks/variants.py [--students 200] [--json]`.

Every student's sheet is drawn, built and given out; then some submit their own answer key, and some their
neighbour's, which is judged against every student's variant as well. With --json the last line is one JSON
object. Seconds are processor time of the trusted side, which is independent of other programs; milliseconds
are wall-clock time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from autograder import assignment as assignments
from autograder.course import Course
from autograder.generate import generate
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.personal.distribution import hand_out
from autograder.personal.variant_set import make_variants
from autograder.sandbox.pool import Pool

ROOT = Path(__file__).parents[1]
NAME = "variants-practice"
T = TypeVar("T")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--graded", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    students = [f"student-{number}" for number in range(options.students)]
    with tempfile.TemporaryDirectory() as folder, Pool() as pool:
        course = course_at(Path(folder))
        common = assignments.load(course, NAME)
        # Warm-up, so that start-up is not measured.
        make_variants(common, students[:1], pool)
        drawing, made = timed(lambda: make_variants(common, students, pool))
        handing_out, written = timed(lambda: hand_out(course, NAME, students, pool))
        loaded = assignments.load(course, NAME)
        first, _ = timed(lambda: Grader(loaded, pool))
        again, grader = timed(lambda: Grader(loaded, pool))
        keys = [(one, made.key(made.variants[one])[NAME]) for one in students[: options.graded]]
        own = median(grader, keys)
        neighbours = [(one, key) for (one, _), (_, key) in itertools.pairwise(keys)]
        other = median(grader, neighbours)
    figures = {
        "students": options.students,
        "variants": written.variants,
        "seconds to draw and to ask the reference": drawing,
        "seconds to build and to write": handing_out,
        "seconds until grading starts, the first time": first,
        "seconds until grading starts, afterwards": again,
        "milliseconds for one's own answers": own,
        "milliseconds for a neighbour's": other,
    }
    for name, value in figures.items():
        print(f"{name:46} {value}")
    if options.json:
        print(json.dumps(figures))


def course_at(root: Path) -> Course:
    """Create a copy of the shipped course with the sheet's release."""
    for folder in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    course = Course.at(root)
    generate(course, NAME)
    return course


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the processor seconds that some work takes in this process, and its result."""
    started = time.process_time()
    result = work()
    return round(time.process_time() - started, 2), result


def median(grader: Grader, papers: Iterable[tuple[str, bytes]]) -> float:
    """Return the median time of grading a submission in milliseconds, one after another."""
    seconds = [grader.grade(SubmittedFiles(student, {NAME: paper})).seconds for student, paper in papers]
    return round(1000 * statistics.median(seconds), 1)


if __name__ == "__main__":
    main()
