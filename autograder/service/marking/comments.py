"""Reusable comments, offered for one cell or for the whole assignment."""

from __future__ import annotations

from django.db.models import F, Q

from autograder.service.models import Account, CellPlace, ReusableComment

MOST_OFFERED = 200


def list_offered(place: CellPlace) -> list[ReusableComment]:
    """Return the comments offered for a cell, most used first."""
    reusable = ReusableComment.objects.filter(course=place.course_id, assignment=place.assignment)
    return list(reusable.filter(Q(cell=place.cell) | Q(cell="")).order_by("-used", "pk")[:MOST_OFFERED])


def save_comment(place: CellPlace, text: str, by: Account) -> ReusableComment:
    """Offer a comment for a cell from now on."""
    comment, _ = ReusableComment.objects.get_or_create(
        course_id=place.course_id,
        assignment=place.assignment,
        cell=place.cell,
        text=text,
        defaults={"by": by},
    )
    return comment


def count_use(place: CellPlace, text: str) -> None:
    """Increment the counter of each offered comment that a given comment contains."""
    matching = [comment.pk for comment in list_offered(place) if comment.text in text] if text else []
    if matching:
        ReusableComment.objects.filter(pk__in=matching).update(used=F("used") + 1)
