"""What people's marks become with another rubric: they stand, and follow an item whose points change."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.grades import CellName, CellPoints, PersonMark, automatic_points
from autograder.marking.points import cell_points, items_of, rescaled, verdicts_of
from autograder.records import ItemResult, Score, Status
from autograder.rubric import Question, Rubric
from autograder.service.models import CellMark


class FollowedMark(Struct, frozen=True):
    """A person's mark by another rubric."""

    mark: PersonMark
    items: Mapping[str, Mapping[str, str]]
    """As `CellMark.items`."""


def as_mark(row: CellMark) -> PersonMark:
    """What a person gave, as it stands."""
    points = None if row.points is None else Decimal(row.points)
    items = {name: Decimal(one["points"]) for name, one in row.items.items()}
    return PersonMark(points, Decimal(row.extra), row.again, row.comment, items)


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

    def follow(self, row: CellMark) -> FollowedMark:
        """A mark as it will stand.

        A mark of a whole cell stays, and is looked at again where the automatic one under it changes. One
        that was given item by item follows the items' points, and is not looked at again for that alone.
        """
        name = (row.place.notebook, row.place.cell)
        question, before = self._question(name), as_mark(row)
        items = {one: self._rescaled(question, one, given) for one, given in row.items.items()}
        points, again = before.points, before.again
        if points is None:
            return FollowedMark(before, items)
        follows = items != row.items
        if follows:
            given = {one: Decimal(stated["points"]) for one, stated in items.items()}
            found = cell_points(question, name[1], verdicts_of(question, name[1], self.score), given)
            points = points if found is None else found
        automatic = _automatic(automatic_points(self.score, self.rubric)[name])
        if automatic != (None if row.automatic is None else Decimal(row.automatic)):
            again = again or not (follows and self._same_verdicts(question, name[1]))
        again = again or self.resubmitted
        given = {one: Decimal(stated["points"]) for one, stated in items.items()}
        return FollowedMark(PersonMark(points, before.extra, again, before.comment, given), items)

    def _question(self, name: CellName) -> Question:
        return next(
            one for one in self.rubric.questions if one.notebook == name[0] and name[1] in one.cells()
        )

    def _rescaled(self, question: Question, item: str, given: Mapping[str, str]) -> Mapping[str, str]:
        now = next((one.points for one in question.items if one.id == item), None)
        points, of = Decimal(given["points"]), Decimal(given["of"])
        if now is None or now == of:
            return given
        return {**given, "points": str(rescaled(points, of, now)), "of": str(now)}

    def _same_verdicts(self, question: Question, cell: str) -> bool:
        """Whether grading says of every item of a cell what it said, but for what it is worth."""
        before, after = _by_item(self.was, question), _by_item(self.score, question)
        return all(_same(before.get(one.id), after.get(one.id)) for one in items_of(question, cell))


def _automatic(cell: CellPoints) -> Decimal | None:
    return cell.points if cell.settled else None


def _by_item(score: Score | None, question: Question) -> dict[str, ItemResult]:
    return {one.item: one for one in (score.items if score else ()) if one.question == question.id}


def _same(before: ItemResult | None, after: ItemResult | None) -> bool:
    if before is None or after is None or before.status is not after.status:
        return before is after
    if before.status in (Status.NEEDS_REVIEW, Status.NO_ANSWER):
        return True
    return rescaled(before.points, before.possible, after.possible) == after.points
