"""The commands ``grade`` and ``feedback``: from what was handed in to marks and pages."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from autograder.cli.deciding import decided, enter_decisions
from autograder.cli.grades import class_standings, tell, tell_strangers
from autograder.cli.options import (
    EXIT_FINDINGS,
    FULL,
    HERE,
    CourseOption,
    IsolationOption,
    JsonOption,
    NameArgument,
    PagesLanguageOption,
    WorkersOption,
)
from autograder.sandbox.levels import Isolation

if TYPE_CHECKING:
    from autograder.course import Course
    from autograder.feedback.publish import Page
    from autograder.grading.batch import Outcome


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
        graded = grade_class(place, name, student or [], workers, isolation, again=again)
        outcomes = graded.outcomes
        figures = report.grading_summary(outcomes, time.monotonic() - started)
        misnamed = place.misnamed(name)
        if json:
            marks = {one.student: one.graded.score.points for one in outcomes}
            report.print_json(
                {
                    "assignment": name,
                    **figures,
                    "not graded for the name": misnamed,
                    "remarks": graded.remarks,
                    "points": marks,
                }
            )
        else:
            console = report.console()
            console.print(report.grading_table(outcomes, name))
            console.print(report.summary_table(figures, "this run"))
            console.print(f"gradebook: {report.with_size(place.gradebook)}", soft_wrap=True, markup=False)
            console.print(f"with what people gave: autograder grades {name}", soft_wrap=True, markup=False)
        for folder, fault in misnamed.items():
            sys.stderr.write(f"autograder: submitted/{folder} is not graded: {fault}; rename the folder\n")
        tell(graded.remarks)
        faults = tell_faults(outcomes, name)
        if not outcomes:
            sys.stderr.write(
                f"autograder: nothing was handed in; expected submitted/<student>/{name}/{name}.ipynb\n"
            )
    if misnamed or graded.attention or faults or not outcomes:
        raise typer.Exit(EXIT_FINDINGS)


def tell_faults(outcomes: Sequence[Outcome], name: str) -> bool:
    """Say on standard error what went wrong on our side; whether anything did."""
    from autograder.cli import report

    faults = report.faults_of_ours(outcomes)
    sys.stderr.writelines(f"autograder: {text}\n" for text in faults)
    if faults:
        sys.stderr.write(
            "autograder: this is not the students' doing. What could not be judged waits for a person; "
            f"autograder grade {name} tries these again\n"
        )
    return bool(faults)


class GradedClass(Struct, frozen=True):
    """What came of grading a class."""

    outcomes: list[Outcome]
    remarks: tuple[str, ...]
    """About who belongs to the class and what was found in the gradebook, a sentence each."""
    attention: bool
    """Some of it is for a person to put right."""


def grade_class(
    course: Course,
    name: str,
    students: list[str],
    workers: int,
    isolation: Isolation,
    *,
    again: bool = False,
) -> GradedClass:
    """Grade what lies there of a class, or of some students of it, showing how far it has come."""
    from autograder import assignment as assignments
    from autograder.cli import report, roll
    from autograder.course import schedule
    from autograder.errors import CourseError
    from autograder.gradebook import Gradebook, read_roster
    from autograder.grading import batch
    from autograder.sandbox.pool import Pool

    assignment = assignments.load(course, name)
    times = schedule.load(course, assignment.rubric)
    if times is None and assignment.rubric.assignment.exam:
        sys.stderr.write(f"autograder: {course.exams.name} does not say when {name} is sat: nobody is late\n")
    collected = [one for one in course.handins(name) if not students or one.student in students]
    handins = schedule.settled(course, times, collected, name)
    missing = sorted(set(students) - {one.student for one in handins})
    if missing:
        raise CourseError(f"nothing was handed in by {', '.join(missing)} for {name}")
    with Gradebook(course.gradebook) as gradebook, Pool(isolation=isolation) as pool:
        decisions, undecided = decided(course, assignment.rubric), False
        handed_in = course.students()
        if course.roster.is_file():
            roster = read_roster(course.roster)
            if times:
                times.check_students({*handed_in, *(one.id for one in roster)})
            gradebook.enrol(roster)
        elif times:
            tell_strangers(times.strangers(handed_in), f"{course.exams.name}: {{}} has times of their own")
        restored = roll.restored(assignment, gradebook)
        graded = batch.grade_class(assignment, handins, gradebook, pool, workers=workers or None, again=again)
        outcomes = list(report.with_progress(graded, len(handins), "grading"))
        called = roll.called(assignment, gradebook)
        if decisions:
            results = list(called.results.values())
            undecided = enter_decisions(assignment.rubric, gradebook, decisions, results, course.secret())
        remarks = (*restored, *called.remarks)
        return GradedClass(outcomes, remarks, attention=bool(restored) or called.attention or undecided)


def feedback(
    name: NameArgument,
    course: CourseOption = HERE,
    language: PagesLanguageOption = "",
    json: JsonOption = False,
) -> None:
    """Write the feedback pages: one HTML file per student, and a summary for staff."""
    from autograder.cli import report
    from autograder.course import Course

    place = Course.at(course)
    pages, remarks = write_feedback(place, name, language)
    tell(remarks)
    written = [page.path for page in pages if not page.trouble]
    if json:
        folder = str(place.root / "feedback")
        found = {"pages": len(written), "folder": folder, "remarks": remarks}
        report.print_json({"assignment": name, **found})
    else:
        staff = [path for path in written if place.root / "staff" in path.parents]
        console = report.console()
        console.print(f"{len(written) - len(staff)} pages below {place.root / 'feedback'}", soft_wrap=True)
        for path in staff:
            console.print(f"for staff: {path}", soft_wrap=True, markup=False)
    if len(written) < len(pages):
        raise typer.Exit(EXIT_FINDINGS)


def write_feedback(course: Course, name: str, language: str) -> tuple[list[Page], tuple[str, ...]]:
    """Write the pages of everybody who has a result, showing how far it has come.

    What could not be written is said on standard error.

    Returns:
        The pages, and what staff must know of the class, a sentence each.
    """
    from autograder import assignment as assignments
    from autograder.cli import report, roll
    from autograder.course import schedule
    from autograder.errors import CourseError
    from autograder.feedback import publish
    from autograder.gradebook import Gradebook

    assignment = assignments.load(course, name)
    known = assignment.rubric.assignment.languages
    if language and language not in known:
        raise CourseError(f"--language: expected one of {', '.join(known)}, got {language!r}")
    if not course.gradebook.is_file():
        raise CourseError(f"{course.gradebook}: there is no gradebook yet; run: autograder grade {name}")
    with Gradebook(course.gradebook) as gradebook:
        restored = roll.restored(assignment, gradebook)
        called = roll.called(assignment, gradebook)
        standings = class_standings(assignment, gradebook, called)
    remarks, results = (*restored, *called.remarks), called.results
    times = schedule.load(course, assignment.rubric)
    handins = schedule.settled(course, times, course.handins(name), name)
    submitted = {handin.student: handin.submitted_at for handin in handins}
    timings = {handin.student: handin.timing for handin in handins if handin.timing}
    rubrics = {student: assignment.rubric_of(student) for student in results}
    chosen = language or assignment.language
    common = assignment.rubric
    pages = publish.pages(
        course,
        common,
        results,
        rubrics,
        standings,
        submitted=submitted,
        timings=timings,
        language=chosen,
        remarks=remarks,
    )
    written = list(report.with_progress(pages, len(results) + 2, "feedback"))
    sys.stderr.writelines(f"autograder: {page.trouble}\n" for page in written if page.trouble)
    return written, remarks
