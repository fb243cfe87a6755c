"""The commands to prepare an assignment: ``new``, ``generate``, ``verify``, ``print``."""

from __future__ import annotations

import contextlib
import enum
import shlex
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from autograder.app import open_course
from autograder.cli.options import (
    EXIT_FINDINGS,
    FULL,
    HERE,
    CourseOption,
    IsolationOption,
    JsonOption,
    LanguageOption,
    NameArgument,
    WorkersOption,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from autograder.app import Isolation
    from autograder.app.preparation import Matrix, MutatedCell, Row, Verification, VerifyFinding
    from autograder.core.records import ResourceUsage


class PaperSize(enum.StrEnum):
    """Sizes of paper."""

    A4 = "a4"
    LETTER = "letter"


def new(
    name: Annotated[
        str,
        typer.Argument(help="Name of the new assignment: letters, digits, '-' and '_'.", show_default=False),
    ] = "",
    course: CourseOption = HERE,
    kinds: Annotated[
        str,
        typer.Option(
            "--kinds",
            help="Kinds of questions, separated by commas, such as formula,shape,code,written. Default: all.",
        ),
    ] = "",
    example: Annotated[
        str,
        typer.Option("--example", help="Copy this shipped assignment instead, such as dl4nlp-exam or gpt2."),
    ] = "",
) -> None:
    """Create an assignment with a question of each kind to start from: notebook, rubric and reference.

    In an empty folder a course is begun around it. Nothing that is there is ever replaced.
    """
    from autograder.app import preparation
    from autograder.cli import report

    if bool(name) is bool(example):
        raise typer.BadParameter("give either the name of a new assignment or --example")
    if example:
        started, name = preparation.copy_example(course, example), example
    else:
        started = preparation.begin(course, name, [kind.strip() for kind in kinds.split(",") if kind.strip()])
    for path in started.files:
        report.print_line(f"wrote {path}")
    elsewhere = "" if course == HERE else f" --course {shlex.quote(str(course))}"
    report.print_line(f"Now prove its checks: autograder verify {name}{elsewhere}")


def generate(
    name: NameArgument,
    course: CourseOption = HERE,
    language: Annotated[
        str,
        typer.Option(
            "--language",
            help="en, de or all. Default: the language of the last release, or the first one of the rubric.",
        ),
    ] = "",
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Give new variants to students whose variant would change."),
    ] = False,
    isolation: IsolationOption = FULL,
    json: JsonOption = False,
) -> None:
    """Generate the release for students, without solutions.

    Where the rubric draws variants and the course has a roster.csv, each student's own release is written
    below personal/ as well.
    """
    from autograder.app import preparation
    from autograder.cli import report

    opened_course = open_course(course)
    written = preparation.release(opened_course, name, {"": None, "all": ""}.get(language, language))
    personal = None
    if preparation.is_personal(opened_course, name):
        with report.warn_of_isolation(isolation):
            personal = preparation.write_personal_releases(
                opened_course, name, isolation=isolation, replace=replace
            )
    kept = preparation.list_kept_back(opened_course, name)
    if json:
        result = {
            "written": [str(path) for path in written],
            "kept_back": [str(path) for path in kept],
        }
        if personal:
            result["personal"] = [str(path) for path in personal.folders]
        report.print_json({"assignment": name, **result})
        return
    for path in written:
        report.print_line(f"wrote {path}")
    for path in kept:
        report.print_line(f"not given out: {path}")
    if personal:
        report.print_line(
            f"wrote {personal.variants} variants for {len(personal.folders)} students below "
            f"{opened_course.root / 'personal'}"
        )


def verify(
    name: Annotated[
        str, typer.Argument(help="The assignment. Default: all of them.", show_default=False)
    ] = "",
    course: CourseOption = HERE,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Grade only the answer key and the untouched release, which takes seconds."
        ),
    ] = False,
    explain: Annotated[
        str,
        typer.Option(
            "--explain",
            metavar="QUESTION",
            help="Print which checks of this question pass for the solution, mutants, planted answers.",
        ),
    ] = "",
    answer: Annotated[
        Path | None,
        typer.Option("--answer", help="With --explain: the notebook or Python file to check instead."),
    ] = None,
    values: Annotated[
        bool, typer.Option("--values", help="With --explain: print the drawn inputs and the compared values.")
    ] = False,
    workers: WorkersOption = 0,
    isolation: IsolationOption = FULL,
    json: JsonOption = False,
) -> None:
    """Grade the answer key and deliberately wrong answers: each must lose exactly the points it should.

    The key must earn full marks, the untouched release nothing, accepted alternatives must lose nothing,
    and all must stay within half of the limits. Exits with 1 when something is not so, and names it.
    """
    from autograder.app import preparation
    from autograder.cli import report

    if explain:
        _explain_question(course, name, explain, answer, isolation, values=values, json=json)
    if answer or values:
        raise typer.BadParameter("--answer and --values need --explain QUESTION")
    opened_course = open_course(course)
    names = (name,) if name else opened_course.list_assignments()
    if name or not names:
        opened_course.locate_rubric(name)  # raises for an unknown name
    done = []
    with report.warn_of_isolation(isolation):
        for entry in names:
            with report.ProgressBar(entry) as watch:
                verified = preparation.build_and_verify(
                    opened_course, entry, workers=workers, quick=quick, isolation=isolation, watch=watch
                )
            done.append(verified)
            if not json:
                show_verdicts(verified)
    if json:
        report.print_json(to_plain(done, isolation.value))
    raise typer.Exit(EXIT_FINDINGS if any(entry.findings for entry in done) else 0)


def _explain_question(
    course: Path,
    name: str,
    question: str,
    answer: Path | None,
    isolation: Isolation,
    *,
    values: bool,
    json: bool,
) -> NoReturn:
    """Print which checks of a question pass, and exit."""
    from autograder.app import preparation
    from autograder.cli import report

    opened_course = open_course(course)
    opened_course.locate_rubric(name)  # raises for an unknown name
    with report.warn_of_isolation(isolation):
        lines, is_right = preparation.explain_checks(
            opened_course, name, question, answer=answer, show_values=values, isolation=isolation
        )
    if json:
        report.print_json({"lines": lines, "as stated": is_right})
    else:
        typer.echo("\n".join(lines))
    raise typer.Exit(0 if is_right else EXIT_FINDINGS)


def print_(
    name: NameArgument,
    course: CourseOption = HERE,
    language: LanguageOption = "",
    solutions: Annotated[
        bool,
        typer.Option(
            "--solutions", help="Print the solutions for graders: answer key, items, accepted alternatives."
        ),
    ] = False,
    student: Annotated[str, typer.Option("--student", help="Print the variant of this student.")] = "",
    paper: Annotated[PaperSize, typer.Option("--paper", help="Size of the paper.")] = PaperSize.A4,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="The HTML file to write. Default: a file in paper/."),
    ] = None,
    isolation: IsolationOption = FULL,
) -> None:
    """Write a page to print, with a box for every answer, or the solutions for graders.

    Print it with Chromium or Chrome, version 131 or later, which put name and page number on every sheet.
    """
    from autograder.app import preparation
    from autograder.cli import report

    opened_course = open_course(course)
    # Only drawing a student's variant runs code in a sandbox.
    with report.warn_of_isolation(isolation) if student else contextlib.nullcontext():
        path = preparation.print_paper(
            opened_course,
            name,
            language=language,
            solutions=solutions,
            student=student,
            size=paper.value,
            output=output,
            isolation=isolation,
        )
    report.print_line(f"wrote {path}")


LOST, KEPT, OPEN, WRONG = "●", "·", "?", "!"
LEGEND = f"{LOST} lost, as it must be   {KEPT} kept   {OPEN} manual review   {WRONG} not as it must be"


def to_plain(done: Sequence[Verification], isolation: str) -> dict[str, Any]:
    """Return everything as plain data."""
    import msgspec

    return {
        "isolation": isolation,
        "findings": sum(len(verified.findings) for verified in done),
        "assignments": msgspec.to_builtins(list(done), builtin_types=(Decimal,)),
    }


def show_verdicts(verified: Verification) -> None:
    """Print the matrices of one assignment, then its findings."""
    from autograder.cli import report

    out = report.make_console()
    if verified.matrices:
        out.print(f"{verified.assignment}   {LEGEND}", style="bold", markup=False)
    for matrix in verified.matrices:
        _show_matrix(out, matrix)
    for cell in verified.mutated:
        _show_survivors(out, cell)
    for number, finding in enumerate(verified.findings, start=1):
        _show_finding(out, number, finding)
    for warning in verified.warnings:
        out.print(
            f"\nworth a look: {warning.place}: {warning.got}; {warning.remedy}", style="yellow", markup=False
        )
    for line in _format_summary(verified):
        out.print(line, markup=False)


def _show_matrix(out: Console, matrix: Matrix) -> None:
    """Print a row for each trial or family. Columns are numbered, because the items' names do not fit."""
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    # Manual items get no automatic marks, so their columns only appear if there are no others.
    items = [item for item in matrix.items if item not in matrix.manual] or list(matrix.items)
    if not matrix.rows:
        out.print(f"\n{matrix.question}: no trials", markup=False)
        return
    out.print(f"\n{matrix.question}: {_format_counts(matrix)}", style="bold", markup=False)
    table = Table(box=None, show_header=True, pad_edge=False, padding=(0, 1), show_edge=False)
    for number in range(1, len(items) + 1):
        table.add_column(str(number), justify="right", no_wrap=True)
    names = "  ".join(f"{number} {item}" for number, item in enumerate(items, start=1))
    table.add_column(Text(names), overflow="fold")
    for name, rows in _list_lines(matrix.rows):
        table.add_row(*(_make_cell(rows, item) for item in items), escape(name))
    out.print(table)


def _show_survivors(out: Console, cell: MutatedCell) -> None:
    """Print the mutants of the answer key that the tests of their cell let pass."""
    from rich.markup import escape
    from rich.table import Table

    judged = cell.mutants - cell.undecided
    tests = ", ".join(cell.tests)
    out.print(
        f"\n{cell.cell}: {len(cell.survivors)} of {judged} mutants of the answer key pass {tests}",
        style="bold",
        markup=False,
    )
    if not cell.survivors:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for heading in ("line", "answer key", "mutant", "noticed by"):
        table.add_column(heading, overflow="fold")
    for survivor in cell.survivors:
        table.add_row(
            str(survivor.line),
            escape(survivor.before),
            escape(survivor.after),
            escape(", ".join(survivor.elsewhere)) or "no test",
        )
    out.print(table)


def _list_lines(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield each trial as a line, but combine a family into one line if none of its trials has a finding."""
    families: dict[str, list[Row]] = {}
    for row in rows:
        if row.family and not row.findings:
            families.setdefault(row.family, []).append(row)
    reported: set[str] = set()
    for row in rows:
        if row.family not in families or row.findings:
            yield row.name, [row]
        elif row.family not in reported:
            reported.add(row.family)
            yield f"{row.family} ({len(families[row.family])})", families[row.family]


def _make_cell(rows: Iterable[Row], item: str) -> Text:
    from rich.text import Text

    from autograder.app.preparation import Mark

    all_rows = list(rows)
    # The worst mark of a family is shown: wrong, then lost, then open, then kept.
    if any(item in row.wrong for row in all_rows):
        return Text(WRONG, style="bold red")
    lost = any(row.marks.get(item) is Mark.LOST for row in all_rows)
    if not lost and any(row.marks.get(item) is Mark.OPEN for row in all_rows):
        return Text(OPEN, style="yellow")
    return Text(LOST, style="green") if lost else Text(KEPT, style="dim")


def _format_counts(matrix: Matrix) -> str:
    noticed = sum(not row.findings for row in matrix.mistakes)
    accepted = sum(not row.findings for row in matrix.alternatives)
    return (
        f"{len(matrix.rows)} trials, {noticed} of {len(matrix.mistakes)} mistakes lose what they must, "
        f"{accepted} of {len(matrix.alternatives)} alternatives lose nothing"
    )


def _show_finding(out: Console, number: int, finding: VerifyFinding) -> None:
    from rich.markup import escape
    from rich.table import Table

    out.print(f"\n{number}. {finding.place}: {finding.paper}", style="bold red", markup=False)
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name in ("expected", "got", "remedy"):
        table.add_row("what to do" if name == "remedy" else name, escape(str(getattr(finding, name))))
    out.print(table)


def _format_summary(verified: Verification) -> Iterator[str]:
    from autograder.cli import report

    yield f"\nanswer key: {_format_usage(verified.key)}"
    if verified.matrices:
        yield f"most of all papers: {_format_usage(verified.most)}"
    if verified.possible:
        waiting = verified.possible - verified.automatic
        manual = f"; {report.format_number(waiting)} need manual marking" if waiting else ""
        decided = f"{report.format_number(verified.automatic)} of {report.format_number(verified.possible)}"
        yield f"{verified.assignment}: {decided} points are decided automatically{manual}"
    trials = sum(len(matrix.rows) for matrix in verified.matrices)
    outcome = f"{len(verified.findings)} findings" if verified.findings else "all is as it must be"
    yield (
        f"{verified.assignment}: {trials} trials, {verified.boxes} of them whole notebooks, "
        f"in {verified.seconds:.1f} s: {outcome}"
    )


def _format_usage(spent: ResourceUsage) -> str:
    return (
        f"{spent.submission_seconds:.2f} s in all, longest cell {spent.cell_seconds:.2f} s and call "
        f"{spent.call_seconds:.2f} s, {spent.processor_seconds:.2f} s of processor, {spent.memory_mb:.0f} MB"
    )
