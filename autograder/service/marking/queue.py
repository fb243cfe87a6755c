"""The answers that wait for marking, and their order: shuffled, and the same for all markers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.db.models import CharField, Count, Exists, F, Func, OuterRef, Q, QuerySet
from django.utils import timezone
from msgspec import Struct

from autograder.rubric import Rubric
from autograder.service.marking.answers import MarkableCell, find_cell
from autograder.service.marking.mark_entry import CONFLICT, SECOND
from autograder.service.models import Account, CellMark, CellPlace, IndependentMark, Looking, Offer

HERE = timedelta(seconds=30)
"""Time for which a marker counts as viewing an answer after opening it."""
CHOICES = ("waiting", "mine", "suggested", "done", "flagged", "conflict", "all")
"""The selections of answers that a marker can go through."""


class CellCounts(Struct, frozen=True):
    """Progress of marking one cell."""

    place: CellPlace
    cell: MarkableCell
    waiting: int
    mine: int
    """Those of the waiting ones that are assigned to the marker."""
    suggested: int
    """Those of the waiting ones with a suggested mark."""
    done: int
    flagged: int
    conflict: int
    total: int


OPEN = Q(points=None, pending=True) | Q(again=True)


def build_waiting_condition(by: Account | F) -> Q:
    """Return the condition for answers that a marker can still mark.

    Its subquery does not refer to the outer row, so the database runs it once instead of once per answer.

    Args:
        by: the marker; ``F("mark__assignee")``: the one to whom each answer is assigned.
    """
    read = Func(
        F("mark__text"),
        template="encode(sha256(convert_to(%(expressions)s, 'UTF8')), 'hex')",
        output_field=CharField(),
    )  # as `mark_entry.hash_text`: a mark of another text, or an unfinished one, does not count
    own_marks = IndependentMark.objects.filter(account=by, submission=read).values("mark")
    return OPEN & ~Q(stage=CONFLICT) & ~Q(stage=SECOND, pk__in=own_marks)


def _build_condition(which: str, by: Account, places: Iterable[CellPlace]) -> Q:
    """Return the condition for one of `CHOICES`."""
    # An equal answer has marks. The name of a group differs between cells, but not between assignments.
    marked = CellMark.objects.filter(place__in=places, points__isnull=False, again=False).exclude(equal="")
    waiting = build_waiting_condition(by)
    return {
        "waiting": waiting,
        "mine": waiting & Q(assignee=by),
        "suggested": waiting & (Q(suggested=True) | Q(equal__in=marked.values("equal"))),
        "done": ~OPEN & Q(stage=""),
        "flagged": Q(flagged=True),
        "conflict": Q(stage=CONFLICT),
        "all": Q(),
    }[which]


def _select_answers(place: CellPlace, by: Account, which: str) -> QuerySet[CellMark]:
    """Return the selected answers of a cell in marking order."""
    answers = CellMark.objects.filter(_build_condition(which, by, [place]), place=place, answered=True)
    return answers.order_by("shuffled", "pk")


def count_answers(offer: Offer, rubric: Rubric, by: Account) -> list[CellCounts]:
    """Return the counts of every cell with answers to read, in the rubric's order."""
    places = list(CellPlace.objects.filter(course=offer.course, assignment=offer.assignment))
    order = {
        (question.notebook, cell): number
        for number, (question, cell) in enumerate(
            (question, cell) for question in rubric.questions for cell in question.list_cells()
        )
    }
    counted = {
        which: Count("pk", filter=_build_condition(which, by, places)) for which in CHOICES if which != "all"
    }
    answers = CellMark.objects.filter(place__in=places, answered=True).order_by()
    numbers = {
        entry.pop("place"): entry for entry in answers.values("place").annotate(**counted, total=Count("pk"))
    }
    cell_counts = []
    for place in sorted(places, key=lambda entry: order.get((entry.notebook, entry.cell), len(order))):
        cell = find_cell(rubric, place.notebook, place.cell)
        if cell is not None and place.pk in numbers:
            cell_counts.append(CellCounts(place, cell, **numbers[place.pk]))
    return cell_counts


def count_waiting_answers(offer: Offer, rubric: Rubric, by: Account) -> int:
    """Return the number of waiting answers in all cells of an assignment."""
    places = CellPlace.objects.filter(course=offer.course, assignment=offer.assignment)
    # A new version of the rubric may have lost a cell.
    known = [place for place in places if find_cell(rubric, place.notebook, place.cell) is not None]
    return CellMark.objects.filter(build_waiting_condition(by), place__in=known, answered=True).count()


def find_next_answer(
    place: CellPlace, by: Account, which: str, after: CellMark | None = None, *, backwards: bool = False
) -> CellMark | None:
    """Return the next or previous selected answer, wrapping around at the end. None: there is none.

    An answer that another marker is viewing is returned only if there is no other, and so is, among waiting
    ones, an answer that is assigned to somebody else.
    """
    chosen = _select_answers(place, by, which)
    if after is not None:
        chosen = chosen.exclude(pk=after.pk)
    looked = Looking.objects.filter(mark=OuterRef("pk"), at__gt=timezone.now() - HERE).exclude(account=by)
    chosen = chosen.annotate(looked=Exists(looked))
    if backwards:
        chosen = chosen.order_by(F("shuffled").desc(), "-pk")
    beyond = Q()
    if after is not None:
        beyond = Q(shuffled__lt=after.shuffled) if backwards else Q(shuffled__gt=after.shuffled)
    # Once its assignee has marked it, an answer for two markers is as much anybody else's.
    unassigned = Q(assignee=None) | Q(assignee=by) | Q(stage=SECOND)
    preferences = [Q(looked=False), Q()]
    if which in {"waiting", "suggested"}:
        preferences.insert(0, Q(looked=False) & unassigned)
    # Within each, prefer the answers beyond the current position.
    for free in preferences:
        for part in (beyond, Q()):
            answer = chosen.filter(free & part).first()
            if answer is not None:
                return answer
    return None


def assign_next_answer(
    place: CellPlace, by: Account, which: str, after: CellMark | None = None, *, backwards: bool = False
) -> CellMark | None:
    """Return `find_next_answer`, and record that the marker is viewing it.

    If two markers ask at the same moment, the second one already sees the first one's answer as viewed.
    """
    with transaction.atomic():
        # Without the key lock, rows that refer to the cell can still be inserted meanwhile.
        CellPlace.objects.select_for_update(no_key=True).get(pk=place.pk)
        answer = find_next_answer(place, by, which, after, backwards=backwards)
        if answer is not None:
            _note_viewer(answer, by)
    return answer


def _note_viewer(row: CellMark, by: Account) -> None:
    """Record that a marker is viewing an answer."""
    Looking.objects.bulk_create(
        [Looking(mark=row, account=by, at=timezone.now())],
        update_conflicts=True,
        unique_fields=["mark", "account"],
        update_fields=["at"],
    )


def record_viewing(row: CellMark, by: Account) -> list[str]:
    """Record that a marker is viewing an answer; return the names of other viewers."""
    _note_viewer(row, by)
    other_viewers = Looking.objects.filter(mark=row, at__gt=timezone.now() - HERE).exclude(account=by)
    return sorted(other_viewers.values_list("account__username", flat=True))


def count_waiting(place: CellPlace, by: Account, *, mine: bool = False) -> int:
    """Return the number of waiting answers of a cell, or of those assigned to the marker."""
    return _select_answers(place, by, "mine" if mine else "waiting").count()


def list_waiting(place: CellPlace, by: Account) -> set[int]:
    """Return the numbers of a cell's waiting answers."""
    return set(_select_answers(place, by, "waiting").values_list("pk", flat=True))
