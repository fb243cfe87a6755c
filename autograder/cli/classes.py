"""The commands about a class: ``grade``, ``feedback``, ``grades``."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
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
    PagesLanguageOption,
    WorkersOption,
)

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path

    from rich.table import Table

    from autograder.app import Stopwatch
    from autograder.app.classes import GradedClass, Outcome, Page, Standing
    from autograder.records import Graded, Note


def grade(
    name: NameArgument,
    course: CourseOption = HERE,
    student: Annotated[list[str] | None, typer.Option("--student", help="Only this one; repeatable.")] = None,
    workers: WorkersOption = 0,
    again: Annotated[bool, typer.Option("--again", help="Grade even what is known already.")] = False,
    isolation: IsolationOption = FULL,
    profile: Annotated[
        bool, typer.Option("--profile", help="Tell where the time of the run went, step by step.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Grade what lies in submitted/ and write the gradebook. Run it again to go on or to add late ones."""
    started = monotonic()
    from autograder.app import Stopwatch, classes
    from autograder.cli import report

    place, stopwatch = open_course(course), Stopwatch()
    with report.at_isolation(isolation):
        with report.ProgressBar("grading") as watch:
            watch.stopwatch = stopwatch
            graded = classes.grade(
                place, name, student or [], workers=workers, isolation=isolation, again=again, watch=watch
            )
        seconds = monotonic() - started
        found = _report(
            place.gradebook, name, graded, seconds, profiled=stopwatch if profile else None, json=json
        )
    if found:
        raise typer.Exit(EXIT_FINDINGS)


def _report(
    gradebook: Path, name: str, graded: GradedClass, seconds: float, *, profiled: Stopwatch | None, json: bool
) -> bool:
    """Print what came of a class; whether something of it needs attention."""
    from autograder.app import run_statistics
    from autograder.cli import report

    outcomes = graded.outcomes
    found = run_statistics.run_statistics(outcomes, seconds)
    if profiled:
        found["profile"] = run_statistics.profile(profiled, sum(one.fresh for one in outcomes))
    if json:
        report.print_json(_as_json(name, graded, found))
    else:
        console = report.console()
        console.print(report.grading_table(outcomes, name))
        if graded.changes:
            console.print(report.changes_table(graded.changes))
        if profiled:
            console.print(report.profile_table(found.pop("profile")))
        console.print(report.summary_table(found, "this run"))
        if gradebook.is_file():
            report.say(f"gradebook: {report.with_size(gradebook)}")
        report.say(f"with what people gave: autograder grades {name}")
    for folder, fault in graded.misnamed.items():
        report.print_notes([f"submitted/{folder} is not graded: {fault}; rename the folder"])
    report.print_notes(graded.remarks)
    faults = print_faults(outcomes, name)
    nothing = not (outcomes or graded.held)
    if nothing:
        report.print_notes([f"nothing was handed in; expected submitted/<student>/{name}/{name}.ipynb"])
    return bool(graded.misnamed or graded.attention or faults or nothing)


def _as_json(name: str, graded: GradedClass, found: Mapping[str, Any]) -> dict[str, Any]:
    """What came of a class, for machines."""
    return {
        "assignment": name,
        **found,
        "not graded for the name": graded.misnamed,
        "remarks": graded.remarks,
        "held": graded.held,
        "points": {one.student: one.graded.score.points for one in graded.outcomes},
        "changes": [msgspec.structs.asdict(one) for one in graded.changes],
    }


def print_faults(outcomes: Sequence[Outcome], name: str) -> bool:
    """Say on standard error what went wrong on our side; whether anything did."""
    from autograder.app import run_statistics
    from autograder.cli import report

    faults = run_statistics.faults_of_ours(outcomes)
    report.print_notes(faults)
    if faults:
        report.print_notes(
            [
                "this is not the students' doing. What could not be judged waits for a person; "
                f"autograder grade {name} tries these again"
            ]
        )
    return bool(faults)


def print_page_problems(pages: Iterable[Page]) -> bool:
    """Say on standard error which pages are not there; whether any is not."""
    from autograder.cli import report

    problems = [page.problem for page in pages if page.problem]
    report.print_notes(problems)
    return bool(problems)


def feedback(
    name: NameArgument,
    course: CourseOption = HERE,
    language: PagesLanguageOption = "",
    publish: Annotated[
        bool, typer.Option("--publish", help="Students see the pages from now on; marks that move are told.")
    ] = False,
    reason: Annotated[
        str,
        typer.Option("--reason", help="Why marks that students were shown are others now; pages tell."),
    ] = "",
    json: JsonOption = False,
) -> None:
    """Write the feedback pages: one HTML file per student, and a summary for staff."""
    from autograder.app import classes
    from autograder.cli import report

    place = open_course(course)
    with report.ProgressBar("feedback") as watch:
        published = classes.feedback(place, name, language, publish_marks=publish, reason=reason, watch=watch)
    troubled = print_page_problems(published.pages)
    report.print_notes(published.remarks)
    written = [page.path for page in published.pages if not page.problem]
    folder = place.root / "feedback"
    if json:
        found = {"pages": len(written), "folder": str(folder), "remarks": published.remarks}
        report.print_json({"assignment": name, **found})
    else:
        staff = [path for path in written if place.root / "staff" in path.parents]
        report.say(f"{len(written) - len(staff)} pages below {folder}")
        for path in staff:
            report.say(f"for staff: {path}")
    if troubled or published.attention:
        raise typer.Exit(EXIT_FINDINGS)


def grades(
    name: NameArgument,
    course: CourseOption = HERE,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV with the points of every question.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show points and grades, with what people gave and bonus points.

    Nothing is written, but for automatic scores in the gradebook that are not ours: they are put back.
    """
    from autograder.app import classes
    from autograder.cli import report

    with report.ProgressBar("grades") as watch:
        stand = classes.standings(open_course(course), name, watch=watch)
    roll = stand.roll
    report.print_notes(roll.remarks)
    rows = [(one, _time(roll.results[student])) for student, one in stand.rows.items()]
    if json:
        plain = {
            "students": [_plain(*row) for row in rows],
            "gone": list(roll.gone),
            "remarks": roll.remarks,
        }
        report.print_json({"assignment": name, **plain})
    elif as_csv:
        sys.stdout.write(csv_text(rows))
    else:
        report.console().print(_table(rows, name))


def csv_text(rows: Sequence[tuple[Standing, Sequence[Note]]]) -> str:
    """A line for each student: points of every question, points, bonus, total, grade, state and time."""
    questions = [question.id for question in rows[0][0].questions] if rows else []
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    sums = ("points", "late", "bonus", "total", "open")
    facts = ("grade", "best_grade", "passed", "state", "time", "group")
    writer.writerow(("student", *questions, *sums, *facts))
    for one, time in rows:
        points = [_number(question.points) for question in one.questions]
        points += [_number(value) for value in (one.points, one.late, one.bonus, one.total, one.pending)]
        shown = (*_grades(one), _passed(one), _state(one), _told(time), one.group)
        writer.writerow((one.student, *points, *shown))
    return text.getvalue()


def _plain(one: Standing, time: Sequence[Note]) -> dict[str, Any]:
    worst, best = _grades(one)
    return {
        "student": one.student,
        "questions": {question.id: question.points for question in one.questions},
        "points": one.points,
        "late": one.late,
        "bonus": one.bonus,
        "total": one.total,
        "open": one.pending,
        "grade": worst,
        "best_grade": best,
        "passed": _passed(one),
        "state": _state(one),
        "time": _told(time),
        "group": one.group,
    }


def _table(rows: Sequence[tuple[Standing, Sequence[Note]]], title: str) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title)
    timed, grouped = any(time for _, time in rows), any(one.group for one, _ in rows)
    late = any(one.late for one, _ in rows)
    sums = ("points", *["late"] * late, "bonus", "total", "open")
    known = ("student", *["group"] * grouped, *sums, "grade", "passed", "state", *["time"] * timed)
    for name in known:
        table.add_column(name, justify="right" if name in sums else "left")
    for one, time in rows:
        shown = (one.bonus, one.pending, -one.late)
        extra, waiting, off = (_number(value) if value else "" for value in shown)
        grade = " to ".join(dict.fromkeys(_grades(one)))
        cells = (_number(one.points), *[off] * late, extra, _number(one.total), waiting)
        codes = [", ".join(note.code for note in time)] * timed
        who = [escape(one.student), *[escape(one.group)] * grouped]
        table.add_row(*who, *cells, escape(grade), _passed(one), _state(one), *codes)
    return table


def _time(graded: Graded) -> tuple[Note, ...]:
    """What is remarked about the time of handing in."""
    from autograder.app.classes import TIME

    return tuple(note for note in graded.score.notes if note.code in TIME)


def _told(time: Sequence[Note]) -> str:
    return " ".join(note.text for note in time)


def _grades(one: Standing) -> tuple[str, str]:
    """The worst and the best grade that can come of it; empty where there are no grades."""
    return (one.worst.name if one.worst else "", one.best.name if one.best else "")


def _passed(one: Standing) -> str:
    if one.scale is None:
        return ""
    return "open" if one.passed is None else "yes" if one.passed else "no"


def _state(one: Standing) -> str:
    if one.outdated:
        return "provisional: grade again, the rubric has changed"
    if one.untimely:
        return "provisional: a person decides about the time"
    return "final" if one.final else "provisional"


def _number(value: Decimal) -> str:
    return f"{value.normalize():f}"
