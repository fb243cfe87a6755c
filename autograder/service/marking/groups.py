"""Groups of answers of one cell: equal ones, similar ones, and groups that people formed or changed."""

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

from autograder.core.records import GradingResult, ItemResult
from autograder.marking.grouping import (
    AnswerGroup,
    Binding,
    group_by_digest,
    group_formulas,
    group_similar_answers,
)
from autograder.rubric import Rubric
from autograder.service.marking import mark_entry
from autograder.service.marking.answers import MarkableCell, load_results
from autograder.service.models import Account, CellMark, CellPlace, Offer
from autograder.service.refusals import ActionRefused

_KEPT_SECONDS = 600
_APART = "apart:"
"""Prefix of the group name of answers that were taken out of a group."""


class MarkingGroup(Struct, frozen=True):
    """Answers that can be marked together."""

    binding: str
    """A value of `autograder.marking.grouping.Binding`, or ``gathered``: formed by people."""
    parts: tuple[tuple[int, ...], ...]
    """Answer numbers; equal answers in one part, most frequent text first."""
    nearness: float = 1.0

    @property
    def members(self) -> tuple[int, ...]:
        """All answer numbers."""
        return tuple(number for part in self.parts for number in part)


def group_answers(
    offer: Offer, place: CellPlace, cell: MarkableCell, rubric: Rubric, nearness: float
) -> list[MarkingGroup]:
    """Return the groups of a cell's answers, largest first.

    Args:
        offer: of the assignment.
        place: the cell.
        cell: as in the common rubric.
        rubric: the common one.
        nearness: similarity of texts, from 0 (only equal texts) to 1.
    """
    # The key has a digest of the rows, so cached groups are no longer found once any of the rows changes.
    facts = list(_select_answers(place).values_list("pk", "text", "equal", "computed", "gathered"))
    key = f"groups-{place.pk}-{hashlib.sha256(msgspec.json.encode([nearness, facts])).hexdigest()}"
    cached = cache.get(key)
    if cached is not None:
        return msgspec.json.decode(cached, type=list[MarkingGroup])
    rows = list(_select_answers(place).only("pk", "student", "text", "equal", "computed", "gathered"))
    free = [row for row in rows if not row.gathered]
    groups = [
        MarkingGroup(
            str(group.binding),
            tuple(tuple(int(name) for name in part) for part in group.parts),
            group.nearness,
        )
        for group in _group_by_content(offer, cell, rubric, free, nearness)
    ]
    groups += _group_by_people([row for row in rows if row.gathered])
    groups.sort(key=lambda group: -len(group.members))  # stable: groups of one size stay in their order
    cache.set(key, msgspec.json.encode(groups), _KEPT_SECONDS)
    return groups


def _select_answers(place: CellPlace) -> QuerySet[CellMark]:
    return CellMark.objects.filter(place=place, answered=True).order_by("pk")


def _group_by_content(
    offer: Offer, cell: MarkableCell, rubric: Rubric, rows: Sequence[CellMark], nearness: float
) -> Sequence[AnswerGroup]:
    """Group by text if all of the cell is marked by people, otherwise by what grading computed."""
    if rubric.draws is not None:  # equal answers may differ in correctness between variants
        return [AnswerGroup(Binding.EQUAL, ((str(row.pk),),), str(row.pk)) for row in rows]
    if len(cell.manual) == len(cell.items):
        texts = {str(row.pk): row.text for row in rows}
        return group_similar_answers(texts, nearness, equal={str(row.pk): row.equal for row in rows})
    if cell.question.kind == "formula":
        numbers = {row.student: str(row.pk) for row in rows}
        results = {
            numbers[student]: _select_results(graded, cell)
            for student, graded in load_results(offer, numbers)
        }
        return group_formulas(results, cell.question, rubric, bytes(offer.course.secret))
    texts = {str(row.pk): row.text for row in rows}
    return group_by_digest(texts, {str(row.pk): row.computed for row in rows})


def _select_results(graded: GradingResult, cell: MarkableCell) -> list[ItemResult]:
    """Return the results that a mark of the cell depends on."""
    automatic_items = {item.id for item in cell.items if not item.manual}
    return [
        result
        for result in graded.score.items
        if result.question == cell.question.id and result.item in automatic_items
    ]


def _group_by_people(rows: Sequence[CellMark]) -> list[MarkingGroup]:
    named: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        named[row.gathered][row.text].append(row.pk)
    return [
        MarkingGroup(
            "gathered",
            tuple(tuple(part) for part in sorted(texts.values(), key=lambda numbers: -len(numbers))),
        )
        for texts in named.values()
    ]


def merge_answers(place: CellPlace, numbers: Collection[int], by: Account) -> None:
    """Put answers into one new group, whatever groups they were in.

    Raises:
        ActionRefused: an answer is gone or belongs to another cell, or there are fewer than two.
    """
    if len(set(numbers)) < 2:
        raise ActionRefused("mark-gather-two")
    _set_group(place, numbers, uuid.uuid4().hex, by)


def take_out_answers(place: CellPlace, numbers: Collection[int], by: Account) -> None:
    """Take answers out of their group; several form a group together.

    Raises:
        ActionRefused: an answer is gone or belongs to another cell.
    """
    _set_group(place, numbers, _APART + uuid.uuid4().hex, by)


def _set_group(place: CellPlace, numbers: Collection[int], name: str, by: Account) -> None:
    with transaction.atomic():
        rows = mark_entry.lock_answers(set(numbers))
        if any(row.place_id != place.pk for row in rows):
            raise ActionRefused("mark-other-question")
        changes = [mark_entry.change_answer(row, gathered=name) for row in rows]
        mark_entry.write_answers(rows)
        mark_entry.log_action(rows[0], "group", changes, by)
