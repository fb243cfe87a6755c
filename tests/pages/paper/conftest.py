"""Sheets of the exam, rendered once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder import rubric as rubrics
from autograder.course import Course
from autograder.grading import release_generation
from autograder.pages.paper.sheet import make_sheet, render_sheet
from autograder.rubric import Rubric

ROOT = Path(__file__).parents[3]
EXAM = "dl4nlp-exam"
COURSE = Course.from_folder(ROOT)


@pytest.fixture(scope="session")
def exam() -> Rubric:
    """Return the exam's rubric."""
    return rubrics.load_rubric(COURSE.locate_rubric(EXAM))


@pytest.fixture(scope="session")
def page(exam: Rubric) -> Callable[..., str]:
    """Return the exam's sheet in a language, for students or for graders."""
    rendered: dict[tuple[str, bool], str] = {}

    def page_of(language: str = "en", *, solutions: bool = False) -> str:
        if (language, solutions) not in rendered:
            files = release_generation.build_release_files(COURSE, exam, language)
            releases = {
                notebook.name: files[f"{notebook.name}.ipynb"] for notebook in exam.assignment.notebooks
            }
            key = release_generation.read_answer_key(COURSE, exam) if solutions else None
            rendered[language, solutions] = render_sheet(
                make_sheet(exam, releases, language=language, key=key)
            )
        return rendered[language, solutions]

    return page_of
