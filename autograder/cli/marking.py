"""The commands for offline marking: ``mark export``, ``mark import``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.app import open_course
from autograder.cli.options import (
    EXIT_FINDINGS,
    EXIT_REFUSED,
    HERE,
    CourseOption,
    JsonOption,
    NameArgument,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from rich.table import Table

    from autograder.app.sheets import SheetChange


def export_marks(
    name: NameArgument,
    to: Annotated[Path, typer.Option("--to", help="The file: .csv for spreadsheets, or .jsonl.")],
    course: CourseOption = HERE,
    cell: Annotated[
        list[str] | None, typer.Option("--cell", help="Only this grade cell; repeatable.")
    ] = None,
    waiting: Annotated[bool, typer.Option("--waiting", help="Only answers that wait for a mark.")] = False,
    flagged: Annotated[bool, typer.Option("--flagged", help="Only answers that carry a flag.")] = False,
    names: Annotated[
        bool, typer.Option("--names", help="Students' ids in the place of names that tell nothing.")
    ] = False,
    groups: Annotated[bool, typer.Option("--groups", help="One row for all equal answers.")] = False,
) -> None:
    """Write what people decide on as a sheet: a row for each answer and item, to be marked elsewhere."""
    from autograder.app import sheets
    from autograder.cli import report

    choice = sheets.SheetChoice(cell or (), flagged, waiting, names, groups)
    with report.ProgressBar("mark export") as watch:
        sheet = sheets.export_sheet(open_course(course), name, to, choice, watch=watch)
    report.print_notes(sheet.remarks)
    report.print_line(f"{to}: {len(sheet.rows)} rows; with points filled in: autograder mark import {to}")


def import_marks(
    file: Annotated[Path, typer.Argument(help="The sheet, as mark export wrote it, with points.")],
    course: CourseOption = HERE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would change.")] = False,
    json: JsonOption = False,
) -> None:
    """Enter the marks of a sheet. All of it is checked first; what changed since is never written over."""
    from autograder.app import sheets
    from autograder.cli import report

    with report.ProgressBar("mark import") as watch:
        done = sheets.import_sheet(open_course(course), file, dry_run=dry_run, watch=watch)
    plan = done.plan
    # A dry run shows the plan; a real run may have entered only a part of it.
    changes = plan.changes if dry_run else done.entered
    if json:
        report.print_json(
            {
                "assignment": plan.assignment,
                "errors": plan.errors,
                "refused": done.refused,
                "changes": [_to_plain(change) for change in changes],
                "entered": not dry_run and not plan.errors,
            }
        )
    elif changes:
        report.make_console().print(_make_table(changes, "would change" if dry_run else "entered"))
    elif not plan.errors:
        report.print_line("nothing to enter")
    report.print_notes([*plan.errors, *done.refused])
    # A single bad row stops the import, so a sheet is never entered in part because of a typing error.
    if plan.errors:
        report.print_notes([f"{file}: nothing was entered; put these rows right, and import it again"])
        raise typer.Exit(EXIT_REFUSED)
    if done.refused:
        raise typer.Exit(EXIT_FINDINGS)


def _to_plain(change: SheetChange) -> dict[str, object]:
    return {
        "row": change.place,
        "who": change.who,
        "cell": change.cell,
        "answers": len(change.marks),
        "before": change.before,
        "points": change.points,
        "comment": change.comment,
        "flag": change.flag,
    }


def _make_table(changes: Sequence[SheetChange], title: str) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title)
    for column in ("row", "who", "cell", "answers", "before", "points", "comment", "flag"):
        table.add_column(column, justify="right" if column in {"answers", "before", "points"} else "left")
    for change in changes:
        before = " / ".join("none" if points is None else _format_number(points) for points in change.before)
        points = "" if change.points is None else _format_number(change.points)
        edited = ["changed" if change else "" for change in (change.comment, change.flag)]
        table.add_row(
            change.place,
            escape(change.who),
            escape(change.cell),
            str(len(change.marks)),
            before,
            points,
            *edited,
        )
    return table


def _format_number(points: Decimal) -> str:
    return f"{points.normalize():f}"
