"""The commands about a class: ``grade``, ``feedback``, ``regrade``."""

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
    from rich.table import Table

    from autograder.app.class_regrade import Regrade
    from autograder.app.classes import GradedClass, Outcome, Page
    from autograder.app.mark_comparison import PeerClass, PeerComparison


def grade(
    name: NameArgument,
    course: CourseOption = HERE,
    student: Annotated[
        list[str] | None, typer.Option("--student", help="Grade only this student. Repeatable.")
    ] = None,
    workers: WorkersOption = 0,
    again: Annotated[bool, typer.Option("--again", help="Grade again what has been graded already.")] = False,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            help="Compare with marks of nbgrader or otter, of an adopted assignment: a gradebook.db, or a "
            "folder with STUDENT/results.json.",
        ),
    ] = None,
    isolation: IsolationOption = FULL,
    json: JsonOption = False,
) -> None:
    """Grade the submissions in submitted/ and write the gradebook. Run it again to resume.

    With --against the exit code is 1 if marks differ, and a page for staff says why.
    """
    started = monotonic()
    from autograder.app import classes
    from autograder.cli import report

    opened_course = open_course(course)
    theirs = None
    if against:
        from autograder.app.mark_comparison import read_peer_marks

        # Before anything is graded: it may be the gradebook that grading writes to.
        theirs = read_peer_marks(opened_course, name, against)
    with report.warn_of_isolation(isolation):
        with report.ProgressBar("grading") as watch:
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
    compared: PeerComparison | None,
    json: bool,
) -> bool:
    """Print the results of a class; return whether something needs attention."""
    from autograder.app import classes
    from autograder.cli import report

    outcomes = graded.outcomes
    figures = classes.compute_run_statistics(outcomes, seconds)
    if json:
        report.print_json(_to_json(name, graded, figures, compared))
    else:
        console = report.make_console()
        console.print(report.make_grading_table(outcomes, name))
        if graded.changes:
            console.print(report.make_changes_table(graded.changes))
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
    from autograder.app.mark_comparison import compare_marks

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
    from autograder.app import classes
    from autograder.cli import report

    faults = classes.list_faults(outcomes)
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
        bool,
        typer.Option("--publish", help="Publish the pages to students, and report marks that have changed."),
    ] = False,
    reason: Annotated[
        str,
        typer.Option(
            "--reason", help="Reason why published marks have changed. Students read it on their pages."
        ),
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


_MOST_TOLD = 60


def regrade(
    name: NameArgument,
    course: CourseOption = HERE,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show whose points would change and why. This is the default.")
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="Apply the new results, with an entry in the log.")
    ] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Apply it to published marks too. Needs --reason.")
    ] = False,
    reason: Annotated[
        str,
        typer.Option(
            "--reason", help="The reason, for the log and for the pages of students whose marks change."
        ),
    ] = "",
    student: Annotated[
        list[str] | None, typer.Option("--student", help="Grade only this student. Repeatable.")
    ] = None,
    json: JsonOption = False,
    workers: WorkersOption = 0,
    isolation: IsolationOption = FULL,
) -> None:
    """Show whose points change, and why, after a change of rubric or reference or an upgrade."""
    from autograder.app import class_regrade
    from autograder.cli import report

    if dry_run and apply:
        raise typer.BadParameter("--dry-run and --apply exclude each other")
    choice = class_regrade.RegradeChoice(apply, published, reason)
    with report.warn_of_isolation(isolation), report.ProgressBar("regrading") as watch:
        result = class_regrade.regrade_class(
            open_course(course),
            name,
            student or [],
            choice,
            workers=workers,
            isolation=isolation,
            watch=watch,
        )
    if json:
        report.print_json(class_regrade.to_dict(result))
    else:
        _show_regrade(result)
    report.print_notes(result.remarks)
    report.print_notes(
        f"{who} stays as it is, since our side failed: {why}" for who, why in result.failed.items()
    )
    # Marks that students have already seen need an explicit option and a reason.
    if result.shown and not result.entry:
        notes = [f"{entry.move.student} was shown {entry.shown}" for entry in result.shown]
        report.print_notes([*notes, "these marks move only with --apply --published --reason '…'"])
    if result.failed:
        raise typer.Exit(EXIT_FINDINGS)


def _show_regrade(result: Regrade) -> None:
    from autograder.cli import report

    for difference in result.differences:
        report.print_line(f"different now: {difference}")
    if result.moved:
        report.make_console().print(_make_table(result))
    report.print_line(
        f"{result.total} students: {result.gain} gain, {result.lose} lose, nothing changes for {result.same}"
    )
    if result.entry:
        report.print_line(
            f"applied; entry {result.entry} of the log. New pages: autograder feedback {result.assignment}"
        )
    else:
        report.print_line(
            f"nothing was changed; to let it count: autograder regrade {result.assignment} --apply"
        )


def _make_table(result: Regrade) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from autograder.app import class_regrade
    from autograder.cli import report

    table = Table(
        title="who gains and loses" if result.entry else "who would gain and lose", caption_justify="left"
    )
    for column in ("student", "total", "item", "before", "after", "why"):
        table.add_column(column, overflow="fold", max_width=_MOST_TOLD if column == "why" else None)
    every = [
        (move, item, number)
        for move in class_regrade.to_dict(result)["moved"]
        # A student without changed items has one row.
        for number, item in enumerate(move["items"] or [{}])
    ]
    for move, item, number in every[: report.MOST_ROWS]:
        # Name and total appear only in a student's first row.
        total = f"{_format_points(move['before'], '')} → {_format_points(move['after'])}"
        points = (
            f"{_format_points(item[when])}/{_format_points(item[f'possible_{when}'])}" if item else ""
            for when in ("before", "after")
        )
        table.add_row(
            *map(escape, ("", "") if number else (move["student"], total)),
            escape(f"{item['question']}.{item['item']}") if item else "",
            *points,
            escape("; ".join((*item.get("why", ()), *move["also"]))),
        )
    if len(every) > report.MOST_ROWS:
        table.caption = f"… and {len(every) - report.MOST_ROWS} more rows; all of them: --json"
    return table


def _format_points(points: Decimal | None, missing: str = "open") -> str:
    return missing if points is None else f"{points.normalize():f}"
