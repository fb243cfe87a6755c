"""Published marks: since when, which marks, and later changes, which pages report.

A folder course is published with its pages (`classes.write_feedback`). After that, a page with different
marks is written only with a reason, which is printed on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.core.records import Score, Status
from autograder.core.tables import join_names
from autograder.course import Course
from autograder.grading.grades import MarkChange, Standing
from autograder.pages.feedback.lines import list_rubric_lines
from autograder.rubric import Rubric

_OPEN, _TOGETHER = "open", "marked together"
_OF_CELL = "/"
"""Separator in names of cells; it is not allowed in ids."""
_MOST_REASON = 1_000


class ShownMark(Struct, frozen=True):
    """The marks on one student's page."""

    at: datetime
    total: Decimal
    possible: Decimal
    grade: str
    """Empty if there are no grades; a range while points are open."""
    parts: Mapping[str, str]
    """Points and possible points by item, or by cell if graded manually as a whole; also bonus points and the
    late penalty."""
    scale: str = ""
    """A digest of the grading scale; empty: there is none."""
    changes: tuple[MarkChange, ...] = ()
    """Changes of earlier marks reported on the page, the oldest first."""

    def is_changed_by(self, other: ShownMark) -> bool:
        """Decide whether another page would change published marks, beyond settling those that were open."""
        opened = {name for name, part_text in self.parts.items() if part_text.startswith(_OPEN)}
        marked = {name for name in other.parts if _OF_CELL in name} - self.parts.keys()
        compared = (self.parts.keys() | other.parts.keys()) - opened - marked  # items show new marks
        if any(self.parts.get(name) != other.parts.get(name) for name in compared):
            return True
        if opened:  # narrowing is no change
            return self.grade != other.grade and "" != self.scale != other.scale
        return (self.total, self.grade) != (other.total, other.grade)


class AgreedChange(Struct, frozen=True):
    """Permission to change a published mark."""

    id: str
    """Id of the log entry."""
    at: datetime
    reason: str


class PublishedMarks(Struct, frozen=True):
    """Everything that the class was shown about an assignment."""

    at: datetime | None = None
    """Time of publication; None: not published."""
    shown: Mapping[str, ShownMark] = {}
    """By student."""
    agreed: Mapping[str, AgreedChange] = {}
    """By student: agreed changes that are not on the page yet."""


def read_published(course: Course, name: str) -> PublishedMarks:
    """Read the published marks of an assignment.

    Raises:
        CourseError: the file exists, and cannot be read.
    """
    path = _get_path(course, name)
    if not path.exists():
        return PublishedMarks()
    try:
        return msgspec.json.decode(atomic.read_bytes(path), type=PublishedMarks)
    except (OSError, msgspec.MsgspecError) as error:
        raise CourseError(
            f"{path}: what students were shown cannot be read: {error}; restore it from a copy"
        ) from error


def write_published(course: Course, name: str, published: PublishedMarks) -> None:
    """Store the published marks.

    Raises:
        CourseError: the file cannot be written.
    """
    path = _get_path(course, name)
    try:
        # Marks of a class: readable only by the owner.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic.write_bytes(path, msgspec.json.encode(published), mode=0o600)
    except OSError as error:
        raise CourseError(f"{path}: cannot be written: {error.strerror}") from error


def make_shown_mark(score: Score, rubric: Rubric, student_standing: Standing, at: datetime) -> ShownMark:
    """Return the marks that a page written now would show."""
    parts: dict[str, str] = {}
    lines = list_rubric_lines(score, rubric, student_standing)
    for question in student_standing.questions:
        for line in lines[question.id]:
            result = line.result
            waits = result.status is Status.NEEDS_REVIEW
            part_text = (
                _TOGETHER if line.shared else _format_part(None if waits else result.points, result.possible)
            )
            parts[f"{question.id}.{result.item}"] = part_text
        for cell in question.cells:
            if cell.by_person:
                parts[f"{question.id}{_OF_CELL}{cell.name}"] = _format_part(
                    None if cell.pending else cell.points, cell.possible
                )
    parts |= {name: str(getattr(student_standing, name)) for name in ("given", "extra", "taken")}
    if late := student_standing.deduction:
        parts["late"] = f"{late.amount.normalize():f} {late.unit}, leaving {late.floor.normalize():f}"
    grades = [result.name for result in (student_standing.worst, student_standing.best) if result is not None]
    grade = " to ".join(dict.fromkeys(grades))
    # A digest is enough to recognise that the scale has changed.
    scale = (
        hashlib.sha256(msgspec.json.encode(student_standing.scale)).hexdigest()
        if student_standing.scale
        else ""
    )
    return ShownMark(at, student_standing.total, rubric.assignment.points, grade, parts, scale)


def make_changed_mark(shown: ShownMark, new: ShownMark, at: datetime, reason: str) -> ShownMark:
    """Return the mark for a page that reports the change."""
    change = MarkChange(at, shown.total, new.total, reason[:_MOST_REASON])
    return replace(new, changes=(*shown.changes, change))


def format_shown_mark(shown: ShownMark) -> str:
    """Format a published mark for staff."""
    grade = f", grade {shown.grade}" if shown.grade else ""
    points = f"{shown.total.normalize():f} of {shown.possible.normalize():f}"
    return f"{points}{grade} since {shown.at:%Y-%m-%d %H:%M} UTC"


def _format_part(points: Decimal | None, possible: Decimal) -> str:
    points_text = _OPEN if points is None else f"{points.normalize():f}"
    return f"{points_text}/{possible.normalize():f}"


def _get_path(course: Course, name: str) -> Path:
    return course.private / "published" / f"{name}.json"


class PagePlan(Struct, frozen=True):
    """Pages to write, and the changes of marks that they report."""

    now: Mapping[str, ShownMark]
    """Marks that the page will show, by student."""
    changes: Mapping[str, tuple[MarkChange, ...]]
    left: frozenset[str]
    """Students with a page that stays as it is."""
    refused: tuple[str, ...]
    """Sentences for staff: why pages stay although their marks differ now."""


def plan_pages(
    published: PublishedMarks, now: Mapping[str, ShownMark], reason: str, moment: datetime
) -> PagePlan:
    """Plan the pages of a class: no published mark is changed without a reason.

    Args:
        published: marks published so far.
        now: marks that new pages would show, of students graded by the current rubric.
        reason: for changes that no regrade has agreed to; empty: there is none.
        moment: time of writing.
    """
    planned: dict[str, ShownMark] = {}
    left = set(published.shown.keys() - now.keys())
    refused = []
    if left:
        refused.append(
            f"the pages of {join_names(sorted(left))} stay as they are: their marks are by another "
            "rubric, or "
            "their folder is gone; autograder regrade tells who would move"
        )
    for student, mark in now.items():
        shown = published.shown.get(student)
        if shown is None:
            planned[student] = mark
        elif not shown.is_changed_by(mark):
            planned[student] = replace(mark, changes=shown.changes)
        elif agreed := published.agreed.get(student):
            # The page reports the date and reason of the regrade, not those of this run.
            planned[student] = make_changed_mark(shown, mark, agreed.at, agreed.reason)
        elif reason:
            planned[student] = make_changed_mark(shown, mark, moment, reason)
        else:
            left.add(student)
            refused.append(
                f"{student} was shown {format_shown_mark(shown)}, and has {mark.total.normalize():f} "
                "now: the page stays "
                "as it is. State why with --reason, which the new page tells"
            )
    changes = {student: mark.changes for student, mark in planned.items() if mark.changes}
    return PagePlan(planned, changes, frozenset(left), tuple(refused))


def update_published(
    published: PublishedMarks, plan: PagePlan, written: Collection[str], moment: datetime
) -> PublishedMarks:
    """Return the published marks after these pages have been written."""
    shown = {
        **published.shown,
        **{student_id: mark for student_id, mark in plan.now.items() if student_id in written},
    }
    # A written page has used up its permission to change.
    agreed = {
        student_id: change for student_id, change in published.agreed.items() if student_id not in written
    }
    return PublishedMarks(published.at or moment, shown, agreed)
