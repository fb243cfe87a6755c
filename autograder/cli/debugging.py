"""The command ``debugging explain``, for authors of faulty listings."""

from __future__ import annotations

import sys
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

    from autograder.app.debugging import ExplainedQuestion


def explain(
    name: NameArgument,
    course: CourseOption = HERE,
    listing: Annotated[
        bool,
        typer.Option(
            "--listing",
            help="Print only the listings with all faults, to be handed out; no release is needed.",
        ),
    ] = False,
    isolation: IsolationOption = FULL,
    json: JsonOption = False,
) -> None:
    """Show how planted faults are told: which calls, what each fault changes, what cannot be told apart.

    For questions of the kind debugging. It shows hidden inputs: for staff only. Exits with 1 when something
    cannot be told apart.
    """
    from autograder.app import debugging
    from autograder.cli import report

    if listing and not json:
        for text in debugging.faulty_listings(open_course(course), name).values():
            sys.stdout.write(text)
        return
    with report.at_isolation(isolation):
        found = debugging.explain(open_course(course), name, isolation)
    if json:
        report.print_json({"assignment": name, "questions": msgspec.to_builtins(found)})
    for one in () if json else found:
        report.console().print(_table(one))
        report.say(one.work)
        for probe in one.probes:
            made = f" (made for {probe.about})" if probe.about else ""
            report.say(f"{probe.name}{made}: {'; '.join(probe.calls)}")
            for values in (one for some in probe.inputs for one in some):
                report.say(f"  {values}")
        for words in one.confusions:
            report.say(f"not told apart: {words}")
        for words in one.warnings:
            report.say(f"warning: {words}")
    raise typer.Exit(EXIT_FINDINGS if any(one.confusions for one in found) else 0)


def _table(one: ExplainedQuestion) -> Table:
    from rich.table import Table

    title = f"{one.question}: {one.listings} listings, {len(one.probes)} probes; % changed by the fault"
    table = Table("fault", *(probe.name for probe in one.probes), title=title)
    for fault in one.faults:
        table.add_row(fault, *(str(probe.kills[fault] or "·") for probe in one.probes))
    return table
