"""Test the exam settings of a rubric: tasks with their points, and the allowed time."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.errors import RubricError
from autograder.rubric import parse_rubric

GOOD = """
version = 1
[assignment]
name = "exam"
points = 5
[assignment.exam]
minutes = 90
reading_minutes = 10
aids = { en = "none" }
[[assignment.task]]
id = "1"
points = 3
text = { en = "Formulas" }
[[assignment.task]]
id = "2"
points = 2
text = { en = "Code" }
[[question]]
id = "a"
task = "1"
kind = "number"
points = 1
answer = "x"
[[question.item]]
id = "i"
points = 1
text = { en = "x" }
value = 3
[[question]]
id = "b"
task = "1"
kind = "number"
points = 2
answer = "y"
[[question.item]]
id = "i"
points = 2
text = { en = "x" }
value = 3
[[question]]
id = "c"
task = "2"
kind = "number"
points = 2
answer = "z"
[[question.item]]
id = "i"
points = 2
text = { en = "x" }
value = 3
"""


def test_tasks_and_times_are_read() -> None:
    """Tasks keep their order and exact points; the reading time is part of the whole time."""
    assignment = parse_rubric(GOOD.encode()).assignment
    assert [("1", Decimal(3)), ("2", Decimal(2))] == [(task.id, task.points) for task in assignment.tasks]
    assert assignment.exam is not None
    assert (90, 100) == (assignment.exam.minutes, assignment.exam.whole_minutes)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'points = 3\ntext = { en = "Formulas" }',
            'points = 4\ntext = { en = "Formulas" }',
            "task '1': points: 4 are",
        ),
        ('id = "2"\n', 'id = "1"\n', "expected a name of its own, got '1'"),
        ('id = "2"\n', 'id = ""\n', "expected a name of its own, got ''"),
        ('id = "c"\ntask = "2"', 'id = "c"\ntask = "21"', "got '21'; did you mean '2'?"),
        ('id = "c"\ntask = "2"', 'id = "c"', "question 'c': task: expected a task of the assignment, got ''"),
        ('text = { en = "Code" }', 'txet = { en = "Code" }', "unknown key 'txet'; did you mean 'text'?"),
        ("minutes = 90", "minute = 90", "unknown key 'minute'; did you mean 'minutes'?"),
        ("minutes = 90", "minutes = 0", "minutes"),
        ("minutes = 90", 'minutes = "90"', "minutes"),
        ("reading_minutes = 10", "reading_minutes = -10", "reading_minutes"),
    ],
)
def test_an_error_is_refused(old: str, new: str, message: str) -> None:
    """The message states the place, the expected form and the actual value."""
    changed = GOOD.replace(old, new, 1)
    assert changed != GOOD
    with pytest.raises(RubricError) as caught:
        parse_rubric(changed.encode())
    assert message in str(caught.value)


def test_without_tasks_no_question_may_name_one() -> None:
    """A task that does not exist is an error, also if there are no tasks."""
    before, _, after = GOOD.partition("[[assignment.task]]")
    without = before + after[after.index("[[question]]") :]
    with pytest.raises(RubricError, match=r"question 'a': task: .* got '1'; known are: none"):
        parse_rubric(without.encode())
