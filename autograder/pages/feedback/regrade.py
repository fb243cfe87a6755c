"""Page for staff about a regrading: changed marks, by how much, and why. One file, without a script."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from autograder.pages.feedback.render import fill_template
from autograder.pages.feedback.sanitise import POLICY


class RegradeItemView(Struct, frozen=True):
    """One item; without a name, the student as a whole."""

    name: str
    before: str
    after: str
    told_before: str
    told_after: str
    why: str


class RegradeStudentView(Struct, frozen=True):
    """One student with changed marks."""

    name: str
    by: str
    before: str
    after: str
    grade_before: str
    grade_after: str
    shown: str
    """The mark that the student was shown, if it is another one."""
    items: tuple[RegradeItemView, ...]


class RegradeView(Struct, frozen=True):
    """The complete page."""

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
    """Render the page as HTML; whatever its content, it fetches nothing and runs nothing."""
    return fill_template("regrade.html", view=view, policy=POLICY)
