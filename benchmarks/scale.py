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
from pathlib import Path
from typing import NamedTuple

import peers_assignment as bench
from peers_assignment import NAME
from peers_tools import Cost, Ours

AFTERWARDS = (("grades", NAME), ("feedback", NAME), ("statistics", NAME))


class Figures(NamedTuple):
    """What a class of one size cost."""

    size: int
    commands: dict[str, Cost]

    def told(self) -> str:
        """One line for each command; per submission where it does the same for each."""
        lines = [f"{self.size:,} submissions"]
        for name, cost in self.commands.items():
            each = 1000 * cost.processor / self.size
            lines.append(
                f"  {name:12} {cost.wall:9.2f} s   {cost.processor:9.2f} s of the processor"
                f"   {each:8.2f} ms each   {cost.peak_mb:6.0f} MB"
            )
        return "\n".join(lines)


def measure(size: int) -> Figures:
    """A class of this size, in a course of its own."""
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(Path(folder), Path(sys.prefix), alone=True)
        ours.hand_in({"first": bench.answered(ours.release, next(bench.students(1, 1)).answers)})
        commands = {"one": ours.grade()}  # the course's sandbox is tested, and expected results are made
        ours.hand_in({one.name: bench.answered(ours.release, one.answers) for one in bench.students(size, 0)})
        commands |= {"grade": ours.grade(), "grade again": ours.grade()}
        for words in AFTERWARDS:
            commands[words[0]] = ours.run(*words)
    return Figures(size, commands)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000, 10000])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    for size in options.sizes:
        found.append(measure(size))
        print(found[-1].told(), flush=True)
    if options.json:
        stated = {one.size: {name: cost._asdict() for name, cost in one.commands.items()} for one in found}
        options.json.write_text(json.dumps(stated, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
