"""``python -m tests.redteam``: every attack beside honest classmates through the whole product."""

from __future__ import annotations

import argparse
import faulthandler
import sys
import tempfile
import time
from pathlib import Path

from tests.redteam.campaign import figures, run
from tests.redteam.entrants import Entrant, entrants
from tests.redteam.exam import Exam
from tests.redteam.report import Line, as_json, table, totals
from tests.redteam.world import opened

LONGEST_SECONDS = 900
"""A run that takes longer hangs; where is printed, and the exit code is 1."""


def main() -> int:
    """Run, print, and say whether everything held.

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
        exam = Exam.made(root / "course")
        with opened(root / "world") as world:
            hand_in = [
                one
                for one in entrants(exam, world)
                if (_is_chosen(chosen, one) if one.role == "attack" else not chosen.attackers)
            ]
            told = (lambda _: None) if chosen.json else show
            campaign = run(exam, hand_in, world, told, strain=not chosen.no_strain)
    lines = campaign.all_lines()
    seconds = time.monotonic() - started
    if chosen.json:
        sys.stdout.write(as_json(lines, seconds) + "\n")
    else:
        summary(lines, seconds, list(figures(campaign)))
    return int(any(totals(lines).values()))


def _is_chosen(chosen: argparse.Namespace, attack: Entrant) -> bool:
    return chosen.only in attack.name and chosen.without not in attack.name


def show(line: Line) -> None:
    """One line as soon as it is known."""
    sys.stdout.write(line.text() + "\n")
    sys.stdout.flush()


def summary(lines: list[Line], seconds: float, measured: list[str]) -> None:
    """What came to light at the end, and the totals."""
    late = [line for line in lines if line.findings]
    sys.stdout.write("\n" + "".join(f"{line.text()}\n" for line in late))
    sys.stdout.write("\n".join((*measured, "", *table(lines))) + f"\n{seconds:.0f} seconds\n")


if __name__ == "__main__":
    sys.exit(main())
