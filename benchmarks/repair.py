"""What a submission of the decoder with faults takes, warm: `python benchmarks/repair.py [--json]`.

Judged in two ways, in turns: by the hand-made experiments of the kind ``repair``, and by the kind
``debugging`` with the task in ``reference/repair/decoder.toml``. The key, the listing as students receive it,
two that are half repaired, and right ones that compute something else are graded one at a time, through the
whole pipeline and the real sandbox. With --json the last line is one JSON object. Processor time, of grader
and box together, depends less on what else runs.
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
from reference.listings import GIVEN
from tests.support.debugging_course import DebuggingCourse, task
from tests.support.repair_course import RepairCourse

SCALED, HALVED = (
    listing(()).replace(
        "self.token_embedding(tokens) + self.position_embedding(positions)",
        f"self.token_embedding(tokens) * {factor} + self.position_embedding(positions)",
    )
    for factor in ("math.sqrt(8)", "0.5")
)
"""Right, and compute what no listing computes; the first is an alternative of the task."""
SOURCES = {
    "right": listing(()),
    "as it was handed out": listing(EXAM),
    "half repaired": listing(EXAM[:4]),
    "the other half": listing(EXAM[4:]),
    "an alternative": f"import math\n{SCALED}",
    "something else": HALVED,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with Pool() as pool, tempfile.TemporaryDirectory() as folder:
        courses = {
            "by hand": RepairCourse(Path(folder) / "hand", pool),
            "general": DebuggingCourse(Path(folder) / "general", pool, *task("decoder")),
        }
        found: dict[str, dict[str, list[tuple[float, float, float]]]] = {way: {} for way in courses}
        for number in range(options.rounds + 1):
            for name, source in SOURCES.items():
                for way, course in courses.items():
                    given = GIVEN if way == "general" else ""
                    took = timed(course, f"{given}\n\n{source}# mine\n")
                    if number:  # the first round is not warm
                        found[way].setdefault(name, []).append(took)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}, load {os.getloadavg()}")
    print("medians in ms: by the clock; processor of box and grader")
    figures = {
        way: {name: [round(1000 * statistics.median(one)) for one in zip(*some, strict=True)]
              for name, some in of_way.items()}
        for way, of_way in found.items()
    }  # fmt: skip
    for way, of_way in figures.items():
        for name, (clock, box, grader) in of_way.items():
            print(f"{way:8} {name:22} {clock:5} ms; {box:4} + {grader:3} = {box + grader} ms")
    if options.json:
        print(json.dumps(figures))


def timed(course: RepairCourse | DebuggingCourse, source: str) -> tuple[float, float, float]:
    """Seconds by the clock, of the processor in the box, and in the grader."""
    started, used = time.perf_counter(), time.process_time()
    course.sit(source)
    own = time.process_time() - used
    return time.perf_counter() - started, course.processor_seconds, own


if __name__ == "__main__":
    main()
