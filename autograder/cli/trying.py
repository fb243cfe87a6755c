"""The commands ``demo``, ``doctor`` and ``check``, for trying things out before anything counts."""

from __future__ import annotations

import json as encoder
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.cli.classes import print_faults, print_page_problems
from autograder.cli.options import (
    EXIT_FINDINGS,
    EXIT_NO_SANDBOX,
    FULL,
    HERE,
    CourseOption,
    IsolationOption,
    JsonOption,
    PagesLanguageOption,
    WorkersOption,
    check_language,
)

if TYPE_CHECKING:
    from autograder.app import Isolation
    from autograder.app.inspection import NotebookInspection


def demo(
    students: Annotated[int, typer.Option("--students", min=1, max=5000, help="How many.")] = 60,
    seed: Annotated[int, typer.Option("--seed", help="Another seed, another class.")] = 1,
    folder: Annotated[Path, typer.Option("--folder", help="Where the course is made.")] = Path("demo-course"),
    workers: WorkersOption = 0,
    isolation: IsolationOption = FULL,
    language: PagesLanguageOption = "",
    json: JsonOption = False,
) -> None:
    """Make a course with a class that answers in many ways, grade it, and write gradebook and feedback."""
    from autograder.app import demo_run

    with demo_run.remove_on_failure(folder, students=students, seed=seed):
        is_exact = _run_demo(folder, students, seed, workers, isolation, language, json=json)
    raise typer.Exit(0 if is_exact else EXIT_FINDINGS)


def _run_demo(
    folder: Path, students: int, seed: int, workers: int, isolation: Isolation, language: str, *, json: bool
) -> bool:
    """Create and grade the demo course; return whether every mark is as expected."""
    from autograder.app import demo_run, run_statistics
    from autograder.cli import report

    opened_course, classes = demo_run.make_course(folder, students=students, seed=seed)
    console = report.make_console()
    figures, outcomes = {}, {}
    exact = True
    with report.warn_of_isolation(isolation):
        for name, people in classes.items():
            with report.ProgressBar("grading") as grading, report.ProgressBar("feedback") as pages:
                run = demo_run.run_demo(
                    opened_course,
                    name,
                    people,
                    workers=workers,
                    isolation=isolation,
                    language=language,
                    watches=(grading, pages),
                )
            outcomes[name] = run.graded.outcomes
            troubled = [print_page_problems(run.published.pages), print_faults(outcomes[name], name)]
            exact = exact and run.comparison.exact and not any(troubled)
            figures[name] = {
                **run_statistics.compute_run_statistics(outcomes[name], run.seconds),
                "seconds for the feedback pages": round(run.seconds_for_pages, 2),
                **run.comparison.to_figures(),
            }
            if not json:
                title = f"{name}: {len(people)} invented students"
                console.print(report.make_grading_table(outcomes[name], title))
                console.print(report.make_summary_table(figures[name], f"{name}, this run"))
        if json:
            report.print_json({"course": str(opened_course.root), "assignments": figures})
        else:
            for line in demo_run.list_first_files(opened_course, outcomes):
                report.print_line(line)
    return exact


def doctor(course: CourseOption = HERE, json: JsonOption = False) -> None:
    """Test the sandbox of this machine afresh: each layer, what was found, and what to do."""
    import msgspec

    from autograder.app import inspection
    from autograder.cli import report

    machine = inspection.inspect_machine(course)
    if json:
        plain = msgspec.to_builtins(machine)
        report.print_json(
            {
                "healthy": plain["healthy"],
                "layers": plain["layers"],
                "self-test of the course": machine.remembered,
            }
        )
    else:
        report.make_console().print(report.make_layers_table(machine.layers))
        report.print_line(f"self-test of this course: {machine.remembered}")
    raise typer.Exit(0 if machine.healthy else EXIT_NO_SANDBOX)


def check(
    notebook: Annotated[Path, typer.Argument(help="The notebook, as it is to be handed in.")],
    check_file: Annotated[
        Path | None,
        typer.Option(
            "--with",
            help="The coursecheck.py of the assignment.",
            show_default="the one beside the notebook",
        ),
    ] = None,
    language: Annotated[str, typer.Option("--language", help="en or de; default: the release's.")] = "",
    json: JsonOption = False,
) -> None:
    """Look at a notebook before it is handed in: nothing of it is run, and nothing here is a mark.

    Shows which questions are answered, how formulas are read, and which given cells were changed or deleted.
    What only running tells, check() in the notebook shows. Exits with 1 when something is missing.
    """
    from autograder.app import inspection

    # Without the option, the release's language is used.
    check_language(language, ("", *inspection.list_languages()))
    looked = inspection.inspect_notebook(notebook, check_file, language)
    if json:
        sys.stdout.write(encoder.dumps(_to_plain(looked), ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(looked.text)
    raise typer.Exit(0 if looked.paper.is_complete else EXIT_FINDINGS)


def _to_plain(looked: NotebookInspection) -> dict[str, Any]:
    paper = looked.paper
    return {
        "assignment": paper.assignment,
        "notebook": paper.notebook,
        "complete": paper.is_complete,
        "questions": [
            {**report._asdict(), "lines": [line._asdict() for line in report.lines]}
            for report in paper.reports
        ],
        "cells": [line._asdict() for line in paper.cells],
        "files": [line._asdict() for line in paper.files],
        "note": looked.note,
    }
