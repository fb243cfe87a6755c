"""Which answers wait, and in which order they are marked: the same mixed one for everybody."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
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


def _among(which: str, by: Account, places: Iterable[CellPlace]) -> Q:
    """The condition for one of `CHOICES`.

    Its subqueries ask nothing of the answer: the database runs each once, and not for every answer.
    """
    read = Func(
        F("mark__text"),
        template="encode(sha256(convert_to(%(expressions)s, 'UTF8')), 'hex')",
        output_field=CharField(),
    )  # as `saving.digest`: who marked another text, or has not finished, did not mark this one
    mine = IndependentMark.objects.filter(account=by, submission=read).values("mark")
    # An equal answer has marks. The name tells cells apart, but not assignments.
    known = CellMark.objects.filter(place__in=places, points__isnull=False, again=False).exclude(equal="")
    waiting = _OPEN & ~Q(stage=CONFLICT) & ~Q(stage=SECOND, pk__in=mine)
    return {
        "waiting": waiting,
        "suggested": waiting & (Q(suggested=True) | Q(equal__in=known.values("equal"))),
        "done": ~_OPEN & Q(stage=""),
        "flagged": Q(flagged=True),
        "conflict": Q(stage=CONFLICT),
        "all": Q(),
    }[which]


def _chosen(place: CellPlace, by: Account, which: str) -> QuerySet[CellMark]:
    """Answers of a cell, in the order of marking."""
    answers = CellMark.objects.filter(_among(which, by, [place]), place=place, answered=True)
    return answers.order_by("shuffled", "pk")


def counts(offer: Offer, rubric: Rubric, by: Account) -> list[CellCounts]:
    """Every cell with something to read, in the rubric's order."""
    places = list(CellPlace.objects.filter(course=offer.course, assignment=offer.assignment))
    order = {
        (question.notebook, cell): number
        for number, (question, cell) in enumerate(
            (question, cell) for question in rubric.questions for cell in question.cells()
        )
    }
    counted = {which: Count("pk", filter=_among(which, by, places)) for which in CHOICES if which != "all"}
    answers = CellMark.objects.filter(place__in=places, answered=True).order_by()
    numbers = {
        one.pop("place"): one for one in answers.values("place").annotate(**counted, total=Count("pk"))
    }
    found = []
    for place in sorted(places, key=lambda one: order.get((one.notebook, one.cell), len(order))):
        cell = cell_of(rubric, place.notebook, place.cell)
        if cell is not None and place.pk in numbers:
            found.append(CellCounts(place, cell, **numbers[place.pk]))
    return found


def following(
    place: CellPlace, by: Account, which: str, after: CellMark | None = None, *, backwards: bool = False
) -> CellMark | None:
    """The next answer of those that were chosen, or the one before; round the end. None: there is none.

    One that somebody else looks at just now is left to them as long as there is another one.
    """
    chosen = _chosen(place, by, which)
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


def sent_to(
    place: CellPlace, by: Account, which: str, after: CellMark | None = None, *, backwards: bool = False
) -> CellMark | None:
    """As `following`; from here on the person is taken to look at the answer.

    Of two who ask at the same moment the second sees where the first one was sent.
    """
    with transaction.atomic():
        CellPlace.objects.select_for_update(no_key=True).get(pk=place.pk)
        found = following(place, by, which, after, backwards=backwards)
        if found is not None:
            _note(found, by)
    return found


def _note(row: CellMark, by: Account) -> None:
    """Somebody looks at an answer now."""
    Looking.objects.bulk_create(
        [Looking(mark=row, account=by, at=timezone.now())],
        update_conflicts=True,
        unique_fields=["mark", "account"],
        update_fields=["at"],
    )


def look(row: CellMark, by: Account) -> list[str]:
    """Note that somebody looks at an answer; the names of others who do."""
    _note(row, by)
    others = Looking.objects.filter(mark=row, at__gt=timezone.now() - HERE).exclude(account=by)
    return sorted(others.values_list("account__username", flat=True))


def waiting(place: CellPlace, by: Account) -> int:
    """How many answers of a cell wait."""
    return _chosen(place, by, "waiting").count()


def waiting_numbers(place: CellPlace, by: Account) -> set[int]:
    """Which answers of a cell wait."""
    return set(_chosen(place, by, "waiting").values_list("pk", flat=True))
