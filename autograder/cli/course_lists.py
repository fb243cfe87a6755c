"""The commands about a whole course: ``groups``, ``totals``."""

from __future__ import annotations

import csv
import io
import sys
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import typer

from autograder.app import open_course
from autograder.cli.options import EXIT_FINDINGS, HERE, CourseOption, JsonOption, NameArgument


def groups(name: NameArgument, course: CourseOption = HERE, json: JsonOption = False) -> None:
    """Show who hands in together, what counts for them, and what is wrong in groups.csv."""
    from rich.markup import escape
    from rich.table import Table

    from autograder.app import teams
    from autograder.cli import report

    found = teams.report(open_course(course), name)
    if json:
        report.print_json({"assignment": name, **_plain(found)})
    else:
        table = Table(title=f"{name}: groups")
        for column in ("group", "members", "handed in", "counts"):
            table.add_column(column)
        for one in found.rows:
            cells = (one.name, ", ".join(one.members), ", ".join(one.handed_in), one.counts)
            table.add_row(*map(escape, cells))
        report.console().print(table)
        if found.alone:
            report.say(f"in no group: {', '.join(found.alone)}")
        report.print_notes(found.faults)
    if found.faults:
        raise typer.Exit(EXIT_FINDINGS)


def totals(
    course: CourseOption = HERE,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    json: JsonOption = False,
) -> None:
    """Show the total of the course's assignments, without the lowest ones where exams.toml drops some."""
    from rich.markup import escape
    from rich.table import Table

    from autograder.app.totals import totals as totals_of
    from autograder.cli import report

    with report.ProgressBar("totals") as watch:
        found = totals_of(open_course(course), watch=watch)
    report.print_notes(found.remarks)
    if json:
        students = [
            {**_plain(one), "points": one.points, "possible": one.possible, "final": one.final}
            for one in found.rows
        ]
        return report.print_json({"students": students, "dropped": found.dropped, "remarks": found.remarks})
    names = ("student", *found.assignments, "points", "possible", "dropped", "state")
    rows = [
        (
            one.student,
            *(report.number(part.points) for part in one.parts),
            report.number(one.points),
            report.number(one.possible),
            " ".join(part.assignment for part in one.parts if part.dropped),
            "final" if one.final else "provisional",
        )
        for one in found.rows
    ]
    if as_csv:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([names, *rows])
        sys.stdout.write(text.getvalue())
        return None
    table = Table(title=f"the best {len(found.assignments) - found.dropped} of {len(found.assignments)}")
    for column in names:
        table.add_column(column)
    for row in rows:
        table.add_row(*map(escape, row))
    report.console().print(table)
    return None


def _plain(record: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(record, builtin_types=(Decimal,))
    return plain
