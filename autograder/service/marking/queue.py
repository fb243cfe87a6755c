"""Which answers wait, and in which order they are marked: the same mixed one for everybody."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import CharField, Count, Exists, F, Func, OuterRef, Q, QuerySet
from django.utils import timezone
from msgspec import Struct

from autograder.rubric import Rubric
from autograder.service.marking.answers import MarkableCell, cell_of
from autograder.service.marking.saving import CONFLICT, SECOND
from autograder.service.models import Account, CellMark, CellPlace, IndependentMark, Looking, Offer

HERE = timedelta(seconds=30)
"""So long somebody is taken to look at an answer after they opened it."""
CHOICES = ("waiting", "suggested", "done", "flagged", "conflict", "all")
"""Which answers can be gone through."""


class CellCounts(Struct, frozen=True):
    """How far the marking of one cell is."""

    place: CellPlace
    cell: MarkableCell
    waiting: int
    suggested: int
    """Of those that wait."""
    done: int
    flagged: int
    conflict: int
    total: int


_OPEN = Q(points=None, pending=True) | Q(again=True)


def _among(which: str) -> Q:
    """The condition for one of `CHOICES`."""
    waiting = _OPEN & ~Q(stage=CONFLICT) & ~Q(stage=SECOND, mine=True)
    return {
        "waiting": waiting,
        "suggested": waiting & (Q(suggested=True) | Q(known=True)),
        "done": ~_OPEN & Q(stage=""),
        "flagged": Q(flagged=True),
        "conflict": Q(stage=CONFLICT),
        "all": Q(),
    }[which]


def answers(place: CellPlace | int, by: Account) -> QuerySet[CellMark]:
    """The answers of a cell, in the order of marking.

    Each with ``mine`` (the person marked it as one of two) and ``known`` (an equal answer has marks).
    """
    read = Func(
        OuterRef("text"),
        template="encode(sha256(convert_to(%(expressions)s, 'UTF8')), 'hex')",
        output_field=CharField(),
    )  # as `saving.digest`: who marked another text, or has not finished, did not mark this one
    mine = IndependentMark.objects.filter(mark=OuterRef("pk"), account=by, calibration=False, submission=read)
    equal = CellMark.objects.filter(
        place=OuterRef("place"), equal=OuterRef("equal"), points__isnull=False, again=False
    )
    return (
        CellMark.objects.filter(place=place, answered=True)
        .annotate(mine=Exists(mine), known=Exists(equal.exclude(equal="")))
        .order_by("shuffled", "pk")
    )


def counts(offer: Offer, rubric: Rubric, by: Account) -> list[CellCounts]:
    """Every cell with something to read, in the rubric's order."""
    places = CellPlace.objects.filter(course=offer.course, assignment=offer.assignment)
    order = {
        (question.notebook, cell): number
        for number, (question, cell) in enumerate(
            (question, cell) for question in rubric.questions for cell in question.cells()
        )
    }
    found = []
    for place in sorted(places, key=lambda one: order.get((one.notebook, one.cell), len(order))):
        cell = cell_of(rubric, place.notebook, place.cell)
        if cell is None:
            continue
        numbers = answers(place, by).aggregate(
            **{which: Count("pk", filter=_among(which)) for which in CHOICES if which != "all"},
            total=Count("pk"),
        )
        if numbers["total"]:
            found.append(CellCounts(place, cell, **numbers))
    return found


def following(
    place: CellPlace, by: Account, which: str, after: CellMark | None = None, *, backwards: bool = False
) -> CellMark | None:
    """The next answer of those that were chosen, or the one before; round the end. None: there is none.

    One that somebody else looks at just now is left to them as long as there is another one.
    """
    chosen = answers(place, by).filter(_among(which))
    if after is not None:
        chosen = chosen.exclude(pk=after.pk)
    looked = Looking.objects.filter(mark=OuterRef("pk"), at__gt=timezone.now() - HERE).exclude(account=by)
    chosen = chosen.annotate(looked=Exists(looked))
    if backwards:
        chosen = chosen.order_by(F("shuffled").desc(), "-pk")
    beyond = Q()
    if after is not None:
        beyond = Q(shuffled__lt=after.shuffled) if backwards else Q(shuffled__gt=after.shuffled)
    for free in (Q(looked=False), Q()):
        for part in (beyond, Q()):
            found = chosen.filter(free & part).first()
            if found is not None:
                return found
    return None


def look(row: CellMark, by: Account) -> list[str]:
    """Note that somebody looks at an answer; the names of others who do."""
    now = timezone.now()
    Looking.objects.update_or_create(mark=row, account=by, defaults={"at": now})
    others = Looking.objects.filter(mark=row, at__gt=now - HERE).exclude(account=by)
    return sorted(others.values_list("account__username", flat=True))


def waiting(place: CellPlace, by: Account) -> int:
    """How many answers of a cell wait."""
    return answers(place, by).filter(_among("waiting")).count()
