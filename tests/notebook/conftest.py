"""The small exam, which the notebooks in tests/submissions/notebooks answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder import rubric as rubrics
from autograder.notebook.release import Release, load_release
from autograder.rubric import Rubric

COURSE = Path(__file__).parents[1] / "submissions" / "notebooks" / "_course"


@pytest.fixture(scope="session")
def rubric() -> Rubric:
    """Return the small exam's rubric."""
    return rubrics.load_rubric(COURSE / "rubric.toml")


@pytest.fixture(scope="session")
def source_bytes() -> bytes:
    """Return the small exam with solutions."""
    return (COURSE / "source.ipynb").read_bytes()


@pytest.fixture(scope="session")
def release_bytes() -> bytes:
    """Return the small exam as released to students."""
    return (COURSE / "release.ipynb").read_bytes()


@pytest.fixture(scope="session")
def release(release_bytes: bytes) -> Release:
    """Return the small exam's release."""
    return load_release(release_bytes, "small-exam")
