"""``python -m tests.sabotage``: weaken one layer after another; each weakening must be noticed.

Each weakening is applied to a copy of the working tree. Its detectors are run there until one notices. Before
that, every detector is run on the unchanged program; one that fails there is not used.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from msgspec import Struct

from tests.sabotage.detectors import DETECTORS, ask
from tests.sabotage.weakening import Copy, StaleEditError, Weakening
from tests.sabotage.weakenings import WEAKENINGS

WORKERS = 2


class Line(Struct, frozen=True):
    """The result of one weakening."""

    weakening: Weakening
    noticed_by: tuple[str, ...] = ()
    missed_by: tuple[str, ...] = ()
    problem: str = ""
    """Why the result is unknown."""
    said: str = ""
    seconds: float = 0.0

    def text(self) -> str:
        """Return the printed line."""
        who = ", ".join(self.noticed_by) or ("STALE: " + self.problem if self.problem else "NOBODY")
        missed = f" (not: {', '.join(self.missed_by)})" if self.missed_by else ""
        return (
            f"{self.weakening.layer:<9} {self.weakening.name:<50.50} {self.seconds:>5.0f} s  {who}{missed}\n"
            + "".join(f"{'':<12}{line:.150}\n" for line in self.said.splitlines()[:1])
        )


def main() -> int:
    """Run, print, and report whether everything was noticed.

    Returns:
        0 when every weakening was noticed, otherwise 1.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.sabotage", description=__doc__)
    parser.add_argument("--only", default="", help="weakenings whose layer and name contain this")
    parser.add_argument("--all", action="store_true", help="ask every detector, also after one has noticed")
    parser.add_argument("--workers", type=int, default=WORKERS, help="copies at the same time")
    chosen = parser.parse_args()
    wanted = [one for one in WEAKENINGS if chosen.only in f"{one.layer}: {one.name}"]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sabotage-") as folder:
        Path(folder).chmod(0o755)  # boxes of root's graders have separate users
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(chosen.workers):
            copies.put(Copy(Path(folder, f"copy{number}")))
        with ThreadPoolExecutor(chosen.workers) as threads:
            content = _content(threads, copies, wanted)
            lines = []
            for line in threads.map(lambda one: _weakened(copies, one, content, every=chosen.all), wanted):
                lines.append(line)
                sys.stdout.write(line.text())
                sys.stdout.flush()
    noticed = sum(bool(line.noticed_by) for line in lines)
    sys.stdout.write(f"\n{noticed} of {len(lines)} noticed, {time.monotonic() - started:.0f} seconds\n")
    return int(noticed < len(lines) or not lines)


def _content(
    threads: ThreadPoolExecutor, copies: SimpleQueue[Copy], wanted: Sequence[Weakening]
) -> frozenset[str]:
    """Return the detectors that pass on the unchanged program; print the others."""
    names = list(dict.fromkeys(name for one in wanted for name in one.noticed_by))

    def content(name: str) -> bool:
        copy = copies.get()
        try:
            verdict = ask(DETECTORS[name], copy.folder)
        finally:
            copies.put(copy)
        fine = not verdict.noticed and not verdict.broken
        word = "content" if fine else f"NOT CONTENT with the program as it is: {verdict.said}"
        sys.stdout.write(f"detector  {name:<50} {verdict.seconds:>5.0f} s  {word}\n")
        sys.stdout.flush()
        return fine

    return frozenset(name for name, fine in zip(names, threads.map(content, names), strict=True) if fine)


def _weakened(copies: SimpleQueue[Copy], one: Weakening, content: frozenset[str], *, every: bool) -> Line:
    """Weaken a copy, run the detectors, and restore it."""
    started = time.monotonic()
    noticed: list[str] = []
    missed: list[str] = []
    said = ""
    copy = copies.get()
    try:
        before = copy.weaken(one)
        try:
            for name in (name for name in one.noticed_by if name in content):
                verdict = ask(DETECTORS[name], copy.folder)
                (noticed if verdict.noticed else missed).append(name)
                said = said if noticed and not verdict.noticed else verdict.said
                if noticed and not every:
                    break
        finally:
            copy.restore(before)
    except StaleEditError as stale:
        return Line(one, problem=str(stale), seconds=time.monotonic() - started)
    finally:
        copies.put(copy)
    return Line(one, tuple(noticed), tuple(missed), "", said, time.monotonic() - started)


if __name__ == "__main__":
    sys.exit(main())
