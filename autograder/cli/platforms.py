"""The commands that import data into a course: ``roster`` and ``collect``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.app import name_list, open_course, printable_name
from autograder.cli.options import EXIT_FINDINGS, HERE, CourseOption, JsonOption, NameArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from autograder.app.collecting import CollectedAttempt, CollectReport
    from autograder.app.rosters import RosterImport

_STATES = {
    "new": "new: it lies in submitted/",
    "earlier": "new, and there is a later one: kept in earlier/",
    "again": "handed in once more: it lies in submitted/ again",
    "unchanged": "there already",
    "left": "nothing of it could be laid",
}


def collect(
    name: NameArgument,
    sources: Annotated[
        list[Path],
        typer.Argument(help="Archives as they were downloaded, folders, or an exchange; the oldest first."),
    ],
    course: CourseOption = HERE,
    platform: Annotated[
        str,
        typer.Option(
            "--from",
            help="moodle, canvas, gradescope, brightspace, blackboard, sakai, ilias, exchange, folders, "
            "nbgrader, or one of collect.toml; default: found out by the names of the files.",
        ),
    ] = "",
    worksheet: Annotated[
        Path | None,
        typer.Option("--worksheet", help="Moodle's grading worksheet: who is who, and when they handed in."),
    ] = None,
    any_owner: Annotated[
        bool, typer.Option("--any-owner", help="Take folders of an exchange whoever owns them.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be collected.")] = False,
    json: JsonOption = False,
) -> None:
    """Bring what students handed in elsewhere to submitted/. Run again, it changes nothing."""
    from autograder.app import collecting
    from autograder.cli import report

    options = collecting.CollectOptions(platform, worksheet, any_owner, dry_run)
    with report.ProgressBar("collect") as watch:
        found = collecting.collect_submissions(open_course(course), name, sources, options, watch=watch)
    if json:
        report.print_json({"assignment": name, **_plain(found)})
    else:
        if found.attempts:
            report.console().print(_attempts_table(found.attempts, name))
        for state, meaning in _STATES.items():
            if number := sum(one.state == state for one in found.attempts):
                report.say(f"{number} {meaning}")
        if found.absent:
            report.say(f"on the class list, with nothing handed in: {name_list(found.absent)}")
        if dry_run:
            report.say("a trial: nothing was written")
    report.print_notes(_notes(found))
    if found.attention:
        raise typer.Exit(EXIT_FINDINGS)


def _plain(found: CollectReport) -> dict[str, object]:
    return {
        "attempts": [
            {
                "student": one.student,
                "source": one.source,
                "called": one.label,
                "state": one.state,
                "files": one.files,
                "handed_in": one.moment.isoformat() if one.moment else None,
                "late": one.late,
                "renamed": dict(one.renamed),
            }
            for one in found.attempts
        ],
        "unmatched": [
            {"source": one.source, "called": one.label, "files": one.files, "suggestion": one.suggestion}
            for one in found.unmatched
        ],
        "refused": {one.place: one.reason for one in found.refused},
        "concerns": {one.place: one.reason for one in found.concerns},
        "absent": found.absent,
        "remarks": found.remarks,
    }


def _notes(found: CollectReport) -> list[str]:
    """Return what staff must know or correct."""
    notes = [
        # Labels come from archives and may contain control characters.
        f"{one.source}: {printable_name(one.label)} is of nobody: {one.suggestion}; not collected "
        f"({len(one.files)} files). State who it is in collect.toml, or correct roster.csv"
        for one in found.unmatched
    ]
    notes += [f"{one.place} was not taken: {one.reason}" for one in found.refused]
    notes += [f"{one.place}: {one.reason}" for one in found.concerns]
    notes += [
        f"{one.student}: {printable_name(old)} was taken as {new}"
        for one in found.attempts
        for old, new in one.renamed
    ]
    late = sorted({one.student for one in found.attempts if one.late})
    if late:
        notes.append(f"marked as late by the platform, which does not say when it was: {name_list(late)}")
    return [*notes, *found.remarks]


def _attempts_table(attempts: Sequence[CollectedAttempt], title: str) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from autograder.cli import report

    table = Table(title=title)
    for column in ("student", "called", "handed in", "files", "state"):
        table.add_column(column, justify="right" if column == "files" else "left")
    for one in attempts[: report.MOST_ROWS]:
        # Some platforms mark an attempt as late without its time.
        when = f"{one.moment:%Y-%m-%d %H:%M:%S} UTC" if one.moment else "late" if one.late else ""
        table.add_row(escape(one.student), escape(printable_name(one.label)), when, str(one.files), one.state)
    if len(attempts) > report.MOST_ROWS:
        table.add_row("…", f"{len(attempts) - report.MOST_ROWS} more", "", "", "")
    return table


def roster(
    file: Annotated[Path, typer.Argument(help="CSV as Moodle, Canvas or HISinOne exports it.")],
    course: CourseOption = HERE,
    id_column: Annotated[
        str,
        typer.Option("--id", help="The column that ids are taken from; default: the first that all have."),
    ] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Take off whoever is not on it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would change.")] = False,
    json: JsonOption = False,
) -> None:
    """Enter a learning platform's class list into roster.csv; what it does not say stays."""
    from autograder.app import rosters
    from autograder.cli import report

    place = open_course(course)
    done = rosters.import_roster(place, file, id_column=id_column, replace=replace, dry_run=dry_run)
    if json:
        report.print_json(_changes(done))
    else:
        change = done.change
        report.say(f"ids are taken from the column {done.id_column!a}")
        for what, students in (
            ("new" if not dry_run else "would be new", [one.id for one in change.added]),
            ("changed" if not dry_run else "would change", [one.id for _, one in change.changed]),
            ("taken off" if replace else "not on this list, and kept", [one.id for one in change.absent]),
        ):
            if students:
                report.say(f"{what}: {name_list(students)} ({len(students)})")
        if not change.added and not change.changed:
            report.say("nobody is new, and nothing has changed")
    report.print_notes([f"{file}: {one}; left out" for one in done.left_out])
    if done.left_out:
        raise typer.Exit(EXIT_FINDINGS)


def _changes(done: RosterImport) -> dict[str, object]:
    return {
        "id_column": done.id_column,
        "added": [one.id for one in done.change.added],
        "changed": [one.id for _, one in done.change.changed],
        "absent": [one.id for one in done.change.absent],
        "left_out": done.left_out,
    }
