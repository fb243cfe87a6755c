"""Three graded students of the small course, with known marks after changes of the rubric."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autograder.app import classes, course_log
from autograder.app.published_marks import read_published
from autograder.course import Course
from autograder.grading.release_generation import generate_release
from autograder.store.gradebook import Gradebook
from tests.service.course import answered
from tests.support import small_course

NAME = small_course.NAME
CLASS = {
    "ada": {
        "mlp_answer": 'mlp_parameters = "8*d_model^2"',
        "layers_answer": "layers = 12",
        "softmax_answer": small_course.SOFTMAX,
        "mlp_why": "Two matrices.",
    },
    "bob": {
        "mlp_answer": 'mlp_parameters = "4*d_model^2"',
        "layers_answer": "layers = 13",
        "softmax_answer": small_course.SOFTMAX.replace("axis=-1", "axis=1"),
    },
    "nil": {},
}
"""The totals: 6 points and one open, 3.5, and none."""


def make_class(folder: Path) -> None:
    """Write the course into an empty folder and grade it."""
    generate_release(small_course.small_course(folder), NAME)
    for student, answers in CLASS.items():
        hand_in(folder, student, **answers)
    done = classes.grade_class(Course.from_folder(folder), NAME, workers=1)
    assert [] == [one.faults for one in done.outcomes if one.faults]


def hand_in(folder: Path, student: str, **answers: str) -> None:
    """Write a submission to its folder."""
    place = folder / "submitted" / student / NAME
    place.mkdir(parents=True, exist_ok=True)
    for name, data in answered(folder, **answers).items():
        (place / name).write_bytes(data)


def accept_13(course: Course) -> None:
    """Raise the points of the mistake with 13 layers: bob gains 0.25."""
    small_course.changed(course.locate_rubric(NAME), "when = 13\npoints = 0.5", "when = 13\npoints = 0.75")


def final(course: Course, name: str = NAME) -> Any:
    """Return what must not depend on kills: marks, the log without times, and decisions."""
    with Gradebook(course.gradebook) as book:
        results = {who: one.score.items for who, one in book.load_results(name).items()}
        marks, keys = book.load_marks(name), book.load_keys(name)
    entries = [
        (one.action, one.who, json.dumps(one.facts, sort_keys=True))
        for one in course_log.read_entries(course, name)
    ]
    agreed = {who: one.reason for who, one in read_published(course, name).agreed.items()}
    left = sorted(path.name for path in (course.private / "regrade").rglob("*"))
    return results, marks, keys, entries, agreed, left
