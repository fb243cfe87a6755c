"""The table of tasks, as on the title page of an exam, with the points achieved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from autograder.feedback.labels import Labels
from autograder.rubric import Question
from autograder.rubric.exam import Task

Points = Mapping[str, tuple[Decimal, Decimal]]
"""Points achieved and points still open, by question id."""


class TaskView(Struct, frozen=True):
    """One line of the table."""

    name: str
    text: str
    possible: str
    points: str
    pending: str
    """What a person still decides on; empty where nothing is open."""


def task_views(
    tasks: Sequence[Task], questions: Sequence[Question], points: Points, labels: Labels
) -> tuple[TaskView, ...]:
    """A line for each task; none where the rubric states no tasks. Bonus points are told below the sum."""
    counted = [one for one in questions if not one.bonus]
    return tuple(
        _view(task, [one.id for one in counted if one.task == task.id], points, labels) for task in tasks
    )


def _view(task: Task, questions: Sequence[str], points: Points, labels: Labels) -> TaskView:
    known = [points[question] for question in questions if question in points]
    pending = sum((waits for _, waits in known), Decimal(0))
    return TaskView(
        name=task.id,
        text=labels.pick(task.text, task.id),
        possible=labels.number(task.points),
        points=labels.number(sum((earned for earned, _ in known), Decimal(0))),
        pending=labels("open", points=labels.number(pending)) if pending else "",
    )
