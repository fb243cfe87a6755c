"""Notebooks that were collected into the wrong place are told, and so is that there are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autograder import rubric as rubrics
from autograder.app.roll import find_misplaced_notebooks
from autograder.authoring import start_assignment
from autograder.course import Course
from autograder.grading import generate
from tests.cli.running import run

NAME = "sheet"


def misplaced(course: Course, name: str) -> list[str]:
    """What is told about an assignment with one notebook of its name."""
    return find_misplaced_notebooks(course, rubrics.load_rubric(course.locate_rubric(name)), [name])


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with a released assignment and an empty folder of submissions."""
    start_assignment(tmp_path, NAME, ["written"])
    made = Course.from_folder(tmp_path)
    generate.generate_release(made, NAME)
    (tmp_path / "submitted").mkdir()
    return made


def put(course: Course, place: str) -> None:
    """Something that looks like a notebook."""
    path = course.root / "submitted" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")


@pytest.mark.parametrize(
    "place",
    [
        "sheet.ipynb",
        "ada/sheet.ipynb",
        "ada/sheet_ada.ipynb",
        "ada/sheet/sheet.ipynb.bak",
        "ada/sheet/hw1.html",
        "ada/sheet/notes.docx",
        "ada/sheet/sheet.rar",
    ],
)
def test_a_notebook_elsewhere_is_told(course: Course, place: str) -> None:
    """Where it lies, and where it is looked for."""
    put(course, place)
    (sentence,) = misplaced(course, NAME)
    assert sentence.startswith(f"submitted/{place} is not graded; expected submitted/")
    assert "/sheet/sheet.ipynb" in sentence


@pytest.mark.parametrize(
    "place",
    [
        "ada/sheet/sheet.ipynb",
        "ada/sheet/sheet (1).ipynb",
        "ada/sheet/WMS hw.ipynb",
        "ada/sheet/inner/sheet.ipynb",
        "ada/other/other.ipynb",
        "ada/other.ipynb",
    ],
)
def test_what_is_in_its_place_or_another_assignments_is_not(course: Course, place: str) -> None:
    """The only notebook is taken, whatever it is called, and other assignments are another matter."""
    put(course, place)
    put(course, "bob/sheet/sheet.ipynb")
    put(course, "bob/sheet/plot.png")
    assert [] == misplaced(course, NAME)


@pytest.mark.sandbox
def test_grading_nothing_says_so(course: Course) -> None:
    """An empty table alone would look like success; the place that is looked into is named."""
    put(course, "ada/sheet.ipynb")
    done = run("grade", NAME, cwd=course.root)
    assert 1 == done.returncode
    assert "nothing was handed in; expected submitted/<student>/sheet/sheet.ipynb" in done.stderr
    assert "submitted/ada/sheet.ipynb is not graded" in done.stderr


def test_pages_without_marks_are_refused(course: Course) -> None:
    """Before anything was graded there are none, and no empty gradebook is left behind."""
    done = run("feedback", NAME, cwd=course.root)
    assert 3 == done.returncode
    assert "there is no gradebook yet; run: autograder grade sheet" in done.stderr
    assert not course.gradebook.exists()


def test_pages_in_a_language_that_nobody_wrote_are_refused(course: Course) -> None:
    """They would be in English without a word."""
    done = run("feedback", NAME, "--language", "fr", cwd=course.root)
    assert 3 == done.returncode
    assert "--language: expected one of en, got 'fr'" in done.stderr


def test_a_folder_that_cannot_be_entered_hides_no_other(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive may bring folders without rights: that is told, and whoever comes after it as well."""
    for place in ("ada/sheet/hw1.html", "bob/sheet/sheet.ipynb", "cleo/sheet/hw1.html"):
        put(course, place)
    original = os.scandir

    def scandir(path: str | Path) -> object:
        if str(path).endswith("/bob"):
            raise PermissionError(13, "Permission denied")
        return original(path)

    monkeypatch.setattr(os, "scandir", scandir)
    first, second, third = misplaced(course, NAME)
    assert first.startswith("submitted/ada/sheet/hw1.html is not graded")
    assert "submitted/bob cannot be looked at: Permission denied; change its rights" == second
    assert third.startswith("submitted/cleo/sheet/hw1.html is not graded")
