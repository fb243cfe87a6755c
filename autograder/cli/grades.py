"""The command ``grades``: points and grades of a class, with what people gave in formgrader."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.cli.options import HERE, CourseOption, JsonOption, NameArgument
from autograder.errors import CourseError

if TYPE_CHECKING:
    from decimal import Decimal

    from rich.table import Table

    from autograder.assignment import Assignment
    from autograder.cli.roll import Roll
    from autograder.gradebook import Gradebook
    from autograder.grades import Standing
    from autograder.records import Graded, Note


def grades(
    name: NameArgument,
    course: CourseOption = HERE,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV with the points of every question.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show points and grades, with what people gave in formgrader and bonus points.

    Nothing is written, but for automatic scores in the gradebook that are not ours: they are put back.
    """
    from autograder import assignment as assignments
    from autograder.cli import report, roll
    from autograder.course import Course
    from autograder.gradebook import Gradebook

    place = Course.at(course)
    assignment = assignments.load(place, name)
    if not place.gradebook.is_file():
        raise CourseError(f"{place.gradebook}: there is no gradebook yet; run: autograder grade {name}")
    with Gradebook(place.gradebook) as gradebook:
        restored = roll.restored(assignment, gradebook)
        called = roll.called(assignment, gradebook)
        standings = class_standings(assignment, gradebook, called)
    remarks = (*restored, *called.remarks)
    tell(remarks)
    rows = [(one, _time(called.results[student])) for student, one in standings.items()]
    if json:
        plain = {"students": [_plain(*row) for row in rows], "gone": list(called.gone), "remarks": remarks}
        report.print_json({"assignment": name, **plain})
    elif as_csv:
        sys.stdout.write(csv_text(rows))
    else:
        report.console().print(_table(rows, name))


def class_standings(assignment: Assignment, gradebook: Gradebook, called: Roll) -> dict[str, Standing]:
    """Where every student with a result stands, in the results' order.

    Raises:
        CourseError: the list of bonus points is not usable, or names a student that the class list does not.
        GradebookError: the database refused.
    """
    from autograder.gradebook import read_bonus, read_roster
    from autograder.grades import NOTHING, standing
    from autograder.tables import hint

    course = assignment.course
    marks = gradebook.person_marks(assignment.name)
    every = course.assignments()
    given = read_bonus(course.bonus, assignment.name, every) if course.bonus.is_file() else {}
    known = {*called.results, *called.gone, *course.students()}
    if course.roster.is_file():
        known |= {one.id for one in read_roster(course.roster)}
    strangers = {student: hint(student, known) for student in given if student not in known}
    if course.roster.is_file():
        for student, nearest in strangers.items():  # a misspelt id would cost somebody their points
            raise CourseError(
                f"{course.bonus}: {student!r} has bonus points, but is not in the class list; {nearest}"
            )
    tell_strangers(strangers, f"{course.bonus.name}: {{}} has bonus points")
    return {
        student: standing(
            graded.score, assignment.rubric_of(student), marks.get(student), given.get(student, NOTHING)
        )
        for student, graded in called.results.items()
    }


def tell(sentences: Iterable[str]) -> None:
    """What staff must know, on standard error."""
    for sentence in sentences:
        sys.stderr.write(f"autograder: {sentence}\n")


def tell_strangers(strangers: Mapping[str, str], what: str) -> None:
    """Warn of ids that may be misspelt, where there is no class list that could tell.

    Args:
        strangers: id → the nearest name.
        what: was stated for an id, which stands in the place of ``{}``.
    """
    for student, nearest in strangers.items():
        said = what.format(repr(student))
        sys.stderr.write(f"autograder: {said}, but nobody of this id handed anything in; {nearest}\n")


def csv_text(rows: Sequence[tuple[Standing, Sequence[Note]]]) -> str:
    """A line for each student: points of every question, points, bonus, total, grade, state and time."""
    questions = [question.id for question in rows[0][0].questions] if rows else []
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
        "time",
    )
    writer.writerow(head)
    for one, time in rows:
        points = [_number(question.points) for question in one.questions]
        sums = [_number(value) for value in (one.points, one.bonus, one.total, one.pending)]
        verdict = (*_grades(one), _passed(one), _state(one), _told(time))
        writer.writerow([one.student, *points, *sums, *verdict])
    return text.getvalue()


def _plain(one: Standing, time: Sequence[Note]) -> dict[str, Any]:
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
        "time": _told(time),
    }


def _table(rows: Sequence[tuple[Standing, Sequence[Note]]], title: str) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title)
    timed = any(time for _, time in rows)
    for name in (
        "student",
        "points",
        "bonus",
        "total",
        "open",
        "grade",
        "passed",
        "state",
        *["time"] * timed,
    ):
        table.add_column(name, justify="right" if name in ("points", "bonus", "total", "open") else "left")
    for one, time in rows:
        extra, waiting = (_number(value) if value else "" for value in (one.bonus, one.pending))
        grade = " to ".join(dict.fromkeys(_grades(one)))
        sums = (_number(one.points), extra, _number(one.total), waiting)
        codes = [", ".join(note.code for note in time)] * timed
        table.add_row(escape(one.student), *sums, escape(grade), _passed(one), _state(one), *codes)
    return table


def _time(graded: Graded) -> tuple[Note, ...]:
    """What is remarked about the time of handing in."""
    from autograder.timestamps import NOTES

    return tuple(note for note in graded.score.notes if note.code in NOTES)


def _told(time: Sequence[Note]) -> str:
    return " ".join(note.text for note in time)


def _grades(one: Standing) -> tuple[str, str]:
    """The worst and the best grade that can come of it; empty where there are no grades."""
    return (one.worst.name if one.worst else "", one.best.name if one.best else "")


def _passed(one: Standing) -> str:
    if one.scale is None:
        return ""
    return "open" if one.passed is None else "yes" if one.passed else "no"


def _state(one: Standing) -> str:
    if one.outdated:
        return "provisional: grade again, the rubric has changed"
    if one.untimely:
        return "provisional: a person decides about the time"
    return "final" if one.final else "provisional"


def _number(value: Decimal) -> str:
    return f"{value.normalize():f}"
