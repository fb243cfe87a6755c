"""This program, nbgrader and otter on the same submissions, in one run: `make bench`.

The same assignment in three forms (peers_assignment.py), nbgrader's adopted by this program as a fourth, and
the same class: right, wrong, crashing and slow answers. Classes of two sizes are graded in turns by the
commands that an instructor types. The difference gives the time of one more submission, without start-up. For
comparison there are lower bounds: the notebook with its tests in a bare process. At the end every mark is
compared, and hostile submissions (peers_hostile.py) go through all three.

Each figure is from one run on this machine; only the ratios can be compared between machines. --peers names
an environment with nbgrader 0.9.6, otter-grader 7.0.0 and torch installed; `make bench` creates it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import peers_assignment as bench
import peers_hostile as hostile
from peers_tools import ROOT, Adopted, Cost, Nbgrader, Otter, Ours, measure_floor

sys.path.insert(0, str(ROOT))

FLOORS = ("import", "process", "fork", "gathered")
_COMPARED = (
    "ms_with_start",
    "ms_without_start",
    "processor_ms_with_start",
    "processor_ms_without_start",
)
Tool = Ours | Nbgrader | Otter


def main() -> None:
    """Measure, compare, print."""
    options = _parse_options()
    with tempfile.TemporaryDirectory(prefix="autograder-peers-") as temporary:
        folder = Path(temporary)
        tools: list[Tool] = [kind(folder, Path(sys.prefix)) for kind in (Ours, Adopted)]
        if options.peers:
            tools += [Nbgrader(folder, options.peers), Otter(folder, options.peers)]
        costs: dict[str, dict[int, list[Cost]]] = {tool.name: {} for tool in tools}
        floors: dict[str, list[Cost]] = {kind: [] for kind in FLOORS}
        differ: list[str] = []
        for tool in tools:  # warm-up: one-time work per course is not measured
            differ += grade_class(tool, list(bench.generate_students(1, options.rounds)))[1]
        # In turns, so that a change of the machine's load affects all programs.
        for number in range(options.rounds):
            for size in (options.small, options.large):
                for tool in tools:
                    count = options.ours if isinstance(tool, Ours) and size == options.large else size
                    grade_class(
                        tool, list(bench.generate_students(1, number))
                    )  # brings its files back into the page cache
                    took, odd = grade_class(tool, list(bench.generate_students(count, number)))
                    costs[tool.name].setdefault(count, []).append(took)
                    differ += odd
                    print(f"round {number + 1}: {tool.name} {count}: {took.wall:.1f} s", flush=True)
            for kind in FLOORS:
                floors[kind].append(
                    measure_floor(kind, list(bench.generate_students(options.small, number)), folder)
                )
        stolen = {tool.name: run_attacks(tool) for tool in tools}
    report = compute_figures(costs, floors) | {"marks_that_differ": differ, "stolen": stolen}
    print_tables(report)
    if options.plot:
        plot_figures(report, options.plot)
    if options.json:
        print(json.dumps(report))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", type=Path, help="environment with nbgrader, otter and torch")
    parser.add_argument("--small", type=int, default=10, help="submissions of the smaller class")
    parser.add_argument("--large", type=int, default=100, help="of the larger one, for nbgrader and otter")
    parser.add_argument("--ours", type=int, default=200, help="of the larger one, for this program")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--plot", type=Path, help="an SVG of the figures")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def grade_class(tool: Tool, students: Sequence[bench.Student]) -> tuple[Cost, list[str]]:
    """Grade a class; return the cost, and each mark that differs from the known one."""
    otter = isinstance(tool, Otter)
    tool.submit_class(
        {student.name: bench.fill_answers(tool.release, student.answers, otter=otter) for student in students}
    )
    cost, marks, odd = tool.grade_class(), tool.read_marks(), []
    for student in students:
        for exercise in bench.EXERCISES:
            right = exercise.points - student.lost.get(exercise.id, 0)
            got = marks.get(student.name, {}).get(exercise.id)
            if got != right:
                odd.append(f"{tool.name}: {student.name}, {exercise.id}: {got} instead of {right}")
    return cost, odd


def run_attacks(tool: Tool) -> dict[str, float]:
    """Return the points of each attack; all of them are stolen, because no answer is right."""
    points_by_attack = {}
    for number, attack in enumerate(hostile.list_attacks()):
        student = f"x{number}"
        text = bench.fill_answers(tool.release, hostile.build_answers(attack), otter=isinstance(tool, Otter))
        tool.submit_class({student: text})
        try:
            tool.grade_class()
            points_by_attack[attack.name] = sum(tool.read_marks().get(student, {}).values())
        except (RuntimeError, OSError, ValueError) as error:  # a program that aborts gives no points
            print(f"{tool.name}: {attack.name}: {str(error).splitlines()[0]}", flush=True)
            points_by_attack[attack.name] = 0.0
    return points_by_attack


def compute_figures(
    costs: Mapping[str, Mapping[int, Sequence[Cost]]], floors: Mapping[str, Sequence[Cost]]
) -> dict[str, Any]:
    """Return medians per submission with and without start-up, and ratios to ours."""
    tools: dict[str, dict[str, float]] = {}
    for name, sizes in costs.items():
        (small_size, small), (large_size, large) = (
            (size, Cost(*(statistics.median(values) for values in zip(*costs_of_runs, strict=True))))
            for size, costs_of_runs in sorted(sizes.items())
        )
        tools[name] = {
            "submissions": large_size,
            "ms_with_start": round(1000 * large.wall / large_size, 1),
            # The difference of two class sizes cancels the start-up time.
            "ms_without_start": round(1000 * (large.wall - small.wall) / (large_size - small_size), 1),
            "processor_ms_with_start": round(1000 * large.processor / large_size, 1),
            "processor_ms_without_start": round(
                1000 * (large.processor - small.processor) / (large_size - small_size), 1
            ),
            f"ms_with_start_{small_size}": round(1000 * small.wall / small_size, 1),
            "peak_mb": round(large.peak_mb),
        }
    ours = tools["autograder"]
    ratios = {
        f"{name} to {base}": {key: round(cost[key] / tools[base][key], 1) for key in _COMPARED}
        for base in ("autograder", "adopted")
        for name, cost in tools.items()
        if name not in ("autograder", "adopted")
    }
    bare = {
        kind: {
            "ms": round(1000 * statistics.median(cost.wall for cost in costs_of_runs), 1),
            "processor_ms": round(1000 * statistics.median(cost.processor for cost in costs_of_runs), 1),
        }
        for kind, costs_of_runs in floors.items()
    }
    to_floor = {
        kind: round(ours["processor_ms_without_start"] / bare[kind]["processor_ms"], 2)
        for kind in ("fork", "gathered")
    }
    return {"programs": tools, "times_faster": ratios, "floors": bare, "processor_to_floor": to_floor}


def print_tables(report: Mapping[str, Any]) -> None:
    """Print tables."""
    for name in ("programs", "floors", "times_faster"):
        print(f"\n{name}")
        for row, values in report[name].items():
            print(f"  {row:12} " + "  ".join(f"{key} {value}" for key, value in values.items()))
    print(f"\nprocessor time to the floor: {report['processor_to_floor']}")
    print(f"marks that are not those known beforehand: {len(report['marks_that_differ'])}")
    for line in report["marks_that_differ"]:
        print(f"  {line}")
    print("\npoints stolen, of 25")
    for attack in next(iter(report["stolen"].values())):
        points = "  ".join(
            f"{name} {points_by_attack[attack]:g}" for name, points_by_attack in report["stolen"].items()
        )
        print(f"  {attack:45} {points}")


def plot_figures(report: Mapping[str, Any], path: Path) -> None:
    """Plot the milliseconds per submission, on a logarithmic axis."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    rows = [(name, values_of_row["ms_with_start"]) for name, values_of_row in report["programs"].items()]
    rows += [
        (f"bare {kind}", values_of_row["ms"])
        for kind, values_of_row in report["floors"].items()
        if kind != "import"
    ]
    names, values = zip(*reversed(rows), strict=True)
    figure, axes = plt.subplots(figsize=(8, 0.5 * len(rows) + 1), layout="constrained")
    colors = ["#999" if name.startswith("bare") else "#2a6f97" for name in names]
    bars = axes.barh(names, values, color=colors)
    axes.bar_label(bars, [f"{value:,.0f} ms" for value in values], padding=4)
    axes.set(xscale="log", xlabel="milliseconds for one submission, start included (logarithmic)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(right=3 * max(values))
    figure.savefig(path)


if __name__ == "__main__":
    main()
