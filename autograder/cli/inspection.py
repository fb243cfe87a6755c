"""The commands ``demo``, ``doctor``, ``check`` and ``formula``, for trying things out."""

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
from autograder.core.errors import RubricError

if TYPE_CHECKING:
    from autograder.app import Isolation
    from autograder.app.formula_inspection import FormulaReport
    from autograder.app.inspection import NotebookInspection


def demo(
    students: Annotated[int, typer.Option("--students", min=1, max=5000, help="Number of students.")] = 60,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed of the class. Another seed makes another class.")
    ] = 1,
    folder: Annotated[Path, typer.Option("--folder", help="Folder for the course.")] = Path("demo-course"),
    workers: WorkersOption = 0,
    isolation: IsolationOption = FULL,
    language: PagesLanguageOption = "",
    json: JsonOption = False,
) -> None:
    """Create a course with an invented class, grade it, and write gradebook and feedback."""
    from autograder.app import demo_run

    with demo_run.remove_on_failure(folder, students=students, seed=seed):
        is_exact = _run_demo(folder, students, seed, workers, isolation, language, json=json)
    raise typer.Exit(0 if is_exact else EXIT_FINDINGS)


def _run_demo(
    folder: Path, students: int, seed: int, workers: int, isolation: Isolation, language: str, *, json: bool
) -> bool:
    """Create and grade the demo course; return whether every mark is as expected."""
    from autograder.app import classes, demo_run
    from autograder.cli import report

    opened_course, people_by_name = demo_run.make_course(folder, students=students, seed=seed)
    console = report.make_console()
    figures, outcomes = {}, {}
    exact = True
    with report.warn_of_isolation(isolation):
        for name, people in people_by_name.items():
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
                **classes.compute_run_statistics(outcomes[name], run.seconds),
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
    """Test each layer of the sandbox on this machine, and print what to do about missing ones."""
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
    notebook: Annotated[Path, typer.Argument(help="The notebook to be submitted.")],
    check_file: Annotated[
        Path | None,
        typer.Option(
            "--with",
            help="The coursecheck.py of the assignment.",
            show_default="the one beside the notebook",
        ),
    ] = None,
    language: Annotated[
        str, typer.Option("--language", help="en or de. Default: the language of the release.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Check a notebook before you submit it: how answers are read. Nothing is run or marked.

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


EXIT_DIFFERENT, EXIT_UNREADABLE = 1, 2

Expression = Annotated[
    str,
    typer.Argument(
        help="The formula, as a student would write it. Put -- before it if it begins with a minus."
    ),
]
Symbols = Annotated[
    str,
    typer.Option(
        "--symbols",
        help="Known symbols, with other spellings behind colons and a domain behind an equals sign: "
        "d_model:d:D,x=real. Domains: positive integer (default), positive, probability, unit, real.",
    ),
]
Assume = Annotated[
    list[str] | None,
    typer.Option("--assume", help="An assumption, such as d_model=n_heads*d_head. Repeatable."),
]
Equals = Annotated[
    list[str] | None, typer.Option("--equals", help="An accepted formula. Repeatable: any of them is right.")
]
FormOption = Annotated[
    str,
    typer.Option("--form", help="The form of the answer: formula, relation, tuple, set or asymptotic."),
]
RubricOption = Annotated[
    str, typer.Option("--rubric", help="Take symbols and right answers from this rubric.")
]
QuestionOption = Annotated[str, typer.Option("--question", help="The question of that rubric.")]
ItemOption = Annotated[
    str, typer.Option("--item", help="The item. Default: the first one that reads a formula.")
]
EarlierOption = Annotated[
    list[str] | None,
    typer.Option(
        "--earlier",
        help="An answer to an earlier item of the rubric, on which this one may build: "
        "task3-h.sum=24*d_model^2; repeatable. Without it, earlier answers are taken to be right.",
    ),
]
Language = Annotated[str, typer.Option("--language", help="Language of the feedback: en or de.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, with the LaTeX and the MathML.")]


def formula(
    expression: Expression,
    symbols: Symbols = "",
    assume: Assume = None,
    equals: Equals = None,
    form: FormOption = "formula",
    rubric: RubricOption = "",
    question: QuestionOption = "",
    item: ItemOption = "",
    earlier: EarlierOption = None,
    course: CourseOption = HERE,
    language: Language = "en",
    json: Json = False,
) -> None:
    """Show how a formula is read and whether it equals another one. For authors of questions.

    Exit codes: 0 equal (or read, without --equals and --question) · 1 not equal · 2 not readable, a name
    that is not known, or not decided (and, as always, wrong usage).
    """
    from autograder.app import formula_inspection

    if bool(rubric) != bool(question):
        raise typer.BadParameter("--rubric and --question belong together")
    check_language(language, formula_inspection.list_languages())
    if earlier and not rubric:
        raise typer.BadParameter("--earlier belongs to --rubric and --question")
    if rubric and (symbols or assume or equals):
        raise typer.BadParameter("--rubric brings its own symbols, relations and right answers")
    try:
        target = (
            formula_inspection.from_rubric(course, rubric, question, item, earlier or [])
            if rubric
            else formula_inspection.from_options(symbols, assume or [], equals or [], form)
        )
        examined = formula_inspection.check_formula(expression, target, language)
    except RubricError as error:
        if rubric:
            raise
        sys.stderr.write(f"autograder: {error}\n")  # the error is in the options, not in a rubric
        raise typer.Exit(EXIT_UNREADABLE) from None
    if json:
        sys.stdout.write(encoder.dumps(_to_plain_formula(examined), ensure_ascii=False) + "\n")
    else:
        _print_examined(examined)
    raise typer.Exit(
        {"read": 0, "equal": 0, "different": EXIT_DIFFERENT}.get(examined.verdict, EXIT_UNREADABLE)
    )


def _to_plain_formula(examined: FormulaReport) -> dict[str, Any]:
    import msgspec

    # Empty fields do not apply to this verdict.
    return {name: value for name, value in msgspec.to_builtins(examined).items() if value != ""}


def _print_examined(examined: FormulaReport) -> None:
    lines = []
    if examined.reading:
        lines.append(f"read as: {examined.reading}")
    if examined.verdict != "read":
        points = f", {examined.points} points" if examined.points else ""
        lines.append(f"verdict: {examined.verdict}{points}")
    if examined.caret:
        lines += examined.caret.splitlines()
    if examined.message:
        lines.append(f"the student reads: {examined.message}")
    if examined.code:
        lines.append(f"code: {examined.code}")
    if examined.staff:
        lines.append(f"for staff: {examined.staff}")
    sys.stdout.write("\n".join(lines) + "\n")
