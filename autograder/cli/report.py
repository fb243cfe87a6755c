"""What the commands print: tables for people, JSON for machines, progress for those who wait."""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from autograder.grading.batch import Outcome
from autograder.grading.coincidence import CODE as FITS_ANOTHER
from autograder.records import Status
from autograder.sandbox.levels import Isolation, warning
from autograder.sandbox.proof.doctor import Layer
from autograder.verify import Finding, Ways

T = TypeVar("T")

MOST_ROWS = 100


def console() -> Console:
    """Standard output; wide enough for a table where it is not a terminal."""
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False)


def number(points: Decimal) -> str:
    """Points without zeros at their end."""
    return f"{points.normalize():f}"


def with_size(path: Path | str) -> str:
    """A file with its size; what is no file here, as a database elsewhere, by its name alone."""
    try:
        return f"{path} ({Path(path).stat().st_size / 1e6:.1f} MB)"
    except OSError:
        return str(path)


def print_json(value: Any) -> None:
    """One JSON object on one line of standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=_plain) + "\n")


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else str(value)


@contextlib.contextmanager
def at_isolation(isolation: Isolation) -> Iterator[None]:
    """Say on standard error, before and after what is run, that student code is confined less than fully."""
    _warn(warning(isolation))
    try:
        yield
    finally:
        _warn(warning(isolation))


def _warn(text: str) -> None:
    if text:
        panel = Panel(Text(text), title="weaker isolation", border_style="bold red", box=box.HEAVY)
        Console(stderr=True, width=None if sys.stderr.isatty() else 120, highlight=False).print(panel)


class RateColumn(ProgressColumn):
    """Submissions per second."""

    def render(self, task: Task) -> Text:
        """The rate so far."""
        return Text(f"{task.speed:.1f}/s" if task.speed else "–/s")


def with_progress(steps: Iterable[T], total: int, title: str) -> Iterator[T]:
    """The steps, with a bar on standard error while they come; no bar where that is not a terminal."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
    with bar:
        task = bar.add_task(title, total=total)
        for step in steps:
            yield step
            bar.advance(task)


def grading_table(outcomes: Sequence[Outcome], title: str) -> Table:
    """A row per student: points, what waits for a person, and remarks."""
    table = Table(title=title, caption_justify="left")
    for name, justify in (("student", "left"), ("points", "right"), ("waiting", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("remarks for staff", max_width=70)
    for outcome in sorted(outcomes, key=lambda one: one.student)[:MOST_ROWS]:
        score = outcome.graded.score
        remarks = "; ".join(dict.fromkeys(note.code for note in score.notes))
        points = f"{number(score.points)} / {number(score.possible)}"
        waiting = number(score.pending) if score.pending else ""
        table.add_row(escape(outcome.student), points, waiting, escape(remarks))
    if len(outcomes) > MOST_ROWS:
        table.caption = f"… and {len(outcomes) - MOST_ROWS} more"
    return table


def grading_summary(outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any]:
    """The figures of one run."""
    scores = [outcome.graded.score for outcome in outcomes]
    fresh = [outcome.graded for outcome in outcomes if outcome.fresh]
    faults = sum(item.student.code == "review.fault" for score in scores for item in score.items)
    return {
        "submissions": len(outcomes),
        "graded now": len(fresh),
        "known before": len(outcomes) - len(fresh),
        "not readable": sum(not outcome.graded.notebooks for outcome in outcomes if not _refused(outcome)),
        "mean points": round(statistics.mean(score.points for score in scores), 2) if scores else Decimal(0),
        "points waiting for a person": sum((score.pending for score in scores), Decimal(0)),
        "items for review by fault": faults,
        "no answer": sum(item.status is Status.NO_ANSWER for score in scores for item in score.items),
        "seconds": round(seconds, 2),
        "median milliseconds per submission": _median([graded.seconds for graded in fresh]),
        "of it in the sandbox": _median([graded.sandbox_seconds for graded in fresh]),
        "isolation": sorted({score.isolation for score in scores}),
        **{title: found for title, codes in REMARKED.items() if (found := remarked(outcomes, codes))},
        **({"faults of ours": found} if (found := faults_of_ours(outcomes)) else {}),
    }


REMARKED = {
    "fit another's variant": (FITS_ANOTHER,),
    "handed in late": ("late", "late-refused", "late-accepted"),
    "time of handing in not known": ("time-not-known", "time-accepted"),
    "graded by an earlier attempt": ("earlier-attempt",),
}
"""What the figures of a run list by name, and the codes of the remarks."""


def faults_of_ours(outcomes: Iterable[Outcome]) -> list[str]:
    """What went wrong on our side, a line for each: whose submission, and what."""
    return sorted(f"{outcome.student}: {text}" for outcome in outcomes for text in outcome.faults)


def remarked(outcomes: Sequence[Outcome], codes: Collection[str]) -> list[str]:
    """The remarks with one of these codes, a line for each: who, about which question if about one, what."""
    return [
        f"{outcome.student}, {note.place}: {note.text}" if note.place else f"{outcome.student}: {note.text}"
        for outcome in sorted(outcomes, key=lambda one: one.student)
        for note in outcome.graded.score.notes
        if note.code in codes
    ]


def _refused(outcome: Outcome) -> bool:
    """For its time: whether it could be read was not tried."""
    return outcome.timing is not None and outcome.timing.refused


def _median(seconds: list[float]) -> float:
    return round(1000 * statistics.median(seconds), 1) if seconds else 0.0


def summary_table(figures: dict[str, Any], title: str) -> Table:
    """Names and figures."""
    table = Table(title=title, show_header=False)
    for name, value in figures.items():
        text = "\n".join(value) if isinstance(value, list) else str(value)
        table.add_row(name, escape(number(value) if isinstance(value, Decimal) else text))
    return table


def show_validation(name: str, findings: Sequence[Finding], credit: Sequence[Ways]) -> None:
    """What was found about an answer key, and what the ways through stated graphs of credit are worth."""
    out = console()
    if any(ways.stated for ways in credit):
        out.print(credit_table(credit))
    if findings:
        out.print(findings_table(findings))
    else:
        out.print(f"{name}: the answer key scores everything, the untouched release nothing.")


def layers_table(layers: Sequence[Layer]) -> Table:
    """The layers of confinement, with what to do about those that are missing."""
    table = Table(title="sandbox")
    for name in ("layer", "", "found", "what to do"):
        table.add_column(name, overflow="fold")
    for layer in layers:
        state = (
            "[green]holds[/]" if layer.ok else "[red]missing[/]" if layer.required else "[yellow]absent[/]"
        )
        table.add_row(escape(layer.name), state, escape(layer.found), escape(layer.remedy))
    return table


def findings_table(findings: Sequence[Finding]) -> Table:
    """What the answer key and the untouched release brought to light."""
    table = Table(title="not as it must be")
    for name in ("paper", "place", "what"):
        table.add_column(name, overflow="fold")
    for finding in findings:
        what = f"expected {finding.expected}, got {finding.got}"
        table.add_row(escape(finding.paper), escape(finding.place), escape(what))
    return table


def credit_table(credit: Sequence[Ways]) -> Table:
    """What every way through the steps that a rubric states is worth."""
    table = Table(title="partial credit: every way through the steps")
    for name in ("item", "steps that are taken", "points"):
        table.add_column(name, overflow="fold")
    for item in credit:
        for way in item.ways if item.stated else ():
            steps = " → ".join(way.steps) or "none"
            table.add_row(escape(item.place), escape(steps), number(way.points))
    return table
