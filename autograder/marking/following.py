"""Adapt manual marks to a new automatic result: they stay, and follow the points of their items.

Exact and pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.grades import CellName, CellPoints, PersonMark, automatic_points
from autograder.marking.points import cell_points, items_of, rescaled, verdicts_of
from autograder.records import ItemResult, Score, Status
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

    def follow(self, name: CellName, mark: PersonMark, automatic: Decimal | None) -> PersonMark:
        """Return the adapted mark.

        A mark of a whole cell stays, and is flagged for another look if the automatic one under it changes. A
        mark given item by item follows the items' points, and is not flagged for that reason alone.

        Args:
            name: of its cell, which exists in the new rubric.
            mark: the current mark.
            automatic: the automatic points under it; None: no item of the cell was decided.
        """
        question = self._question(name)
        given = {one: self._rescaled(question, one, mark) for one in mark.items}
        items = {one: points for one, (points, _) in given.items()}
        worth = {one: of for one, (_, of) in given.items()}
        if mark.points is None:
            return replace(mark, items=items, worth=worth)
        points, again = mark.points, mark.again
        # A mark without stored points of its items counts as given under the current ones.
        follows = (items, worth) != (mark.items, {one: mark.worth.get(one, worth[one]) for one in items})
        if follows:
            found = cell_points(question, name[1], verdicts_of(question, name[1], self.score), items)
            points = points if found is None else found
        # The automatic points changed for another reason than the points of items.
        if settled_points(automatic_points(self.score, self.rubric)[name]) != automatic:
            again = again or not (follows and self._same_verdicts(question, name[1]))
        again = again or self.resubmitted
        return replace(mark, points=points, again=again, items=items, worth=worth)

    def _question(self, name: CellName) -> Question:
        return next(
            one for one in self.rubric.questions if one.notebook == name[0] and name[1] in one.cells()
        )

    def _rescaled(self, question: Question, item: str, mark: PersonMark) -> tuple[Decimal, Decimal]:
        """Return the points of an item, and the possible points."""
        now = next((one.points for one in question.items if one.id == item), None)
        points, of = mark.items[item], mark.worth.get(item, now)
        if now is None or of is None or now == of:
            return points, points if of is None else of
        return rescaled(points, of, now), now

    def _same_verdicts(self, question: Question, cell: str) -> bool:
        """Decide whether all verdicts on a cell are unchanged, apart from the points of its items."""
        before, after = _by_item(self.was, question), _by_item(self.score, question)
        return all(_same(before.get(one.id), after.get(one.id)) for one in items_of(question, cell))


def settled_points(cell: CellPoints) -> Decimal | None:
    """Return the automatic points of a cell under a mark; None if no item is decided."""
    return cell.points if cell.settled else None


def _by_item(score: Score | None, question: Question) -> Mapping[str, ItemResult]:
    return {one.item: one for one in (score.items if score else ()) if one.question == question.id}


def _same(before: ItemResult | None, after: ItemResult | None) -> bool:
    if before is None or after is None or before.status is not after.status:
        return before is after
    # Neither has points that could have changed.
    if before.status in (Status.NEEDS_REVIEW, Status.NO_ANSWER):
        return True
    return rescaled(before.points, before.possible, after.possible) == after.points
