"""Whole papers of task 3 of the exam, written and marked by hand by people who had not seen the rubric.

Each of three markers wrote sixty: good, middling and weak ones, in two notations, with slips carried on. They
knew the text that students read and the points of the parts, and marked with the principle of the sheet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pytest

from autograder.core.records import ItemResult
from tests.authoring.demo.marking import marks
from tests.test_exam_carried_mistakes import NAMES

pytestmark = pytest.mark.apart

PAPERS = sorted((Path(__file__).parent / "submissions" / "papers").glob("*.json"))
ITEMS: Mapping[str, str] = {
    "e_relation": "e.assumption",
    "h_first": "h.first",
    "h_second": "h.second",
    "h_sum": "h.sum",
}
"""What the markers called some of the items; the others are called by their part."""


def earned(answers: Mapping[str, str]) -> dict[str, Decimal]:
    """The points of every automatic item, by the markers' names; parts are judged in order."""
    earlier: dict[str, ItemResult] = {}
    for part, names in NAMES.items():
        source = "\n".join(f"{name} = {answers[name]!r}" for name in names if name in answers)
        found = marks(f"task3-{part}", source, earlier=earlier)
        earlier |= {f"task3-{part}.{item}": result for item, result in found.items()}
    items = {part: f"{part}.formula" for part in "abcdefi"} | ITEMS
    return {name: earlier[f"task3-{item}"].points for name, item in items.items()}


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_marks_are_those_of_a_fair_person(path: Path) -> None:
    """Within a point of theirs in nine papers of ten, and never more than two off; of 13 points."""
    papers = json.loads(path.read_text("utf-8"))
    differences = {
        paper["name"]: sum(earned(paper["answers"]).values())
        - sum(Decimal(str(points)) for points in paper["marks"].values())
        for paper in papers
    }
    far = {name: float(difference) for name, difference in differences.items() if abs(difference) > 1}
    assert (60, True) == (len(papers), 10 * len(far) <= len(papers)), far
    assert all(abs(difference) <= 2 for difference in far.values()), far
