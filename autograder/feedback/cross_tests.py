"""The page about students' tests on students' solutions, for staff: points and possible holes."""

from __future__ import annotations

from msgspec import Struct

from autograder.feedback.render import filled
from autograder.feedback.sorting import POLICY_WITH_SORTING, SCRIPT


class TestRow(Struct, frozen=True):
    """What one student's test is worth."""

    student: str
    bugs: int
    solutions: int
    points: str
    why: str


class HoleRow(Struct, frozen=True):
    """Where tests and checks disagree."""

    title: str
    words: str
    """What the test raised."""
    solution: str
    """Code that passes all checks; empty: the answer key's."""
    test: str


class CrossTestsView(Struct, frozen=True):
    """The whole page."""

    assignment: str
    pairs: int
    solutions: int
    wrong: int
    bugs: int
    holes: tuple[HoleRow, ...]
    on_key: tuple[HoleRow, ...]
    rows: tuple[TestRow, ...]
    remarks: tuple[str, ...]


def render_cross_tests(view: CrossTestsView) -> str:
    """The page as HTML; it fetches nothing, and runs one script of ours, to sort, whatever stands in it."""
    return filled("cross_tests.html", view=view, policy=POLICY_WITH_SORTING, script=SCRIPT)
