"""Output of the commands: tables, JSON, and progress bars."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

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

from autograder.app import Isolation, Listener, get_warning

if TYPE_CHECKING:
    from autograder.app.classes import Outcome, PointsChange
    from autograder.app.inspection import Layer

MOST_ROWS = 100


def make_console() -> Console:
    """Return a console for standard output, wide enough for a table if it is not a terminal."""
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False)


def print_line(line: str) -> None:
    """Print a line to standard output without formatting."""
    make_console().print(line, soft_wrap=True, markup=False)


def format_number(points: Decimal) -> str:
    """Format points without trailing zeros."""
    return f"{points.normalize():f}"


def format_with_size(path: Path | str) -> str:
    """Return a file's path with its size, or only the name if it is not a file, such as a remote database."""
    try:
        return f"{path} ({Path(path).stat().st_size / 1e6:.1f} MB)"
    except OSError:
        return str(path)


def print_json(value: Any) -> None:
    """Print one JSON object on one line of standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=_to_plain) + "\n")


def _to_plain(value: Any) -> Any:
    # JSON has no decimal numbers; all other unknown values become text.
    return float(value) if isinstance(value, Decimal) else str(value)


@contextlib.contextmanager
def warn_of_isolation(isolation: Isolation) -> Iterator[None]:
    """Warn on standard error, before and after a run, if student code is not fully confined."""
    _print_warning(get_warning(isolation))
    try:
        yield
    # Again at the end, because a long output may have scrolled the first warning away.
    finally:
        _print_warning(get_warning(isolation))


def _print_warning(text: str) -> None:
    if text:
        panel = Panel(Text(text), title="weaker isolation", border_style="bold red", box=box.HEAVY)
        Console(stderr=True, width=None if sys.stderr.isatty() else 120, highlight=False).print(panel)


class RateColumn(ProgressColumn):
    """Shows submissions per second."""

    def render(self, task: Task) -> Text:
        """Return the rate so far."""
        return Text(f"{task.speed:.1f}/s" if task.speed else "–/s")


class ProgressBar(Listener):
    """Shows a progress bar on standard error if that is a terminal, and prints messages there."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Progress | None = None

    def report_progress(self, done: int, total: int) -> None:
        """Show the bar from the first to the last step."""
        # Created late, so that a run without any step shows no bar.
        if self._bar is None and done < total:
            self._bar = Progress(
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
            self._bar.start()
            self._bar.add_task(self._title, total=total)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done)
            if done >= total:
                self.__exit__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar, whatever happened. Idempotent."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def notify_staff(self, sentence: str) -> None:
        """Print a sentence on a separate line."""
        print_notes([sentence])


def print_notes(sentences: Iterable[object]) -> None:
    """Print messages for staff to standard error."""
    sys.stderr.writelines(f"autograder: {sentence}\n" for sentence in sentences)


def make_grading_table(outcomes: Sequence[Outcome], title: str) -> Table:
    """Return a row per student: points, points that need manual review, and remarks."""
    table = Table(title=title, caption_justify="left")
    for name, justify in (("student", "left"), ("points", "right"), ("waiting", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("remarks for staff", max_width=70)
    for outcome in sorted(outcomes, key=lambda entry: entry.student)[:MOST_ROWS]:
        score = outcome.graded.score
        codes = [note.code for note in score.notes] + ["remark" for item in score.items if item.remark]
        remarks = "; ".join(dict.fromkeys(codes))
        points = f"{format_number(score.points)} / {format_number(score.possible)}"
        waiting = format_number(score.pending) if score.pending else ""
        table.add_row(escape(outcome.student), points, waiting, escape(remarks))
    if len(outcomes) > MOST_ROWS:
        table.caption = f"… and {len(outcomes) - MOST_ROWS} more"
    return table


def make_changes_table(changes: Sequence[PointsChange]) -> Table:
    """Return the students with other automatic points than before, and the items that changed."""
    table = Table(title="other automatic points than before", caption_justify="left")
    for name, justify in (("student", "left"), ("before", "right"), ("now", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("items", max_width=70)
    for change in changes[:MOST_ROWS]:
        items = escape(", ".join(change.items))
        table.add_row(escape(change.student), format_number(change.before), format_number(change.now), items)
    if len(changes) > MOST_ROWS:
        table.caption = f"… and {len(changes) - MOST_ROWS} more"
    return table


def make_summary_table(figures: dict[str, Any], title: str) -> Table:
    """Return a table of names and figures."""
    table = Table(title=title, show_header=False)
    for name, value in figures.items():
        text = "\n".join(value) if isinstance(value, list) else str(value)
        table.add_row(name, escape(format_number(value) if isinstance(value, Decimal) else text))
    return table


def make_layers_table(layers: Sequence[Layer]) -> Table:
    """Return the layers of confinement, with remedies for missing ones."""
    table = Table(title="sandbox")
    for name in ("layer", "", "found", "what to do"):
        table.add_column(name, overflow="fold")
    for layer in layers:
        state = (
            "[green]holds[/]" if layer.ok else "[red]missing[/]" if layer.required else "[yellow]absent[/]"
        )
        table.add_row(escape(layer.name), state, escape(layer.found), escape(layer.remedy))
    return table
