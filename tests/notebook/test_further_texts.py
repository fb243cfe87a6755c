"""A student's additional texts next to non-blank written answers are shown to graders."""

from __future__ import annotations

import pytest

from tests.notebook.test_displaced_answers import (
    BLANK_TEXT,
    TEXT,
    Cells,
    answer_all,
    hand_in,
    lost,
    make_cell,
    position,
)

MORE = "It also weighs every token of the source again."
BESIDE: dict[str, tuple[dict[str, object], int, set[str]]] = {
    "behind scratch code": (make_cell(MORE, kind="markdown"), 2, {"why"}),
    "in comments": (make_cell(f"# {MORE}"), 1, {"why"}),
    "as prose in a code cell": (make_cell(f"2. Attention: {MORE}"), 1, {"why"}),
    "printed": (make_cell(f"print('{MORE}')"), 1, {"why"}),
    "as a string": (make_cell(f'"""{MORE}"""'), 1, {"why"}),
    "in a raw cell": (make_cell(MORE, kind="raw"), 2, {"why"}),
    "below the next prompt": (make_cell(MORE, kind="markdown"), 3, {"why", "how"}),
    "above its own cell": (make_cell(MORE, kind="markdown"), 0, {"why"}),
}


@pytest.mark.parametrize("case", BESIDE)
def test_read_shows_texts_of_no_answer_with_the_answers_beside_them(case: str) -> None:
    cell, offset, names = BESIDE[case]

    def change(cells: Cells) -> None:
        answer_all(cells)
        at = position(cells, "why")
        cells.insert(at + 1, make_cell("print(width)"))
        cells.insert(at + offset, cell)

    submission = hand_in(change)
    assert set(submission.further) == names
    for positions in submission.further.values():
        assert [submission.cells[place].source for place in positions] == [cell["source"]]
    assert {note.place for note in submission.notes if note.code == "further-text"} == names
    remarks = [one for one in submission.remarks if one.message.code == "notebook.further"]
    assert [one.position for one in remarks] == list(submission.further["why"])
    assert not lost(submission)
    assert submission.answers["why"].source == f"{TEXT} (why)"


@pytest.mark.parametrize(
    "source",
    ["print(width)", "# total = 3 + 4", "total = 3", "def helper(:\n    return width", "print('done')"],
    ids=["a call", "commented code", "a value", "broken code", "a short text"],
)
def test_read_takes_no_code_for_further_text(source: str) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells)
        cells.insert(position(cells, "why") + 1, make_cell(source))

    assert not hand_in(change).further


def test_read_keeps_texts_of_the_title_page_from_markers() -> None:
    """They may contain the student's name."""

    def change(cells: Cells) -> None:
        answer_all(cells)
        cells.insert(2, make_cell("I am Ada Lovelace and glad to be here.", kind="markdown"))

    assert not hand_in(change).further


@pytest.mark.parametrize("text", [BLANK_TEXT, "Explain why."])
def test_read_shows_no_given_texts_as_further_ones(text: str) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells)
        cells.append(make_cell("print(width)"))
        cells.append(make_cell(text, kind="markdown"))

    assert not hand_in(change).further


def test_read_shows_a_text_with_a_blank_answer_and_with_the_one_above() -> None:
    """It may belong to either answer."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("how",))
        at = position(cells, "why")
        cells[at + 1 : at + 1] = [make_cell("print(width)"), make_cell(MORE, kind="markdown")]

    submission = hand_in(change)
    assert lost(submission) == {"how"}
    assert MORE in submission.answers["how"].source
    assert list(submission.further) == ["why"]
