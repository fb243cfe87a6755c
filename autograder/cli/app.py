"""The commands. Each gathers its parts, runs them, and hands the result to be printed.

Heavy libraries are imported inside the commands, so that --help answers at once.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.algebra import algebra
from autograder.cli.options import (
    EXIT_FINDINGS,
    EXIT_NO_SANDBOX,
    EXIT_REFUSED,
    FULL,
    HERE,
    CourseOption,
    IsolationOption,
    JsonOption,
    NameArgument,
    WorkersOption,
)
from autograder.cli.verifying import verify
from autograder.errors import AutograderError, SandboxUnavailable
from autograder.sandbox.levels import Isolation

if TYPE_CHECKING:
    from autograder.batch import Outcome
    from autograder.course import Course
    from autograder.personal.handing_out import Written

EXIT_INTERRUPTED = 130

EPILOG = (
    "Exit codes: 0 done · 1 done, and something was found that needs attention · 2 wrong usage · "
    "3 the course, a rubric, a notebook or the gradebook is not usable · "
    "4 student code cannot be confined here · 130 interrupted (run the same command again to go on)."
)

app = typer.Typer(
    name="autograder",
    help="Exams and assignments in Jupyter notebooks, graded in a sandbox: exact marks, explained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
)

LanguageOption = Annotated[str, typer.Option("--language", help="en or de; default: the assignment's first.")]


@app.command(epilog="Example: autograder generate dl4nlp-exam")
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
    """Make the release that students get: solutions and hidden tests removed, checks added.

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


@app.command(epilog="Example: autograder validate dl4nlp-exam")
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


app.command(epilog="Example: autograder verify dl4nlp-exam")(verify)


@app.command(epilog="Example: autograder grade dl4nlp-exam --student ada --student alan")
def grade(
    name: NameArgument,
    course: CourseOption = HERE,
    student: Annotated[list[str] | None, typer.Option("--student", help="Only this one; repeatable.")] = None,
    workers: WorkersOption = 0,
    again: Annotated[bool, typer.Option("--again", help="Grade even what is known already.")] = False,
    isolation: IsolationOption = FULL,
    json: JsonOption = False,
) -> None:
    """Grade what lies in submitted/ and write the gradebook. Run it again to go on or to add late ones."""
    from autograder.cli import report
    from autograder.course import Course

    started = time.monotonic()
    place = Course.at(course)
    with report.at_isolation(isolation):
        outcomes = _grade(place, name, student or [], workers, isolation, again=again)
        figures = report.grading_summary(outcomes, time.monotonic() - started)
        misnamed = place.misnamed(name)
        if json:
            marks = {one.student: one.graded.score.points for one in outcomes}
            report.print_json(
                {"assignment": name, **figures, "not graded for the name": misnamed, "points": marks}
            )
        else:
            console = report.console()
            console.print(report.grading_table(outcomes, name))
            console.print(report.summary_table(figures, "this run"))
            console.print(f"gradebook: {place.gradebook}", soft_wrap=True, markup=False)
        for folder, fault in misnamed.items():
            sys.stderr.write(f"autograder: submitted/{folder} is not graded: {fault}; rename the folder\n")
    if misnamed:
        raise typer.Exit(EXIT_FINDINGS)


def _grade(
    course: Course,
    name: str,
    students: list[str],
    workers: int,
    isolation: Isolation,
    *,
    again: bool = False,
) -> list[Outcome]:
    from autograder import assignment as assignments
    from autograder import batch
    from autograder.cli import report
    from autograder.errors import CourseError
    from autograder.gradebook import Gradebook, read_roster
    from autograder.sandbox.pool import Pool

    assignment = assignments.load(course, name)
    handins = [one for one in course.handins(name) if not students or one.student in students]
    missing = sorted(set(students) - {one.student for one in handins})
    if missing:
        raise CourseError(f"nothing was handed in by {', '.join(missing)} for {name}")
    with Gradebook(course.gradebook) as gradebook, Pool(isolation=isolation) as pool:
        if course.roster.is_file():
            gradebook.enrol(read_roster(course.roster))
        graded = batch.grade_class(assignment, handins, gradebook, pool, workers=workers or None, again=again)
        return list(report.with_progress(graded, len(handins), "grading"))


@app.command(epilog="Example: autograder feedback dl4nlp-exam --language de")
def feedback(
    name: NameArgument, course: CourseOption = HERE, language: LanguageOption = "", json: JsonOption = False
) -> None:
    """Write the feedback pages: one HTML file per student, and a summary for staff."""
    from autograder.cli import report
    from autograder.course import Course

    place = Course.at(course)
    written = _feedback(place, name, language)
    if json:
        report.print_json({"assignment": name, "pages": len(written), "folder": str(place.root / "feedback")})
        return
    report.console().print(f"{len(written)} pages below {place.root / 'feedback'}", soft_wrap=True)


def _feedback(course: Course, name: str, language: str) -> list[Path]:
    from autograder import assignment as assignments
    from autograder.cli import report
    from autograder.feedback import publish
    from autograder.gradebook import Gradebook
    from autograder.ledger import Ledger

    assignment = assignments.load(course, name)
    with Gradebook(course.gradebook) as gradebook:
        results = Ledger(gradebook.engine).current(name)
    submitted = {handin.student: handin.submitted_at for handin in course.handins(name)}
    rubrics = {student: assignment.rubric_of(student) for student in results}
    chosen = language or assignment.rubric.assignment.languages[0]
    pages = publish.pages(course, assignment.rubric, results, rubrics, submitted=submitted, language=chosen)
    return list(report.with_progress(pages, len(results) + 1, "feedback"))


@app.command(epilog="Example: autograder doctor --json")
def doctor(course: CourseOption = HERE, json: JsonOption = False) -> None:
    """Test the sandbox of this machine afresh: each layer, what was found, and what to do."""
    import msgspec

    from autograder.cli import report
    from autograder.course import PRIVATE
    from autograder.sandbox.proof import doctor as examination
    from autograder.sandbox.proof import selftest

    layers = examination.examine()
    healthy = examination.healthy(layers)
    remembered = selftest.remembered(course / PRIVATE)
    if json:
        layers_found = msgspec.to_builtins(layers)
        report.print_json({"healthy": healthy, "layers": layers_found, "self-test of the course": remembered})
    else:
        report.console().print(report.layers_table(layers))
        report.console().print(f"self-test of this course: {remembered}", soft_wrap=True, markup=False)
    raise typer.Exit(0 if healthy else EXIT_NO_SANDBOX)


@app.command(epilog="Example: autograder demo --students 12 --seed 7 --folder /tmp/course")
def demo(
    students: Annotated[int, typer.Option("--students", min=1, max=5000, help="How many.")] = 60,
    seed: Annotated[int, typer.Option("--seed", help="Another seed, another class.")] = 1,
    folder: Annotated[Path, typer.Option("--folder", help="Where the course is made.")] = Path("demo-course"),
    workers: WorkersOption = 0,
    isolation: IsolationOption = FULL,
    language: LanguageOption = "",
    json: JsonOption = False,
) -> None:
    """Make a course with a class that answers in many ways, grade it, and write gradebook and feedback."""
    from autograder.cli import report
    from autograder.demo import ASSIGNMENT
    from autograder.demo import course as demo_course

    started = time.monotonic()
    place, people = demo_course.make(folder, students=students, seed=seed)
    with report.at_isolation(isolation):
        outcomes = _grade(place, ASSIGNMENT, [], workers, isolation)
        graded = time.monotonic()
        _feedback(place, ASSIGNMENT, language)
        verdict = demo_course.compare(people, outcomes)
        figures = {
            **report.grading_summary(outcomes, graded - started),
            "seconds for the feedback pages": round(time.monotonic() - graded, 2),
            **verdict.figures(),
        }
        if json:
            report.print_json({"course": str(place.root), **figures})
        else:
            console = report.console()
            console.print(report.grading_table(outcomes, f"{len(outcomes)} invented students"))
            console.print(report.summary_table(figures, "this run"))
            for line in demo_course.where_to_look(place, outcomes):
                console.print(line, soft_wrap=True, markup=False)
    raise typer.Exit(0 if verdict.exact else EXIT_FINDINGS)


app.command(epilog='Example: autograder algebra "12 L d²" --symbols L,d_model:d --equals "12*L*d_model^2"')(
    algebra
)


def main() -> None:
    """The entry point: foreseen errors become one sentence and an exit code."""
    # nbformat logs each oddity of each old notebook; what matters of it is in our own notes.
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    try:
        app()
    except SandboxUnavailable as error:
        _fail(error, EXIT_NO_SANDBOX)
    except AutograderError as error:
        _fail(error, EXIT_REFUSED)
    except SystemExit as ended:
        if ended.code != EXIT_INTERRUPTED:  # typer has made this code of an interruption, without a word
            raise
        _interrupted()
    except KeyboardInterrupt:
        _interrupted()
    except BrokenPipeError:
        os._exit(0)  # whoever read our output has seen enough


def _interrupted() -> None:
    sys.stderr.write("interrupted; what was graded is kept. Run the same command again to go on.\n")
    sys.stderr.flush()
    os._exit(EXIT_INTERRUPTED)  # boxes die with us; waiting for running ones would only delay


def _fail(error: AutograderError, code: int) -> None:
    sys.stderr.write(f"autograder: {error}\n")
    sys.exit(code)
