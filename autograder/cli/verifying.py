"""The command ``verify``: every planted mistake must cost what it says, and nothing else."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.options import (
    EXIT_FINDINGS,
    FULL,
    HERE,
    CourseOption,
    IsolationOption,
    WorkersOption,
)
from autograder.errors import AutograderError, CourseError, SandboxError

if TYPE_CHECKING:
    from autograder.course import Course
    from autograder.sandbox.levels import Isolation
    from autograder.verify import Verified

NameArgument = Annotated[
    str, typer.Argument(help="The assignment; all of them where none is named.", show_default=False)
]
JsonOption = Annotated[
    str,
    typer.Option(
        "--json", metavar="FILE", help="Write everything as one JSON object to this file; - prints it."
    ),
]


def verify(
    name: NameArgument = "",
    course: CourseOption = HERE,
    workers: WorkersOption = 0,
    isolation: IsolationOption = FULL,
    json: JsonOption = "",
) -> None:
    """Plant mistakes in the answer key: each must lose what it says, and every check must fail for one.

    The key must score everything, the untouched release nothing, accepted alternatives must lose nothing,
    and all must stay within half of the limits. Exits with 1 when something is not so, and names it.
    """
    from autograder.cli import report, verdicts
    from autograder.course import Course

    place = Course.at(course)
    names = (name,) if name else place.assignments()
    if name or not names:
        place.rubric(name)  # refuses a name that is not known
    with report.at_isolation(isolation):
        done = [_verified(place, one, workers, isolation) for one in names]
    for verified in done if json != "-" else ():
        verdicts.show(verified)
    if json:
        _write(json, verdicts.as_json(done, isolation.value))
    raise typer.Exit(EXIT_FINDINGS if any(one.findings for one in done) else 0)


def _write(name: str, text: str) -> None:
    if name == "-":
        sys.stdout.write(text)
        return
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CourseError(f"--json {name}: cannot be written: {error.strerror}") from error


def _verified(course: Course, name: str, workers: int, isolation: Isolation) -> Verified:
    """One assignment verified; what makes that impossible is a finding as well."""
    from autograder import assignment, generate
    from autograder import verify as verifying
    from autograder.cli import report
    from autograder.sandbox.pool import Pool

    started = time.monotonic()
    try:
        generate.generate(course, name)
        with Pool(isolation=isolation) as pool:
            return verifying.verify(
                assignment.load(course, name),
                pool,
                workers=workers or None,
                watch=lambda rows, total: report.with_progress(rows, total, name),
            )
    except SandboxError:
        raise
    except AutograderError as error:
        finding = verifying.Finding(
            "course",
            name,
            "a rubric, notebooks and references that fit together",
            str(error),
            "correct what the message names",
        )
        return verifying.Verified(name, (finding,), seconds=time.monotonic() - started)
