"""``python -m tests.redteam``: run every attack among honest classmates, on exam and lab."""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import sys
import tempfile
import time
from pathlib import Path

from tests.redteam.campaign import figures, run
from tests.redteam.entrants import Entrant, entrants, here, lab_entrants
from tests.redteam.exam import Exam
from tests.redteam.lab import Lab
from tests.redteam.report import Line, as_json, table, totals
from tests.redteam.world import opened

LONGEST_SECONDS = 1200
"""Seconds for one submission: a run that takes longer hangs; its stack is printed, and the exit code is 1."""


def main() -> int:
    """Run, print, and report whether all promises held.

    Returns:
        0 when every column is zero, otherwise 1.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.redteam", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    parser.add_argument(
        "--only", default="", help="attacks whose class or name contains this; controls always"
    )
    parser.add_argument(
        "--without", default="nothing at all", help="not those whose class or name contains this"
    )
    parser.add_argument("--attackers", action="store_true", help="nobody honest hands in")
    parser.add_argument("--no-strain", action="store_true", help="nobody with little slack beside them")
    chosen = parser.parse_args()
    faulthandler.dump_traceback_later(LONGEST_SECONDS, exit=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="redteam-") as folder:
        root = Path(folder)
        exam, lab = Exam.made(root / "exam" / "course"), Lab.made(root / "lab" / "course")

        def told(line: Line) -> None:
            faulthandler.dump_traceback_later(LONGEST_SECONDS, exit=True)
            if not chosen.json:
                show(line)

        with opened(root / "world") as world:
            campaigns = [
                run(paper, _chosen(chosen, everybody), world, told, strain=not chosen.no_strain)
                for paper, everybody in ((exam, entrants(exam, world, here())), (lab, lab_entrants(lab)))
            ]
    lines = [line for campaign in campaigns for line in campaign.all_lines()]
    seconds = time.monotonic() - started
    if chosen.json:
        sys.stdout.write(as_json(lines, seconds) + "\n")
    else:
        summary(lines, seconds, list(itertools.chain(*map(figures, campaigns))))
    return int(any(totals(lines).values()))


def _chosen(chosen: argparse.Namespace, everybody: list[Entrant]) -> list[Entrant]:
    """Return the entrants."""
    return [
        one
        for one in everybody
        if (
            chosen.only in one.name and chosen.without not in one.name
            if one.role == "attack"
            else not chosen.attackers
        )
    ]


def show(line: Line) -> None:
    """Print one line as soon as it is complete."""
    sys.stdout.write(line.text() + "\n")
    sys.stdout.flush()


def summary(lines: list[Line], seconds: float, measured: list[str]) -> None:
    """Print late findings and the totals."""
    late = [line for line in lines if line.findings]
    sys.stdout.write("\n" + "".join(f"{line.text()}\n" for line in late))
    sys.stdout.write("\n".join((*measured, "", *table(lines))) + f"\n{seconds:.0f} seconds\n")


if __name__ == "__main__":
    sys.exit(main())
