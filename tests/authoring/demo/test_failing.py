"""A demo that fails leaves the folder unchanged, so it can be repeated there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autograder.app import Isolation, demo_run
from autograder.authoring.demo import course as demo_course
from autograder.cli import inspection
from autograder.core.errors import CourseError, SandboxUnavailable


def demonstrate(folder: Path, students: int = 2) -> None:
    """Run the demo command."""
    inspection.demo(students=students, folder=folder, isolation=Isolation.NONE)


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make grading fail after the course was created."""

    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(demo_run, "run_demo", refuse)


@pytest.mark.parametrize("existed", [True, False], ids=["an empty folder", "no folder"])
def test_a_failed_demo_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existed: bool
) -> None:
    """An empty folder that existed before remains empty after any error."""
    folder = tmp_path / "course"
    if existed:
        folder.mkdir()
    fail_with(OSError(28, "No space left on device"), monkeypatch)
    with pytest.raises(OSError, match="No space left"):
        demonstrate(folder)
    assert existed == folder.exists()
    assert [] == [path for path in folder.rglob("*") if existed]


def test_a_missing_checkout_is_seen_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is raised before anything is written or another class's course is removed."""
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / demo_course.MARKER).write_text("5 students, seed 9\n")
    monkeypatch.setattr("autograder.authoring.shipped_course.PARTS", ("assignments", "no such folder"))
    with pytest.raises(CourseError, match="the shipped course is missing"):
        demo_course.make_course(folder, students=2, seed=1)
    assert "5 students, seed 9\n" == (folder / demo_course.MARKER).read_text()


def test_a_half_made_course_of_another_class_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The previous class's course was replaced, so its unfinished successor is removed."""
    fail_with(SandboxUnavailable("no namespaces here"), monkeypatch)
    demo_course.make_course(tmp_path / "course", students=1, seed=1)
    with pytest.raises(SandboxUnavailable):
        demonstrate(tmp_path / "course")
    assert [] == list((tmp_path / "course").iterdir())


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SandboxUnavailable("gone")], ids=["interrupted", "failed later"]
)
def test_work_of_an_earlier_run_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Interrupted work is kept, and the same command continues it, even after a further failure."""
    folder = tmp_path / "course"
    fail_with(KeyboardInterrupt(), monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        demonstrate(folder)
    (folder / "gradebook.db").write_text("marks")
    fail_with(error, monkeypatch)
    with pytest.raises(type(error)):
        demonstrate(folder)
    assert "marks" == (folder / "gradebook.db").read_text()


def test_the_folder_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    """A folder with other files is refused and unchanged."""
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(CourseError, match="not empty and not a demo"):
        demonstrate(tmp_path)
    assert "mine" == (tmp_path / "thesis.tex").read_text()
