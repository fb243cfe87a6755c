"""Adapt manual marks to a new automatic result: they stay, and follow the points of their items.

Exact and pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import ItemResult, Score, Status
from autograder.grading.grades import CellName, CellPoints, PersonMark, compute_automatic_points
from autograder.marking.points import collect_verdicts, compute_cell_points, list_items, scale_points
from autograder.rubric import Question, Rubric


class MarkFollower(Struct, frozen=True):
    """Converts one student's marks from one rubric to another."""

    rubric: Rubric
    """The new rubric."""
    was: Score | None
    """The automatic result under the marks."""
    score: Score
    """The new automatic result."""
    resubmitted: bool
    """Whether the new result belongs to another submission."""

    def follow_mark(self, name: CellName, mark: PersonMark, automatic: Decimal | None) -> PersonMark:
        """Return the adapted mark.

        A mark of a whole cell stays, and is flagged for another look if the automatic one under it changes. A
        mark given item by item follows the items' points, and is not flagged for that reason alone.

        Args:
            name: of its cell, which exists in the new rubric.
            mark: the current mark.
            automatic: the automatic points under it; None: no item of the cell was decided.
        """
        question = self._find_question(name)
        known = {item.id for item in question.items}
        rescaled_items = {
            item_id: self._scale_item(question, item_id, mark) for item_id in mark.items if item_id in known
        }
        items = {item_id: points for item_id, (points, _) in rescaled_items.items()}
        worth = {item_id: of for item_id, (_, of) in rescaled_items.items()}
        if mark.points is None:
            return replace(mark, items=items, worth=worth)
        points, again = mark.points, mark.again
        # A mark without stored points of its items counts as given under the current ones.
        follows = (items, worth) != (
            mark.items,
            {item_id: mark.worth.get(item_id, worth[item_id]) for item_id in items},
        )
        verdicts = collect_verdicts(question, name[1], self.score)
        new_points = compute_cell_points(question, name[1], verdicts, items)
        if follows:
            points = points if new_points is None else new_points
        again = again or bool(mark.items and new_points is None)
        # The automatic points changed for another reason than the points of items.
        if get_settled_points(compute_automatic_points(self.score, self.rubric)[name]) != automatic:
            again = again or not (follows and self._has_same_verdicts(question, name[1]))
        again = again or self.resubmitted
        return replace(mark, points=points, again=again, items=items, worth=worth)

    def _find_question(self, name: CellName) -> Question:
        return next(
            question
            for question in self.rubric.questions
            if question.notebook == name[0] and name[1] in question.list_cells()
        )

    def _scale_item(self, question: Question, item: str, mark: PersonMark) -> tuple[Decimal, Decimal]:
        """Return the points of an item, and the possible points."""
        now, points = question.get_item(item).points, mark.items[item]
        worth = mark.worth.get(item, now)
        if now == worth:
            return points, worth
        return scale_points(points, worth, now), now

    def _has_same_verdicts(self, question: Question, cell: str) -> bool:
        """Decide whether all verdicts on a cell are unchanged, apart from the points of its items."""
        before, after = _map_by_item(self.was, question), _map_by_item(self.score, question)
        return all(
            _is_same(before.get(rubric_item.id), after.get(rubric_item.id))
            for rubric_item in list_items(question, cell)
        )


def get_settled_points(cell: CellPoints) -> Decimal | None:
    """Return the automatic points of a cell under a mark; None if no item is decided."""
    return cell.points if cell.settled else None


def _map_by_item(score: Score | None, question: Question) -> Mapping[str, ItemResult]:
    return {
        result.item: result for result in (score.items if score else ()) if result.question == question.id
    }


def _is_same(before: ItemResult | None, after: ItemResult | None) -> bool:
    if before is None or after is None or before.status is not after.status:
        return before is after
    # Neither has points that could have changed.
    if before.status in (Status.NEEDS_REVIEW, Status.NO_ANSWER):
        return True
    return scale_points(before.points, before.possible, after.possible) == after.points
