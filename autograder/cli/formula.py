"""The command ``formula``: how a formula is read, and which feedback an answer would get.

It uses the normal path of answers: the options become a question, which is judged like any other.
"""

from __future__ import annotations

import json as encoder
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.cli.options import HERE, CourseOption, check_language
from autograder.core.errors import RubricError

if TYPE_CHECKING:
    from autograder.app.formulas import FormulaReport

EXIT_DIFFERENT, EXIT_UNREADABLE = 1, 2

Expression = Annotated[
    str, typer.Argument(help="The formula, as a student would write it; behind -- if it begins with a minus.")
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
    typer.Option("--assume", help="A relation that is granted: d_model=n_heads*d_head; repeatable."),
]
Equals = Annotated[
    list[str] | None, typer.Option("--equals", help="The right formula; repeatable: any of them is right.")
]
FormOption = Annotated[
    str, typer.Option("--form", help="What is asked for: formula, relation, tuple, list, set or asymptotic.")
]
RubricOption = Annotated[
    str, typer.Option("--rubric", help="Take symbols and right answers from this rubric.")
]
QuestionOption = Annotated[str, typer.Option("--question", help="The question of that rubric.")]
ItemOption = Annotated[str, typer.Option("--item", help="The item; default: the first that reads a formula.")]
EarlierOption = Annotated[
    list[str] | None,
    typer.Option(
        "--earlier",
        help="An answer to an earlier item of the rubric, on which this one may build: "
        "task3-h.sum=24*d_model^2; repeatable. Without it, earlier answers are taken to be right.",
    ),
]
Language = Annotated[str, typer.Option("--language", help="Of what a student reads: en or de.")]
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
    """Show how a formula is read, and whether it equals another; for writers of questions.

    Exit codes: 0 equal (or read, without --equals and --question) · 1 not equal · 2 not readable, a name
    that is not known, or not decided (and, as always, wrong usage).
    """
    from autograder.app import formulas

    if bool(rubric) != bool(question):
        raise typer.BadParameter("--rubric and --question belong together")
    check_language(language, formulas.list_languages())
    if earlier and not rubric:
        raise typer.BadParameter("--earlier belongs to --rubric and --question")
    if rubric and (symbols or assume or equals):
        raise typer.BadParameter("--rubric brings its own symbols, relations and right answers")
    try:
        target = (
            formulas.from_rubric(course, rubric, question, item, earlier or [])
            if rubric
            else formulas.from_options(symbols, assume or [], equals or [], form)
        )
        examined = formulas.check_formula(expression, target, language)
    except RubricError as error:
        if rubric:
            raise
        sys.stderr.write(f"autograder: {error}\n")  # the error is in the options, not in a rubric
        raise typer.Exit(EXIT_UNREADABLE) from None
    if json:
        sys.stdout.write(encoder.dumps(_to_plain(examined), ensure_ascii=False) + "\n")
    else:
        _print_examined(examined)
    raise typer.Exit(
        {"read": 0, "equal": 0, "different": EXIT_DIFFERENT}.get(examined.verdict, EXIT_UNREADABLE)
    )


def _to_plain(examined: FormulaReport) -> dict[str, Any]:
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
