"""Page for staff that compares the marks of this program with another's: where they differ, and why."""

from __future__ import annotations

from msgspec import Struct

from autograder.pages.feedback.render import fill_template
from autograder.pages.feedback.sanitise import POLICY


class ComparisonRow(Struct, frozen=True):
    """One answer with two results."""

    student: str
    question: str
    ours: str
    theirs: str
    reason: str
    told: str
    """Explanation of this program's result, for staff."""
    answer: str
    test: str


class ComparisonView(Struct, frozen=True):
    """The complete page."""

    assignment: str
    peer: str
    compared: int
    same: int
    rows: tuple[ComparisonRow, ...]
    remarks: tuple[str, ...]


def render_comparison(view: ComparisonView) -> str:
    """Render the page as HTML; whatever its content, it fetches nothing and runs nothing."""
    return fill_template("comparison.html", view=view, policy=POLICY)
