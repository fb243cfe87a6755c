"""Rows of people's marks as the records that are compared, and what they become with another rubric."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from autograder.grades import CellName, PersonMark
from autograder.marking.following import MarkFollower
from autograder.service.models import CellMark


def place_of(row: CellMark) -> CellName:
    """The cell that a row is about."""
    return row.place.notebook, row.place.cell


def as_mark(row: CellMark) -> PersonMark:
    """What a person gave, as it stands."""
    points = None if row.points is None else Decimal(row.points)
    items = {name: Decimal(one["points"]) for name, one in row.items.items()}
    worth = {name: Decimal(one["of"]) for name, one in row.items.items()}
    extra = Decimal(row.extra)
    return PersonMark(points, extra, row.again, row.comment, items, worth, row.flagged, row.remarks)


def followed(follower: MarkFollower, row: CellMark) -> PersonMark:
    """What a person gave, as it will stand."""
    automatic = None if row.automatic is None else Decimal(row.automatic)
    return follower.follow(place_of(row), as_mark(row), automatic)


def stated(mark: PersonMark) -> Mapping[str, Mapping[str, str]]:
    """The items of a mark as `CellMark.items` has them."""
    return {name: {"points": str(one), "of": str(mark.worth[name])} for name, one in mark.items.items()}
