"""Answers assigned to markers: they say who is to mark what, but everybody can still mark every answer."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from msgspec import Struct

from autograder.service import audit
from autograder.service.marking.queue import OPEN, build_waiting_condition
from autograder.service.models import Account, CellMark, CellPlace, CourseRecord, Member, Offer, Role


class MarkerProgress(Struct, frozen=True):
    """Progress of one marker with the answers assigned to them."""

    name: str
    done: int
    assigned: int


def list_markers(course: CourseRecord) -> list[Account]:
    """Return the accounts of a course's staff."""
    staff = Member.objects.filter(course=course, account__isnull=False).exclude(role=Role.STUDENT)
    return list(Account.objects.filter(pk__in=staff.values("account")).order_by("username"))


def count_progress(offer: Offer) -> list[MarkerProgress]:
    """Return the progress of every marker to whom answers of an assignment are assigned."""
    waiting = Count("pk", filter=build_waiting_condition(F("mark__assignee")))
    assigned = offer.marks.filter(answered=True, assignee__isnull=False)
    rows = assigned.order_by("assignee__username").values("assignee__username")
    return [
        MarkerProgress(row["assignee__username"], row["assigned"] - row["waiting"], row["assigned"])
        for row in rows.annotate(waiting=waiting, assigned=Count("pk"))
    ]


def assign_answers(offer: Offer, place: CellPlace | None, markers: Sequence[Account], by: Account) -> int:
    """Split the unmarked answers of a cell evenly among markers; return their number.

    Answers with a mark, also those with the first of two, keep their assignee.

    Args:
        offer: of the assignment.
        place: the cell; None: all cells of the assignment.
        markers: as in `list_markers`; none: the answers are everybody's.
        by: for the log.
    """
    answers = offer.marks.filter(OPEN, answered=True, stage="")
    subject = offer.assignment
    if place is not None:
        answers, subject = answers.filter(place=place), f"{offer.assignment}: {place.cell}"
    with transaction.atomic():
        audit.lock_log()  # before any row
        rows = _lock_answers(answers)
        # The order is that of marking, which is random: nobody gets the answers of one part of the class.
        # It continues from cell to cell, so that the total is even too.
        rows.sort(key=lambda row: (row.place_id, row.shuffled, row.pk))
        before = Counter(row.assignee.username if row.assignee else "-" for row in rows)
        for row, marker in zip(rows, itertools.cycle(markers or [None]), strict=False):
            row.assignee = marker
        CellMark.objects.bulk_update(rows, ["assignee"], batch_size=1000)
        after = Counter(row.assignee.username if row.assignee else "-" for row in rows)
        audit.record_action(
            by.username,
            "assign answers",
            subject,
            course=offer.course,
            before=dict(before),
            after=dict(after),
        )
    return len(rows)


def release_answers(account: Account, course: CourseRecord) -> None:
    """Leave the waiting answers that are assigned to a person to everybody, because the person leaves.

    The caller has locked the log and adds an entry.
    """
    with transaction.atomic():
        rows = _lock_answers(CellMark.objects.filter(OPEN, assignee=account, place__course=course))
        CellMark.objects.filter(pk__in=[row.pk for row in rows]).update(assignee=None)


def _lock_answers(answers: QuerySet[CellMark]) -> list[CellMark]:
    """Lock answers in the order in which marking does, so that no deadlock is possible."""
    locked = answers.select_for_update(of=("self",), no_key=True).order_by("pk")
    return list(locked.select_related("assignee").only("pk", "place", "shuffled", "assignee"))


def list_other_assignees(rows: QuerySet[CellMark], by: Account) -> list[str]:
    """Return the names of others to whom some of these answers are assigned that are not marked yet."""
    others = rows.filter(OPEN, ~Q(assignee=by), assignee__isnull=False)
    return sorted(set(others.values_list("assignee__username", flat=True)))
