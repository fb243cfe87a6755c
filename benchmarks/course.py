"""A whole course from Moodle's downloads to its uploads: `python benchmarks/course.py [--students 200]
[--json]`.

An invented class in groups of one to three submits two assignments (tests/cli/scripted_class.py): in
time, late, several times, with extensions and slip days, or not at all. Every step is a command as an
instructor types it, including its start-up time: collecting from two downloads, grading, manual marks on a
sheet, pages, statistics, a change of the rubric and regrading, similar submissions, the worksheets for
Moodle. Each result is compared with an expectation from plain arithmetic; the exit status is 1 if one
differs. With --json the last line is one JSON object.
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

from tests.cli.scripted_class import scripted_class  # noqa: E402 - the script lies in tests
from tests.cli.scripted_course import make_files, scripted_term  # noqa: E402


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a separate process."""
    # The command of this environment, not one found on PATH.
    program = Path(sys.executable).with_name("autograder")
    return subprocess.run([str(program), *words], capture_output=True, text=True, check=False)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    class_ = scripted_class(options.students)
    wrong, steps = [], {}
    with tempfile.TemporaryDirectory(prefix="autograder-course-") as folder:
        started = time.monotonic()
        files = make_files(Path(folder), class_)
        print(f"making the course and its downloads: {time.monotonic() - started:.1f} s", flush=True)
        for step in scripted_term(files, class_, run):
            steps[step.name] = round(step.seconds, 1)
            print(f"{step.seconds:7.1f} s  {step.name}", flush=True)
            if step.foreseen != step.actual:
                wrong.append(step.name)
                print(f"foreseen: {step.foreseen}\nfound:    {step.actual}", file=sys.stderr)
    figures = {
        "students": options.students,
        "groups": {name: len(groups) for name, groups in class_.groups.items()},
        "seconds": round(sum(steps.values()), 1),
        "not as foreseen": wrong,
        "load": round(os.getloadavg()[0], 1),
        "steps": steps,
    }
    for name, value in figures.items():
        if name != "steps":
            print(f"{name}: {value}")
    if options.json:
        print(json.dumps(figures))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
