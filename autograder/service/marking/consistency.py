"""Agreement between markers, measured on answers that two people mark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django.db import transaction
from msgspec import Struct

from autograder.marking.agreement import Agreement, compute_agreement, compute_mean
from autograder.service import audit
from autograder.service.marking import mark_entry
from autograder.service.marking.answers import MarkableCell
from autograder.service.models import Account, CellMark, CellPlace, IndependentMark, MarkingPlan
from autograder.service.refusals import ActionRefused


class MarkerSummary(Struct, frozen=True):
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
    markers: tuple[MarkerSummary, ...]


def load_plan(place: CellPlace) -> MarkingPlan:
    """Return how a cell is marked; by default once, by one person."""
    return MarkingPlan.objects.filter(place=place).first() or MarkingPlan(place=place)


def set_plan(place: CellPlace, *, twice_percent: int, by: Account) -> None:
    """Set the share of answers that two people mark.

    Answers that have a mark keep it.

    Raises:
        ActionRefused: the share is out of range.
    """
    if not 0 <= twice_percent <= 100:
        raise ActionRefused("mark-plan-out", most=100)
    with transaction.atomic():
        before = load_plan(place)
        audit.record_action(
            by.username,
            "marking plan",
            f"{place.assignment}: {place.cell}",
            course=place.course,
            before=before.twice_percent,
            after=twice_percent,
        )
        MarkingPlan.objects.update_or_create(place=place, defaults={"twice_percent": twice_percent})


def measure_consistency(place: CellPlace, cell: MarkableCell) -> Consistency:
    """Return all agreement figures of one cell."""
    rows = list(CellMark.objects.filter(place=place, answered=True).select_related("marked_by"))
    readings: dict[int, list[IndependentMark]] = defaultdict(list)
    by_number = {row.pk: row for row in rows}
    for reading in IndependentMark.objects.filter(mark__place=place).select_related("account").order_by("pk"):
        row = by_number.get(reading.mark_id)
        # Marks for an earlier text of the answer say nothing about agreement on this one.
        if row is not None and reading.submission == mark_entry.hash_text(row):
            readings[row.pk].append(reading)
    return Consistency(
        load_plan(place),
        {item.id: compute_agreement(list(_iterate_pairs(item.id, readings.values()))) for item in cell.items},
        _summarise_markers(rows, readings, cell),
    )


def _iterate_pairs(item: str, readings: Iterable[list[IndependentMark]]) -> Iterable[tuple[Decimal, Decimal]]:
    for several in readings:
        points = [Decimal(reading.items[item]["points"]) for reading in several if item in reading.items]
        if len(points) > 1:
            yield points[0], points[1]


def _summarise_markers(
    rows: Iterable[CellMark], readings: Mapping[int, list[IndependentMark]], cell: MarkableCell
) -> tuple[MarkerSummary, ...]:
    items_by_marker: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row.pk in readings:
            for entry in readings[row.pk]:
                items_by_marker[entry.account.username].append(entry.items)
        # Answers marked by one person count for the averages, but not for the agreement.
        elif row.marked_by is not None and row.items:
            items_by_marker[row.marked_by.username].append(row.items)
    return tuple(
        MarkerSummary(
            name,
            len(several),
            {
                item.id: compute_mean(
                    [Decimal(entry[item.id]["points"]) for entry in several if item.id in entry]
                )
                for item in cell.items
            },
        )
        for name, several in sorted(items_by_marker.items())
    )
