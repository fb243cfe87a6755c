"""Conversion of rows of people's marks to records for comparison, and their values under another rubric."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from autograder.grading.grades import CellName, PersonMark
from autograder.marking.mark_follower import MarkFollower
from autograder.service.models import CellMark


def get_cell_name(row: CellMark) -> CellName:
    """Return the cell of a row."""
    return row.place.notebook, row.place.cell


def to_mark(row: CellMark) -> PersonMark:
    """Return a person's mark as it is."""
    points = None if row.points is None else Decimal(row.points)
    items = {name: Decimal(stored["points"]) for name, stored in row.items.items()}
    worth = {name: Decimal(stored["of"]) for name, stored in row.items.items()}
    extra = Decimal(row.extra)
    return PersonMark(points, extra, row.again, row.comment, items, worth, row.flagged, row.remarks)


def follow_mark(follower: MarkFollower, row: CellMark) -> PersonMark:
    """Return a person's mark as it will be under the new rubric."""
    automatic = None if row.automatic is None else Decimal(row.automatic)
    return follower.follow_mark(get_cell_name(row), to_mark(row), automatic)


def encode_items(mark: PersonMark) -> Mapping[str, Mapping[str, str]]:
    """Return a mark's items in the form of `CellMark.items`."""
    return {name: {"points": str(points), "of": str(mark.worth[name])} for name, points in mark.items.items()}
