"""The command line starts at once."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import PROGRAMS, ROOT

pytestmark = pytest.mark.alone

MOST_TIMES = 2
"""Processor time of our help page, in that of the smallest program whose page the same library draws."""

SMALLEST = """
import typer
app = typer.Typer()
@app.command()
def one() -> None: "One."
@app.command()
def two() -> None: "Two."
app()
"""


LOADED = """
import atexit, sys
atexit.register(lambda: print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr))
"""


def loaded(program: str) -> set[str]:
    """The libraries that a program has imported when it has shown its help page."""
    command = [sys.executable, "-c", LOADED + program, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    return {*done.stderr.split()}


def test_help_imports_nothing_heavy() -> None:
    """Beside what the page itself needs: only ours, records, and what Python brings along."""
    own = loaded("from autograder.cli import main\nmain()") - loaded(SMALLEST)
    assert set() == own - sys.stdlib_module_names - {"autograder", "msgspec", "typing_extensions"}


def processor_seconds(command: list[str]) -> float:
    """The processor time of one run of a command, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "COLUMNS": "100"}
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
@pytest.mark.timed
def test_help_answers_at_once(tmp_path: Path) -> None:
    """``autograder --help`` costs little more than the library that draws it.

    Both are run in turns, and the least of seven counts: whatever else the machine does only
    adds to it, and how fast the machine is does not matter.
    """
    smallest = tmp_path / "smallest.py"
    smallest.write_text(SMALLEST)
    ours, floor = [], []
    for _ in range(7):
        ours.append(processor_seconds([str(PROGRAMS / "autograder"), "--help"]))
        floor.append(processor_seconds([sys.executable, str(smallest), "--help"]))
    assert min(ours) < MOST_TIMES * min(floor)
