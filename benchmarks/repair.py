"""Judge the decoder's faults by properties, in this process: `python benchmarks/repair.py [GROUP …]`.

All sets of its faults and the lists of tests/submissions/repair, without a sandbox, in a few minutes. An
answer is *exact* if every item has the expected result, left to *manual review* if nothing is wrong but
something is open, and *wrong* otherwise. Groups are prefixes of names such as ``held`` or ``sets``;
``--seed`` draws other inputs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch

from autograder.checking.objects import Objects, install_objects
from autograder.checking.runner import CheckOutcome, CheckProgram
from autograder.core.records import Status
from tests.support.repair_variants import CHECKS, Case, catalogue, held, rating, subsets

ROOT = Path(__file__).parent.parent
_FILE = "<answer>"


@dataclass(frozen=True)
class JudgedItem:
    """The part of an item's result that `rating` needs."""

    status: Status
    message: str


def main() -> None:
    """Judge, and print inexact results and a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*")
    parser.add_argument("--seed", default="try")
    options = parser.parse_args()
    # As in a box; more threads would change the processor times.
    torch.set_num_threads(1)
    program = CheckProgram(CHECKS, str(ROOT))
    counts: Counter[tuple[str, str]] = Counter()
    seconds: dict[str, list[float]] = {}
    for case in (*catalogue(), *held(), *subsets()):
        if options.groups and not case.group.startswith(tuple(options.groups)):
            continue
        before = time.process_time()
        results = judge_case(program, case, options.seed)
        seconds.setdefault(case.group, []).append(time.process_time() - before)
        verdict, items = rating(case, results)
        counts[case.group, verdict] += 1
        if verdict != "exact":
            print(f"{verdict}: {case.group}: {case.name}: must lose {sorted(case.loses)}")
            for item in items:
                print(f"    {item}: {results[item].status}: {results[item].message[:200]}", flush=True)
    for group, took in seconds.items():
        numbers = "/".join(str(counts[group, verdict]) for verdict in ("exact", "manual review", "wrong"))
        print(f"{group:22}{numbers:>14}{1000 * statistics.mean(took):7.0f} ms")


def judge_case(program: CheckProgram, case: Case, seed: str) -> Mapping[str, JudgedItem]:
    """Run all properties on an answer."""
    undo = install_objects(Objects([_FILE]))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                student = program.load_answer(case.source, _FILE)
            except Exception as error:  # noqa: BLE001 - an answer may raise anything
                return {
                    check.id: JudgedItem(Status.NEEDS_REVIEW, str(error)) for check in program.file.checks
                }
            return {
                check.id: _build_item(
                    program.run(check.id, "", student, program.file.derive_seed(seed.encode(), check, ""))
                )
                for check in program.file.checks
            }
    finally:
        undo()


def _build_item(outcome: CheckOutcome) -> JudgedItem:
    statuses = {"passed": Status.PASSED, "unclear": Status.NEEDS_REVIEW}
    return JudgedItem(statuses.get(outcome.status, Status.FAILED), f"{outcome.error} {outcome.message}")


if __name__ == "__main__":
    main()
