"""Answers in given cells, whose original text is restored."""

from __future__ import annotations

import pytest

from autograder.core.records import Cell
from autograder.notebook.release import load_release
from autograder.notebook.submission_reader import read_notebook
from tests.notebook.test_displaced_answers import (
    NAMES,
    TEXT,
    Cells,
    answer_all,
    hand_in,
    lost,
    make_cell,
    make_notebook,
    make_release,
    position,
    text_of,
    write,
)

PROMPT = "Explain why."
LINES = {
    "below the question": f"{PROMPT}\n→ {TEXT}",
    "on its line": f"{PROMPT} {TEXT}",
    "in its place": TEXT,
    "between its words": f"Explain this: {TEXT}\n(why)",
}


@pytest.mark.parametrize("is_deleted", [False, True], ids=["own cell blank", "own cell deleted"])
@pytest.mark.parametrize("lines", LINES)
def test_read_shows_an_answer_that_stands_in_a_given_text(lines: str, is_deleted: bool) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells, without=("why",))
        write(cells, "why-prompt", LINES[lines])
        if is_deleted:
            del cells[position(cells, "why")]

    submission = hand_in(change)
    assert TEXT in text_of(submission, "why")
    [given] = [cell for cell in submission.cells if cell.grade_id == "why-prompt"]
    assert given.source == PROMPT


def test_read_shows_what_was_added_to_a_given_text_beside_a_written_answer() -> None:
    def change(cells: Cells) -> None:
        answer_all(cells)
        write(cells, "why", "See above for my answer.")
        write(cells, "why-prompt", f"Explain why?\n{TEXT}")

    submission = hand_in(change)
    [place] = submission.further["why"]
    assert submission.cells[place].source == f"Explain why?\n{TEXT}"
    assert {one.message.code for one in submission.remarks} == {"notebook.given-written", "notebook.further"}


@pytest.mark.parametrize("prompt", ["Explain  why", "Explain why!"])
def test_read_takes_a_slip_in_a_given_text_for_no_answer(prompt: str) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells, without=("how",))
        write(cells, "why-prompt", prompt)

    submission = hand_in(change)
    assert not lost(submission)
    assert not submission.further


@pytest.mark.parametrize("code", ["width = 7", "width = 7\ncheck(width)"])
def test_read_leaves_an_answer_in_given_code_to_manual_review(code: str) -> None:
    """A changed given cell is never run as changed."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("width", "how"))
        write(cells, "width-check", code)

    submission = hand_in(change)
    assert lost(submission) == {"width"}
    assert "width = 7" in text_of(submission, "width")
    assert not any("width = 7" in cell.source for cell in submission.cells if isinstance(cell, Cell))


@pytest.mark.parametrize(("name", "text"), [("width", "786432"), ("why", "Order")])
def test_read_shows_one_word_that_was_added_to_a_given_text(name: str, text: str) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells, without=(name,))
        at = position(cells, f"{name}-prompt")
        cells[at]["source"] += f"\n{text}"

    assert text in text_of(hand_in(change), name)


def test_read_shows_comments_in_given_code_with_the_blank_answer_beside_it() -> None:
    def change(cells: Cells) -> None:
        answer_all(cells, without=("width", "how"))
        write(cells, "width-check", "# width = 7\ncheck('width')")

    submission = hand_in(change)
    assert lost(submission) == {"width"}
    assert "# width = 7" in text_of(submission, "width")


@pytest.mark.parametrize("code", ["check('width', tolerance=2)", "print(width)\ncheck(width)"])
def test_read_asks_nobody_about_given_code_without_an_answer(code: str) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells, without=("width", "how"))
        write(cells, "width-check", code)

    submission = hand_in(change)
    assert not lost(submission)
    assert {one.message.code for one in submission.remarks} == {"notebook.given-changed"}


@pytest.mark.parametrize("is_answered", [True, False], ids=["answered", "blank"])
def test_read_keeps_what_was_written_on_the_title_page_from_markers(is_answered: bool) -> None:
    """Text on the title page is not shown to graders, because it may contain the student's name."""
    title = make_cell("# Exam of the summer term", "title", kind="markdown")
    given = [title, *make_release()]
    cells = [title | {"source": "# Exam of Ada Lovelace, who sat in the front"}, *make_release()]
    answer_all(cells, without=() if is_answered else ("why", "how"))
    release = load_release(make_notebook(given), "exam")
    submission = read_notebook(
        make_notebook(cells), release, student="s", assignment="exam", names_asked=NAMES
    )
    assert not lost(submission)
    assert not submission.further
    assert not any("Lovelace" in cell.source for cell in submission.cells)
