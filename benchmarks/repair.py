"""How long a submission to the repair question takes, warm: `python benchmarks/repair.py [--json]`.

The key, the listing as students receive it (with a remark, so that it counts as changed) and two that are
half repaired are graded in turn, one at a time, through the whole pipeline and the real sandbox. With --json
the last line is one JSON object. Processor time, of grader and box together, depends less on what else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from autograder.sandbox.pool import Pool
from reference.faults.decoder import EXAM, listing
from tests.support.repair_course import RepairCourse


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sources = [f"{listing(faults)}# mine\n" for faults in ((), EXAM, EXAM[:4], EXAM[4:])]
    with Pool() as pool, tempfile.TemporaryDirectory() as folder:
        course = RepairCourse(Path(folder), pool)
        timed(course, sources)
        both = [one for _ in range(options.rounds) for one in timed(course, sources)]
    seconds, processor = zip(*both, strict=True)
    figures = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}",
        "load": os.getloadavg()[0],
        "submissions": len(seconds),
        "submission_ms_p50": round(1000 * statistics.median(seconds), 1),
        "processor_ms_p50": round(1000 * statistics.median(processor), 1),
        "submission_ms_fastest": round(1000 * min(seconds), 1),
        "submission_ms_slowest": round(1000 * max(seconds), 1),
    }
    for name, value in figures.items():
        print(f"{name:24} {value}")
    if options.json:
        print(json.dumps(figures))


def timed(course: RepairCourse, sources: list[str]) -> list[tuple[float, float]]:
    """Seconds for each, and processor seconds of grader and box together."""
    seconds = []
    for source in sources:
        started, used = time.perf_counter(), time.process_time()
        course.sit(source)
        of_both = time.process_time() - used + course.processor_seconds
        seconds.append((time.perf_counter() - started, of_both))
    return seconds


if __name__ == "__main__":
    main()
