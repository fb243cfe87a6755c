"""The command ``grades``: points and grades of a class, with what people gave in formgrader."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.cli.options import HERE, CourseOption, JsonOption, NameArgument
from autograder.errors import CourseError

if TYPE_CHECKING:
    from decimal import Decimal

    from rich.table import Table

    from autograder.assignment import Assignment
    from autograder.gradebook import Gradebook
    from autograder.grades import Standing
    from autograder.records import Graded


def grades(
    name: NameArgument,
    course: CourseOption = HERE,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV with the points of every question.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show points and grades, with what people gave in formgrader and bonus points; nothing is written."""
    from autograder import assignment as assignments
    from autograder.cli import report
    from autograder.course import Course
    from autograder.gradebook import Gradebook
    from autograder.ledger import Ledger

    place = Course.at(course)
    assignment = assignments.load(place, name)
    if not place.gradebook.is_file():
        raise CourseError(f"{place.gradebook}: there is no gradebook yet; run: autograder grade {name}")
    with Gradebook(place.gradebook) as gradebook:
        standings = class_standings(assignment, gradebook, Ledger(gradebook.engine).current(name))
    if json:
        report.print_json({"assignment": name, "students": [_plain(one) for one in standings.values()]})
    elif as_csv:
        sys.stdout.write(csv_text(standings.values()))
    else:
        report.console().print(_table(standings.values(), name))


def class_standings(
    assignment: Assignment, gradebook: Gradebook, results: Mapping[str, Graded]
) -> dict[str, Standing]:
    """Where every student with a result stands, in the results' order.

    Raises:
        CourseError: the list of bonus points is not usable.
        GradebookError: the database refused.
    """
    from autograder.gradebook import read_bonus
    from autograder.grades import NOTHING, standing

    course = assignment.course
    marks = gradebook.person_marks(assignment.name)
    given = read_bonus(course.bonus, assignment.name) if course.bonus.is_file() else {}
    return {
        student: standing(
            graded.score, assignment.rubric_of(student), marks.get(student), given.get(student, NOTHING)
        )
        for student, graded in results.items()
    }


def csv_text(standings: Iterable[Standing]) -> str:
    """A line for each student: points of every question, points, bonus, total, grade and state."""
    rows = list(standings)
    questions = [question.id for question in rows[0].questions] if rows else []
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = (
        "student",
        *questions,
        "points",
        "bonus",
        "total",
        "open",
        "grade",
        "best_grade",
        "passed",
        "state",
    )
    writer.writerow(head)
    for one in rows:
        points = [_number(question.points) for question in one.questions]
        sums = [_number(value) for value in (one.points, one.bonus, one.total, one.pending)]
        writer.writerow([one.student, *points, *sums, *_grades(one), _passed(one), _state(one)])
    return text.getvalue()


def _plain(one: Standing) -> dict[str, Any]:
    worst, best = _grades(one)
    return {
        "student": one.student,
        "questions": {question.id: question.points for question in one.questions},
        "points": one.points,
        "bonus": one.bonus,
        "total": one.total,
        "open": one.pending,
        "grade": worst,
        "best_grade": best,
        "passed": _passed(one),
        "state": _state(one),
    }


def _table(standings: Iterable[Standing], title: str) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title)
    for name in ("student", "points", "bonus", "total", "open", "grade", "passed", "state"):
        table.add_column(name, justify="right" if name in ("points", "bonus", "total", "open") else "left")
    for one in standings:
        extra, waiting = (_number(value) if value else "" for value in (one.bonus, one.pending))
        grade = " to ".join(dict.fromkeys(_grades(one)))
        sums = (_number(one.points), extra, _number(one.total), waiting)
        table.add_row(escape(one.student), *sums, grade, _passed(one), _state(one))
    return table


def _grades(one: Standing) -> tuple[str, str]:
    """The worst and the best grade that can come of it; empty where there are no grades."""
    return (one.worst.name if one.worst else "", one.best.name if one.best else "")


def _passed(one: Standing) -> str:
    if one.worst is None or one.best is None:
        return ""
    return "open" if one.worst.passed is not one.best.passed else "yes" if one.best.passed else "no"


def _state(one: Standing) -> str:
    if one.outdated:
        return "provisional: grade again, the rubric has changed"
    return "final" if one.final else "provisional"


def _number(value: Decimal) -> str:
    return f"{value.normalize():f}"
