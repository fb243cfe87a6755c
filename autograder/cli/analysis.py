"""The commands that analyse a graded class and change nothing: ``statistics``, ``similar``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.app import open_course
from autograder.cli.options import HERE, CourseOption, JsonOption, NameArgument

if TYPE_CHECKING:
    from rich.table import Table

    from autograder.app.class_statistics import ClassStatistics
    from autograder.app.similarity import SimilarClass


def statistics(
    name: NameArgument,
    course: CourseOption = HERE,
    names: Annotated[
        bool, typer.Option("--names", help="Show names and link the pages of students. Default: anonymous.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show statistics: difficulty, discrimination and named mistakes, with a page for staff."""
    from autograder.app import class_statistics as use_case
    from autograder.cli import report

    opened_course = open_course(course)
    with report.ProgressBar("statistics") as watch:
        class_figures = use_case.compute_class_statistics(opened_course, name, names=names, watch=watch)
    report.print_notes(class_figures.remarks)
    page = use_case.write_page(opened_course, class_figures)
    if json:
        report.print_json({**use_case.as_plain(class_figures), "page": str(page)})
    else:
        _show_statistics(class_figures)
        report.print_line(f"for staff: {page}")


def similar(
    name: NameArgument,
    course: CourseOption = HERE,
    given: Annotated[
        list[Path] | None,
        typer.Option(
            "--given", help="A notebook or .py file that all students had, such as lecture code. Repeatable."
        ),
    ] = None,
    most: Annotated[int, typer.Option("--most", min=1, max=200, help="Number of pairs to show.")] = 30,
    json: JsonOption = False,
) -> None:
    """Show the most similar pairs of submissions, and write a page that compares them side by side."""
    from autograder.app import similarity as use_case
    from autograder.cli import report

    place = open_course(course)
    with report.ProgressBar("similar") as watch:
        similar_class = use_case.find_similar(place, name, known_files=given or [], most=most, watch=watch)
    page = use_case.write_page(place, similar_class)
    if json:
        report.print_json({"assignment": name, **_to_plain(similar_class), "page": str(page)})
    else:
        report.make_console().print(_make_pairs_table(similar_class))
        report.print_line("a place to look, never a verdict: read both works")
        report.print_line(f"for staff: {page}")
    report.print_notes(similar_class.remarks)


def _to_plain(similar_class: SimilarClass) -> dict[str, object]:
    return {
        "works": len(similar_class.works),
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
            for pair in similar_class.pairs
        ],
        "remarks": [str(remark) for remark in similar_class.remarks],
    }


def _make_pairs_table(similar_class: SimilarClass) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{similar_class.rubric.assignment.name}: most similar submissions")
    table.add_column("", justify="right")
    table.add_column("first")
    table.add_column("second")
    table.add_column("excess", justify="right")
    table.add_column("shared", justify="right")
    table.add_column("mostly in", max_width=40)
    for rank, pair in enumerate(similar_class.pairs, 1):
        parts = ", ".join(part.name for part in pair.parts[:3])
        shares = [f"{percent} %" for percent in pair.percents]
        table.add_row(str(rank), *map(escape, (*pair.students, *shares, parts)))
    return table


def _show_statistics(class_figures: ClassStatistics) -> None:
    from rich.markup import escape
    from rich.table import Table

    from autograder.app import class_statistics as use_case
    from autograder.cli import report

    figures = class_figures.figures
    table = Table(title=class_figures.rubric.assignment.name, caption_justify="left")
    table.add_column("question")
    table.add_column("item")
    for column in ("mean", "possible", "difficulty", "discrimination", "open"):
        table.add_column(column, justify="right")
    plain = use_case.as_plain(class_figures)
    for question in plain["questions"]:
        table.add_row(escape(question["question"]), "", *_format_part(question))
        for item in plain["items"]:
            if item["question"] == question["question"]:
                table.add_row("", escape(item["item"]), *_format_part(item))
    report.make_console().print(table)
    spread = "" if figures.deviation is None else f", standard deviation {figures.deviation:.2f}"
    # Mean and median only count students whose answers are all marked.
    if figures.settled:
        report.print_line(
            f"{figures.settled} of {figures.students} students with every answer marked: mean "
            f"{report.format_number(figures.mean)}, median {report.format_number(figures.median)}{spread}"
        )
    else:
        report.print_line(
            f"{figures.students} students, of none of whom every answer is marked: no mean, no median"
        )


def _format_part(part: Mapping[str, Any]) -> list[str]:
    """Return the cells of a question or an item: figures with two decimals, empty if there are none."""
    names = ("mean", "possible", "difficulty", "discrimination")
    return [*("" if part[name] is None else f"{part[name]:.2f}" for name in names), str(part["open"])]
