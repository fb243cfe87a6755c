"""The command ``print``: an assignment on paper."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.options import (
    EXIT_FINDINGS,
    FULL,
    HERE,
    CourseOption,
    IsolationOption,
    LanguageOption,
    NameArgument,
)
from autograder.errors import CourseError

if TYPE_CHECKING:
    from autograder.course import Course
    from autograder.rubric import Rubric
    from autograder.sandbox.levels import Isolation


class Paper(enum.StrEnum):
    """Sizes of paper."""

    A4 = "a4"
    LETTER = "letter"


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
    paper: Annotated[Paper, typer.Option("--paper", help="Size of the paper.")] = Paper.A4,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="A file that ends in .pdf or .html; default: a PDF below paper/."),
    ] = None,
    isolation: IsolationOption = FULL,
) -> None:
    """Print an assignment: a PDF with a box for every answer, or the solutions for graders.

    Chromium makes the PDF, where there is one; otherwise a page is written that a browser can print.
    """
    from autograder import atomic
    from autograder import rubric as rubrics
    from autograder.cli import report
    from autograder.course import Course, name_fault
    from autograder.paper import make_sheet, print_pdf, render

    place = Course.at(course)
    if student and (fault := name_fault(student)):
        raise CourseError(f"--student: {student!r} cannot be a student's id: {fault}")
    rubric = rubrics.load(place.rubric(name))
    language = _language(rubric, language)
    path = (
        output
        or place.root / "paper" / f"{'-'.join(filter(None, (name, student, 'solutions' * solutions)))}.pdf"
    )
    if path.suffix not in {".pdf", ".html"}:
        raise CourseError(f"--output {path}: expected a file that ends in .pdf or .html")
    asked, releases, key = _asked(place, rubric, language, student, isolation)
    sheet = make_sheet(
        asked,
        releases,
        language=language,
        key=key if solutions else None,
        pictures=_pictures(place, rubric),
        student=student,
    )
    page = render(sheet, paper.value)
    problem = ""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".pdf":
        problem = print_pdf(page, path).problem
        path = path.with_suffix(".html") if problem else path
    if path.suffix == ".html":
        atomic.write(path, page.encode())
    if problem:
        typer.echo(f"No PDF was made: {problem}. Open the page in Chromium or Chrome and print it.", err=True)
    report.console().print(f"wrote {path}", soft_wrap=True, markup=False)
    raise typer.Exit(EXIT_FINDINGS if problem else 0)


def _language(rubric: Rubric, language: str) -> str:
    known = rubric.assignment.languages
    if language and language not in known:
        raise CourseError(f"--language: expected one of {', '.join(known)}, got {language!r}")
    return language or known[0]


def _asked(
    course: Course, rubric: Rubric, language: str, student: str, isolation: Isolation
) -> tuple[Rubric, Mapping[str, bytes], Mapping[str, bytes]]:
    """What is asked: the rubric, and by notebook the release and the answer key."""
    from autograder import generate
    from autograder.cli import report

    if not student:
        files = generate.build(course, rubric, language)
        return rubric, _notebooks(rubric, files), generate.sources(course, rubric)
    from autograder import assignment
    from autograder.personal.making import make
    from autograder.sandbox.pool import Pool

    if rubric.draws is None:
        raise CourseError(
            f"--student: {rubric.assignment.name!r} has no table [variant]: everybody has the same"
        )
    common = assignment.load(course, rubric.assignment.name)
    given = common.manifest.of(student) if common.manifest else None
    if common.manifest and given is None:
        raise CourseError(
            f"--student: nothing was handed out to {student!r}; put them on the class list and generate"
        )
    with report.at_isolation(isolation), Pool(isolation=isolation) as pool:
        made = make(common, [student], pool, common.manifest.catalogues if common.manifest else None)
    variant = common.variant_of(student) if given else made.variants[student]
    asked = common.with_variant(variant, made.catalogues).rubric
    files = generate.build(course, asked, language, made.exchanged(variant), student)
    return asked, _notebooks(asked, files), made.key(variant)


def _notebooks(rubric: Rubric, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {notebook.name: files[f"{notebook.name}.ipynb"] for notebook in rubric.assignment.notebooks}


def _pictures(course: Course, rubric: Rubric) -> dict[str, bytes]:
    """Contents of the data files that are pictures."""
    folder = course.sources / rubric.assignment.name
    names = [name for notebook in rubric.assignment.notebooks for name in notebook.data]
    return {
        name: (folder / name).read_bytes()
        for name in names
        if name.lower().endswith((".png", ".jpg", ".jpeg"))
    }
