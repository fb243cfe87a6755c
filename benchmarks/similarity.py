"""Recall and cost of the search for copies: `python benchmarks/similarity.py [--students 200] [--json]`.

An invented class submits notebooks of the assignment ``gpt2`` (tests/marking/copied_class.py): each student
wrote every function individually, composed of common and rare steps, and one in seven follows the textbook
nearly everywhere. Ten have another student's code, hidden in ten ways: renamed, reordered, reformatted, with
translated comments, and combinations of these; eight of them wrote their own text. No copy has a textbook
solution as its source, because many submissions are similar to that.

The same work as in `autograder similar` is timed, from the files to the page, once for each seed: wall-clock
time, and processor time, which is independent of other programs. With --against FILE the ranks of the copies
are compared with those from another program: FILE is a Python module with ``pairs(folder)``, which gets a
folder with one .py file for each student and yields pairs of names, the most similar first. With --json the
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.app import similarity  # noqa: E402 - the invented class lies in tests
from autograder.course import Course  # noqa: E402
from autograder.grading.release_generation import generate_release  # noqa: E402
from tests.marking.copied_class import NAME, CopiedClass, copied_class, hand_in  # noqa: E402

FIRST = 15


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    runs = []
    for seed in range(options.first, options.first + options.seeds):
        class_ = copied_class(options.students, seed)
        with tempfile.TemporaryDirectory() as folder:
            runs.append({"seed": seed, **measure_class(Path(folder), class_, options.against)})
        print(f"{runs[-1]}", flush=True)
    figures = {
        "students": options.students,
        f"of all copies among the first {FIRST}": f"{sum(run['found'] for run in runs)} of "
        f"{sum(run['copies'] for run in runs)}",
        "the last copy's place, at worst": max(run["last copy"] for run in runs),
        "seconds by the clock, at most": max(run["seconds"] for run in runs),
        "seconds of the processor, at most": max(run["processor"] for run in runs),
        "load": round(os.getloadavg()[0], 1),
        "runs": runs,
    }
    for name, value in figures.items():
        if name != "runs":
            print(f"{name}: {value}")
    if options.json:
        print(json.dumps(figures))


def measure_class(folder: Path, class_: CopiedClass, against: Path | None) -> dict[str, Any]:
    """Measure one class: the ranks of its copies among the pairs, and the time."""
    for name in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / name, folder / name)
    course = Course.from_folder(folder)
    generate_release(course, NAME)
    hand_in(folder, (folder / "release" / NAME / f"{NAME}.ipynb").read_bytes(), class_)
    started, worked = time.monotonic(), time.process_time()
    matches = similarity.find_similar(course, NAME, most=200)
    similarity.write_page(course, matches)
    seconds, processor = time.monotonic() - started, time.process_time() - worked
    report = {
        **rank_copies(class_, (pair.students for pair in matches.pairs)),
        "seconds": round(seconds, 2),
        "processor": round(processor, 2),
    }
    if against:
        report["against"] = rank_with_peer(folder / "against", class_, against)
    return report


def rank_copies(class_: CopiedClass, pairs: Iterable[Sequence[str]]) -> dict[str, Any]:
    """Return the ranks of the copies among pairs."""
    # Reversed, so that the best rank of a repeated pair wins.
    ranks_by_pair = {frozenset(pair): rank for rank, pair in reversed(list(enumerate(pairs, 1)))}
    ranks = [ranks_by_pair.get(frozenset((copy.source, copy.copy)), 0) for copy in class_.copies]
    return {
        "copies": len(ranks),
        "found": sum(0 < rank <= FIRST for rank in ranks),
        # A copy that is not found must be worse than any rank.
        "last copy": max(ranks) if all(ranks) else 10**6,
        "missing": [
            " and ".join(copy.how) for copy, rank in zip(class_.copies, ranks, strict=True) if not rank
        ],
    }


def rank_with_peer(folder: Path, class_: CopiedClass, against: Path) -> dict[str, Any]:
    """Return the ranks of the copies in another program's result, from one file of code per student."""
    folder.mkdir()
    for student, cells in class_.works.items():
        code = [source for cell, source in cells.items() if cell != "strategies" and source.strip()]
        (folder / f"{student}.py").write_text("\n\n\n".join(code) + "\n", "utf-8")
    spec = importlib.util.spec_from_file_location("against", against)
    if spec is None or spec.loader is None:
        sys.exit(f"{against}: expected a Python module with pairs(folder)")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    started = time.monotonic()
    report = rank_copies(class_, module.pairs(folder))
    return {**report, "seconds": round(time.monotonic() - started, 2)}


if __name__ == "__main__":
    main()
