"""The command ``adopt``, for courses made for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.options import EXIT_FINDINGS, HERE, JsonOption


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
