"""From ten to ten thousand submissions: `python benchmarks/scale.py [--sizes 10 1000] [--json FILE]`.

The class of `make bench` in each size: graded, graded once more when nothing changed, and then what an
instructor asks of it. Told are seconds by the clock and of the processor, and the most memory of the grader
itself, without its boxes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import peers_assignment as bench
from peers_assignment import NAME
from peers_tools import Cost, Ours

AFTERWARDS = ("grades", "feedback", "statistics")


def measure(size: int) -> Iterator[tuple[str, Cost]]:
    """What each command costs with a class of this size, in a course of its own."""
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(Path(folder), Path(sys.prefix), alone=True)
        ours.hand_in({"first": bench.answered(ours.release, next(bench.students(1, 1)).answers)})
        yield "one", ours.grade()  # the course's sandbox is tested, and expected results are made
        ours.hand_in({one.name: bench.answered(ours.release, one.answers) for one in bench.students(size, 0)})
        yield "grade", ours.grade()
        yield "grade again", ours.grade()
        for name in AFTERWARDS:
            yield name, ours.run(name, NAME)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000, 10000])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[int, dict[str, Cost]] = {}
    for size in options.sizes:
        print(f"{size:,} submissions")
        found[size] = {}
        for name, cost in measure(size):
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
