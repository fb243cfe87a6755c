"""Answers of the demo class about GPT-2 earn the stated points in real sandboxes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from decimal import Decimal

import pytest

from autograder.authoring.demo import GPT2
from autograder.authoring.demo.papers import GPT2 as ANSWERS
from autograder.authoring.demo.papers import Sample
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.grading.verify.papers import with_sources
from autograder.sandbox.pool import Pool
from tests.authoring.demo.marking import ROOT, shipped
from tests.support.thorough import sample

pytestmark = pytest.mark.long

NAME = GPT2.assignment
AUTOMATIC = {
    question.id: {item.id: item.points for item in question.items if not item.manual}
    for question in shipped(NAME).questions
    if any(not item.manual for item in question.items)
}
"""Points of the automatic items, by question."""

RIGHT, WRONG, HOSTILE = ANSWERS.right, ANSWERS.wrong, ANSWERS.hostile
TABLES = {"right": RIGHT, "wrong": WRONG, "hostile": HOSTILE}
PAPERS = [
    pytest.param(table, number, id=f"{name} {number + 1}")
    for name, table in TABLES.items()
    for number in range(max(map(len, table.values())))
]
"""The first answer to every question, the second one, and so on; short lists repeat."""


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Return the grader of a course with the assignment."""
    root = tmp_path_factory.mktemp("course")
    for folder in ("reference", f"assignments/{NAME}"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "rubrics").mkdir()
    shutil.copy(ROOT / "rubrics" / f"{NAME}.toml", root / "rubrics")
    course = Course.from_folder(root)
    generate_release(course, NAME)
    with Pool() as pool:
        yield Grader(assignments.load_assignment(course, NAME), pool)


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(("table", "number"), sample(PAPERS, 9))
def test_every_answer_earns_what_it_says(
    grader: Grader, table: Mapping[str, tuple[Sample, ...]], number: int
) -> None:
    """Sixteen answers, including hostile ones, are graded together without manual review."""
    paper = {question: samples[number % len(samples)] for question, samples in table.items()}
    release = grader.assignment.release_bytes[NAME]
    sources = {f"{question}-answer": sample.source for question, sample in paper.items()}
    graded = grader.grade(SubmittedFiles("student", {NAME: with_sources(release, sources)}))
    earned = {f"{one.question}.{one.item}": one.points for one in graded.score.items}
    expected = {
        f"{question}.{item}": points
        for question, sample in paper.items()
        for item, points in sample.points.items()
    }
    assert expected == {place: earned[place] for place in expected}


def test_every_question_has_a_dozen_different_answers() -> None:
    """Right answers in several styles, named mistakes, and hostile code."""
    assert list(AUTOMATIC) == list(RIGHT) == list(WRONG) == list(HOSTILE)
    for question, full in AUTOMATIC.items():
        samples = (*RIGHT[question], *WRONG[question], *HOSTILE[question])
        assert len({sample.source for sample in samples}) == len(samples) >= 12
        assert (len(RIGHT[question]), len(WRONG[question])) >= (3, 4)
        assert all(full == dict(sample.points) and not sample.portrait for sample in RIGHT[question])
        assert all(set(full) == set(sample.points) for sample in samples)
        assert all(sample.earned < sum(full.values()) for sample in WRONG[question])
        assert {Decimal(0)} == {sample.earned for sample in HOSTILE[question]}
        assert all(sample.portrait for sample in samples[len(RIGHT[question]) :])
