"""Time per submission of the shipped exam after a warm-up: `python benchmarks/grading.py [--json]`.

The class is the demo's, without the notebooks that run into a time limit on purpose. Every submission is
graded once as a warm-up and then `--rounds` times; medians are over all of them. With --json the last line is
one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from autograder.authoring.demo import EXAM
from autograder.authoring.demo import course as demo_course
from autograder.core.records import GradingResult
from autograder.grading import assignment as assignments
from autograder.grading import batch
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.sandbox.pool import Pool

SLOW = 2.0
"""Seconds; a submission that takes longer in the first round runs into a limit and is left out."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        course, _ = demo_course.make_course(Path(folder, "course"), students=options.students, seed=1)
        assignment = assignments.load_assignment(course, EXAM.assignment)
        submissions = [
            batch.read_handin(assignment, handin) for handin in course.list_handins(EXAM.assignment)
        ]
        with Pool() as pool:
            started = time.perf_counter()
            grader = Grader(assignment, pool)
            start_seconds = time.perf_counter() - started
            first = grade_all(grader, submissions, options.workers)
            # Refused submissions take no time and would lower the median.
            quick = [
                submission
                for submission, result in zip(submissions, first, strict=True)
                if 0.01 < result.seconds < SLOW
            ]
            started = time.perf_counter()
            rounds = [
                result for _ in range(options.rounds) for result in grade_all(grader, quick, options.workers)
            ]
            elapsed = time.perf_counter() - started
    figures = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}",
        "workers": options.workers,
        "submissions": len(rounds),
        "start_seconds": round(start_seconds, 2),
        "submission_ms_p50": compute_median_ms([result.seconds for result in rounds]),
        "sandbox_ms_p50": compute_median_ms([result.sandbox_seconds for result in rounds]),
        "submissions_per_second": round(len(rounds) / elapsed, 1),
    }
    for name, value in figures.items():
        print(f"{name:24} {value}")
    if options.json:
        print(json.dumps(figures))


def grade_all(grader: Grader, submissions: list[SubmittedFiles], workers: int) -> list[GradingResult]:
    """Grade all submissions, several at the same time."""
    with ThreadPoolExecutor(workers) as threads:
        return list(threads.map(grader.grade, submissions))


def compute_median_ms(seconds: list[float]) -> float:
    """Return the median in milliseconds."""
    return round(1000 * statistics.median(seconds), 1)


if __name__ == "__main__":
    main()
