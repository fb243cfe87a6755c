"""The commands for courses that were made for other programs: ``adopt`` and ``compare``."""

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

    from autograder.app.comparing import PeerComparison


def adopt(
    path: Annotated[
        Path, typer.Argument(help="An nbgrader course, or an otter assignment.", show_default="here")
    ] = HERE,
    assignment: Annotated[str, typer.Option("--assignment", help="Only this one; default: all.")] = "",
    *,
    inside: Annotated[
        bool,
        typer.Option(
            "--inside",
            help="Judge in the student's own box what cannot be judged outside of it: weaker, and noted on "
            "results. Default: a person decides.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Take over a course of nbgrader's or an assignment of otter's as it is: writes the rubrics.

    Notebooks, tests and gradebook are left as they are. A rubric that is there is never written over, so
    running it again changes nothing. Exits with 1 where something could not be taken over, and says what.
    """
    from autograder.app import adopting
    from autograder.cli import report

    done = adopting.adopt(path, assignment, inside=inside)
    if json:
        import msgspec

        report.print_json({"adopted": msgspec.to_builtins(done, enc_hook=str)})
    for one in () if json else done:
        if one.refused:
            report.say(f"{one.name}: not taken over: {one.refused}")
            continue
        for written in one.written:
            report.say(f"wrote {written}")
        if not one.written:
            report.say(f"{one.name}: adopted before; nothing was changed")
        report.say(
            f"{one.name}: {one.questions} questions, {one.tests} tests, "
            f"{one.tests - len(one.not_outside)} of them judged outside; "
            f"{one.manual} questions for a person; {report.number(one.points)} points in all"
        )
        for remark in (*one.not_outside, *one.remarks):
            report.say(f"  {remark}")
    raise typer.Exit(
        EXIT_FINDINGS if any(one.refused or one.not_outside or one.remarks for one in done) else 0
    )


def compare(
    name: NameArgument,
    *,
    course: CourseOption = HERE,
    nbgrader: Annotated[
        Path | None, typer.Option("--nbgrader", help="nbgrader's command: it grades a copy of the course.")
    ] = None,
    otter: Annotated[
        Path | None, typer.Option("--otter", help="otter's command: it grades notebook by notebook.")
    ] = None,
    gradebook: Annotated[
        Path | None, typer.Option("--gradebook", help="A gradebook.db that nbgrader filled.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option("--results", help="A folder with STUDENT/results.json of otter's.")
    ] = None,
    json: JsonOption = False,
    workers: WorkersOption = 0,
    isolation: IsolationOption = FULL,
) -> None:
    """Grade a class here, and hold the marks against those of nbgrader or otter: what differs, and why.

    nbgrader and otter run students' code as you, without a sandbox. Exits with 1 where marks differ.
    """
    from autograder.app import comparing
    from autograder.cli import report

    source = comparing.PeerSource(nbgrader, otter, gradebook, results)
    opened = open_course(course)
    with report.at_isolation(isolation), report.ProgressBar(name) as watch:
        found = comparing.compare_marks(
            opened, name, source, workers=workers, isolation=isolation, watch=watch
        )
    page = comparing.write_page(opened, found)
    if json:
        import msgspec

        report.print_json({"same": found.same, **msgspec.to_builtins(found, enc_hook=str)})
    else:
        if found.differences:
            report.console().print(_table(found))
        report.say(f"{found.same} of {found.compared} marks are the same as {found.peer}'s; see {page}")
        report.print_notes(found.remarks)
    raise typer.Exit(EXIT_FINDINGS if found.differences or found.remarks else 0)


def _table(found: PeerComparison) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from autograder.cli.report import number

    table = Table(title=f"{found.assignment}, compared with {found.peer}")
    for heading in ("student", "question", "here", found.peer, "why"):
        table.add_column(heading, overflow="fold")
    for one in found.differences:
        theirs = "–" if one.theirs is None else number(one.theirs)
        table.add_row(escape(one.student), escape(one.question), number(one.ours), theirs, escape(one.reason))
    return table
