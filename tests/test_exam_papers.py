"""Complete answers to task 3 of the exam, written and marked by people who had not seen the rubric.

Three people wrote sixty answers each: good, average and weak ones, in two notations, with carried mistakes.
They knew the students' text and the points of the parts, and marked by the rules of the exam sheet.
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
"""Names of items in these files if they differ from the part."""


def earned(answers: Mapping[str, str]) -> dict[str, Decimal]:
    """Return the points of every automatic item by its name in the files, judging parts in order."""
    earlier: dict[str, ItemResult] = {}
    for part, names in NAMES.items():
        source = "\n".join(f"{name} = {answers[name]!r}" for name in names if name in answers)
        found = marks(f"task3-{part}", source, earlier=earlier)
        earlier |= {f"task3-{part}.{item}": result for item, result in found.items()}
    items = {part: f"{part}.formula" for part in "abcdefi"} | ITEMS
    return {name: earlier[f"task3-{item}"].points for name, item in items.items()}


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_marks_are_those_of_a_fair_person(path: Path) -> None:
    """Of 13 points, nine in ten totals differ by at most one point, and none by more than two."""
    papers = json.loads(path.read_text("utf-8"))
    differences = {
        paper["name"]: sum(earned(paper["answers"]).values())
        - sum(Decimal(str(points)) for points in paper["marks"].values())
        for paper in papers
    }
    far = {name: float(difference) for name, difference in differences.items() if abs(difference) > 1}
    assert (60, True) == (len(papers), 10 * len(far) <= len(papers)), far
    assert all(abs(difference) <= 2 for difference in far.values()), far
