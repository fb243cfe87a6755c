"""Reusable comments, offered for one cell or for the whole assignment."""

from __future__ import annotations

from django.db.models import F, Q

from autograder.service.models import Account, CellPlace, ReusableComment

MOST_OFFERED = 200


def offered(place: CellPlace) -> list[ReusableComment]:
    """Return the comments offered for a cell, most used first."""
    own = ReusableComment.objects.filter(course=place.course_id, assignment=place.assignment)
    return list(own.filter(Q(cell=place.cell) | Q(cell="")).order_by("-used", "pk")[:MOST_OFFERED])


def keep(place: CellPlace, text: str, by: Account) -> ReusableComment:
    """Offer a comment for a cell from now on."""
    made, _ = ReusableComment.objects.get_or_create(
        course_id=place.course_id,
        assignment=place.assignment,
        cell=place.cell,
        text=text,
        defaults={"by": by},
    )
    return made


def used(place: CellPlace, text: str) -> None:
    """Increment the counter of each offered comment that a given comment contains."""
    found = [one.pk for one in offered(place) if one.text in text] if text else []
    if found:
        ReusableComment.objects.filter(pk__in=found).update(used=F("used") + 1)
