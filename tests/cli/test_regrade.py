"""``autograder regrade``: previews in every format, and exit codes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autograder.course import Course
from tests.cli.running import only_object, run
from tests.support.made_once import made_once
from tests.support.regraded_class import NAME, accept_13, make_class

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


@pytest.fixture
def course(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Path:
    """Make a course with three graded students and a changed rubric: bob gains a quarter of a point."""
    shutil.copytree(made_once(tmp_path_factory, "regraded", make_class), tmp_path / "course")
    accept_13(Course.from_folder(tmp_path / "course"))
    return tmp_path / "course"


def test_a_trial_as_table_and_json(course: Path) -> None:
    """Table and JSON agree, and say that nothing was changed."""
    words = ("regrade", NAME, "--course", str(course), "--workers", "1")
    done = run(*words, "--dry-run")
    assert (0, "") == (done.returncode, done.stderr)
    assert "3 students: 1 gain, 0 lose, nothing changes for 2" in done.stdout
    assert "different now: rubric, layers.number: mistake changed" in done.stdout
    assert "nothing was changed" in done.stdout
    assert "3.5 → 3.75" in done.stdout
    report = only_object(run(*words, "--json").stdout)
    assert (1, 0.25, False) == (len(report["moved"]), report["moved"][0]["by"], report["applied"])


def test_published_marks_are_refused_and_then_moved(course: Path) -> None:
    """Exit code 3 if marks were published; with both options 0, and the next pages show the change."""
    words = ("regrade", NAME, "--course", str(course), "--workers", "1", "--apply")
    feedback = ("feedback", NAME, "--course", str(course))
    applied = only_object(run(*words, "--json").stdout)
    assert (True, 16) == (applied["applied"], len(applied["entry"]))
    assert 0 == run(*feedback, "--publish").returncode
    path = course / "rubrics" / f"{NAME}.toml"
    path.write_text(path.read_text().replace("when = 13\npoints = 0.75", "when = 13\npoints = 0.5"))
    refused = run(*words)
    assert 3 == refused.returncode
    assert "bob was shown 3.75 of 13" in refused.stderr
    assert 1 == run(*feedback).returncode
    assert 0 == run(*words, "--published", "--reason", "A slip of ours.").returncode
    assert 0 == run(*feedback, "--language", "en").returncode
    page = course / "feedback" / "bob" / NAME / f"{NAME}.html"
    assert "Reason: A slip of ours." in page.read_text("utf-8")
    assert 2 == run(*words, "--dry-run").returncode
