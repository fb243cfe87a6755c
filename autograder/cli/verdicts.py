"""Output of ``autograder verify``: a matrix for each question, the findings, and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from autograder.app.preparing import Mark, Matrix, MutatedCell, Row, Verification, VerifyFinding
from autograder.cli import report
from autograder.core.records import ResourceUsage

LOST, KEPT, OPEN, WRONG = "●", "·", "?", "!"
LEGEND = f"{LOST} lost, as it must be   {KEPT} kept   {OPEN} manual review   {WRONG} not as it must be"


def to_plain(done: Sequence[Verification], isolation: str) -> dict[str, Any]:
    """Return everything as plain data."""
    return {
        "isolation": isolation,
        "findings": sum(len(verified.findings) for verified in done),
        "assignments": msgspec.to_builtins(list(done), builtin_types=(Decimal,)),
    }


def show_verdicts(verified: Verification) -> None:
    """Print the matrices of one assignment, then its findings."""
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
    out.print(f"\n{number}. {finding.place}: {finding.paper}", style="bold red", markup=False)
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name in ("expected", "got", "remedy"):
        table.add_row("what to do" if name == "remedy" else name, escape(getattr(finding, name)))
    out.print(table)


def _format_summary(verified: Verification) -> Iterator[str]:
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
