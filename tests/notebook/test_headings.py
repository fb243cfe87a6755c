"""A text whose heading names a question is shown with its answer, from any place in the notebook."""

from __future__ import annotations

import pytest

from autograder.core.records import Submission
from autograder.notebook.release import load_release
from autograder.notebook.submission_reader import read_notebook
from tests.notebook.test_displaced_answers import (
    BLANK_TEXT,
    TEXT,
    Cells,
    lost,
    make_cell,
    make_notebook,
    position,
)

MORE = "It also weighs every token of the source again."
LETTERED = ["## Task 3: networks (4 points)", "### (a) Positions (2 points)", "### (b) Two causes (2 points)"]
LETTERED += [
    "## Task 4: models",
    "### (a) Who chases whom?",
    "### (b) Size",
    "### (c) Four causes (4 points)",
]
FLAT = ["# Question 1: positions", "# Question 2: two causes", "# Question 3: four causes"]
DOTTED = ["# 3. Networks", "## 3.1 Positions", "## 3.2 Two causes", "# 4. Models", "## 4.1 Four causes"]
UNNUMBERED = ["# Positions", "# Two causes", "# Four causes"]
LAST = {"lettered": "4-b-why", "flat": "q3", "dotted": "q41", "unnumbered": "q3"}


def make_exam(scheme: str) -> Cells:
    """Return an exam with some scheme of question numbers; the lettered one ends with 4 (b)."""
    cells = [make_cell("# Exam", kind="markdown")]
    if scheme == "lettered":
        ids = {1: ["3-a"], 2: ["3-b"], 4: ["4-a"], 6: ["4-c"], 5: ["4-b-answer", "4-b-why"]}
        order = [0, 1, 2, 3, 4, 6, 5]
        headings = LETTERED
    else:
        headings = {"flat": FLAT, "dotted": DOTTED, "unnumbered": UNNUMBERED}[scheme]
        named = [["q1"], ["q2"], ["q3"]] if scheme != "dotted" else [[], ["q31"], ["q32"], [], ["q41"]]
        ids, order = dict(enumerate(named)), list(range(len(headings)))
    for number in order:
        cells.append(make_cell(headings[number], f"prompt-{number}", kind="markdown"))
        for grade_id in ids.get(number, []):
            kind = "code" if grade_id.endswith("-answer") else "markdown"
            cells.append(make_cell(BLANK_TEXT, grade_id, kind=kind, answer=True))
    return cells


def hand_in(scheme: str, *further: str, blank: str = "", kind: str = "markdown") -> Submission:
    """Submit the exam with further text cells at its end."""
    cells = make_exam(scheme)
    release = load_release(make_notebook(cells), "exam")
    for cell in cells:
        marks = cell["metadata"].get("nbgrader", {})
        if marks.get("solution") and marks["grade_id"] != blank:
            cell["source"] = "x = 3" if cell["cell_type"] == "code" else f"{TEXT} ({marks['grade_id']})"
    cells += [make_cell(source, kind=kind) for source in further]
    return read_notebook(make_notebook(cells), release, student="s", assignment="exam")


def shown_with(submission: Submission, text: str = MORE) -> set[str]:
    """Return the answers that are shown with a text."""
    found = {name for name, answer in submission.answers.items() if text in answer.source}
    return found | {
        name
        for name, places in submission.further.items()
        if any(text in submission.cells[place].source for place in places)
    }


@pytest.mark.parametrize(
    ("scheme", "heading", "answer"),
    [
        ("lettered", "## 4c continued", "4-c"),
        ("lettered", "4c continued", "4-c"),
        ("lettered", "4c:", "4-c"),
        ("lettered", "**Task 4 (c)**, continued", "4-c"),
        ("lettered", "**Task 4 (c)**", "4-c"),
        ("lettered", "# Aufgabe 4.c (Fortsetzung)", "4-c"),
        ("lettered", "## Part 2 of 4 (c)", "4-c"),
        ("lettered", "### (c) continued", "4-c"),
        ("lettered", "### Four causes", "4-c"),
        ("lettered", "Rest of four causes, continued", "4-c"),
        ("lettered", "# 4-c", "4-c"),
        ("lettered", "#### 3b", "3-b"),
        ("lettered", "## More about (b) of Task 3: 3b", "3-b"),
        ("flat", "## Question 2 (continued)", "q2"),
        ("flat", "Question 2, continued", "q2"),
        ("flat", "## q2", "q2"),
        ("dotted", "## 3.2 continued", "q32"),
        ("dotted", "3.1 (Fortsetzung)", "q31"),
        ("unnumbered", "## Two causes (continued)", "q2"),
        ("unnumbered", "**Positions**", "q1"),
    ],
)
@pytest.mark.parametrize("below", [False, True], ids=["in one cell", "heading in a cell of its own"])
def test_read_shows_text_with_the_answer_its_heading_names(
    scheme: str, heading: str, answer: str, *, below: bool
) -> None:
    further = [heading, MORE] if below else [f"{heading}\n\n{MORE}"]
    submission = hand_in(scheme, *further)
    assert shown_with(submission) == {answer}
    assert MORE in submission.answers[answer].source
    assert not lost(submission)
    assert {note.place for note in submission.notes if note.code == "answer-continued"} == {answer}


@pytest.mark.parametrize(
    ("scheme", "text"),
    [
        ("lettered", MORE),
        ("lettered", f"## Continued\n\n{MORE}"),
        ("lettered", f"## (a) continued\n\n{MORE}"),
        ("lettered", f"## 9c continued\n\n{MORE}"),
        ("lettered", f"## 4b continued\n\n{MORE}"),
        ("lettered", f"I compared this with 4c above and found more or less the same thing again.\n\n{MORE}"),
        ("lettered", f"a) Old data\n\n{MORE}"),
        ("flat", f"## Part 7\n\n{MORE}"),
        ("flat", f"1. Old data\n2. Wrong data\n\n{MORE}"),
        ("flat", f"## 1. Old data\n\n{MORE}"),
        ("flat", f"**2) Wrong data**\n\n{MORE}"),
        ("dotted", f"## 4 continued\n\n{MORE}"),
        ("unnumbered", f"## Causes of positions\n\n{MORE}"),
    ],
)
def test_read_shows_text_with_the_answer_above_if_no_heading_names_one_question(
    scheme: str, text: str
) -> None:
    submission = hand_in(scheme, text)
    assert shown_with(submission) == {LAST[scheme]}
    assert not lost(submission)


def test_read_shows_text_with_every_answer_its_headings_name() -> None:
    submission = hand_in("lettered", f"## 4c continued\n\n{MORE}\n\n## 3b continued\n\nAnd more.")
    assert shown_with(submission) == {"4-c", "3-b"}


@pytest.mark.parametrize(
    "label", ["4c) {}", "4 (c) {}", "## Task 4 (c)\n{}", "- **4c)** {}", "Aufgabe 4 (c): {}"]
)
def test_read_finds_a_blank_answer_in_the_cell_of_another_by_its_label(label: str) -> None:
    """Labels separate several answers that were written into one cell."""
    cells = make_exam("lettered")
    release = load_release(make_notebook(cells), "exam")
    cells[position(cells, "3-a")]["source"] = f"3a) {TEXT}\n\n{label.format(MORE)}"
    submission = read_notebook(make_notebook(cells), release, student="s", assignment="exam")
    assert "4-c" in lost(submission)
    assert "4-c" in shown_with(submission)


@pytest.mark.parametrize(("place", "is_found"), [("4-b-why", True), ("3-a", False)])
def test_read_takes_a_letter_alone_for_a_question_of_the_same_task(place: str, is_found: bool) -> None:
    cells = make_exam("lettered")
    release = load_release(make_notebook(cells), "exam")
    cells[position(cells, place)]["source"] = f"{TEXT}\n\n- (c) {MORE}"
    submission = read_notebook(make_notebook(cells), release, student="s", assignment="exam")
    assert ("4-c" in lost(submission)) == is_found


def test_read_takes_no_text_for_a_blank_answer_if_its_heading_names_another() -> None:
    """A heading that names another question prevents a text from filling the blank answer above it."""
    submission = hand_in("lettered", f"## 4c continued\n\n{MORE}", blank="4-b-why")
    assert shown_with(submission) == {"4-c"}
    assert not lost(submission)


def test_read_leaves_a_blank_answer_to_review_if_a_heading_names_it() -> None:
    submission = hand_in("lettered", f"## 4c\n\n{MORE}", blank="4-c")
    assert shown_with(submission) == {"4-c"}
    assert lost(submission) == {"4-c"}


@pytest.mark.parametrize("written", [(), ("3-a", "4-b-why")], ids=["nothing else", "some in their cells"])
@pytest.mark.parametrize("label", ["**{}**", "## {}", "# Question {}"])
def test_read_leaves_all_blank_answers_to_review_that_one_cell_names(
    label: str, written: tuple[str, ...]
) -> None:
    """Blank answers need manual review if headings of one cell at the end name them."""
    names = ["3-a", "3-b", "4-a", "4-c", "4-b-why"]
    cells = make_exam("lettered")
    release = load_release(make_notebook(cells), "exam")
    for name in written:
        cells[position(cells, name)]["source"] = f"{TEXT} ({name})"
    text = "\n\n".join(f"{label.format(name)}\n\n{TEXT} About {name}." for name in names)
    cells.append(make_cell(text, kind="markdown"))
    submission = read_notebook(make_notebook(cells), release, student="s", assignment="exam")
    assert shown_with(submission, "About 4-c.") == set(names)
    assert lost(submission) >= {*names} - {*written, "4-b-why"}  # the last cell is blank, above the text


def test_read_shows_a_named_text_in_the_middle_of_the_notebook_with_its_answer() -> None:
    cells = make_exam("lettered")
    release = load_release(make_notebook(cells), "exam")
    for name in ("3-a", "3-b", "4-a", "4-c", "4-b-why"):
        cells[position(cells, name)]["source"] = f"{TEXT} ({name})"
    cells.insert(position(cells, "4-a") + 1, make_cell(f"## 3a continued\n\n{MORE}", kind="markdown"))
    submission = read_notebook(make_notebook(cells), release, student="s", assignment="exam")
    assert shown_with(submission) == {"3-a"}
