"""The staff page shows each student's status and notes, and escapes student text."""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from autograder.core.records import Note, Status
from autograder.pages.feedback.summary import render_summary
from tests.pages.examples import RUBRIC, good, hostile, middling
from tests.pages.test_render import Page


def test_every_student_has_a_row() -> None:
    """A row contains points, open points, statuses, endings of the run, and notes for staff."""
    text = Page(render_summary([good(), middling()], RUBRIC)).text
    row = text[text.index("grace") :]
    for words in (
        "8.5 1",
        "✓ 6 passed",
        "✕ 5 not passed",
        "○ 1 no answer",
        "⋯ 1 in manual review",
        "cell-time",
    ):
        assert words in row
    assert "noted of several: 1" in row
    assert "mha: staff only: a remark 2 students: ada, grace" in text
    assert "mha: staff only: a remark" in Page(render_summary([middling()], RUBRIC)).text
    assert "Mean: 12.25 of 17" in text


def test_the_same_note_about_many_cells_is_one_line() -> None:
    """A note about many cells is one line; a note about one cell begins with its name."""
    notes = (
        *(Note("cell-restored", "Put back.", f"q{number}") for number in range(30)),
        Note("x", "Odd.", "z"),
    )
    graded = replace(good(), score=replace(good().score, notes=notes))
    text = Page(render_summary([graded], RUBRIC)).text
    assert 1 == text.count("Put back.")
    assert "Put back. (30 places: q0, q1," in text
    assert "z: Odd." in text


def test_why_points_wait_is_told() -> None:
    """The reason for manual review is shown at the student, once for equal reasons."""
    items = tuple(
        replace(result, status=Status.NEEDS_REVIEW, points=Decimal(0), staff="odd in loss 1")
        if result.question == "mha"
        else result
        for result in good().score.items
    )
    graded = replace(good(), score=replace(good().score, items=items))
    text = Page(render_summary([graded], RUBRIC)).text
    assert "needs manual review: odd in loss 1 (2 places: mha, plain, mha, masked)" in text


def test_a_remark_beside_a_verdict_is_told_once() -> None:
    """A remark is shown once, even for passed items; for open items it is part of the reason."""
    items = tuple(
        replace(result, remark="is an <object>", status=status)
        for result, status in zip(
            good().score.items, (*3 * [Status.PASSED], Status.NEEDS_REVIEW), strict=False
        )
    )
    graded = replace(good(), score=replace(good().score, items=items))
    text = Page(render_summary([graded], RUBRIC)).text
    assert 1 == text.count("remark: is an <object>")
    assert "remark: is an <object> (2 places: task3-b, task3-f)" in text
    waiting = replace(good(), score=replace(good().score, items=items[3:]))
    assert "remark: " not in Page(render_summary([waiting], RUBRIC)).text


def test_nothing_of_a_student_becomes_markup() -> None:
    """A hostile name is shown as text, and weaker isolation is reported."""
    page = Page(render_summary([hostile()], RUBRIC))
    assert [{}] == [attributes for tag, attributes in page.elements if tag == "script"]
    assert "</title><script>alert(1)</script>" in page.text
    assert "isolation: none" in page.text


def test_many_notes_of_one_kind_are_one_line_behind_the_others() -> None:
    """Notes of one kind about many cells are grouped after the more important notes."""
    lost = [Note("found-by-text", f"Cell {number} carries another id.", f"q{number}") for number in range(60)]
    notes = (*lost, Note("limit-met", "A limit was met.", "q3"))
    score = replace(middling().score, notes=notes)
    text = Page(render_summary([replace(middling(), score=score)], RUBRIC)).text
    assert text.index("A limit was met.") < text.index("Cell 0 carries another id.")
    assert "(60 remarks of this kind: found-by-text)" in text
    assert "Cell 7 carries" not in text
