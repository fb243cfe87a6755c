"""The commands after a class was graded: ``second-round``, ``tests-against``."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

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
)

if TYPE_CHECKING:
    from rich.table import Table

    from autograder.app.class_against_class import ClassAgainstClass
    from autograder.app.second_round import RoundOutcome, SecondRoundMade


def second_round(
    name: NameArgument,
    course: CourseOption = HERE,
    question: Annotated[
        str, typer.Option("--question", help="Of it; needed where several can have a second round.")
    ] = "",
    student: Annotated[
        list[str] | None, typer.Option("--student", help="For whom; repeatable. Default: all who handed in.")
    ] = None,
    language: Annotated[
        str, typer.Option("--language", help="en or de: of the texts; default: those of all languages.")
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Make anew what students were given before.")
    ] = False,
    outcomes: Annotated[
        bool, typer.Option("--outcomes", help="NAME is a second round that was graded: show what came of it.")
    ] = False,
    isolation: IsolationOption = FULL,
    json: JsonOption = False,
) -> None:
    """Give students an accepted answer back with one fault in it, or with the question changed.

    The round is an assignment of its own, called NAME-QUESTION-second: grade, feedback and all others work on
    it. Exits with 1 when a fault on our side left somebody without.
    """
    from autograder.app import second_round as use_case
    from autograder.cli import report

    place = open_course(course)
    if outcomes:
        _show_outcomes(name, use_case.outcomes(place, name), json=json)
        return
    with report.at_isolation(isolation), report.ProgressBar("second round") as watch:
        made = use_case.second_round(
            place,
            name,
            question,
            students=student or (),
            replace_all=replace,
            language=language,
            isolation=isolation,
            watch=watch,
        )
    if json:
        students = [{**msgspec.to_builtins(one), "told": one.told()} for one in made.students]
        report.print_json({"assignment": made.name, "students": students, "matrix": made.matrix})
    else:
        report.console().print(_rounds_table(made))
        report.console().print(_matrix_table(made))
        report.say(f"personal/<student>/{made.name}/ is for each student; then: autograder grade {made.name}")
    raise typer.Exit(EXIT_FINDINGS if any(one.reason == "fault" for one in made.students) else 0)


def _rounds_table(made: SecondRoundMade) -> Table:
    from rich.table import Table

    table = Table("student", "fault", "line", "loses", "tried", title=made.name)
    for one in made.students:
        if one.fault is None:
            table.add_row(one.student, f"none: {one.detail or one.told()}", "", "", str(len(one.tried) or ""))
        else:
            tried = "as before" if one.kept else str(len(one.tried))
            table.add_row(
                one.student, one.fault.fault, str(one.fault.line or ""), ", ".join(one.fault.loses), tried
            )
    return table


def _matrix_table(made: SecondRoundMade) -> Table:
    from rich.table import Table

    items = sorted({item for losses in made.matrix.values() for item in losses} - {"tried"})
    table = Table("fault", "tried", *items, title="answers in which a fault loses an item")
    for fault, losses in made.matrix.items():
        counts = (str(losses.get(item, 0) or "·") for item in items)
        table.add_row(fault, str(losses["tried"]), *counts)
    return table


def _show_outcomes(name: str, found: tuple[RoundOutcome, ...], *, json: bool) -> None:
    from rich.table import Table

    from autograder.cli import report

    if json:
        report.print_json({"assignment": name, "students": msgspec.to_builtins(found)})
        return
    table = Table("student", "fault", "outcome", title=name)
    for one in found:
        table.add_row(one.student, one.fault, one.outcome)
    report.console().print(table)
    counted = Counter(one.outcome for one in found)
    report.say(", ".join(f"{outcome}: {count}" for outcome, count in sorted(counted.items())))


def run_tests_against(
    name: NameArgument,
    tests: Annotated[str, typer.Option("--tests", help="The question whose answers are tests.")],
    solutions: Annotated[str, typer.Option("--solutions", help="The question whose answers are tested.")],
    course: CourseOption = HERE,
    points: Annotated[
        float | None,
        typer.Option(
            "--points",
            min=0,
            help="For a test that finds every bug that any test found. Default: what its cell can bring.",
        ),
    ] = None,
    enter: Annotated[
        bool, typer.Option("--enter", help="Enter the points as marks; what a person gave there stays.")
    ] = False,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Pairs at the same time.")] = 2,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV: a line for each test.")] = False,
    isolation: IsolationOption = FULL,
    json: JsonOption = False,
) -> None:
    """Run students' tests on students' solutions: points for real bugs, and possible holes of the rubric.

    Writes staff/NAME-tests.html, and marks only with --enter. Exits with 1 when a solution that passes its
    checks fails many tests, or a test fails on the answer key: the author should look.
    """
    from autograder.app import class_against_class as use_case
    from autograder.cli import report

    place = open_course(course)
    with report.at_isolation(isolation), report.ProgressBar("pairs") as watch:
        found = use_case.class_against_class(
            place,
            name,
            tests,
            solutions,
            points=None if points is None else Decimal(str(points)),
            workers=workers,
            isolation=isolation,
            watch=watch,
        )
    page = use_case.write_page(place, name, found)
    entered = use_case.enter_marks(place, name, tests, found) if enter else None
    if json:
        marks = {"entered": msgspec.to_builtins(entered)} if entered else {}
        report.print_json({"assignment": name, **msgspec.to_builtins(found), **marks})
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(("student", "bugs", "solutions", "points", "why"))
        writer.writerows((one.student, one.bugs, one.solutions, one.points, one.why) for one in found.tests)
    else:
        _show_class(found)
        report.say(f"wrote {page}")
        if entered:
            report.say(f"marks entered: {entered.written}")
            for student, _, cell in entered.kept:
                report.say(f"{student}, {cell}: somebody gave another mark, which stays")
    report.print_notes(found.left_out)
    raise typer.Exit(EXIT_FINDINGS if found.accepted_but_failing or found.failing_on_key else 0)


def _show_class(found: ClassAgainstClass) -> None:
    from rich.table import Table

    from autograder.cli import report

    title = f"{len(found.tests)} tests, {found.solutions} different solutions, {found.wrong} of them wrong"
    table = Table("student", "bugs", "wrong solutions", "points", "", title=title)
    for one in found.tests:
        table.add_row(one.student, str(one.bugs), str(one.solutions), str(one.points), one.why)
    report.console().print(table)
    report.say(f"{found.pairs} pairs in {found.seconds:.0f} s; {found.bugs} different bugs were found")
    for hole in found.accepted_but_failing:
        report.say(
            f"a hole of the rubric? {', '.join(hole.students)} pass all checks and fail {len(hole.tests)} "
            f"tests, such as that of {hole.tests[0]}: {hole.words}"
        )
    for hole in found.failing_on_key:
        report.say(f"the test of {hole.tests[0]} fails on the answer key: {hole.words}")
