"""The page about marks of this program and another's, for staff: where they differ, and why."""

from __future__ import annotations

from msgspec import Struct

from autograder.feedback.render import filled
from autograder.feedback.sanitise import POLICY


class ComparisonRow(Struct, frozen=True):
    """One answer with two results."""

    student: str
    question: str
    ours: str
    theirs: str
    reason: str
    told: str
    """What this program found, for staff."""
    answer: str
    test: str


class ComparisonView(Struct, frozen=True):
    """The whole page."""

    assignment: str
    peer: str
    compared: int
    same: int
    rows: tuple[ComparisonRow, ...]
    remarks: tuple[str, ...]


def render_comparison(view: ComparisonView) -> str:
    """The page as HTML; it fetches nothing and runs nothing, whatever stands in it."""
    return filled("comparison.html", view=view, policy=POLICY)
