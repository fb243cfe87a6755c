"""Statistics of a class: figures, and a page for staff."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograder.app import SILENT, Listener
from autograder.app.class_lists import read_roster
from autograder.app.classes import collect_standings
from autograder.app.stores import OpenStore, open_store
from autograder.core import atomic
from autograder.core.stream import derive_key
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.grades import Standing
from autograder.marking.statistics import (
    ClassFigures,
    ItemFigures,
    QuestionFigures,
    compute_figures,
    render_statistics,
)
from autograder.pages.feedback.sanitise import render_sentence
from autograder.rubric import Rubric


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


def compute_class_statistics(
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
    class_standings = collect_standings(course, name, whole=True, watch=watch, store=store)
    rubric = assignments.load_assignment(course, name).rubric
    roster = read_roster(course.roster) if course.roster.is_file() else ()
    personal_details = {entry.id: (entry.first_name, entry.last_name, entry.email) for entry in roster}
    secret = course.load_secret()
    called = {
        student: student if names else make_pseudonym(secret, name, student)
        for student in class_standings.rows
    }
    return ClassStatistics(
        rubric,
        compute_figures(rubric, class_standings.roll.results, class_standings.rows, personal_details),
        class_standings.rows,
        called,
        names,
        class_standings.roll.remarks,
    )


def make_pseudonym(secret: bytes, name: str, student: str) -> str:
    """Return the pseudonym of a student, which stays the same and cannot be traced back without the secret.

    Args:
        secret: the secret of the course.
        name: of the assignment.
        student: the student.
    """
    # 32 bits keep labels short; collisions are unlikely in a class of realistic size.
    return f"s{derive_key(secret, 'statistics', name, student)[:4].hex()}"


def write_page(course: Course, class_figures: ClassStatistics) -> Path:
    """Write the page for staff, ``staff/NAME-statistics.html``, and return its path."""
    path = course.root / "staff" / f"{class_figures.rubric.assignment.name}-statistics.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    page = render_statistics(
        class_figures.rubric,
        class_figures.figures,
        class_figures.stands,
        class_figures.called,
        named=class_figures.named,
        remarks=_select_remarks(class_figures),
    )
    atomic.write_bytes(path, page.encode())
    return path


def as_plain(class_statistics: ClassStatistics) -> dict[str, Any]:
    """Return all figures as plain data, for programs."""
    class_figures = class_statistics.figures
    return {
        "assignment": class_statistics.rubric.assignment.name,
        "rubric_version": class_statistics.rubric.version,
        "students": class_figures.students,
        "settled": class_figures.settled,
        "possible": class_statistics.rubric.assignment.points,
        "mean": class_figures.mean if class_figures.settled else None,
        "median": class_figures.median if class_figures.settled else None,
        "deviation": class_figures.deviation,
        "tenths": class_figures.bars,
        "questions": [_make_part(entry, {}) for entry in class_figures.questions],
        "items": [_make_part(entry, _make_item(entry, class_statistics)) for entry in class_figures.items],
        "points": {
            class_statistics.called[student]: stand.total
            for student, stand in class_statistics.stands.items()
        },
        "remarks": _select_remarks(class_statistics),
    }


def _make_part(part_figures: QuestionFigures | ItemFigures, more: Mapping[str, Any]) -> dict[str, Any]:
    rubric_part = part_figures.item if isinstance(part_figures, ItemFigures) else part_figures.question
    return {
        "question": part_figures.question.id,
        "possible": rubric_part.points,
        "students": part_figures.settled,
        "open": part_figures.waiting,
        "mean": part_figures.mean if part_figures.settled else None,
        "difficulty": part_figures.difficulty,
        "discrimination": part_figures.discrimination,
        **more,
    }


def _make_item(item_figures: ItemFigures, class_statistics: ClassStatistics) -> dict[str, Any]:
    return {
        "item": item_figures.item.id,
        "unanswered": item_figures.unanswered,
        "full": item_figures.full,
        "none": item_figures.none,
        "mistakes": [
            {
                "code": mistake.code,
                "students": mistake.students,
                "said": render_sentence(mistake.said, "en"),
                "examples": [
                    {"student": class_statistics.called[shown.student], "answer": shown.text}
                    for shown in mistake.examples
                ],
            }
            for mistake in item_figures.mistakes
        ],
    }


def _select_remarks(class_figures: ClassStatistics) -> tuple[str, ...]:
    """Return the remarks for staff; without names, only their number, because remarks name students."""
    if class_figures.named or not class_figures.remarks:
        return class_figures.remarks
    return (
        f"remarks about the class: {len(class_figures.remarks)}, which name people and are shown with "
        "--names",
    )
