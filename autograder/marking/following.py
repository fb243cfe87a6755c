"""What people's marks become with another result under them: they stand, and follow items' points.

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
    """Turns marks by one rubric into marks by another one, of one student."""

    rubric: Rubric
    """The other one."""
    was: Score | None
    """The automatic result under the marks."""
    score: Score
    """The one that takes its place."""
    resubmitted: bool
    """It is of another submission."""

    def follow(self, name: CellName, mark: PersonMark, automatic: Decimal | None) -> PersonMark:
        """A mark as it will stand.

        A mark of a whole cell stays, and is looked at again where the automatic one under it changes. One
        that was given item by item follows the items' points, and is not looked at again for that alone.

        Args:
            name: of its cell; the other rubric has it.
            mark: as it stands.
            automatic: the automatic points under it; None: nothing of the cell was decided.
        """
        question = self._question(name)
        given = {one: self._rescaled(question, one, mark) for one in mark.items}
        items = {one: points for one, (points, _) in given.items()}
        worth = {one: of for one, (_, of) in given.items()}
        if mark.points is None:
            return replace(mark, items=items, worth=worth)
        points, again = mark.points, mark.again
        follows = (items, worth) != (mark.items, {one: mark.worth.get(one, worth[one]) for one in items})
        if follows:
            found = cell_points(question, name[1], verdicts_of(question, name[1], self.score), items)
            points = points if found is None else found
        if settled_points(automatic_points(self.score, self.rubric)[name]) != automatic:
            again = again or not (follows and self._same_verdicts(question, name[1]))
        again = again or self.resubmitted
        return replace(mark, points=points, again=again, items=items, worth=worth)

    def _question(self, name: CellName) -> Question:
        return next(
            one for one in self.rubric.questions if one.notebook == name[0] and name[1] in one.cells()
        )

    def _rescaled(self, question: Question, item: str, mark: PersonMark) -> tuple[Decimal, Decimal]:
        """The points of an item, and of how many."""
        now = next((one.points for one in question.items if one.id == item), None)
        points, of = mark.items[item], mark.worth.get(item, now)
        if now is None or of is None or now == of:
            return points, points if of is None else of
        return rescaled(points, of, now), now

    def _same_verdicts(self, question: Question, cell: str) -> bool:
        """Whether grading says of every item of a cell what it said, but for what it is worth."""
        before, after = _by_item(self.was, question), _by_item(self.score, question)
        return all(_same(before.get(one.id), after.get(one.id)) for one in items_of(question, cell))


def settled_points(cell: CellPoints) -> Decimal | None:
    """The automatic points of a cell, as they stand under a mark; None while nothing of it is decided."""
    return cell.points if cell.settled else None


def _by_item(score: Score | None, question: Question) -> Mapping[str, ItemResult]:
    return {one.item: one for one in (score.items if score else ()) if one.question == question.id}


def _same(before: ItemResult | None, after: ItemResult | None) -> bool:
    if before is None or after is None or before.status is not after.status:
        return before is after
    if before.status in (Status.NEEDS_REVIEW, Status.NO_ANSWER):
        return True
    return rescaled(before.points, before.possible, after.possible) == after.points
