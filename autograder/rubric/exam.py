"""Exam settings of a rubric: the tasks on its title page, and the time allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any

from msgspec import Meta, Struct

from autograder.core.errors import Place, RubricError
from autograder.core.records import Text
from autograder.core.tables import check_known_keys, list_field_names, suggest_name

_Minutes = Annotated[int, Meta(ge=1, le=7 * 24 * 60)]


class Task(Struct, frozen=True, forbid_unknown_fields=True):
    """Questions that share a line of the title page."""

    id: str
    """Printed before its text, and named by questions: ``"1"``."""
    points: Decimal
    text: Text


class Exam(Struct, frozen=True, forbid_unknown_fields=True):
    """The conditions of an exam. Its date is set by the course: `autograder.course.schedule`."""

    minutes: _Minutes
    """Working time."""
    reading_minutes: Annotated[int, Meta(ge=0, le=240)] = 0
    """Additional time before it, for reading."""
    aids: Text = {}
    """Permitted aids."""

    @property
    def whole_minutes(self) -> int:
        """Minutes from the start to the end."""
        return self.minutes + self.reading_minutes


def check_keys(assignment: Mapping[str, Any], place: Place) -> None:
    """Refuse unknown keys in ``[[assignment.task]]`` and ``[assignment.exam]``, with a suggestion.

    Raises:
        RubricError: a key is not known.
    """
    for key, record in (("task", Task), ("exam", Exam)):
        entry = assignment.get(key, ())
        where = place.extend(f": assignment.{key}", "assignment", key)
        for number, table in enumerate(entry if isinstance(entry, list | tuple) else ()):
            if isinstance(table, Mapping):
                check_known_keys(table, list_field_names(record), where.extend("", number))
        if isinstance(entry, Mapping):
            check_known_keys(entry, list_field_names(record), where)


def check_tasks(tasks: Iterable[Task], questions: Iterable[tuple[str, str, Decimal]], place: Place) -> None:
    """Check that each question belongs to a task, and that each task has the points of its questions.

    Args:
        tasks: in order; without any, no question may name one.
        questions: id, task and points of each.
        place: the rubric.

    Raises:
        RubricError: a task occurs twice, a question names none or an unknown one, or points differ.
    """
    declared: dict[str, Decimal] = {}
    for number, task in enumerate(tasks):
        if not task.id or task.id in declared:
            raise RubricError(
                f"expected a name of its own, got {task.id!r}",
                place.extend(": [[assignment.task]] id", "assignment", "task", number, "id"),
            )
        declared[task.id] = task.points
    totals = dict.fromkeys(declared, Decimal(0))
    for question, task_id, points in questions:
        if task_id in totals:
            totals[task_id] += points
        elif task_id or declared:
            raise RubricError(
                f"expected a task of the assignment, got {task_id!r}; {suggest_name(task_id, declared)}",
                place.extend(f": question {question!r}", "question", question),
                "task",
            )
    for task_id, points in totals.items():
        if points != declared[task_id]:
            raise RubricError(
                f"{declared[task_id]} are stated, but its questions add up to {points}",
                place.extend(f": task {task_id!r}", "assignment", "task", task_id),
                "points",
            )
