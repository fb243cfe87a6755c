"""The class against the class: `python benchmarks/cross_tests.py [--students 200] [--json]`.

An invented class hands in a masked softmax, each another one, and a test of it, each another one; every
fourth softmax forgets the mask. The class is graded, then every test is run on every solution, each pair in
a box, by the command as an instructor types it. Which tests find the bug is known beforehand; exits with 1
where something else came.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.second_course import NAME, RIGHT, graded, made  # noqa: E402 - it lies in tests

FORGETS = RIGHT.replace("if mask is not None", "if False")
ROWS = """
import numpy as np
def weights():
    assert np.allclose(soften(np.full((2, 3), {number}.0)).sum(axis=-1), 1.0)
"""
MASKED = """
import numpy as np
def weights():
    mask = np.array([[True, False], [True, True]])
    assert soften(np.full((2, 2), {number}.0), mask)[0, 1] == 0.0
"""


def answers(students: int) -> dict[str, tuple[str, str]]:
    """By student: a solution and a test; no two alike."""
    found = {}
    for number in range(students):
        solution = (RIGHT if number % 4 else FORGETS).replace(
            "return weights", f"return (1 + 0 * {number}) * weights"
        )
        found[f"s{number:04d}"] = (solution, (MASKED if number % 2 else ROWS).format(number=number))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="autograder-tests-") as folder:
        Path(folder).chmod(0o755)
        course = made(Path(folder), answers(options.students))
        graded(course, NAME)
        program = Path(sys.executable).with_name("autograder")
        words = [
            "tests-against",
            NAME,
            "--tests",
            "weights",
            "--solutions",
            "soften",
            "--points",
            "1",
            "--json",
        ]
        before, started = os.times(), time.monotonic()
        done = subprocess.run(
            [program, *words, "--course", folder], stdout=subprocess.PIPE, text=True, check=False
        )
        seconds, after = time.monotonic() - started, os.times()
    found = json.loads(done.stdout)
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    figures = {
        "students": options.students,
        "pairs": found["pairs"],
        "seconds": round(seconds, 1),
        "processor_ms_a_pair": round(1000 * processor / found["pairs"], 1),
        "load": round(os.getloadavg()[0], 1),
    }
    for name, value in figures.items():
        print(f"{name}: {value}")
    finders = sorted(one["student"] for one in found["tests"] if one["bugs"])
    if options.json:
        print(json.dumps(figures))
    if finders != [student for number, student in enumerate(answers(options.students)) if number % 2]:
        print(f"these tests find the bug: {finders}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
