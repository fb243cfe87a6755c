"""The report of a red team's run: one line per entrant, columns that must be zero, and the total."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

COLUMNS = (
    "marks changed",
    "files touched outside",
    "processes left",
    "classmates' marks",
    "classmates' time",
    "grader's time",
    "grader's memory",
    "bytes stored",
    "false our fault",
    "grader failures",
)
"""Possible effects of an attack; each must be zero."""
WHOLE_RUN = "the whole run"


class Line(Struct):
    """One entrant, or the run as a whole."""

    kind: str
    name: str
    role: str
    """``"attack"``, ``"control"``, ``"classmate"`` or ``"run"``."""
    student: str = ""
    outcome: str = ""
    seconds: float = 0.0
    findings: dict[str, list[str]] = field(default_factory=dict)
    """Column → findings."""

    def found(self, column: str, *what: str) -> None:
        """Note findings in one of `COLUMNS`."""
        if column not in COLUMNS:
            raise ValueError(f"{column!r} is no column of the report")
        if what:
            self.findings.setdefault(column, []).extend(what)

    def count(self, column: str) -> int:
        """Return the number of findings in a column."""
        return len(self.findings.get(column, ()))

    def text(self) -> str:
        """Return the line as printed: only visible ASCII characters."""
        head = f"{self.kind:<10} {self.name:<62.62} {self.outcome}"
        bad = "; ".join(f"{column.upper()}: {', '.join(what[:3])}" for column, what in self.findings.items())
        return plain(f"{head}  !! {bad}" if bad else head)


def plain(text: str) -> str:
    """Return text that is safe for a terminal, whatever it contains."""
    return "".join(char if " " <= char <= "~" else ascii(char)[1:-1] for char in text)


def totals(lines: Iterable[Line]) -> dict[str, int]:
    """Return the sum of each column."""
    known = list(lines)
    return {column: sum(line.count(column) for line in known) for column in COLUMNS}


def table(lines: Sequence[Line]) -> Iterator[str]:
    """Return the totals by class of attack, and of all."""
    kinds = list(dict.fromkeys(line.kind for line in lines))
    yield " | ".join((f"{'class':<12}", "entrants", *COLUMNS))
    for kind in (*kinds, "total"):
        chosen = [line for line in lines if kind in {line.kind, "total"}]
        entrants = sum(line.role != "run" for line in chosen)
        figures = (f"{count:>{len(column)}}" for column, count in totals(chosen).items())
        yield " | ".join((f"{kind:<12}", f"{entrants:>8}", *figures))


def as_json(lines: Sequence[Line], seconds: float) -> str:
    """Return one JSON object on one line."""
    roles = {role: sum(line.role == role for line in lines) for role in ("attack", "control", "classmate")}
    found = [
        {"class": line.kind, "name": line.name, "findings": line.findings} for line in lines if line.findings
    ]
    entrants = [
        {"class": line.kind, "name": line.name, "role": line.role, "outcome": line.outcome}
        for line in lines
        if line.role != "run"
    ]
    total = totals(lines)
    return json.dumps(
        {
            "attacks": roles["attack"],
            "controls": roles["control"],
            "classmates": roles["classmate"],
            **total,
            "held": not any(total.values()),
            "seconds": round(seconds, 1),
            "found": found,
            "entrants": entrants,
        }
    )
