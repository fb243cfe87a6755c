"""Groups of students who submit together, as formed by staff; affected attempts are graded again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.db import transaction

from autograder.course import find_name_fault
from autograder.rubric import Rubric
from autograder.rubric.variants.draws import normalise_id
from autograder.service import attempts, tasks
from autograder.service.models import Attempt, IndependentMark, Member, Offer, Role
from autograder.service.refusals import ActionRefused

MOST_MEMBERS = 50


def set_groups(offer: Offer, rubric: Rubric, wanted: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Replace an assignment's groups by these; a group without members is removed.

    A student who leaves a group and has submitted nothing loses the result. Times of a removed group are
    removed with it.

    Args:
        offer: the assignment.
        rubric: its rubric.
        wanted: members by group name, in any Unicode spelling.

    Returns:
        The affected students.

    Raises:
        ActionRefused: a name is not valid, a member is not on the class list or is listed twice, or marks of
            people would be lost.
    """
    groups = _check_groups(offer, wanted)
    with transaction.atomic():
        row = Offer.objects.select_for_update(no_key=True).get(pk=offer.pk)
        before = row.groups
        concerned = {
            student
            for name in before.keys() | groups.keys()
            if before.get(name, []) != groups.get(name, [])
            for student in (*before.get(name, ()), *groups.get(name, ()))
        }
        row.groups, row.formed_here = groups, True
        if "groups" in row.times:
            kept = {name: group_times for name, group_times in row.times["groups"].items() if name in groups}
            row.times = {**row.times, "groups": kept}
        row.save(update_fields=["groups", "formed_here", "times"])
        attempts.grade_again(Attempt.objects.filter(offer=row, student__in=concerned))
        _drop_results(row, rubric, concerned)
        if row.published_at:
            tasks.enqueue_scores(row)
    # The caller's object still has the old groups.
    offer.refresh_from_db(fields=["groups", "formed_here", "times"])
    return tuple(sorted(concerned))


def _check_groups(offer: Offer, wanted: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return the groups, with members spelt as on the class list.

    Raises:
        ActionRefused: see `set_groups`.
    """
    listed = Member.objects.filter(course=offer.course, role=Role.STUDENT).values_list("student", flat=True)
    listed_by_id = {normalise_id(listed_student): listed_student for listed_student in listed}
    group_by_student: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for name, spelt in wanted.items():
        for student in spelt:
            who = listed_by_id.get(normalise_id(student))
            if who is None:
                raise ActionRefused("groups-stranger", student=student)
            if who in group_by_student:
                raise ActionRefused("groups-twice", student=who, group=group_by_student[who])
            group_by_student[who] = name
            groups.setdefault(name, []).append(who)
        if len(groups.get(name, ())) > MOST_MEMBERS:
            raise ActionRefused("groups-large", group=name, most=MOST_MEMBERS)
        if name in groups and (find_name_fault(name) or normalise_id(name) in listed_by_id):
            raise ActionRefused("groups-name", group=name)
    return groups


def _drop_results(offer: Offer, rubric: Rubric, students: Iterable[str]) -> None:
    """Remove the results of students for whom no attempt counts any more.

    Raises:
        ActionRefused: people gave one of them marks.
    """
    counting = attempts.find_counting_attempts(offer, rubric)
    left = [student for student in students if student not in counting]
    marks = offer.marks.filter(student__in=left)
    read = IndependentMark.objects.filter(mark__in=marks).values_list("mark__student", flat=True)
    # Raised inside the transaction, so that the groups stay as they were.
    for student in (*marks.filter(touched=True).values_list("student", flat=True), *read):
        raise ActionRefused("groups-marked", student=student)
    marks.delete()
    offer.current_results.filter(student__in=left).delete()
