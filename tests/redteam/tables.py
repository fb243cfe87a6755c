"""Tables that users open in spreadsheets: nbgrader's export, and cells that would act as formulas."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.redteam.injections import FORMULAS
from tests.redteam.pages import hidden_characters

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?")
_BEGINS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")
HOSTILE_NAMES = (*FORMULAS, "<script>alert(1)</script>", "\x1b[31mred", "\u202eada")


def cell_faults(text: str) -> Iterator[str]:
    """Return parts of one cell that a spreadsheet would compute, or that are invisible."""
    if text.startswith(_BEGINS_A_FORMULA) and not _NUMBER.fullmatch(text):
        yield f"a formula {text[:40]!a}"
    yield from hidden_characters(text)


def table_faults(path: Path) -> Iterator[str]:
    """Return the faults of all cells of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.reader(file):
            for text in row:
                yield from (f"{path.name}: {fault}" for fault in cell_faults(text))


def write_hostile_roster(course: Path, students: list[str]) -> None:
    """Write a class list with names that act as formulas."""
    with (course / "roster.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "first_name", "last_name", "email"))
        for student, name in zip(students, HOSTILE_NAMES, strict=False):
            writer.writerow((student, name, name, name))


def exported(course: Path, to: Path) -> subprocess.CompletedProcess[str]:
    """Run nbgrader's own export of the gradebook, as its users do."""
    return subprocess.run(
        [
            str(Path(sys.executable).with_name("nbgrader")),
            "export",
            "--to",
            str(to),
            "--db",
            f"sqlite:///{course}/gradebook.db",
        ],
        cwd=course,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
