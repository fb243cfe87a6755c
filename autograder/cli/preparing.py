"""The commands to prepare an assignment: ``new``, ``generate``, ``verify``, ``print``."""

from __future__ import annotations

import contextlib
import enum
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

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
    from autograder.app import Isolation


class PaperSize(enum.StrEnum):
    """Sizes of paper."""

    A4 = "a4"
    LETTER = "letter"


def new(
    name: Annotated[str, typer.Argument(help="Of the new assignment: letters, digits, '-' and '_'.")],
    course: CourseOption = HERE,
    kinds: Annotated[
        str,
        typer.Option(
            "--kinds",
            help="Kinds of questions, separated by commas, such as formula,shape,code,written; default: all.",
        ),
    ] = "",
) -> None:
    """Make an assignment with a question of each kind: notebook, rubric and reference, to be changed.

    In an empty folder a course is begun around it. Nothing that is there is ever replaced.
    """
    from autograder.app import preparing
    from autograder.cli import report

    started = preparing.begin(course, name, [kind.strip() for kind in kinds.split(",") if kind.strip()])
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
            help="en, de or all; default: the last release's, or the first of the rubric.",
        ),
    ] = "",
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Give new variants to students whose variant would change."),
    ] = False,
    isolation: IsolationOption = FULL,
    json: JsonOption = False,
) -> None:
    """Make the release that students get: solutions removed, checks added.

    Where the rubric draws variants and the course has a roster.csv, each student's own release is written
    below personal/ as well.
    """
    from autograder.app import preparing
    from autograder.cli import report

    opened_course = open_course(course)
    written = preparing.release(opened_course, name, {"": None, "all": ""}.get(language, language))
    personal = None
    if preparing.is_personal(opened_course, name):
        with report.warn_of_isolation(isolation):
            personal = preparing.write_personal_releases(
                opened_course, name, isolation=isolation, replace=replace
            )
    kept = preparing.list_kept_back(opened_course, name)
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
        str, typer.Argument(help="The assignment; all of them where none is named.", show_default=False)
    ] = "",
    course: CourseOption = HERE,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Grade only the answer key and the untouched release; takes seconds."),
    ] = False,
    explain: Annotated[
        str,
        typer.Option(
            "--explain",
            metavar="QUESTION",
            help="Print which checks of it pass for the solution, mutants, planted answers and faults.",
        ),
    ] = "",
    answer: Annotated[
        Path | None,
        typer.Option("--answer", help="With --explain: this notebook or Python file instead."),
    ] = None,
    values: Annotated[
        bool, typer.Option("--values", help="With --explain: the inputs drawn and the values compared.")
    ] = False,
    workers: WorkersOption = 0,
    isolation: IsolationOption = FULL,
    json: JsonOption = False,
) -> None:
    """Grade the answer key and deliberately wrong answers: each must lose exactly the points it should.

    The key must earn full marks, the untouched release nothing, accepted alternatives must lose nothing,
    and all must stay within half of the limits. Exits with 1 when something is not so, and names it.
    """
    from autograder.app import preparing
    from autograder.cli import report, verdicts

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
                verified = preparing.build_and_verify(
                    opened_course, entry, workers=workers, quick=quick, isolation=isolation, watch=watch
                )
            done.append(verified)
            if not json:
                verdicts.show_verdicts(verified)
    if json:
        report.print_json(verdicts.to_plain(done, isolation.value))
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
    from autograder.app import preparing
    from autograder.cli import report

    opened_course = open_course(course)
    opened_course.locate_rubric(name)  # raises for an unknown name
    with report.warn_of_isolation(isolation):
        lines, is_right = preparing.explain_checks(
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
        typer.Option("--solutions", help="The sheet for graders: answer key, items, what else is right."),
    ] = False,
    student: Annotated[
        str, typer.Option("--student", help="The variant of one student, where variants are drawn.")
    ] = "",
    paper: Annotated[PaperSize, typer.Option("--paper", help="Size of the paper.")] = PaperSize.A4,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="A file that ends in .html; default: one below paper/."),
    ] = None,
    isolation: IsolationOption = FULL,
) -> None:
    """Write an assignment as a page to print: a box for every answer, or the solutions for graders.

    Print it with Chromium or Chrome, version 131 or later, which put name and page number on every sheet.
    """
    from autograder.app import preparing
    from autograder.cli import report

    opened_course = open_course(course)
    # Only drawing a student's variant runs code in a sandbox.
    with report.warn_of_isolation(isolation) if student else contextlib.nullcontext():
        path = preparing.print_paper(
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
