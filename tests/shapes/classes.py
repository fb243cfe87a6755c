"""A class of thirty that hands in whole, partly right, wrong, crashing and empty work; and its marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from autograder.app.classes import grade
from autograder.course import Course
from autograder.records import Graded
from autograder.verify.papers import with_sources

SIZE = 30
Marks = Mapping[str, float]
"""Points by ``question.item``."""


class Handed(NamedTuple):
    """What one student hands in."""

    cells: Mapping[str, str] | None
    """By grade_id, what stands in answer cells of the release; None: no notebook."""
    files: Mapping[str, bytes]
    """By path."""


def write(root: Path, texts: Mapping[str, str]) -> None:
    """Write files of a course."""
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def students(works: Sequence[tuple[Handed, Marks]]) -> Iterator[tuple[str, Handed, Marks]]:
    """Thirty students; the works come round again, so that the first ones are handed in more often."""
    for number in range(SIZE):
        yield f"s{number:02d}", *works[number % len(works)]


def hand_in(course: Course, name: str, works: Sequence[tuple[Handed, Marks]]) -> None:
    """Lay the work of thirty students where it is collected."""
    release = (course.release(name) / f"{name}.ipynb").read_bytes()
    for student, handed, _ in students(works):
        folder = course.root / "submitted" / student / name
        files = dict(handed.files)
        if handed.cells is not None:
            files[f"{name}.ipynb"] = with_sources(release, handed.cells)
        folder.mkdir(parents=True)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)


def marked(graded: Graded) -> dict[str, float]:
    """The points of every item."""
    return {f"{one.question}.{one.item}": float(one.points) for one in graded.score.items}


def graded_class(course: Course, name: str, works: Sequence[tuple[Handed, Marks]]) -> dict[str, Graded]:
    """Hand in, grade, and compare every mark with the one foreseen; the results by student."""
    hand_in(course, name, works)
    outcomes = {one.student: one.graded for one in grade(course, name).outcomes}
    foreseen = {student: dict(marks) for student, _, marks in students(works)}
    found = {student: marked(graded) for student, graded in outcomes.items() if graded}
    assert foreseen.keys() == found.keys()
    assert not {
        student: (marks, found[student]) for student, marks in foreseen.items() if marks != found[student]
    }
    return {student: graded for student, graded in outcomes.items() if graded}
