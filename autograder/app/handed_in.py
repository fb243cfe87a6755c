"""Consequences of the way of submission: current times, and marks shared by a group."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal

from msgspec.structs import replace

from autograder.app.roll import Roll
from autograder.core.records import GradingResult, StudentGroup
from autograder.core.tables import join_names
from autograder.course import Handin
from autograder.grading.batch import refresh_result, was_refused
from autograder.grading.grades import CellName, PersonMark
from autograder.grading.store import AnswerName, Store
from autograder.rubric import Rubric


def update_times(roll: Roll, handins: Iterable[Handin], name: str) -> Roll:
    """Apply the current lists and times to results that were graded under earlier ones.

    If another member's submission counts now, or a graded submission is now refused or vice versa, the result
    stays as it is and a remark asks to grade it again.
    """
    results, stale = dict(roll.results), []
    for handin in handins:
        graded = results.get(handin.student)
        if graded is None:
            continue
        current = refresh_result(graded, handin)
        if current is None:
            stale.append(handin.student)
        else:
            results[handin.student] = current
    if not stale:
        return replace(roll, results=results)
    remark = f"graded before times or groups changed: {join_names(stale)}; run: autograder grade {name}"
    return replace(roll, results=results, remarks=(*roll.remarks, remark), attention=True)


def copy_shared_marks(
    store: Store, rubric: Rubric, teams: Collection[StudentGroup], results: Mapping[str, GradingResult]
) -> list[str]:
    """Copy a manual mark of one group member to all who share the submission.

    An individual manual mark of another member stays: this is the way to give one member another mark. Extra
    credit and marks in individual notebooks are not shared.

    Returns:
        A sentence for staff for each difference between manual marks of members.

    Raises:
        GradebookError: the store reported an error.
    """
    name = rubric.assignment.name
    alone = rubric.assignment.individual
    members: dict[tuple[StudentGroup, str], list[str]] = {}
    for student, graded in results.items():
        score = graded.score
        if score.group is not None and score.group in teams and not was_refused(graded):
            members.setdefault((score.group, score.asked), []).append(student)
    if not members:
        return []
    marks, decided = store.load_marks(name), store.load_decided_points(name)
    remarks = []
    for students in members.values():
        for cell, given_marks in _find_individual_marks(students, marks, decided).items():
            # A cell is named by notebook and grade_id; individual notebooks are not shared.
            if cell[0] in alone:
                continue
            # Different marks are decisions of graders: report them instead of overwriting one.
            if len({mark.points for mark in given_marks.values()}) > 1:
                who = join_names(sorted(given_marks))
                remarks.append(f"{who} share {cell[1]}, but people gave each of them another mark")
                continue
            shared = next(iter(given_marks.values()))
            for student in students:
                mark = marks.get(student, {}).get(cell, PersonMark())
                copied = _copy_mark(mark, shared, decided.get((student, *cell)))
                if student not in given_marks and copied != mark:
                    store.give_mark(name, student, cell, copied, shared.points)
    return remarks


def _copy_mark(mark: PersonMark, shared: PersonMark, decided: Decimal | None) -> PersonMark:
    """Return a member's mark with the points of another member's; a mark of their own stays as it is."""
    if mark.points is not None and mark.points != decided:
        return mark
    # Points of items explain the mark that they add up to, and no other.
    items = mark.items if mark.points == shared.points else {}
    comment = mark.comment or shared.comment
    return replace(mark, points=shared.points, again=False, comment=comment, items=items)


def _find_individual_marks(
    students: Iterable[str],
    marks: Mapping[str, Mapping[CellName, PersonMark]],
    decided: Mapping[AnswerName, Decimal],
) -> dict[CellName, dict[str, PersonMark]]:
    """Return the individual manual marks, by cell and student."""
    individual_marks: dict[CellName, dict[str, PersonMark]] = {}
    for student in students:
        for cell, mark in marks.get(student, {}).items():
            # A mark with these points was copied by `copy_shared_marks`, and must not be copied back.
            if mark.points is not None and decided.get((student, *cell)) != mark.points and not mark.again:
                individual_marks.setdefault(cell, {})[student] = mark
    return individual_marks
