"""Statistics of a class: figures, a page for staff, and rows for a table or a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograder import assignment as assignments
from autograder import atomic
from autograder.app import SILENT, Listener
from autograder.app.classes import standings
from autograder.app.lists import read_roster
from autograder.app.sheet_files import guarded, plain
from autograder.app.stores import OpenStore, open_store
from autograder.course import Course
from autograder.feedback.labels import Labels
from autograder.feedback.sanitise import sentence
from autograder.grades import Standing
from autograder.marking.statistics import ClassFigures, ItemFigures, QuestionFigures, figures
from autograder.marking.statistics_page import render_statistics
from autograder.rubric import Rubric
from autograder.stream import derived

COLUMNS = (
    *("part", "question", "item", "title", "possible", "students", "open", "unanswered", "full", "none"),
    *("mean", "difficulty", "discrimination", "alpha_without", "seconds", "mistakes"),
)
"""Columns of `list_rows`."""


class ClassStatistics(Struct, frozen=True):
    """Figures of a class, and the labels of its students."""

    rubric: Rubric
    figures: ClassFigures
    stands: Mapping[str, Standing]
    called: Mapping[str, str]
    """Label by student: the id, or a stable pseudonym."""
    named: bool
    remarks: tuple[str, ...]
    """For staff, a sentence each."""


def class_statistics(
    course: Course,
    name: str,
    *,
    names: bool = False,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> ClassStatistics:
    """Compute the figures of all students with a result, including manual marks.

    Args:
        course: the course.
        name: of the assignment.
        names: label students by their ids.
        watch: receives warnings for staff.
        store: opens the store of the course.

    Raises:
        CourseError: as in `classes.collect_standings`.
        RubricError: the rubric is not valid.
        GradebookError: the store reported an error.
    """
    found = standings(course, name, whole=True, watch=watch, store=store)
    rubric = assignments.load(course, name).rubric
    listed = read_roster(course.roster) if course.roster.is_file() else ()
    own = {one.id: (one.first_name, one.last_name, one.email) for one in listed}
    secret = course.secret()
    called = {student: student if names else alias(secret, name, student) for student in found.rows}
    return ClassStatistics(
        rubric,
        figures(rubric, found.roll.results, found.rows, own),
        found.rows,
        called,
        names,
        found.roll.remarks,
    )


def alias(secret: bytes, name: str, student: str) -> str:
    """Return the pseudonym of a student, which stays the same and cannot be traced back without the secret.

    Args:
        secret: the secret of the course.
        name: of the assignment.
        student: the student.
    """
    # 32 bits keep labels short; collisions are unlikely in a class of realistic size.
    return f"s{derived(secret, 'statistics', name, student)[:4].hex()}"


def write_page(course: Course, found: ClassStatistics) -> Path:
    """Write the page for staff, ``staff/NAME-statistics.html``, and return its path."""
    path = course.root / "staff" / f"{found.rubric.assignment.name}-statistics.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    page = render_statistics(
        found.rubric, found.figures, found.stands, found.called, named=found.named, remarks=_remarks(found)
    )
    atomic.write(path, page.encode())
    return path


def rows(found: ClassStatistics) -> Iterator[Mapping[str, str]]:
    """Yield a row for each question and each item, by `COLUMNS`; no cell is a formula for a spreadsheet."""
    for one in found.figures.questions:
        yield _row("question", one, {})
        for item in found.figures.items:
            # Identity is enough, because both come from the same rubric object.
            if item.question is one.question:
                own = {
                    "item": item.item.id,
                    "unanswered": str(item.unanswered),
                    "full": str(item.full),
                    "none": str(item.none),
                    "mistakes": "; ".join(f"{known.code} ({known.students})" for known in item.mistakes),
                }
                yield _row("item", item, own)


def _row(part: str, one: QuestionFigures | ItemFigures, more: Mapping[str, str]) -> Mapping[str, str]:
    labels, told = Labels("en"), one.item if isinstance(one, ItemFigures) else one.question
    text = one.item.text if isinstance(one, ItemFigures) else one.question.title
    took = one.cells if isinstance(one, QuestionFigures) else None
    row = {
        "part": part,
        "question": one.question.id,
        "title": labels.pick(text, told.id),
        "possible": _number(told.points),
        "students": str(one.settled),
        "open": str(one.waiting),
        "mean": _number(one.mean) if one.settled else "",
        "difficulty": _float(one.difficulty),
        "discrimination": _float(one.discrimination),
        "alpha_without": _float(one.alpha_without),
        "seconds": _float(took.median) if took else "",
        **more,
    }
    # Texts may begin like a formula. Figures must stay numbers, negative ones included.
    texts = ("question", "item", "title", "mistakes")
    return {
        name: guarded(plain(row.get(name, ""))) if name in texts else row.get(name, "") for name in COLUMNS
    }


def as_plain(found: ClassStatistics) -> dict[str, Any]:
    """Return all figures as plain data, for programs."""
    told = found.figures
    curve = told.curve
    return {
        "assignment": found.rubric.assignment.name,
        "rubric_version": found.rubric.version,
        "students": told.students,
        "settled": told.settled,
        "possible": found.rubric.assignment.points,
        "mean": told.mean if told.settled else None,
        "median": told.median if told.settled else None,
        "deviation": told.deviation,
        "tenths": told.bars,
        "reliability": {"questions": _fields(told.by_question), "items": _fields(told.by_item)},
        "grades": curve
        and {
            "names": curve.grades,
            "moved": [{"by": one.by, "counts": one.counts, "passed": one.passed} for one in curve.together],
            "alone": [
                {"grade": one.grade, "from": one.least, "by": curve.moves, "reached": one.reached}
                for one in curve.alone
            ],
            "provisional": curve.provisional,
        },
        "seconds": {name: _fields(one) for name, one in told.times.items()},
        "questions": [_part(one, {"seconds": _fields(one.cells)}) for one in told.questions],
        "items": [_part(one, _item(one, found)) for one in told.items],
        "points": {found.called[student]: stand.total for student, stand in found.stands.items()},
        "remarks": _remarks(found),
    }


def _part(one: QuestionFigures | ItemFigures, more: Mapping[str, Any]) -> dict[str, Any]:
    told = one.item if isinstance(one, ItemFigures) else one.question
    return {
        "question": one.question.id,
        "possible": told.points,
        "students": one.settled,
        "open": one.waiting,
        "mean": one.mean if one.settled else None,
        "difficulty": one.difficulty,
        "discrimination": one.discrimination,
        "alpha_without": one.alpha_without,
        **more,
    }


def _item(one: ItemFigures, found: ClassStatistics) -> dict[str, Any]:
    return {
        "item": one.item.id,
        "unanswered": one.unanswered,
        "full": one.full,
        "none": one.none,
        "mistakes": [
            {
                "code": mistake.code,
                "students": mistake.students,
                "said": sentence(mistake.said, "en"),
                "examples": [
                    {"student": found.called[shown.student], "answer": shown.text}
                    for shown in mistake.examples
                ],
            }
            for mistake in one.mistakes
        ],
    }


def _remarks(found: ClassStatistics) -> tuple[str, ...]:
    """Return the remarks for staff; without names, only their number, because remarks name students."""
    if found.named or not found.remarks:
        return found.remarks
    return (f"remarks about the class: {len(found.remarks)}, which name people and are shown with --names",)


def _fields(record: Struct | None) -> dict[str, Any] | None:
    return None if record is None else {name: getattr(record, name) for name in record.__struct_fields__}


def _number(points: Decimal) -> str:
    return f"{points.normalize():f}"


def _float(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
