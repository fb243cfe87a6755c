"""The repair question through the whole pipeline: notebook in, real sandbox, score out."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from itertools import combinations
from pathlib import Path

import nbformat
import pytest

from autograder import assignment as assignments
from autograder.course import Course
from autograder.generate import generate
from autograder.grading import Grader, Handed
from autograder.records import ItemResult, Status
from autograder.sandbox.pool import Pool
from reference.faults.decoder import EXAM as FAULT_IDS
from reference.listings import GIVEN
from tests.support.repair_question import ITEM, listing
from tests.support.repair_variants import Variant, variants

pytestmark = pytest.mark.sandbox

NAME = "decoder"
ROOT = Path(__file__).parent.parent
SUBSETS = [frozenset(some) for count in range(9) for some in combinations(FAULT_IDS, count)]
RUBRIC = f"""
version = 1
[assignment]
name = "{NAME}"
points = 8
preload = ["torch"]
[[question]]
id = "repair"
kind = "repair"
points = 8
answer = "Decoder"
reference = "decoder:Decoder"
{"".join(ITEM.format(fault=fault) for fault in FAULT_IDS)}
"""


def _cell(grade_id: str, source: str, **flags: object) -> nbformat.NotebookNode:
    plain = {"schema_version": 3, "grade": False, "solution": False, "locked": True, "task": False}
    metadata = {"nbgrader": {**plain, "grade_id": grade_id, **flags}}
    return nbformat.v4.new_code_cell(source, metadata=metadata)


def _notebook() -> nbformat.NotebookNode:
    answer = f"{listing()}\n### BEGIN SOLUTION\n{listing(FAULT_IDS)}### END SOLUTION\n"
    cells = [
        _cell("given", GIVEN),
        _cell("repair-answer", answer, solution=True, locked=False),
        _cell("repair", 'from coursecheck import check\n\ncheck("repair")', grade=True, points=8),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


class Class:
    """A course with the one question, and students who hand in texts for it."""

    def __init__(self, root: Path, pool: Pool) -> None:
        for folder in ("rubrics", f"assignments/{NAME}"):
            (root / folder).mkdir(parents=True)
        shutil.copytree(ROOT / "reference", root / "reference", ignore=shutil.ignore_patterns("__pycache__"))
        (root / "rubrics" / f"{NAME}.toml").write_text(RUBRIC, encoding="utf-8")
        nbformat.write(_notebook(), root / "assignments" / NAME / f"{NAME}.ipynb")
        course = Course.at(root)
        generate(course, NAME)
        self._assignment = assignments.load(course, NAME)
        self._grader = Grader(self._assignment, pool)

    def sit(self, source: str | None) -> dict[str, ItemResult]:
        """The results of a student who writes this into the answer cell, or leaves it alone."""
        notebook = nbformat.reads(self._assignment.release_bytes[NAME].decode(), as_version=4)
        if source is not None:
            notebook.cells[1].source = source
        data = nbformat.writes(notebook).encode()
        graded = self._grader.grade(Handed("student", {NAME: data}))
        return {item.item: item for item in graded.score.items}


@pytest.fixture(scope="module")
def class_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Class]:
    """One course for all tests, its sandboxes warm."""
    with Pool() as pool:
        yield Class(tmp_path_factory.mktemp("course"), pool)


def _with(results: dict[str, ItemResult], *statuses: Status) -> Collection[str]:
    return {item for item, result in results.items() if result.status in statuses}


@pytest.mark.parametrize("size", range(9))
def test_every_combination_gets_its_eight_bits(class_: Class, size: int) -> None:
    """All 256 combinations of repaired faults, notebook in and score out, are told exactly."""
    subsets = [subset for subset in SUBSETS if len(subset) == size]
    found = {subset: _with(class_.sit(listing(subset)), Status.PASSED) for subset in subsets}
    assert {subset: set(subset) for subset in subsets} == found


@pytest.mark.parametrize(
    "variant",
    [*variants("accepted"), *variants("wrong"), *variants("noted")],
    ids=lambda variant: variant.name,
)
def test_each_variant_loses_exactly_what_it_says(class_: Class, variant: Variant) -> None:
    """Accepted repairs earn all eight points, wrong ones lose the named ones."""
    results = class_.sit(variant.source())
    assert set(variant.loses) == _with(results, Status.FAILED, Status.NO_ANSWER)
    assert set(variant.review) == _with(results, Status.NEEDS_REVIEW)


def test_the_untouched_release_scores_nothing(class_: Class) -> None:
    """What students receive is no answer to any item."""
    assert {result.status for result in class_.sit(None).values()} == {Status.NO_ANSWER}


def test_code_that_ends_the_box_costs_what_it_reaches(class_: Class) -> None:
    """A decoder whose layers leave the process keeps what was seen without layers."""
    source = "import os\n" + listing(FAULT_IDS).replace(
        "for block in self.blocks:", "for block in self.blocks:\n            os._exit(0)"
    )
    results = class_.sit(source)
    assert _with(results, Status.PASSED) <= {
        "position_table",
        "shape_order",
        "embedding_dropout",
        "output_head",
    }
    assert {results[item].code for item in ("self_mask", "residual", "cross_mask", "cross_value")} == {
        "ending.exited"
    }
