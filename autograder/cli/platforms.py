"""The commands that import data into a course: ``roster``, ``collect``, ``adopt``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.app import escape_name, join_names, open_course
from autograder.cli.options import EXIT_FINDINGS, HERE, CourseOption, JsonOption, NameArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from autograder.app.class_lists import RosterImport
    from autograder.app.collection import CollectedAttempt, CollectReport

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
        typer.Argument(help="Downloaded archives, folders, or an nbgrader exchange, the oldest first."),
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
        typer.Option(
            "--worksheet", help="Moodle's grading worksheet, which has ids and times of submission."
        ),
    ] = None,
    any_owner: Annotated[
        bool, typer.Option("--any-owner", help="Accept folders of an exchange whoever owns them.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be collected, and change nothing.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Collect submissions from a learning platform into submitted/. Running it again changes nothing."""
    from autograder.app import collection
    from autograder.cli import report

    options = collection.CollectOptions(platform, worksheet, any_owner, dry_run)
    with report.ProgressBar("collect") as watch:
        collected = collection.collect_submissions(open_course(course), name, sources, options, watch=watch)
    if json:
        report.print_json({"assignment": name, **_to_plain(collected)})
    else:
        if collected.attempts:
            report.make_console().print(_make_attempts_table(collected.attempts, name))
        for state, meaning in _STATES.items():
            if number := sum(attempt.state == state for attempt in collected.attempts):
                report.print_line(f"{number} {meaning}")
        if collected.absent:
            report.print_line(f"on the class list, with nothing handed in: {join_names(collected.absent)}")
        if dry_run:
            report.print_line("a trial: nothing was written")
    report.print_notes(_list_notes(collected))
    if collected.attention:
        raise typer.Exit(EXIT_FINDINGS)


def _to_plain(collected: CollectReport) -> dict[str, object]:
    return {
        "attempts": [
            {
                "student": entry.student,
                "source": entry.source,
                "called": entry.label,
                "state": entry.state,
                "files": entry.files,
                "handed_in": entry.moment.isoformat() if entry.moment else None,
                "late": entry.late,
                "renamed": dict(entry.renamed),
            }
            for entry in collected.attempts
        ],
        "unmatched": [
            {
                "source": entry.source,
                "called": entry.label,
                "files": entry.files,
                "suggestion": str(entry.suggestion),
            }
            for entry in collected.unmatched
        ],
        "refused": {entry.place: str(entry.reason) for entry in collected.refused},
        "concerns": {entry.place: str(entry.reason) for entry in collected.concerns},
        "absent": collected.absent,
        "remarks": [str(remark) for remark in collected.remarks],
    }


def _list_notes(collected: CollectReport) -> list[str]:
    """Return what staff must know or correct."""
    notes = [
        # Labels come from archives and may contain control characters.
        f"{entry.source}: {escape_name(entry.label)} is of nobody: {entry.suggestion}; not collected "
        f"({len(entry.files)} files). State who it is in collect.toml, or correct roster.csv"
        for entry in collected.unmatched
    ]
    notes += [f"{entry.place} was not taken: {entry.reason}" for entry in collected.refused]
    notes += [f"{entry.place}: {entry.reason}" for entry in collected.concerns]
    notes += [
        f"{entry.student}: {escape_name(old)} was taken as {new}"
        for entry in collected.attempts
        for old, new in entry.renamed
    ]
    late = sorted({entry.student for entry in collected.attempts if entry.late})
    if late:
        notes.append(f"marked as late by the platform, which does not say when it was: {join_names(late)}")
    return [*notes, *map(str, collected.remarks)]


def _make_attempts_table(attempts: Sequence[CollectedAttempt], title: str) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from autograder.cli import report

    table = Table(title=title)
    for column in ("student", "called", "handed in", "files", "state"):
        table.add_column(column, justify="right" if column == "files" else "left")
    for attempt in attempts[: report.MOST_ROWS]:
        # Some platforms mark an attempt as late without its time.
        when = f"{attempt.moment:%Y-%m-%d %H:%M:%S} UTC" if attempt.moment else "late" if attempt.late else ""
        table.add_row(
            escape(attempt.student),
            escape(escape_name(attempt.label)),
            when,
            str(attempt.files),
            attempt.state,
        )
    if len(attempts) > report.MOST_ROWS:
        table.add_row("…", f"{len(attempts) - report.MOST_ROWS} more", "", "", "")
    return table


def roster(
    file: Annotated[Path, typer.Argument(help="The CSV export of Moodle, Canvas or HISinOne.")],
    course: CourseOption = HERE,
    id_column: Annotated[
        str,
        typer.Option("--id", help="The column with the ids. Default: the first one that is complete."),
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove students who are not on the list.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Import a class list into roster.csv. Columns that it does not have stay as they are."""
    from autograder.app import class_lists
    from autograder.cli import report

    opened_course = open_course(course)
    done = class_lists.import_roster(
        opened_course, file, id_column=id_column, replace=replace, dry_run=dry_run
    )
    if json:
        report.print_json(_to_plain_changes(done))
    else:
        change = done.change
        report.print_line(f"ids are taken from the column {done.id_column!a}")
        for label, students in (
            ("new" if not dry_run else "would be new", [entry.id for entry in change.added]),
            ("changed" if not dry_run else "would change", [entry.id for _, entry in change.changed]),
            ("taken off" if replace else "not on this list, and kept", [entry.id for entry in change.absent]),
        ):
            if students:
                report.print_line(f"{label}: {join_names(students)} ({len(students)})")
        if not change.added and not change.changed:
            report.print_line("nobody is new, and nothing has changed")
    report.print_notes([f"{file}: {entry}; left out" for entry in done.left_out])
    if done.left_out:
        raise typer.Exit(EXIT_FINDINGS)


def _to_plain_changes(done: RosterImport) -> dict[str, object]:
    return {
        "id_column": done.id_column,
        "added": [student.id for student in done.change.added],
        "changed": [student.id for _, student in done.change.changed],
        "absent": [student.id for student in done.change.absent],
        "left_out": list(map(str, done.left_out)),
    }


def adopt(
    path: Annotated[
        Path, typer.Argument(help="An nbgrader course, or an otter assignment.", show_default="here")
    ] = HERE,
    assignment: Annotated[
        str, typer.Option("--assignment", help="Import only this assignment. Default: all.")
    ] = "",
    *,
    inside: Annotated[
        bool,
        typer.Option(
            "--inside",
            help="Run tests in the student's sandbox if they cannot run outside of it: weaker, and noted on "
            "results. Default: manual review.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Import an nbgrader course or an otter assignment unchanged, and write its rubrics.

    Notebooks, tests and gradebook are left as they are. A rubric that is there is never written over, so
    running it again changes nothing. Exits with 1 where something could not be taken over, and says what.
    """
    from autograder.app import adoption
    from autograder.cli import report

    done = adoption.adopt_assignments(path, assignment, inside=inside)
    if json:
        import msgspec

        report.print_json({"adopted": msgspec.to_builtins(done, enc_hook=str)})
    for adopted in () if json else done:
        if adopted.refused:
            report.print_line(f"{adopted.name}: not taken over: {adopted.refused}")
            continue
        for written in adopted.written:
            report.print_line(f"wrote {written}")
        if not adopted.written:
            report.print_line(f"{adopted.name}: adopted before; nothing was changed")
        report.print_line(
            f"{adopted.name}: {adopted.questions} questions, {adopted.tests} tests, "
            f"{adopted.tests - len(adopted.not_outside)} of them judged outside; "
            f"{adopted.manual} questions for a person; {report.format_number(adopted.points)} points in all"
        )
        for remark in (*adopted.not_outside, *adopted.remarks):
            report.print_line(f"  {remark}")
    raise typer.Exit(
        EXIT_FINDINGS
        if any(adopted.refused or adopted.not_outside or adopted.remarks for adopted in done)
        else 0
    )
