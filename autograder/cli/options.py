"""Arguments, options and exit codes that several commands share."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from autograder.app import Isolation

EXIT_FINDINGS, EXIT_REFUSED, EXIT_NO_SANDBOX = 1, 3, 4

CourseOption = Annotated[Path, typer.Option("--course", help="The course folder.", show_default="here")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
NameArgument = Annotated[
    str, typer.Argument(help="The assignment: a folder in assignments/ with a rubric in rubrics/.")
]
WorkersOption = Annotated[
    int,
    typer.Option(
        "--workers",
        min=0,
        help="Number of submissions to grade in parallel. 0: chosen by the number of cores.",
    ),
]
IsolationOption = Annotated[
    Isolation,
    typer.Option(
        "--isolation",
        help="How student code is isolated. none does not protect this machine at all: only for trying out "
        "notebooks of your own; noted on every result.",
    ),
]
LanguageOption = Annotated[
    str, typer.Option("--language", help="en or de. Default: the first language of the assignment.")
]
PagesLanguageOption = Annotated[
    str,
    typer.Option(
        "--language",
        help="en or de. Default: the language of the release, or the first of several.",
    ),
]
HERE = Path()
FULL = Isolation.NAMESPACES


def check_language(language: str, available: Collection[str]) -> None:
    """Refuse a language that is not available. An empty text among `available` allows to omit the option.

    Raises:
        typer.BadParameter: it is not available.
    """
    if language not in available:
        raise typer.BadParameter(
            f"--language: expected one of {', '.join(filter(None, available))}, got {language!r}"
        )
