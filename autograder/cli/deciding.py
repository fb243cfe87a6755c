"""Decisions about equal answers: from ``decisions.csv`` to everybody who gave such an answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograder.course import Course
    from autograder.gradebook import Decision, Gradebook
    from autograder.records import Graded
    from autograder.rubric import Rubric


def decided(course: Course, rubric: Rubric) -> tuple[Decision, ...]:
    """What people decided about one assignment; nothing where there is no list.

    Raises:
        CourseError: the list is not usable; names the line.
    """
    from autograder.feedback.answers import marked_cells
    from autograder.gradebook import read_decisions

    if not course.decisions.is_file():
        return ()
    points = {cell.name: cell.question.cells()[cell.name] for cell in marked_cells(rubric) if cell.whole}
    return read_decisions(course.decisions, rubric.assignment.name, points, course.assignments())


def enter_decisions(
    rubric: Rubric, gradebook: Gradebook, decisions: Sequence[Decision], results: Sequence[Graded]
) -> None:
    """Give everybody's answer the mark of its group, and say on standard error what became of it.

    Args:
        rubric: of the assignment.
        gradebook: of the course.
        decisions: of people.
        results: of everybody who belongs to the class.

    Raises:
        GradebookError: the database refused.
    """
    from autograder.feedback.answers import marked_cells

    name = rubric.assignment.name
    wanted = {(one.cell, one.group): one for one in decisions}
    given = {}
    used = set()
    for cell in marked_cells(rubric):
        for student, text in cell.answers(results).items():
            key = (cell.name, cell.group(text))
            if key in wanted:
                used.add(key)
                given[student, cell.question.notebook, cell.name] = wanted[key]
    entered = gradebook.decide(name, given)
    lines = [f"marks entered: {entered.written}; groups of equal answers: {len(used)}"]
    lines += [
        f"{student}, {cell}: somebody gave another mark in formgrader, which stays"
        for student, _, cell in entered.kept
    ]
    lines += [
        f"{cell},{group}: nobody gave this answer" for cell, group in wanted if (cell, group) not in used
    ]
    sys.stderr.writelines(f"autograder: decisions.csv: {line}\n" for line in lines)
