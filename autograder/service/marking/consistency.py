"""Agreement between markers, measured on answers that two people mark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django.db import transaction
from msgspec import Struct

from autograder.marking.agreement import Agreement, agreement, mean
from autograder.service import audit
from autograder.service.marking import saving
from autograder.service.marking.answers import MarkableCell
from autograder.service.marking.refusals import NotTaken
from autograder.service.models import Account, CellMark, CellPlace, IndependentMark, MarkingPlan


class MarkerShown(Struct, frozen=True):
    """Average points given by one marker."""

    name: str
    answers: int
    means: Mapping[str, Decimal]
    """By item."""


class Consistency(Struct, frozen=True):
    """Agreement figures of one cell."""

    plan: MarkingPlan
    items: Mapping[str, Agreement]
    """Agreement by item, for answers that two people marked."""
    markers: tuple[MarkerShown, ...]


def plan_of(place: CellPlace) -> MarkingPlan:
    """Return how a cell is marked; by default once, by one person."""
    return MarkingPlan.objects.filter(place=place).first() or MarkingPlan(place=place)


def set_plan(place: CellPlace, *, twice_percent: int, by: Account) -> None:
    """Set the share of answers that two people mark.

    Answers that have a mark keep it.

    Raises:
        ActionRefused: the share is out of range.
    """
    if not 0 <= twice_percent <= 100:
        raise NotTaken("mark-plan-out", most=100)
    with transaction.atomic():
        before = plan_of(place)
        audit.note(
            by.username,
            "marking plan",
            f"{place.assignment}: {place.cell}",
            course=place.course,
            before=before.twice_percent,
            after=twice_percent,
        )
        MarkingPlan.objects.update_or_create(place=place, defaults={"twice_percent": twice_percent})


def consistency(place: CellPlace, cell: MarkableCell) -> Consistency:
    """Return all agreement figures of one cell."""
    rows = list(CellMark.objects.filter(place=place, answered=True).select_related("marked_by"))
    readings: dict[int, list[IndependentMark]] = defaultdict(list)
    by_number = {row.pk: row for row in rows}
    for one in IndependentMark.objects.filter(mark__place=place).select_related("account").order_by("pk"):
        row = by_number.get(one.mark_id)
        # Marks for an earlier text of the answer say nothing about agreement on this one.
        if row is not None and one.submission == saving.digest(row):
            readings[row.pk].append(one)
    return Consistency(
        plan_of(place),
        {item.id: agreement(list(_by_item(item.id, readings.values()))) for item in cell.items},
        _markers(rows, readings, cell),
    )


def _by_item(item: str, readings: Iterable[list[IndependentMark]]) -> Iterable[tuple[Decimal, Decimal]]:
    for several in readings:
        given = [Decimal(one.items[item]["points"]) for one in several if item in one.items]
        if len(given) > 1:
            yield given[0], given[1]


def _markers(
    rows: Iterable[CellMark], readings: Mapping[int, list[IndependentMark]], cell: MarkableCell
) -> tuple[MarkerShown, ...]:
    given: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row.pk in readings:
            for one in readings[row.pk]:
                given[one.account.username].append(one.items)
        # Answers marked by one person count for the averages, but not for the agreement.
        elif row.marked_by is not None and row.items:
            given[row.marked_by.username].append(row.items)
    return tuple(
        MarkerShown(
            name,
            len(several),
            {
                item.id: mean([Decimal(one[item.id]["points"]) for one in several if item.id in one])
                for item in cell.items
            },
        )
        for name, several in sorted(given.items())
    )
