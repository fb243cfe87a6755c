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
        report.say(f"wrote {path}")
    elsewhere = "" if course == HERE else f" --course {shlex.quote(str(course))}"
    report.say(f"Now prove its checks: autograder verify {name}{elsewhere}")


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

    place = open_course(course)
    written = preparing.release(place, name, {"": None, "all": ""}.get(language, language))
    personal = None
    if preparing.is_personal(place, name):
        with report.at_isolation(isolation):
            personal = preparing.hand_out(place, name, isolation=isolation, replace=replace)
    kept = preparing.kept_back(place, name)
    if json:
        found = {
            "written": [str(path) for path in written],
            "kept_back": [str(path) for path in kept],
        }
        if personal:
            found["personal"] = [str(path) for path in personal.folders]
        report.print_json({"assignment": name, **found})
        return
    for path in written:
        report.say(f"wrote {path}")
    for path in kept:
        report.say(f"not given out: {path}")
    if personal:
        report.say(
            f"wrote {personal.variants} variants for {len(personal.folders)} students below "
            f"{place.root / 'personal'}"
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
        _explain(course, name, explain, answer, isolation, values=values, json=json)
    if answer or values:
        raise typer.BadParameter("--answer and --values need --explain QUESTION")
    place = open_course(course)
    names = (name,) if name else place.assignments()
    if name or not names:
        place.rubric(name)  # raises for an unknown name
    done = []
    with report.at_isolation(isolation):
        for one in names:
            with report.ProgressBar(one) as watch:
                verified = preparing.build_and_verify(
                    place, one, workers=workers, quick=quick, isolation=isolation, watch=watch
                )
            done.append(verified)
            if not json:
                verdicts.show(verified)
    if json:
        report.print_json(verdicts.to_plain(done, isolation.value))
    raise typer.Exit(EXIT_FINDINGS if any(one.findings for one in done) else 0)


def _explain(
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

    place = open_course(course)
    place.rubric(name)  # raises for an unknown name
    with report.at_isolation(isolation):
        lines, is_right = preparing.explain(
            place, name, question, answer=answer, show_values=values, isolation=isolation
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
        typer.Option("--output", help="A file that ends in .pdf or .html; default: a PDF below paper/."),
    ] = None,
    isolation: IsolationOption = FULL,
) -> None:
    """Print an assignment: a PDF with a box for every answer, or the solutions for graders.

    Chromium makes the PDF, where there is one; otherwise a page is written that a browser can print.
    """
    from autograder.app import preparing
    from autograder.cli import report

    place = open_course(course)
    # Only drawing a student's variant runs code in a sandbox.
    with report.at_isolation(isolation) if student else contextlib.nullcontext():
        printed = preparing.print_paper(
            place,
            name,
            language=language,
            solutions=solutions,
            student=student,
            size=paper.value,
            output=output,
            isolation=isolation,
        )
    if printed.problem:
        told = f"No PDF was made: {printed.problem}. Open the page in Chromium or Chrome and print it."
        typer.echo(told, err=True)
    report.say(f"wrote {printed.path}")
    raise typer.Exit(EXIT_FINDINGS if printed.problem else 0)
