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

    done = adopting.adopt_assignments(path, assignment, inside=inside)
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
