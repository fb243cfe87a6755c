"""The commands that analyse a graded class and change nothing: ``statistics``, ``similar``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.app import open_course
from autograder.cli.options import HERE, CourseOption, JsonOption, NameArgument

if TYPE_CHECKING:
    from rich.table import Table

    from autograder.app.class_statistics import ClassStatistics
    from autograder.app.similar import SimilarClass


def statistics(
    name: NameArgument,
    course: CourseOption = HERE,
    names: Annotated[
        bool, typer.Option("--names", help="Name students and link their pages; otherwise nobody is named.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """How the class did: difficulty, discrimination, reliability, mistakes, grades; a page for staff."""
    from autograder.app import class_statistics as use_case
    from autograder.cli import report

    place = open_course(course)
    with report.ProgressBar("statistics") as watch:
        found = use_case.class_statistics(place, name, names=names, watch=watch)
    report.print_notes(found.remarks)
    page = use_case.write_page(place, found)
    if json:
        report.print_json({**use_case.as_plain(found), "page": str(page)})
    else:
        _show_statistics(found)
        report.say(f"for staff: {page}")


def similar(
    name: NameArgument,
    course: CourseOption = HERE,
    given: Annotated[
        list[Path] | None,
        typer.Option(
            "--given", help="A notebook or .py file that everybody had, as of a lecture; repeatable."
        ),
    ] = None,
    most: Annotated[int, typer.Option("--most", min=1, max=200, help="Pairs that are shown.")] = 30,
    json: JsonOption = False,
) -> None:
    """Show which two works are most alike, and write a page with both beside each other. Never a verdict."""
    from autograder.app import similar as use_case
    from autograder.cli import report

    place = open_course(course)
    with report.ProgressBar("similar") as watch:
        found = use_case.similar(place, name, given=given or [], most=most, watch=watch)
    page = use_case.write_page(place, found)
    if json:
        report.print_json({"assignment": name, **_plain(found), "page": str(page)})
    else:
        report.console().print(_pairs_table(found))
        report.say("a place to look, never a verdict: read both works")
        report.say(f"for staff: {page}")
    report.print_notes(found.remarks)


def _plain(found: SimilarClass) -> dict[str, object]:
    return {
        "works": len(found.works),
        "pairs": [
            {
                "students": pair.students,
                "stands_out": round(pair.stands_out, 4),
                "share": round(pair.share, 4),
                "parts": [
                    {
                        "name": part.name,
                        "stands_out": round(part.stands_out, 4),
                        "share": round(part.share, 4),
                    }
                    for part in pair.parts
                ],
                "words": pair.words,
            }
            for pair in found.pairs
        ],
        "remarks": found.remarks,
    }


def _pairs_table(found: SimilarClass) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{found.rubric.assignment.name}: works that are most alike")
    table.add_column("", justify="right")
    table.add_column("one")
    table.add_column("other")
    table.add_column("stands out", justify="right")
    table.add_column("same", justify="right")
    table.add_column("most in", max_width=40)
    for place, pair in enumerate(found.pairs, 1):
        parts = ", ".join(part.name for part in pair.parts[:3])
        shares = [f"{percent} %" for percent in pair.percents]
        table.add_row(str(place), *map(escape, (*pair.students, *shares, parts)))
    return table


def _show_statistics(found: ClassStatistics) -> None:
    from rich.markup import escape
    from rich.table import Table

    from autograder.app import class_statistics as use_case
    from autograder.cli import report

    told = found.figures
    table = Table(title=found.rubric.assignment.name, caption_justify="left")
    columns = ("mean", "possible", "difficulty", "discrimination", "alpha_without", "open")
    table.add_column("question")
    table.add_column("item")
    for column in columns:
        table.add_column(column.replace("_", " "), justify="right")
    for row in use_case.rows(found):
        first = (row["question"], "") if row["part"] == "question" else ("", row["item"])
        table.add_row(*map(escape, (*first, *(_short(row[column]) for column in columns))))
    report.console().print(table)
    spread = "" if told.deviation is None else f", standard deviation {told.deviation:.2f}"
    # Mean and median only count students whose answers are all marked.
    if told.settled:
        report.say(
            f"{told.settled} of {told.students} students with every answer marked: mean "
            f"{report.number(told.mean)}, median {report.number(told.median)}{spread}"
        )
    else:
        report.say(f"{told.students} students, of none of whom every answer is marked: no mean, no median")
    for parts, one in (("questions", told.by_question), ("items", told.by_item)):
        if one is not None:
            report.say(
                f"Cronbach's alpha of {parts}: {one.alpha:.2f} ± {one.error:.2f} ({one.students} students); "
                f"standard error of measurement {one.measurement:.2f} points"
            )


def _short(figure: str) -> str:
    """Shorten a figure to two decimals if it has more."""
    whole, sign, decimals = figure.partition(".")
    return f"{float(figure):.2f}" if sign and len(decimals) > 2 else whole + sign + decimals
