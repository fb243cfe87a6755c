"""Groups of answers of one cell: equal ones, near ones, and those that people put together or took out."""

from __future__ import annotations

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence

import msgspec
from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet
from msgspec import Struct

from autograder.marking.grouping import AnswerGroup, Binding, computed_groups, formula_groups, near_groups
from autograder.records import Graded, ItemResult
from autograder.rubric import Rubric
from autograder.service.marking import saving
from autograder.service.marking.answers import MarkableCell, results_of
from autograder.service.marking.refusals import NotTaken
from autograder.service.models import Account, CellMark, CellPlace, Offer

_KEPT_SECONDS = 600
_APART = "apart:"
"""Begins the name of what was taken out of a group: it stands alone."""


class Grouped(Struct, frozen=True):
    """Answers that can be marked at once."""

    binding: str
    """Of `autograder.marking.grouping.Binding`, or ``gathered``: by people."""
    parts: tuple[tuple[int, ...], ...]
    """Numbers of the answers; equal ones together, the most frequent text first."""
    nearness: float = 1.0

    @property
    def members(self) -> tuple[int, ...]:
        """All of them."""
        return tuple(number for part in self.parts for number in part)


def grouped(
    offer: Offer, place: CellPlace, cell: MarkableCell, rubric: Rubric, nearness: float
) -> list[Grouped]:
    """The groups of a cell's answers, the largest first.

    Args:
        offer: of the assignment.
        place: the cell.
        cell: as the common rubric has it.
        rubric: the common one.
        nearness: of texts, from 0, only equal ones, to 1.
    """
    told = list(_rows(place).values_list("pk", "text", "equal", "computed", "gathered"))
    key = f"groups-{place.pk}-{hashlib.sha256(msgspec.json.encode([nearness, told])).hexdigest()}"
    known = cache.get(key)
    if known is not None:
        return msgspec.json.decode(known, type=list[Grouped])
    rows = list(_rows(place).only("pk", "student", "text", "equal", "computed", "gathered"))
    free = [row for row in rows if not row.gathered]
    found = [
        Grouped(
            str(one.binding), tuple(tuple(int(name) for name in part) for part in one.parts), one.nearness
        )
        for one in _by_content(offer, cell, rubric, free, nearness)
    ]
    found += _by_people([row for row in rows if row.gathered])
    found.sort(key=lambda one: -len(one.members))  # stable: groups of one size stay in their order
    cache.set(key, msgspec.json.encode(found), _KEPT_SECONDS)
    return found


def _rows(place: CellPlace) -> QuerySet[CellMark]:
    return CellMark.objects.filter(place=place, answered=True).order_by("pk")


def _by_content(
    offer: Offer, cell: MarkableCell, rubric: Rubric, rows: Sequence[CellMark], nearness: float
) -> Sequence[AnswerGroup]:
    """By their texts where all of a cell is for people, else by what grading found out."""
    if rubric.draws is not None:  # the same answer may be right for one and wrong for another
        return [AnswerGroup(Binding.EQUAL, ((str(row.pk),),), str(row.pk)) for row in rows]
    if len(cell.manual) == len(cell.items):
        texts = {str(row.pk): row.text for row in rows}
        return near_groups(texts, nearness, equal={str(row.pk): row.equal for row in rows})
    if cell.question.kind == "formula":
        numbers = {row.student: str(row.pk) for row in rows}
        results = {
            numbers[student]: _of_question(graded, cell) for student, graded in results_of(offer, numbers)
        }
        return formula_groups(results, cell.question, rubric, bytes(offer.course.secret))
    texts = {str(row.pk): row.text for row in rows}
    return computed_groups(texts, {str(row.pk): row.computed for row in rows})


def _of_question(graded: Graded, cell: MarkableCell) -> list[ItemResult]:
    """The results that a mark of the cell rests on."""
    own = {item.id for item in cell.items if not item.manual}
    return [one for one in graded.score.items if one.question == cell.question.id and one.item in own]


def _by_people(rows: Sequence[CellMark]) -> list[Grouped]:
    named: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        named[row.gathered][row.text].append(row.pk)
    return [
        Grouped("gathered", tuple(tuple(part) for part in sorted(texts.values(), key=lambda one: -len(one))))
        for texts in named.values()
    ]


def gather(place: CellPlace, numbers: Collection[int], by: Account) -> None:
    """Put answers into one group, whatever they were in.

    Raises:
        NotTaken: one of them is gone or of another cell, or there are fewer than two.
    """
    if len(set(numbers)) < 2:
        raise NotTaken("mark-gather-two")
    _name(place, numbers, uuid.uuid4().hex, by)


def take_out(place: CellPlace, numbers: Collection[int], by: Account) -> None:
    """Let answers stand apart from their group; several of them together.

    Raises:
        NotTaken: one of them is gone or of another cell.
    """
    _name(place, numbers, _APART + uuid.uuid4().hex, by)


def _name(place: CellPlace, numbers: Collection[int], name: str, by: Account) -> None:
    with transaction.atomic():
        rows = saving.locked(set(numbers))
        if any(row.place_id != place.pk for row in rows):
            raise NotTaken("mark-other-question")
        changes = [saving.changed(row, gathered=name) for row in rows]
        saving.write(rows)
        saving.log(rows[0], "group", changes, by)
