"""Decisions about equal answers: from ``decisions.csv`` to everybody who gave such an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from autograder.app.lists import read_decisions
from autograder.checks.values.prose import same_form
from autograder.course import Course
from autograder.feedback.answers import is_name_before, marked_cells
from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.store import AnswerName, Decision, Store

_MOST_NAMED = 5


class DecisionReport(Struct, frozen=True):
    """What became of the list of decisions."""

    lines: tuple[str, ...]
    """For staff, a sentence each."""
    attention: bool
    """A line was not applied that a person has to put right."""


class _Given(Struct, frozen=True):
    """One student's answer in a cell that people mark."""

    student: str
    notebook: str
    cell: str
    form: str
    """The text without what means nothing."""
    group: str
    before: str
    """The name that earlier versions gave the group."""


def stated_decisions(course: Course, rubric: Rubric) -> tuple[Decision, ...]:
    """What people decided about one assignment; nothing where there is no list.

    Raises:
        CourseError: the list is not usable; names the line.
    """
    if not course.decisions.is_file():
        return ()
    points = {cell.name: cell.question.cells()[cell.name] for cell in marked_cells(rubric) if cell.whole}
    return read_decisions(course.decisions, rubric.assignment.name, points, course.assignments())


def enter_decisions(
    rubric: Rubric,
    store: Store,
    decisions: Sequence[Decision],
    results: Sequence[Graded],
    secret: bytes,
) -> DecisionReport:
    """Give everybody's answer the mark of its group.

    Args:
        rubric: of the assignment.
        store: of the course.
        decisions: of people.
        results: of everybody who belongs to the class.
        secret: the course's.

    Raises:
        GradebookError: the store refused.
    """
    name = rubric.assignment.name
    answers = list(_given(rubric, results, secret))
    members: dict[tuple[str, str], list[_Given]] = {}
    for one in answers:
        members.setdefault((one.cell, one.group), []).append(one)
    given: dict[AnswerName, Decision] = {}
    used, refused = 0, []
    for decision in decisions:
        alike = members.get((decision.cell, decision.group), [])
        line = f"{decision.cell},{decision.group}"
        if is_name_before(decision.group):
            refused.append(f"{line}: {_of_before(name, decision, answers)}")
        elif len({one.form for one in alike}) > 1:
            refused.append(f"{line}: not applied: it stands for different texts, of {_names(alike)}")
        elif alike:
            used += 1
            given |= {(one.student, one.notebook, one.cell): decision for one in alike}
        else:
            refused.append(f"{line}: nobody gave this answer")
    entered = store.decide(name, given)
    lines = [f"marks entered: {entered.written}; groups of equal answers: {used}"]
    lines += [
        f"{student}, {cell}: somebody gave another mark in {store.front_end.marking}, which stays"
        for student, _, cell in entered.kept
    ]
    attention = any("not applied" in line for line in refused)
    return DecisionReport(tuple(f"decisions.csv: {line}" for line in (*lines, *refused)), attention)


def _given(rubric: Rubric, results: Sequence[Graded], secret: bytes) -> Iterator[_Given]:
    for cell in marked_cells(rubric, secret):
        notebook = cell.question.notebook
        answers: Mapping[str, str] = cell.answers(results) if cell.whole else {}
        for student, text in answers.items():
            if group := cell.group(text):
                before = cell.group_before(text)
                yield _Given(student, notebook, cell.name, same_form(text), group, before)


def _of_before(assignment: str, decision: Decision, answers: Sequence[_Given]) -> str:
    """What to do about a line whose name is one of an earlier version: it is never applied by itself."""
    alike = [one for one in answers if (one.cell, one.before) == (decision.cell, decision.group)]
    short = "not applied: a short name of an earlier version, which other texts can be given on purpose"
    if not alike:
        return f"{short}; nobody gave this answer, and the line can go"
    stands = f"marks that it gave before stand ({_names(alike)})"
    if len({one.form for one in alike}) > 1:
        return f"{short}, and here it stands for different texts; {stands}: look at them"
    return f"{short}; {stands}. If it is the answer you mean, begin the line with " + ",".join(
        (assignment, decision.cell, alike[0].group, "")
    )


def _names(alike: Sequence[_Given]) -> str:
    names = [one.student for one in alike]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
