"""One small graded demo course for all tests of the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.running import STUDENTS, run_cold
from tests.support.made_once import made_once


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a demo course of six students, graded once. Do not change it in a test."""

    def make(folder: Path) -> None:
        done = run_cold("demo", "--students", str(STUDENTS), "--folder", str(folder))
        assert (0, "") == (done.returncode, done.stderr), done.stdout + done.stderr

    return made_once(tmp_path_factory, "course", make)


@pytest.fixture
def course(graded: Path, tmp_path: Path) -> Path:
    """Return a copy of the graded course that a test may change."""
    copy = tmp_path / "course"
    shutil.copytree(graded, copy)
    return copy
