"""The command ``new``: an assignment to begin with."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from autograder.cli.options import HERE, CourseOption


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
    from autograder.authoring import start
    from autograder.cli import report

    started = start(course, name, [kind.strip() for kind in kinds.split(",") if kind.strip()])
    for path in started.files:
        report.console().print(f"wrote {path}", soft_wrap=True, markup=False)
    elsewhere = "" if course == HERE else f" --course {shlex.quote(str(course))}"
    report.console().print(
        f"Now prove its checks: autograder verify {name}{elsewhere}", soft_wrap=True, markup=False
    )
