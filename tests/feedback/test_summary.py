"""The staff's page tells every student's state and notes, and escapes what students wrote."""

from __future__ import annotations

from autograder.feedback import render_summary
from tests.feedback.examples import RUBRIC, good, hostile, middling
from tests.feedback.test_render import Page


def test_every_student_has_a_row() -> None:
    """A row holds points, open points, statuses, how cells ended the run, and the notes for staff."""
    text = Page(render_summary([good(), middling()], RUBRIC)).text
    row = text[text.index("grace") :]
    for words in ("8.5 1", "✓ 6 passed", "✕ 5 not passed", "○ 1 no answer", "⋯ 1 under review", "cell-time"):
        assert words in row
    assert "mha: staff only: a remark" in row
    assert "Mean: 12.25 of 17" in text


def test_nothing_of_a_student_becomes_markup() -> None:
    """A hostile name is text, and weaker isolation is told."""
    page = Page(render_summary([hostile()], RUBRIC))
    assert "script" not in {tag for tag, _ in page.elements}
    assert "</title><script>alert(1)</script>" in page.text
    assert "isolation: reduced" in page.text


def test_a_run_without_students_is_an_empty_table() -> None:
    """No results give a page without rows."""
    assert "Students: 0 Mean: 0 of 17" in Page(render_summary([], RUBRIC)).text
