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

from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.generate import generate_release
from autograder.grading.personal import make_variants, write_personal_releases
from autograder.grading.pipeline import Grader, SubmittedFiles
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
        course = create_course(Path(folder))
        common = assignments.load_assignment(course, NAME)
        # Warm-up, so that start-up is not measured.
        make_variants(common, students[:1], pool)
        drawing, variants = measure_time(lambda: make_variants(common, students, pool))
        handing_out, written = measure_time(lambda: write_personal_releases(course, NAME, students, pool))
        loaded = assignments.load_assignment(course, NAME)
        first, _ = measure_time(lambda: Grader(loaded, pool))
        again, grader = measure_time(lambda: Grader(loaded, pool))
        keys = [
            (student, variants.build_answer_key(variants.variants[student])[NAME])
            for student in students[: options.graded]
        ]
        own_ms = compute_median_ms(grader, keys)
        neighbours = [(student, key) for (student, _), (_, key) in itertools.pairwise(keys)]
        neighbour_ms = compute_median_ms(grader, neighbours)
    figures = {
        "students": options.students,
        "variants": written.variants,
        "seconds to draw and to ask the reference": drawing,
        "seconds to build and to write": handing_out,
        "seconds until grading starts, the first time": first,
        "seconds until grading starts, afterwards": again,
        "milliseconds for one's own answers": own_ms,
        "milliseconds for a neighbour's": neighbour_ms,
    }
    for name, value in figures.items():
        print(f"{name:46} {value}")
    if options.json:
        print(json.dumps(figures))


def create_course(root: Path) -> Course:
    """Create a copy of the shipped course with the sheet's release."""
    for folder in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    course = Course.from_folder(root)
    generate_release(course, NAME)
    return course


def measure_time(work: Callable[[], T]) -> tuple[float, T]:
    """Return the processor seconds that some work takes in this process, and its result."""
    started = time.process_time()
    result = work()
    return round(time.process_time() - started, 2), result


def compute_median_ms(grader: Grader, papers: Iterable[tuple[str, bytes]]) -> float:
    """Return the median time of grading a submission in milliseconds, one after another."""
    seconds = [grader.grade(SubmittedFiles(student, {NAME: paper})).seconds for student, paper in papers]
    return round(1000 * statistics.median(seconds), 1)


if __name__ == "__main__":
    main()
