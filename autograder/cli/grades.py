"""The commands about marks: ``grades``, ``mark export``, ``mark import``."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from autograder.app import join_names, open_course
from autograder.cli.options import (
    EXIT_FINDINGS,
    EXIT_REFUSED,
    HERE,
    CourseOption,
    JsonOption,
    NameArgument,
)

if TYPE_CHECKING:
    from rich.table import Table

    from autograder.app.classes import Standing
    from autograder.app.grade_export import ExportOptions
    from autograder.app.marking_sheets import SheetChange
    from autograder.core.records import GradingResult, Note

_OF_TO = "--format, --fill, --feedback, --comments, --scale, --provisional and --title"


def grades(
    name: Annotated[
        str,
        typer.Argument(
            help="The assignment. Without one, the totals of the course are shown.", show_default=False
        ),
    ] = "",
    *,
    course: CourseOption = HERE,
    to: Annotated[
        Path | None,
        typer.Option("--to", help="Write the final marks to this file."),
    ] = None,
    form: Annotated[
        str,
        typer.Option("--format", help="Of --to: moodle, canvas, ilias, csv or jsonl.", show_default="csv"),
    ] = "",
    fill: Annotated[
        Path | None,
        typer.Option(
            "--fill", help="The file that you downloaded from the platform, to be filled in. Moodle needs it."
        ),
    ] = None,
    feedback: Annotated[
        Path | None,
        typer.Option("--feedback", help="Write an archive of the feedback pages for Moodle to this file."),
    ] = None,
    comments: Annotated[
        bool, typer.Option("--comments", help="Fill in the feedback comments too, for Moodle.")
    ] = False,
    scale: Annotated[
        bool, typer.Option("--scale", help="Convert points to another maximum on the platform.")
    ] = False,
    provisional: Annotated[
        bool, typer.Option("--provisional", help="Include marks that are not final.")
    ] = False,
    title: Annotated[
        str, typer.Option("--title", help='Title of the assignment in Canvas, such as "Warmup (4711)".')
    ] = "",
    as_csv: Annotated[
        bool,
        typer.Option("--csv", help="Print CSV. With an assignment, it has the points of every question."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show points and grades, or export them for a learning platform.

    Manual marks and bonus points are included. Totals leave out the lowest assignments if exams.toml says so.
    The gradebook is not changed, except that automatic scores in it that are not ours are put back.
    """
    from autograder.app.grade_export import ExportOptions

    options = ExportOptions(fill, provisional, scale, comments, feedback, title)
    # Without --to these options would be ignored silently.
    if to is None and (form or options != ExportOptions()):
        raise typer.BadParameter(f"{_OF_TO} belong to --to")
    if to is not None and (as_csv or not name):
        raise typer.BadParameter("--to takes the name of an assignment, and --format csv in place of --csv")
    if to is not None:
        _write_grades(course, name, to, form or "csv", options, json=json)
    elif name:
        _show_assignment(course, name, as_csv=as_csv, json=json)
    else:
        _show_totals(course, as_csv=as_csv, json=json)


def _show_assignment(course: Path, name: str, *, as_csv: bool, json: bool) -> None:
    from autograder.app import classes
    from autograder.cli import report

    with report.ProgressBar("grades") as watch:
        stand = classes.collect_standings(open_course(course), name, watch=watch)
    roll = stand.roll
    report.print_notes(roll.remarks)
    rows = [(standing, _get_time_notes(roll.results[student])) for student, standing in stand.rows.items()]
    if json:
        plain = {
            "students": [_to_plain(*row) for row in rows],
            "gone": list(roll.gone),
            "remarks": roll.remarks,
        }
        report.print_json({"assignment": name, **plain})
    elif as_csv:
        sys.stdout.write(format_csv(rows))
    else:
        report.make_console().print(_make_table(rows, name))


def _show_totals(course: Path, *, as_csv: bool, json: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    from autograder.app.course_totals import compute_totals
    from autograder.cli import report

    with report.ProgressBar("grades") as watch:
        course_totals = compute_totals(open_course(course), watch=watch)
    report.print_notes(course_totals.remarks)
    if json:
        students = [
            {
                **msgspec.to_builtins(entry, builtin_types=(Decimal,)),
                "points": entry.points,
                "possible": entry.possible,
                "final": entry.final,
            }
            for entry in course_totals.rows
        ]
        report.print_json(
            {"students": students, "dropped": course_totals.dropped, "remarks": course_totals.remarks}
        )
        return
    names = ("student", *course_totals.assignments, "points", "possible", "dropped", "state")
    rows = [
        (
            entry.student,
            *(report.format_number(part.points) for part in entry.parts),
            report.format_number(entry.points),
            report.format_number(entry.possible),
            " ".join(part.assignment for part in entry.parts if part.dropped),
            "final" if entry.final else "provisional",
        )
        for entry in course_totals.rows
    ]
    if as_csv:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([names, *rows])
        sys.stdout.write(text.getvalue())
        return
    table = Table(
        title=(
            f"the best {len(course_totals.assignments) - course_totals.dropped} of "
            f"{len(course_totals.assignments)}"
        )
    )
    for column in names:
        table.add_column(column)
    for row in rows:
        table.add_row(*map(escape, row))
    report.make_console().print(table)


def _write_grades(
    course: Path, name: str, to: Path, form: str, options: ExportOptions, *, json: bool
) -> None:
    from autograder.app import grade_export, grade_formats
    from autograder.cli import report

    if form not in grade_formats.FORMATS:
        expected = ", ".join(grade_formats.FORMATS)
        raise typer.BadParameter(f"--format: expected one of {expected}, got {form!r}")
    with report.ProgressBar("grades") as watch:
        done = grade_export.export_grades(open_course(course), name, form, to, options, watch=watch)
    if json:
        report.print_json(
            {
                "assignment": name,
                "files": [str(path) for path in done.files],
                "entered": done.entered,
                "provisional": done.provisional,
                "missing": done.missing,
                "remarks": done.remarks,
            }
        )
    else:
        report.print_line(f"{len(done.entered)} marks for {form}: {to}")
        if options.feedback is not None:
            report.print_line(f"feedback pages: {options.feedback}")
    report.print_notes(done.remarks)
    if done.provisional:
        notice = "not final, and left out (--provisional takes them, too)"
        report.print_notes([f"{notice}: {join_names(done.provisional)}"])
    if done.provisional or done.missing:
        raise typer.Exit(EXIT_FINDINGS)


def format_csv(rows: Sequence[tuple[Standing, Sequence[Note]]]) -> str:
    """Return a line per student: points of every question, points, bonus, total, grade, state and time."""
    questions = [question.id for question in rows[0][0].questions] if rows else []
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    sums = ("points", "late", "bonus", "total", "open")
    facts = ("grade", "best_grade", "passed", "state", "time", "group")
    writer.writerow(("student", *questions, *sums, *facts))
    for standing, time in rows:
        points = [_format_number(question.points) for question in standing.questions]
        points += [
            _format_number(value)
            for value in (standing.points, standing.late, standing.bonus, standing.total, standing.pending)
        ]
        shown = (
            *_get_grade_range(standing),
            _format_passed(standing),
            _format_state(standing),
            _join_notes(time),
            standing.group,
        )
        writer.writerow((standing.student, *points, *shown))
    return text.getvalue()


def _to_plain(standing: Standing, time: Sequence[Note]) -> dict[str, Any]:
    worst, best = _get_grade_range(standing)
    return {
        "student": standing.student,
        "questions": {question.id: question.points for question in standing.questions},
        "points": standing.points,
        "late": standing.late,
        "bonus": standing.bonus,
        "total": standing.total,
        "open": standing.pending,
        "grade": worst,
        "best_grade": best,
        "passed": _format_passed(standing),
        "state": _format_state(standing),
        "time": _join_notes(time),
        "group": standing.group,
    }


def _make_table(rows: Sequence[tuple[Standing, Sequence[Note]]], title: str) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title)
    # Optional columns only appear if a student has a value: multiplying a list by False empties it.
    timed, grouped = any(time for _, time in rows), any(standing.group for standing, _ in rows)
    late = any(standing.late for standing, _ in rows)
    sums = ("points", *["late"] * late, "bonus", "total", "open")
    columns = ("student", *["group"] * grouped, *sums, "grade", "passed", "state", *["time"] * timed)
    for name in columns:
        table.add_column(name, justify="right" if name in sums else "left")
    for standing, time in rows:
        shown = (standing.bonus, standing.pending, -standing.late)
        extra, waiting, off = (_format_number(value) if value else "" for value in shown)
        grade = " to ".join(dict.fromkeys(_get_grade_range(standing)))
        cells = (
            _format_number(standing.points),
            *[off] * late,
            extra,
            _format_number(standing.total),
            waiting,
        )
        codes = [", ".join(note.code for note in time)] * timed
        # Brackets in names would be read as Rich's markup.
        who = [escape(standing.student), *[escape(standing.group)] * grouped]
        table.add_row(*who, *cells, escape(grade), _format_passed(standing), _format_state(standing), *codes)
    return table


def _get_time_notes(graded: GradingResult) -> tuple[Note, ...]:
    """Return the notes about the time of submission."""
    from autograder.app.classes import TIME

    return tuple(note for note in graded.score.notes if note.code in TIME)


def _join_notes(time: Sequence[Note]) -> str:
    return " ".join(note.text for note in time)


def _get_grade_range(standing: Standing) -> tuple[str, str]:
    """Return the worst and the best possible grade; empty if there are no grades."""
    return (standing.worst.name if standing.worst else "", standing.best.name if standing.best else "")


def _format_passed(standing: Standing) -> str:
    if standing.scale is None:
        return ""
    return "open" if standing.passed is None else "yes" if standing.passed else "no"


def _format_state(standing: Standing) -> str:
    if standing.outdated:
        return "provisional: grade again, the rubric has changed"
    if standing.untimely:
        return "provisional: staff decide how the submission time counts"
    return "final" if standing.final else "provisional"


def _format_number(value: Decimal) -> str:
    return f"{value.normalize():f}"


def export_marks(
    name: NameArgument,
    to: Annotated[Path, typer.Option("--to", help="The file, which ends in .csv.")],
    course: CourseOption = HERE,
    cell: Annotated[
        list[str] | None, typer.Option("--cell", help="Export only this grade cell. Repeatable.")
    ] = None,
    waiting: Annotated[bool, typer.Option("--waiting", help="Export only answers that need a mark.")] = False,
    flagged: Annotated[bool, typer.Option("--flagged", help="Export only flagged answers.")] = False,
    names: Annotated[
        bool, typer.Option("--names", help="Use the ids of students instead of pseudonyms.")
    ] = False,
    groups: Annotated[bool, typer.Option("--groups", help="Write one row for all equal answers.")] = False,
) -> None:
    """Export a sheet with a row for each answer and item to mark."""
    from autograder.app import marking_sheets
    from autograder.cli import report

    choice = marking_sheets.SheetChoice(cell or (), flagged, waiting, names, groups)
    with report.ProgressBar("mark export") as watch:
        sheet = marking_sheets.export_sheet(open_course(course), name, to, choice, watch=watch)
    report.print_notes(sheet.remarks)
    report.print_line(f"{to}: {len(sheet.rows)} rows; with points filled in: autograder mark import {to}")


def import_marks(
    file: Annotated[Path, typer.Argument(help="The sheet of mark export, with points filled in.")],
    course: CourseOption = HERE,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Import the marks of a sheet. It is validated first, and newer marks are not overwritten."""
    from autograder.app import marking_sheets
    from autograder.cli import report

    with report.ProgressBar("mark import") as watch:
        done = marking_sheets.import_sheet(open_course(course), file, dry_run=dry_run, watch=watch)
    plan = done.plan
    # A dry run shows the plan; a real run may have entered only a part of it.
    changes = plan.changes if dry_run else done.entered
    if json:
        report.print_json(
            {
                "assignment": plan.assignment,
                "errors": [str(error) for error in plan.errors],
                "refused": [str(reason) for reason in done.refused],
                "changes": [_to_plain_change(change) for change in changes],
                "entered": not dry_run and not plan.errors,
            }
        )
    elif changes:
        report.make_console().print(_make_changes_table(changes, "would change" if dry_run else "entered"))
    elif not plan.errors:
        report.print_line("nothing to enter")
    report.print_notes([*plan.errors, *done.refused])
    # A single bad row stops the import, so a sheet is never entered in part because of a typing error.
    if plan.errors:
        report.print_notes([f"{file}: nothing was entered; put these rows right, and import it again"])
        raise typer.Exit(EXIT_REFUSED)
    if done.refused:
        raise typer.Exit(EXIT_FINDINGS)


def _to_plain_change(change: SheetChange) -> dict[str, object]:
    return {
        "row": str(change.place),
        "who": change.who,
        "cell": change.cell,
        "answers": len(change.marks),
        "before": change.before,
        "points": change.points,
        "comment": change.comment,
        "flag": change.flag,
    }


def _make_changes_table(changes: Sequence[SheetChange], title: str) -> Table:
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
            str(change.place),
            escape(change.who),
            escape(change.cell),
            str(len(change.marks)),
            before,
            points,
            *edited,
        )
    return table
