"""The command ``regrade``: preview the effects of a change, and apply it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.app import open_course
from autograder.cli.options import (
    EXIT_FINDINGS,
    FULL,
    HERE,
    CourseOption,
    IsolationOption,
    JsonOption,
    NameArgument,
    WorkersOption,
)

if TYPE_CHECKING:
    from rich.table import Table

    from autograder.app.regrading import Regrade

_MOST_TOLD = 60


def regrade(
    name: NameArgument,
    course: CourseOption = HERE,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell who would move and why; that is the default.")
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Let it count, with an entry in the log.")] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Also where students were shown other marks; needs --reason.")
    ] = False,
    reason: Annotated[
        str, typer.Option("--reason", help="What was wrong: for the log, and for pages that change.")
    ] = "",
    student: Annotated[list[str] | None, typer.Option("--student", help="Only this one; repeatable.")] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write it as a page for staff, an HTML file.")
    ] = None,
    json: JsonOption = False,
    workers: WorkersOption = 0,
    isolation: IsolationOption = FULL,
) -> None:
    """Tell who gains and loses what, and why, after a change of rubric or reference, or an upgrade."""
    from autograder.app import regrade_report, regrading
    from autograder.cli import report

    if dry_run and apply:
        raise typer.BadParameter("--dry-run and --apply exclude each other")
    choice = regrading.RegradeChoice(apply, published, reason)
    with report.warn_of_isolation(isolation), report.ProgressBar("regrading") as watch:
        result = regrading.regrade_class(
            open_course(course),
            name,
            student or [],
            choice,
            workers=workers,
            isolation=isolation,
            watch=watch,
        )
    if page is not None:
        regrade_report.write_page(result, page)
    if json:
        report.print_json(regrade_report.to_dict(result))
    else:
        _show_regrade(result)
    report.print_notes(result.remarks)
    report.print_notes(
        f"{who} stays as it is, since our side failed: {why}" for who, why in result.failed.items()
    )
    # Marks that students have already seen need an explicit option and a reason.
    if result.shown and not result.entry:
        notes = [f"{entry.move.student} was shown {entry.shown}" for entry in result.shown]
        report.print_notes([*notes, "these marks move only with --apply --published --reason '…'"])
    if result.failed:
        raise typer.Exit(EXIT_FINDINGS)


def _show_regrade(result: Regrade) -> None:
    from autograder.cli import report

    for difference in result.differences:
        report.print_line(f"different now: {difference}")
    if result.moved:
        report.make_console().print(_make_table(result))
    report.print_line(
        f"{result.total} students: {result.gain} gain, {result.lose} lose, nothing changes for {result.same}"
    )
    if result.entry:
        report.print_line(
            f"applied; entry {result.entry} of the log. New pages: autograder feedback {result.assignment}"
        )
    else:
        report.print_line(
            f"nothing was changed; to let it count: autograder regrade {result.assignment} --apply"
        )


def _make_table(result: Regrade) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from autograder.app import regrade_report
    from autograder.cli import report

    table = Table(
        title="who gains and loses" if result.entry else "who would gain and lose", caption_justify="left"
    )
    for column in ("student", "total", "item", "before", "after", "why"):
        table.add_column(column, overflow="fold", max_width=_MOST_TOLD if column == "why" else None)
    every = list(regrade_report.list_rows(result))
    last = ""
    for row in every[: report.MOST_ROWS]:
        # Name and total appear only in a student's first row.
        total = f"{row.total_before} → {row.total_after}" if row.student != last else ""
        item = f"{row.question}.{row.item}" if row.item else ""
        before, after = (
            f"{points}/{possible}" if points else ""
            for points, possible in ((row.before, row.possible_before), (row.after, row.possible_after))
        )
        table.add_row(*map(escape, (row.student if total else "", total, item, before, after, row.why)))
        last = row.student
    if len(every) > report.MOST_ROWS:
        table.caption = f"… and {len(every) - report.MOST_ROWS} more rows; all of them: --json, --page"
    return table
