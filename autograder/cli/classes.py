"""The commands about a class: ``grade``, ``feedback``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
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
    from autograder.app import Stopwatch
    from autograder.app.classes import GradedClass, Outcome, Page
    from autograder.app.comparing import PeerClass, PeerComparison


def grade(
    name: NameArgument,
    course: CourseOption = HERE,
    student: Annotated[list[str] | None, typer.Option("--student", help="Only this one; repeatable.")] = None,
    workers: WorkersOption = 0,
    again: Annotated[bool, typer.Option("--again", help="Grade even what is known already.")] = False,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            help="Compare with marks of nbgrader or otter, of an adopted assignment: a gradebook.db, or a "
            "folder with STUDENT/results.json.",
        ),
    ] = None,
    isolation: IsolationOption = FULL,
    profile: Annotated[
        bool, typer.Option("--profile", help="Tell where the time of the run went, step by step.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Grade what lies in submitted/ and write the gradebook. Run it again to go on or to add late ones.

    With --against the exit code is 1 if marks differ, and a page for staff says why.
    """
    started = monotonic()
    from autograder.app import Stopwatch, classes
    from autograder.cli import report

    place, stopwatch = open_course(course), Stopwatch()
    theirs = None
    if against:
        from autograder.app.comparing import read_peer_marks

        # Before anything is graded: it may be the gradebook that grading writes to.
        theirs = read_peer_marks(place, name, against)
    with report.at_isolation(isolation):
        with report.ProgressBar("grading") as watch:
            watch.stopwatch = stopwatch
            graded = classes.grade(
                place, name, student or [], workers=workers, isolation=isolation, again=again, watch=watch
            )
        seconds = monotonic() - started
        compared = _compare(course, name, graded, theirs) if theirs else None
        found = _report(
            place.gradebook,
            name,
            graded,
            seconds,
            profiled=stopwatch if profile else None,
            compared=compared,
            json=json,
        )
    if found:
        raise typer.Exit(EXIT_FINDINGS)


def _report(
    gradebook: Path,
    name: str,
    graded: GradedClass,
    seconds: float,
    *,
    profiled: Stopwatch | None,
    compared: PeerComparison | None,
    json: bool,
) -> bool:
    """Print the results of a class; return whether something needs attention."""
    from autograder.app import run_statistics
    from autograder.cli import report

    outcomes = graded.outcomes
    found = run_statistics.run_statistics(outcomes, seconds)
    if profiled:
        found["profile"] = run_statistics.profile(profiled, sum(one.fresh for one in outcomes))
    if json:
        report.print_json(_as_json(name, graded, found, compared))
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
        if compared:
            _show_comparison(compared)
    for folder, fault in graded.misnamed.items():
        report.print_notes([f"submitted/{folder} is not graded: {fault}; rename the folder"])
    report.print_notes(graded.remarks)
    faults = print_faults(outcomes, name)
    nothing = not (outcomes or graded.held)
    if nothing:
        report.print_notes([f"nothing was handed in; expected submitted/<student>/{name}/{name}.ipynb"])
    differs = False
    if compared:
        report.print_notes(compared.remarks)
        differs = bool(compared.differences or compared.remarks)
    return bool(graded.misnamed or graded.attention or faults or nothing or differs)


def _as_json(
    name: str, graded: GradedClass, found: Mapping[str, Any], compared: PeerComparison | None
) -> dict[str, Any]:
    """Return the results of a class for JSON output."""
    return {
        "assignment": name,
        **found,
        "not graded for the name": graded.misnamed,
        "remarks": graded.remarks,
        "held": graded.held,
        "points": {one.student: one.graded.score.points for one in graded.outcomes},
        "changes": [msgspec.structs.asdict(one) for one in graded.changes],
        "compared": _plain_comparison(compared) if compared else None,
    }


def _compare(course: Path, name: str, graded: GradedClass, theirs: PeerClass) -> PeerComparison:
    from autograder.app.comparing import compare_marks

    scores = {one.student: one.graded.score for one in graded.outcomes}
    return compare_marks(open_course(course), name, scores, theirs)


def _plain_comparison(found: PeerComparison) -> dict[str, Any]:
    plain = msgspec.to_builtins(found, builtin_types=(Decimal,), enc_hook=str)
    return {"same": found.same, **plain}


def _show_comparison(found: PeerComparison) -> None:
    from rich.markup import escape
    from rich.table import Table

    from autograder.cli import report

    if found.differences:
        table = Table(title=f"{found.assignment}, compared with {found.peer}")
        for heading in ("student", "question", "here", found.peer, "why"):
            table.add_column(heading, overflow="fold")
        for one in found.differences:
            theirs = "–" if one.theirs is None else report.number(one.theirs)
            cells = (one.student, one.question, report.number(one.ours), theirs, one.reason)
            # Brackets in names and reasons would be read as Rich's markup.
            table.add_row(*map(escape, cells))
        report.console().print(table)
    report.say(f"{found.same} of {found.compared} marks are the same as {found.peer}'s; see {found.page}")


def print_faults(outcomes: Sequence[Outcome], name: str) -> bool:
    """Print our own failures to standard error; return whether there are any."""
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
    """Print to standard error which pages are missing; return whether any is."""
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
