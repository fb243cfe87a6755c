"""Sample answers of the demo class earn the points that the demo states."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from decimal import Decimal

import nbformat
import numpy as np
import pytest

from autograder.authoring.demo import papers
from autograder.authoring.demo.papers import Sample, format_assignment
from autograder.core.errors import NotebookError
from autograder.core.records import ItemResult
from tests.authoring.demo.marking import automatic, exam, marks, released

RIGHT, WRONG = papers.ANSWERS.right, papers.ANSWERS.wrong
RIGHT_WIDE_MLP = RIGHT["task3-h"][0].source


@functools.cache
def cells() -> Mapping[str, str]:
    """Return the released exam's cells by grade_id."""
    return {
        cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source
        for cell in nbformat.reads(released().decode(), as_version=4).cells
    }


def samples(*tables: Mapping[str, tuple[Sample, ...]]) -> list[object]:
    """Return test parameters: question and sample."""
    return [
        pytest.param(question, sample, id=f"{question}-{sample.portrait or number}")
        for table in tables
        for question, written in table.items()
        for number, sample in enumerate(written, start=1)
    ]


def earlier(question: str) -> dict[str, ItemResult]:
    """Return a right answer to (h), from which (i) may be derived."""
    if question != "task3-i":
        return {}
    return {f"task3-h.{item}": result for item, result in marks("task3-h", RIGHT_WIDE_MLP).items()}


@pytest.mark.slow
@pytest.mark.parametrize(("question", "sample"), samples(RIGHT, WRONG))
def test_every_sample_earns_what_it_says(question: str, sample: Sample) -> None:
    """The rubric gives each sample answer exactly the stated points."""
    assert dict(sample.points) == automatic(marks(question, sample.source, earlier=earlier(question)))


@pytest.mark.slow
@pytest.mark.parametrize("later", [question for question in WRONG if question.startswith("task3-")])
def test_two_wrong_samples_earn_what_the_demo_foresees(later: str) -> None:
    """An answer derived from a wrong earlier one earns more only if the data says so."""
    sheet = [question for question in papers.QUESTIONS if question.startswith("task3-")]
    before = sheet[: sheet.index(later)]
    if later == "task3-i":
        before.remove("task3-h")  # samples of (i) already assume a wrong (h)
    right = {question: marks(question, RIGHT[question][0].source) for question in sheet[: sheet.index(later)]}
    differ = {}
    for question in before:
        for first in WRONG[question]:
            both = right | {question: marks(question, first.source)}
            results = {f"{name}.{item}": one for name, found in both.items() for item, one in found.items()}
            for second in WRONG[later]:
                earned = automatic(marks(later, second.source, earlier=results))
                if earned != {
                    **second.points,
                    **papers.CONSISTENT.get((first.portrait, second.portrait), {}),
                }:
                    differ[first.portrait, second.portrait] = earned
    assert differ == {}


def test_right_answers_earn_all_automatic_points() -> None:
    """Each right sample earns the full points of every automatic item."""
    for question, written in RIGHT.items():
        full = {item.id: item.points for item in exam().get_question(question).items if not item.manual}
        assert [full] * len(written) == [dict(sample.points) for sample in written]


@pytest.mark.parametrize(("question", "sample"), samples(WRONG))
def test_wrong_answers_lose_points_and_have_a_portrait(question: str, sample: Sample) -> None:
    """A wrong sample earns less than the automatic points, and describes its mistake."""
    full = sum(item.points for item in exam().get_question(question).items if not item.manual)
    assert sample.earned < full
    assert sample.portrait


@pytest.mark.parametrize("misconception", sorted(papers.CARRIED))
def test_a_misconception_of_h_costs_nothing_in_i(misconception: str) -> None:
    """Deriving (i) correctly from a wrong (h) earns all points of (i)."""
    wide = next(sample for sample in WRONG["task3-h"] if sample.portrait == misconception)
    own = {f"task3-h.{item}": result for item, result in marks("task3-h", wide.source).items()}
    source = format_assignment("changed_model_parameters", papers.CARRIED[misconception])
    assert {"formula": Decimal(2)} == automatic(marks("task3-i", source, earlier=own))


@pytest.mark.parametrize("wide", WRONG["task3-h"], ids=lambda wide: wide.portrait)
def test_the_right_model_is_right_whatever_h_was(wide: Sample) -> None:
    """A right (i) earns all points even after a wrong (h)."""
    own = {f"task3-h.{item}": result for item, result in marks("task3-h", wide.source).items()}
    source = RIGHT["task3-i"][0].source
    assert {"formula": Decimal(2)} == automatic(marks("task3-i", source, earlier=own))


def test_the_release_holds_every_text_that_repairs_change() -> None:
    """The text of each fault occurs exactly once in the released listing."""
    listing = papers.extract_listing(cells()["task5-a-answer"])
    assert [listing.count(repair.given) for repair in papers.REPAIRS.values()] == [1] * 8


def test_a_cell_without_the_listing_is_refused() -> None:
    """A cell of another notebook raises an error that names the fault whose text is missing."""
    with pytest.raises(NotebookError, match="no stub"):
        papers.extract_listing("x = 1")
    with pytest.raises(NotebookError, match="self_mask"):
        papers.extract_listing(cells()["task5-a-answer"].replace("(x, x, x, memory_mask)", "(x)"))


@pytest.mark.parametrize("way", range(6))
def test_repairs_earn_a_point_for_each_fault(way: int) -> None:
    """All eight repairs earn eight points in every variant."""
    listing = papers.extract_listing(cells()["task5-a-answer"])
    sample = papers.repair_listing(listing, papers.REPAIRS, way)
    earned = automatic(marks("task5-a", sample.source, given=cells()["task5-a-given"]))
    assert dict.fromkeys(papers.REPAIRS, Decimal(1)) == dict(sample.points) == earned


@pytest.mark.parametrize("misconception", sorted(papers.MISCONCEPTIONS))
def test_a_misconception_loses_the_point_of_its_fault(misconception: str) -> None:
    """Seven repairs and one ineffective change earn seven points."""
    listing = papers.extract_listing(cells()["task5-a-answer"])
    sample = papers.repair_listing(
        listing, [fault for fault in papers.REPAIRS if fault != misconception], misconception=misconception
    )
    expected = {fault: Decimal(int(fault != misconception)) for fault in papers.REPAIRS}
    assert expected == automatic(marks("task5-a", sample.source, given=cells()["task5-a-given"]))


@pytest.mark.slow
@pytest.mark.parametrize("level", [papers.EXCELLENT, papers.GOOD, papers.MIDDLING, papers.WEAK])
def test_whole_papers_earn_what_they_say(level: papers.Level) -> None:
    """With carried mistakes, a complete submission earns exactly its stated points."""
    listing = papers.extract_listing(cells()["task5-a-answer"])
    generator = np.random.default_rng(11)
    for _ in range(3):
        paper = papers.write_paper(level, listing, generator)
        before: dict[str, ItemResult] = {}
        earned: dict[str, Decimal] = {}
        for question in papers.QUESTIONS:
            source = paper.sources.get(f"{question}-answer")
            if source is None:
                continue
            given = cells()["task5-a-given"] if question == "task5-a" else ""
            found = marks(question, source, given=given, earlier=before)
            before |= {f"{question}.{item}": result for item, result in found.items()}
            earned |= {f"{question}.{item}": mark for item, mark in automatic(found).items()}
        assert dict(paper.points) == {item: earned.get(item, Decimal(0)) for item in paper.points}
