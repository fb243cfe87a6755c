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
    str, typer.Argument(help="The assignment: a folder in assignments/, a file in rubrics/.")
]
WorkersOption = Annotated[
    int, typer.Option("--workers", min=0, help="Submissions at the same time; 0: by the number of cores.")
]
IsolationOption = Annotated[
    Isolation,
    typer.Option(
        "--isolation",
        help="How student code is confined. none does not protect this machine at all: only for trying out "
        "notebooks of your own; noted on every result.",
    ),
]
LanguageOption = Annotated[str, typer.Option("--language", help="en or de; default: the assignment's first.")]
PagesLanguageOption = Annotated[
    str,
    typer.Option(
        "--language", help="en or de; default: the release's; the assignment's first where it shows all."
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
