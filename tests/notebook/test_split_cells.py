"""Split, copied, merged and moved cells: all student code is run or shown, and students get a message."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from autograder.core.records import Cell, Submission
from autograder.notebook.cell_matching import LOST
from autograder.notebook.release import Release
from autograder.notebook.submission_reader import read_notebook

Cells = list[dict[str, Any]]
RIGHT = "def double(x):\n    return 2 * x"
OTHER = "def double(x):\n    return x + x"
HELPER = "def twice(x):\n    return 2 * x"
CALLS = "def double(x):\n    return twice(x)"


@pytest.fixture(params=["with cell ids", "re-saved without cell ids"])
def has_ids(request: pytest.FixtureRequest) -> bool:
    """Return whether cells have ids, as since nbformat 4.5."""
    return request.param == "with cell ids"


@pytest.fixture
def hand_in(release: Release, release_bytes: bytes, has_ids: bool) -> Callable[..., Submission]:
    """Return a function that reads the release after a change to its cells, with or without cell ids."""

    def read_changed(change: Callable[[Cells], object]) -> Submission:
        tree = json.loads(release_bytes)
        change(tree["cells"])
        if not has_ids:
            tree["nbformat_minor"] = 4
            for cell in tree["cells"]:
                cell.pop("id", None)
        return read_notebook(json.dumps(tree).encode(), release, student="s", assignment="a")

    return read_changed


def place(cells: Cells, grade_id: str) -> int:
    """Return the index of the first cell with a grade_id."""
    return next(at for at, cell in enumerate(cells) if marks(cell) == grade_id)


def marks(cell: dict[str, Any]) -> str:
    """Return the grade_id of a cell."""
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def split(cells: Cells, grade_id: str, *sources: str, original: int = 0) -> None:
    """Split an answer into several cells with the same metadata; one of them keeps the cell id."""
    at = place(cells, grade_id)
    halves = [{**copy.deepcopy(cells[at]), "source": source} for source in sources]
    for number, half in enumerate(halves):
        if number != original:
            half["id"] = f"{grade_id}-{number}"
    cells[at : at + 1] = halves


def merge(cells: Cells, first: int, count: int) -> None:
    """Merge cells as JupyterLab does: the first one keeps its metadata."""
    sources = ["".join(cell["source"]) for cell in cells[first : first + count]]
    cells[first : first + count] = [{**cells[first], "source": "\n\n".join(sources)}]


def run(submission: Submission) -> list[str]:
    """Return the sources of the cells that are run."""
    return [cell.source for cell in submission.cells if isinstance(cell, Cell)]


def asked(submission: Submission) -> set[str]:
    """Return the answers that need manual review."""
    return {note.place for note in submission.notes if note.code == LOST}


def told(submission: Submission) -> set[str]:
    """Return the codes of the messages to the student."""
    return {remark.message.code for remark in submission.remarks}


@pytest.mark.parametrize("original", [0, 1], ids=["first half keeps the id", "second half keeps the id"])
@pytest.mark.parametrize(
    "halves", [(HELPER, CALLS), (CALLS, HELPER), ("", RIGHT), (RIGHT, "double(2)")], ids=repr
)
def test_read_runs_both_halves_of_a_split_answer(
    halves: tuple[str, str], original: int, hand_in: Callable[..., Submission]
) -> None:
    """A helper in one half is run, and the answer consists of both halves in order."""
    found = hand_in(lambda cells: split(cells, "double-answer", *halves, original=original))
    written = [half for half in halves if half]
    assert [source for source in run(found) if source in written] == written
    assert "\n\n".join(written) == found.answers["double-answer"].source
    assert found.answers["double-answer"].changed
    assert not asked(found)
    assert told(found) == ({"notebook.together"} if len(written) > 1 else set())


def test_read_takes_the_original_below_a_first_attempt(
    hand_in: Callable[..., Submission], has_ids: bool
) -> None:
    """The release's cell id identifies the answer; without ids, both cells need manual review."""
    found = hand_in(lambda cells: split(cells, "double-answer", OTHER, RIGHT, original=1))
    assert [source for source in run(found) if source in (OTHER, RIGHT)] == [OTHER, RIGHT]
    assert f"{OTHER}\n\n{RIGHT}" == found.answers["double-answer"].source
    assert asked(found) == (set() if has_ids else {"double-answer"})
    assert told(found) == {"notebook.together" if has_ids else "notebook.unsure"}


@pytest.mark.parametrize(
    ("halves", "code"),
    [
        ((RIGHT, OTHER), "notebook.unsure"),
        (("def double(x):\n    y = 2 * x", "    return y"), "notebook.unsure.split"),
        (
            ("class A:\n    x = 1", "    def f(self): pass\ndef double(x):\n    return 2 * x"),
            "notebook.unsure.split",
        ),
    ],
    ids=["another answer below the original", "split within a function", "split within a class"],
)
def test_read_leaves_contradicting_halves_to_a_person(
    halves: tuple[str, str], code: str, hand_in: Callable[..., Submission]
) -> None:
    """Contradicting halves are all run and need manual review; each cell gets a message to the student."""
    found = hand_in(lambda cells: split(cells, "double-answer", *halves))
    assert [source for source in run(found) if source in halves] == list(halves)
    assert "\n\n".join(halves) == found.answers["double-answer"].source
    assert {"double-answer"} == asked(found)
    assert [code] * 2 == [remark.message.code for remark in found.remarks]


def test_read_takes_equal_copies_for_one_answer(hand_in: Callable[..., Submission]) -> None:
    """A cell that was pasted a second time is not a contradiction."""
    found = hand_in(lambda cells: split(cells, "double-answer", RIGHT, RIGHT))
    assert RIGHT == found.answers["double-answer"].source
    assert not asked(found)


def test_read_runs_a_copy_that_serves_as_a_helper_elsewhere(hand_in: Callable[..., Submission]) -> None:
    """A cell copied to another question is run there and is not part of its original answer."""
    helper = "batch = 2"

    def change(cells: Cells) -> None:
        cells[place(cells, "double-answer")]["source"] = RIGHT
        other = place(cells, "shape-answer")
        cells[other]["source"] = "score_shape = (batch, 8, 128, 128)"
        cells.insert(
            other, {**copy.deepcopy(cells[place(cells, "double-answer")]), "source": helper, "id": "x"}
        )

    found = hand_in(change)
    sources = run(found)
    assert sources.index(helper) + 1 == sources.index("score_shape = (batch, 8, 128, 128)")
    assert RIGHT == found.answers["double-answer"].source
    assert not asked(found)
    assert {"notebook.apart"} == told(found)


def test_read_finds_an_answer_in_another_questions_copied_cell(hand_in: Callable[..., Submission]) -> None:
    """An empty cell copied to another question and filled in there answers that question."""
    written = "score_shape = (2, 8, 128, 128)"

    def change(cells: Cells) -> None:
        taken = copy.deepcopy(cells[place(cells, "double-answer")])
        cells.insert(place(cells, "shape-answer") + 1, {**taken, "source": written, "id": "x"})

    found = hand_in(change)
    assert written == found.answers["shape-answer"].source
    assert not found.answers["double-answer"].changed
    assert written in run(found)


def test_read_does_not_run_an_untouched_copy(hand_in: Callable[..., Submission]) -> None:
    """An untouched copy of the stub would overwrite the answer's definition."""
    stub = "def double(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
    found = hand_in(lambda cells: split(cells, "double-answer", RIGHT, stub))
    assert RIGHT in run(found)
    assert stub not in run(found)


@pytest.mark.parametrize("original", [0, 1], ids=["first half keeps the id", "second half keeps the id"])
def test_read_joins_the_halves_of_a_written_answer(original: int, hand_in: Callable[..., Submission]) -> None:
    """Manual review shows the whole text, even if one half was turned into code."""
    found = hand_in(lambda cells: split(cells, "essay", "Because of", "the variance.", original=original))
    assert "Because of\n\nthe variance." == found.answers["essay"].source
    assert ["Because of", "the variance."] == [
        found.cells[position].source for position in found.answer_cells["essay"]
    ]
    assert {"notebook.together"} == told(found)


def test_read_keeps_the_pictures_of_both_halves_apart(hand_in: Callable[..., Submission]) -> None:
    """JupyterLab names every pasted picture image.png; the joined text shows the picture of each half."""

    def change(cells: Cells) -> None:
        split(cells, "essay", "First ![](attachment:image.png)", "then ![](attachment:image.png)")
        halves = [cell for cell in cells if marks(cell) == "essay"]
        for cell, data in zip(halves, ("QUFB", "QkJC"), strict=True):
            cell["attachments"] = {"image.png": {"image/png": data}}

    found = hand_in(change)
    shown = [found.cells[position] for position in found.answer_cells["essay"]]
    pictures = {picture.name: picture.data for cell in shown for picture in getattr(cell, "pictures", ())}
    assert sorted(pictures.values()) == ["QUFB", "QkJC"]
    assert all(f"attachment:{name})" in found.answers["essay"].source for name in pictures)


def test_read_continues_a_written_answer_in_the_text_cell_below(hand_in: Callable[..., Submission]) -> None:
    """A new text cell below an answer continues it."""

    def change(cells: Cells) -> None:
        at = place(cells, "formula-why")
        cells[at]["source"] = "It maps"
        cells.insert(at + 1, {"cell_type": "markdown", "metadata": {}, "source": "a vector.", "id": "own"})

    assert "It maps\n\na vector." == hand_in(change).answers["formula-why"].source


@pytest.mark.parametrize("count", [2, 3], ids=["with the task", "with the task and the cell above"])
def test_read_finds_an_answer_merged_into_given_cells(count: int, hand_in: Callable[..., Submission]) -> None:
    """The given text comes from the release; the text below it is the answer."""

    def change(cells: Cells) -> None:
        at = place(cells, "essay")
        cells[at]["source"] = "Because of the variance."
        merge(cells, at - count + 1, count)

    found = hand_in(change)
    assert "Because of the variance." == found.answers["essay"].source.rpartition("\n\n")[2]
    assert found.answers["essay"].changed


def test_read_runs_an_answer_merged_into_a_given_code_cell(hand_in: Callable[..., Submission]) -> None:
    """A student's code below the code of a given cell is run; the given part comes from the release."""

    def change(cells: Cells) -> None:
        given = place(cells, "given")
        cells[place(cells, "double-answer")]["source"] = RIGHT
        cells.insert(given + 1, cells.pop(place(cells, "double-answer")))
        merge(cells, given, 2)

    found = hand_in(change)
    assert RIGHT in run(found)
    assert RIGHT == found.answers["double-answer"].source


def test_read_finds_an_answer_merged_into_another_answer(hand_in: Callable[..., Submission]) -> None:
    """The answer is recognised by its names; the task between the two cells comes from the release."""

    def change(cells: Cells) -> None:
        cells[place(cells, "double-answer")]["source"] = RIGHT
        cells[place(cells, "formula-answer")]["source"] = 'projection_size = "d_model**2"'
        first = place(cells, "formula-answer")
        cells.insert(first + 1, cells.pop(place(cells, "double-answer")))
        merge(cells, first, 2)

    found = hand_in(change)
    assert found.answers["double-answer"].changed
    assert RIGHT in found.answers["double-answer"].source
    assert 'projection_size = "d_model**2"' in found.answers["formula-answer"].source


def test_read_keeps_a_split_answer_that_was_moved(hand_in: Callable[..., Submission]) -> None:
    """Both halves, moved to the top of the notebook, are run there and joined."""

    def change(cells: Cells) -> None:
        split(cells, "double-answer", HELPER, CALLS)
        at = place(cells, "double-answer")
        moved = cells[at : at + 2]
        del cells[at : at + 2]
        cells[2:2] = moved

    found = hand_in(change)
    assert f"{HELPER}\n\n{CALLS}" == found.answers["double-answer"].source
    assert [HELPER, CALLS] == [source for source in run(found) if source in (HELPER, CALLS)]


def test_read_takes_no_half_of_a_given_text_for_an_answer(hand_in: Callable[..., Submission]) -> None:
    """Splitting the prompt above an unanswered cell does not answer it."""

    def change(cells: Cells) -> None:
        split(cells, "essay-prompt", "## 4. Why are the scores", "divided by a square root?")

    found = hand_in(change)
    assert not found.answers["essay"].changed
    assert "notebook.given-changed" in told(found)


def test_read_says_that_changes_to_a_given_cell_do_not_count(hand_in: Callable[..., Submission]) -> None:
    """The release's code is run, and a message at that cell tells the student."""
    found = hand_in(lambda cells: cells[place(cells, "given")].update(source="class Scale: pass"))
    (remark,) = found.remarks
    assert ("notebook.given-changed", "given") == (
        remark.message.code,
        found.cells[remark.position].grade_id,
    )


ANSWERS = {
    "formula-answer": 'projection_size = "d_model * d_model"  # token-1\ntoken_2 = 2',
    "formula-why": "It maps a vector, token-3,\n\nto one of the same width, token-4.",
    "double-answer": "def double(x):\n    return 2 * x  # token-5\n\ntoken_6 = double(3)",
    "shape-answer": "batch = 2  # token-7\nscore_shape = (batch, 8, 128, 128)  # token-8",
    "essay": "Because the variance, token-9,\n\ngrows with the width, token-10.",
}


def mishandle(cells: Cells, numbers: random.Random) -> None:
    """Change a notebook at random as hurried students do: split, copy, merge, move or add cells."""
    at = numbers.randrange(len(cells))
    action = numbers.choice(["split", "split", "copy", "merge", "move", "add"])
    if action == "split":
        lines = cells[at]["source"].split("\n")
        cut = numbers.randrange(len(lines) + 1)
        first, second = "\n".join(lines[:cut]), "\n".join(lines[cut:])
        cells[at : at + 1] = [
            {**copy.deepcopy(cells[at]), "source": first, "id": f"n{numbers.random()}"},
            {**copy.deepcopy(cells[at]), "source": second},
        ]
    elif action == "copy":
        target = numbers.randrange(len(cells) + 1)
        cells.insert(target, {**copy.deepcopy(cells[at]), "id": f"n{numbers.random()}"})
    elif action == "merge" and at + 1 < len(cells):
        merge(cells, at, 2)
    elif action == "move":
        cells.insert(numbers.randrange(len(cells)), cells.pop(at))
    else:
        cells.insert(at, {"cell_type": "markdown", "metadata": {}, "source": "A note.", "id": "note"})


@pytest.mark.parametrize("seed", range(150))
def test_read_drops_no_line_however_cells_are_handled(seed: int, hand_in: Callable[..., Submission]) -> None:
    """Each line of every answer is read as that answer, or reported to staff or student.

    Only the content of a changed given cell is replaced by the release's, with a message at that cell.
    """
    numbers = random.Random(seed)

    def change(cells: Cells) -> None:
        for cell in cells:
            cell["source"] = ANSWERS.get(marks(cell), "".join(cell["source"]))
        for _ in range(numbers.randint(1, 4)):
            mishandle(cells, numbers)

    found = hand_in(change)
    remarked = {remark.position for remark in found.remarks}
    for name, answer in ANSWERS.items():
        for line in (line for line in answer.split("\n") if "token" in line):
            at = {position for position, cell in enumerate(found.cells) if line in cell.source}
            changed_given = "notebook.given-changed" in told(found)
            assert at or changed_given
            assert (
                line in found.answers[name].source or name in asked(found) or at & remarked or changed_given
            )
