"""Only `GRADING_VERSION` and versions of libraries cause a class to be graded again."""

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
    """Return an assignment that preloads numpy, a module of rich and one of the standard library."""
    loaded = assignments.load_assignment(make_course(tmp_path / "course"), NAME)
    settings = replace(loaded.rubric.assignment, preload=("numpy", "rich.table", "json"))
    return replace(loaded, rubric=replace(loaded.rubric, assignment=settings))


def set_distribution_version(patch: pytest.MonkeyPatch, distribution: str) -> None:
    """Set the version of a distribution to 99."""
    read_version = importlib.metadata.version
    patch.setattr(
        importlib.metadata, "version", lambda name: "99" if name == distribution else read_version(name)
    )


def test_raising_the_grading_version_changes_every_key(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new grading version changes the keys of results and of cached timeouts."""
    environment = assignment.list_environments()[0]
    before = assignment.compute_digest(), assignment.hash_box_contents(environment)
    monkeypatch.setattr(assignments, "GRADING_VERSION", GRADING_VERSION + 1)
    assert assignment.compute_digest() != before[0]
    assert assignment.hash_box_contents(environment) != before[1]


@pytest.mark.parametrize("distribution", ["numpy", "python-flint", "torch", "rich"])
def test_digest_changes_with_the_version_of_a_library(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch, distribution: str
) -> None:
    """Libraries of answers, of formula comparison and of the rubric's preload are included."""
    before = assignment.compute_digest()
    set_distribution_version(monkeypatch, distribution)
    assert assignment.compute_digest() != before
    assert f"{distribution} 99" in assignment.list_versions()


def test_digest_changes_with_the_version_of_python(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Student code runs with the grader's interpreter."""
    before = assignment.compute_digest()
    monkeypatch.setattr(platform, "python_version", lambda: "3.99.0")
    assert assignment.compute_digest() != before


@pytest.mark.parametrize("distribution", ["nbgrader", "typer", "sympy", "nbexam"])
def test_digest_stays_with_other_distributions(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch, distribution: str
) -> None:
    """Other distributions do not count, and this package counts only by `GRADING_VERSION`."""
    before = assignment.compute_digest()
    set_distribution_version(monkeypatch, distribution)
    assert assignment.compute_digest() == before


def test_module_without_distribution_counts_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A course module on the path counts by content; a missing one is listed as absent."""
    module = tmp_path / "coursetools.py"
    module.write_text("VERSION = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = list_versions(("coursetools.parts",))
    module.write_text("VERSION = 2\n", encoding="utf-8")
    assert first != list_versions(("coursetools.parts",))
    assert "nowhere_to_be_found absent" in list_versions(("nowhere_to_be_found",))


def test_preloading_what_always_counts_adds_nothing() -> None:
    """Neither modules that are always included nor the standard library add entries."""
    assert list_versions() == list_versions(("json", "numpy.linalg"))
