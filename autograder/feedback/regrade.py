"""The page about a regrading, for staff: who moves, by how much, and why. One file, without a script."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from autograder.feedback.render import filled
from autograder.feedback.sanitise import POLICY


class RegradeItemView(Struct, frozen=True):
    """One item; without a name, the student as a whole."""

    name: str
    before: str
    after: str
    told_before: str
    told_after: str
    why: str


class RegradeStudentView(Struct, frozen=True):
    """One student who moves."""

    name: str
    by: str
    before: str
    after: str
    grade_before: str
    grade_after: str
    shown: str
    """What the student was shown, where that would be another mark."""
    items: tuple[RegradeItemView, ...]


class RegradeView(Struct, frozen=True):
    """The whole page."""

    assignment: str
    total: int
    same: int
    gain: int
    lose: int
    students: tuple[RegradeStudentView, ...]
    failed: Mapping[str, str]
    differences: tuple[str, ...]
    remarks: tuple[str, ...]
    applied: bool


def render_regrade(view: RegradeView) -> str:
    """The page as HTML; it fetches nothing and runs nothing, whatever stands in it."""
    return filled("regrade.html", view=view, policy=POLICY)
