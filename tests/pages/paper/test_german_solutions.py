"""The German solution sheet is German except for code."""

from __future__ import annotations

import pytest

from autograder.core.wording import get_text
from autograder.grading import release_generation
from autograder.notebook.release import load_release
from autograder.pages.feedback.prose import render_prose
from autograder.pages.paper.sheet import make_sheet, render_sheet
from autograder.questions.base.judging.manual import Examples, read_manual_options
from autograder.rubric import load_rubric
from tests.pages.paper.conftest import COURSE
from tests.pages.paper.test_sheet import plain


@pytest.mark.parametrize("name", ["dl4nlp-exam", "gpt2"])
def test_graders_read_guides_in_their_language(name: str) -> None:
    """All guides, examples and written answers of the German sheet are German."""
    rubric = load_rubric(COURSE.locate_rubric(name))
    files = release_generation.build_release_files(COURSE, rubric, "de")
    releases = {notebook.name: files[f"{notebook.name}.ipynb"] for notebook in rubric.assignment.notebooks}
    sheet = make_sheet(
        rubric, releases, language="de", key=release_generation.read_answer_key(COURSE, rubric)
    )
    shown = plain(render_sheet(sheet))
    texts = 0
    for question in rubric.questions:
        for item in question.items:
            options = read_manual_options(question, item)
            examples = options.examples or Examples("", "")
            for text in filter(None, (options.guide, examples.full, examples.half, examples.none)):
                english, german = (plain(str(render_prose(get_text(text, which)))) for which in ("en", "de"))
                assert german in shown
                assert english not in shown
                texts += 1
    assert texts > 25
    answers = [
        cell
        for data in release_generation.read_answer_key(COURSE, rubric).values()
        for cell in load_release(data, "key").cells
        if cell.is_answer and cell.cell_type == "markdown"
    ]
    assert answers
    for cell in answers:
        english, mark, german = cell.source.partition("\n<!-- de -->\n")
        assert mark
        assert plain(str(render_prose(german))) in shown
        assert plain(str(render_prose(english))) not in shown
