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

    opened_course, stopwatch = open_course(course), Stopwatch()
    theirs = None
    if against:
        from autograder.app.comparing import read_peer_marks

        # Before anything is graded: it may be the gradebook that grading writes to.
        theirs = read_peer_marks(opened_course, name, against)
    with report.warn_of_isolation(isolation):
        with report.ProgressBar("grading") as watch:
            watch.stopwatch = stopwatch
            graded = classes.grade_class(
                opened_course,
                name,
                student or [],
                workers=workers,
                isolation=isolation,
                again=again,
                watch=watch,
            )
        seconds = monotonic() - started
        compared = _compare_with_peer(course, name, graded, theirs) if theirs else None
        needs_attention = _report_class(
            opened_course.gradebook,
            name,
            graded,
            seconds,
            profiled=stopwatch if profile else None,
            compared=compared,
            json=json,
        )
    if needs_attention:
        raise typer.Exit(EXIT_FINDINGS)


def _report_class(
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
    figures = run_statistics.compute_run_statistics(outcomes, seconds)
    if profiled:
        figures["profile"] = run_statistics.compute_profile(
            profiled, sum(outcome.fresh for outcome in outcomes)
        )
    if json:
        report.print_json(_to_json(name, graded, figures, compared))
    else:
        console = report.make_console()
        console.print(report.make_grading_table(outcomes, name))
        if graded.changes:
            console.print(report.make_changes_table(graded.changes))
        if profiled:
            console.print(report.make_profile_table(figures.pop("profile")))
        console.print(report.make_summary_table(figures, "this run"))
        if gradebook.is_file():
            report.print_line(f"gradebook: {report.format_with_size(gradebook)}")
        report.print_line(f"with what people gave: autograder grades {name}")
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


def _to_json(
    name: str, graded: GradedClass, figures: Mapping[str, Any], compared: PeerComparison | None
) -> dict[str, Any]:
    """Return the results of a class for JSON output."""
    return {
        "assignment": name,
        **figures,
        "not graded for the name": graded.misnamed,
        "remarks": graded.remarks,
        "held": graded.held,
        "points": {entry.student: entry.graded.score.points for entry in graded.outcomes},
        "changes": [msgspec.structs.asdict(entry) for entry in graded.changes],
        "compared": _to_plain_comparison(compared) if compared else None,
    }


def _compare_with_peer(course: Path, name: str, graded: GradedClass, theirs: PeerClass) -> PeerComparison:
    from autograder.app.comparing import compare_marks

    scores = {outcome.student: outcome.graded.score for outcome in graded.outcomes}
    return compare_marks(open_course(course), name, scores, theirs)


def _to_plain_comparison(comparison: PeerComparison) -> dict[str, Any]:
    plain = msgspec.to_builtins(comparison, builtin_types=(Decimal,), enc_hook=str)
    return {"same": comparison.same, **plain}


def _show_comparison(comparison: PeerComparison) -> None:
    from rich.markup import escape
    from rich.table import Table

    from autograder.cli import report

    if comparison.differences:
        table = Table(title=f"{comparison.assignment}, compared with {comparison.peer}")
        for heading in ("student", "question", "here", comparison.peer, "why"):
            table.add_column(heading, overflow="fold")
        for difference in comparison.differences:
            theirs = "–" if difference.theirs is None else report.format_number(difference.theirs)
            cells = (
                difference.student,
                difference.question,
                report.format_number(difference.ours),
                theirs,
                difference.reason,
            )
            # Brackets in names and reasons would be read as Rich's markup.
            table.add_row(*map(escape, cells))
        report.make_console().print(table)
    report.print_line(
        f"{comparison.same} of {comparison.compared} marks are the same as {comparison.peer}'s; see "
        f"{comparison.page}"
    )


def print_faults(outcomes: Sequence[Outcome], name: str) -> bool:
    """Print our own failures to standard error; return whether there are any."""
    from autograder.app import run_statistics
    from autograder.cli import report

    faults = run_statistics.list_faults(outcomes)
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

    opened_course = open_course(course)
    with report.ProgressBar("feedback") as watch:
        published = classes.write_feedback(
            opened_course, name, language, publish_marks=publish, reason=reason, watch=watch
        )
    troubled = print_page_problems(published.pages)
    report.print_notes(published.remarks)
    written = [page.path for page in published.pages if not page.problem]
    folder = opened_course.root / "feedback"
    if json:
        facts = {"pages": len(written), "folder": str(folder), "remarks": published.remarks}
        report.print_json({"assignment": name, **facts})
    else:
        staff = [path for path in written if opened_course.root / "staff" in path.parents]
        report.print_line(f"{len(written) - len(staff)} pages below {folder}")
        for path in staff:
            report.print_line(f"for staff: {path}")
    if troubled or published.attention:
        raise typer.Exit(EXIT_FINDINGS)
