"""The commands ``generate`` and ``validate``: make a release, and let the answer key sit it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.options import (
    EXIT_FINDINGS,
    FULL,
    HERE,
    CourseOption,
    IsolationOption,
    JsonOption,
    NameArgument,
)
from autograder.sandbox.levels import Isolation

if TYPE_CHECKING:
    from autograder.course import Course
    from autograder.personal.handing_out import Written


def generate(
    name: NameArgument,
    course: CourseOption = HERE,
    language: Annotated[
        str,
        typer.Option("--language", help="Of the texts: en, de or all; default: as in the last release."),
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
    from autograder import generate as generating
    from autograder.cli import report
    from autograder.course import Course
    from autograder.notebook.student_check import FILE_NAME, released_language

    place = Course.at(course)
    written = generating.generate(place, name, {"": None, "all": ""}.get(language, language))
    shown = released_language(place.release(name) / FILE_NAME)
    personal = _personal(place, name, shown, isolation, replace=replace)
    if json:
        found = {"written": [str(path) for path in written]}
        if personal:
            found["personal"] = [str(path) for path in personal.folders]
        report.print_json({"assignment": name, **found})
        return
    for path in written:
        report.console().print(f"wrote {path}", soft_wrap=True, markup=False)
    if personal:
        report.console().print(
            f"wrote {personal.variants} variants for {len(personal.folders)} students below "
            f"{place.root / 'personal'}",
            soft_wrap=True,
            markup=False,
        )


def _personal(
    course: Course, name: str, language: str, isolation: Isolation, *, replace: bool
) -> Written | None:
    from autograder import rubric as rubrics
    from autograder.cli import report

    if rubrics.load(course.rubric(name)).draws is None or not course.roster.is_file():
        return None
    from autograder.gradebook import read_roster
    from autograder.personal.handing_out import hand_out
    from autograder.sandbox.pool import Pool

    students = [student.id for student in read_roster(course.roster)]
    with report.at_isolation(isolation), Pool(isolation=isolation) as pool:
        return hand_out(course, name, students, pool, language=language, replace=replace)


def validate(
    name: NameArgument,
    course: CourseOption = HERE,
    isolation: IsolationOption = FULL,
    json: JsonOption = False,
) -> None:
    """Let the answer key sit the exam: it must score everything, and the untouched release nothing."""
    from autograder import assignment
    from autograder import generate as generating
    from autograder import verify as verifying
    from autograder.cli import report
    from autograder.course import Course
    from autograder.sandbox.pool import Pool

    place = Course.at(course)
    generating.generate(place, name)
    with report.at_isolation(isolation):
        with Pool(isolation=isolation) as pool:
            loaded = assignment.load(place, name)
            findings = verifying.validate(loaded, pool)
        credit = verifying.credit(loaded.rubric)
        if json:
            import msgspec

            plain = {"findings": msgspec.to_builtins(findings), "credit": msgspec.to_builtins(credit)}
            report.print_json({"assignment": name, "isolation": isolation.value, **plain})
        else:
            report.show_validation(name, findings, credit)
    raise typer.Exit(EXIT_FINDINGS if findings else 0)
