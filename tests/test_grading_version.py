"""Of this package `GRADING_VERSION` alone makes a class be graded again; so do versions of libraries."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.version import GRADING_VERSION, list_versions
from tests.grading.test_batch import NAME, make_course


@pytest.fixture
def assignment(tmp_path: Path) -> Assignment:
    """An assignment that preloads numpy, a module of rich and one of Python's."""
    loaded = assignments.load_assignment(make_course(tmp_path / "course"), NAME)
    settings = replace(loaded.rubric.assignment, preload=("numpy", "rich.table", "json"))
    return replace(loaded, rubric=replace(loaded.rubric, assignment=settings))


def set_distribution_version(patch: pytest.MonkeyPatch, distribution: str) -> None:
    """Let one distribution have version 99."""
    read_version = importlib.metadata.version
    patch.setattr(
        importlib.metadata, "version", lambda name: "99" if name == distribution else read_version(name)
    )


def test_raising_the_grading_version_changes_every_key(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are computed again, and so is what ran out of time."""
    environment = assignment.list_environments()[0]
    before = assignment.compute_digest(), assignment.hash_box_contents(environment)
    monkeypatch.setattr(assignments, "GRADING_VERSION", GRADING_VERSION + 1)
    assert assignment.compute_digest() != before[0]
    assert assignment.hash_box_contents(environment) != before[1]


@pytest.mark.parametrize("distribution", ["numpy", "python-flint", "torch", "rich"])
def test_digest_changes_with_the_version_of_a_library(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch, distribution: str
) -> None:
    """What answers compute with, what compares formulas, and what the rubric preloads."""
    before = assignment.compute_digest()
    set_distribution_version(monkeypatch, distribution)
    assert assignment.compute_digest() != before
    assert f"{distribution} 99" in assignment.list_versions()


def test_digest_changes_with_the_version_of_python(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Student code runs with the interpreter that grades."""
    before = assignment.compute_digest()
    monkeypatch.setattr(platform, "python_version", lambda: "3.99.0")
    assert assignment.compute_digest() != before


@pytest.mark.parametrize("distribution", ["nbgrader", "typer", "sympy", "nbexam"])
def test_digest_stays_with_other_distributions(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch, distribution: str
) -> None:
    """What is not preloaded decides nothing, and this package counts by `GRADING_VERSION` alone."""
    before = assignment.compute_digest()
    set_distribution_version(monkeypatch, distribution)
    assert assignment.compute_digest() == before


def test_module_without_distribution_counts_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module of the course that is on the path; a missing one is listed as absent."""
    module = tmp_path / "coursetools.py"
    module.write_text("VERSION = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = list_versions(("coursetools.parts",))
    module.write_text("VERSION = 2\n", encoding="utf-8")
    assert first != list_versions(("coursetools.parts",))
    assert "nowhere_to_be_found absent" in list_versions(("nowhere_to_be_found",))


def test_preloading_what_always_counts_adds_nothing() -> None:
    """Nor does a module of Python's own."""
    assert list_versions() == list_versions(("json", "numpy.linalg"))
