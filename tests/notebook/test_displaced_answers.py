"""Recognise code outside its answer cell by the name it defines; leave a displaced text to manual review."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from autograder.core.records import Cell, Submission
from autograder.notebook.cell_matching import LOST
from autograder.notebook.placeholders import mask_skipped_lines
from autograder.notebook.release import load_release
from autograder.notebook.submission_reader import read_notebook

Cells = list[dict[str, Any]]
STUB = "# {name} = ...\n# YOUR CODE HERE\nraise NotImplementedError()"
BLANK_TEXT = "YOUR ANSWER HERE"
DETAILS = 'family_name = "{name}"\nstudent_number = "{number}"'
NAMES = {"width": {"width"}, "depth": {"depth"}, "parts": {"parts"}}
TEXT = "The encoder reads the whole sentence before the decoder starts."


def make_cell(source: str, grade_id: str = "", *, kind: str = "code", answer: bool = False) -> dict[str, Any]:
    """Return a cell; one with a grade_id is locked, or an answer."""
    flags = {"grade": False, "solution": answer, "locked": not answer, "task": False, "schema_version": 3}
    marks = {"nbgrader": {"grade_id": grade_id, **flags}} if grade_id else {}
    code = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": marks, "source": source, **code}


def make_release() -> Cells:
    """Return an exam: a title page, three code answers and two written ones."""
    cells = [
        make_cell("# Exam\nWrite your name below.", kind="markdown"),
        make_cell(DETAILS.format(name="", number="")),
    ]
    for name in NAMES:
        stub = 'parts = {"first": "..."}\nraise NotImplementedError()' if name == "parts" else STUB
        cells += [
            make_cell(f"How large is {name}?", f"{name}-prompt", kind="markdown"),
            make_cell(stub.replace("{name}", name), name, answer=True),
            make_cell(f"check({name!r})", f"{name}-check"),
        ]
    for name in ("why", "how"):
        cells += [
            make_cell(f"Explain {name}.", f"{name}-prompt", kind="markdown"),
            make_cell(BLANK_TEXT, name, kind="markdown", answer=True),
        ]
    return cells


def make_notebook(cells: Cells) -> bytes:
    """Return the notebook's bytes."""
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()


def hand_in(change: Callable[[Cells], object]) -> Submission:
    """Read the exam after a change to its cells; the details cell is filled in."""
    cells = make_release()
    cells[1]["source"] = DETAILS.format(name="Lovelace", number="1815")
    change(cells)
    release = load_release(make_notebook(make_release()), "exam")
    return read_notebook(make_notebook(cells), release, student="s", assignment="exam", names_asked=NAMES)


def position(cells: Cells, grade_id: str) -> int:
    """Return the index of the cell with a grade_id."""
    return next(
        index
        for index, cell in enumerate(cells)
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
    )


def write(cells: Cells, grade_id: str, source: str) -> None:
    """Replace the source of a cell."""
    cells[position(cells, grade_id)]["source"] = source


def answer_all(cells: Cells, *, without: tuple[str, ...] = ()) -> None:
    """Answer every question in its own cell."""
    for name in NAMES:
        if name not in without:
            write(cells, name, f"{name} = 3")
    for name in ("why", "how"):
        if name not in without:
            write(cells, name, f"{TEXT} ({name})")


def lost(submission: Submission) -> set[str]:
    """Return the answers that need manual review."""
    return {note.place for note in submission.notes if note.code == LOST}


def remarks(submission: Submission) -> set[str]:
    """Return the codes of the messages to the student."""
    return {remark.message.code for remark in submission.remarks}


def text_of(submission: Submission, grade_id: str) -> str:
    """Return the source read as an answer, or an empty string for a blank one."""
    answer = submission.answers[grade_id]
    return answer.source if answer.changed else ""


ELSEWHERE: dict[str, Callable[[Cells], object]] = {
    "plain cell at the end": lambda cells: cells.append(make_cell("width = 7")),
    "plain cell at the start": lambda cells: cells.insert(0, make_cell("width = 7")),
    "below the check": lambda cells: cells.insert(position(cells, "width-check") + 1, make_cell("width = 7")),
    "another question's cell": lambda cells: write(cells, "depth", "depth = 3\nwidth = 7"),
    "the details cell": lambda cells: cells[1].update(source=cells[1]["source"] + "\nwidth = 7"),
    "among several names": lambda cells: cells.append(make_cell("width, height = 7, 8")),
    "in a branch": lambda cells: cells.append(make_cell("if True:\n    width = 7")),
}


@pytest.mark.parametrize("blank", ["untouched", "emptied", "deleted"])
@pytest.mark.parametrize("place", ELSEWHERE)
def test_read_finds_code_by_its_name_in_any_cell(place: str, blank: str) -> None:
    """A displaced answer is judged, and messages to staff and student name its cell."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("width",))
        ELSEWHERE[place](cells)
        if blank == "emptied":
            write(cells, "width", "")
        elif blank == "deleted":
            del cells[position(cells, "width")]

    submission = hand_in(change)
    assert "7" in text_of(submission, "width")
    assert "Lovelace" not in text_of(submission, "width")
    assert not lost(submission)
    assert {"answer-found", "answer-beside-stub", "answer-recovered", "answer-merged"}.intersection(
        note.code for note in submission.notes if note.place == "width"
    )
    assert "notebook.elsewhere" in remarks(submission)
    if blank != "deleted":
        assert "notebook.found.one" in remarks(submission)


def test_read_prefers_the_cell_with_the_name_to_a_scratch_cell_beside_the_blank_one() -> None:
    """A scratch cell below the blank cell does not prevent the answer from being found."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("width",))
        cells.insert(position(cells, "width") + 1, make_cell("print(2 + 2)"))
        cells.append(make_cell("width = 7"))

    assert "width = 7" in text_of(hand_in(change), "width")


def test_read_runs_the_blank_cell_before_the_answer_that_stands_above_it() -> None:
    """Otherwise the placeholder's values would replace the answer."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("parts",))
        cells.insert(2, make_cell('parts = {"first": "encoder"}'))

    submission = hand_in(change)
    sources = [cell.source for cell in submission.cells if isinstance(cell, Cell)]
    assert sources.index('parts = {"first": "encoder"}') > next(
        index for index, source in enumerate(sources) if '"..."' in source
    )


def test_read_leaves_two_different_definitions_to_manual_review() -> None:
    """Two different definitions of the same name need manual review."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("width",))
        cells.insert(2, make_cell("width = 7"))
        cells.append(make_cell("width = 8"))

    submission = hand_in(change)
    assert lost(submission) == {"width"}
    assert {"width = 7", "width = 8"} <= set(text_of(submission, "width").split("\n"))
    assert remarks(submission) == {"notebook.unsure.blank"}


SCRATCH = {
    "a call": "plot()",
    "printed answer": "print(depth)",
    "shown answer": "depth",
    "an answer tried": "doubled = 2 * depth\nprint(doubled)",
    "a check": "check('depth', tolerance=2)",
    "a loop": "for number in range(3):\n    print(number)",
    "a used value": "total = 3\nfor number in range(total):\n    pass",
    "a given comment": "# YOUR CODE HERE",
    "a comprehension": "sum([depth for depth in [1]])",
}
BLANKS = ("width", "why")


@pytest.mark.parametrize("at_end", [False, True], ids=["beside", "at the end"])
@pytest.mark.parametrize("grade_id", BLANKS)
@pytest.mark.parametrize("scratch", SCRATCH)
def test_read_does_not_take_scratch_code_for_an_answer(scratch: str, grade_id: str, at_end: bool) -> None:
    """A blank answer stays blank, and nothing needs manual review."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=(grade_id,))
        cells.insert(len(cells) if at_end else position(cells, grade_id) + 1, make_cell(SCRATCH[scratch]))

    submission = hand_in(change)
    assert not text_of(submission, grade_id)
    assert not submission.notes
    assert not submission.remarks


ADDED = {
    "a word": make_cell("Order", kind="markdown"),
    "a heading": make_cell("# Order", kind="markdown"),
    "a number": make_cell("786432", kind="markdown"),
    "a raw cell": make_cell("8*d_model^2", kind="raw"),
    "a comment": make_cell("# 8*d_model^2"),
    "a comment behind code": make_cell("print(depth)  # order"),
    "a string": make_cell('"8*d_model^2"'),
    "a value": make_cell("1024*768"),
    "a printed value": make_cell("print(1024*768)"),
    "another name": make_cell('answer = "order is lost"'),
    "a computed value": make_cell("answer = 1024*768"),
    "a misspelt function": make_cell("def witdh():\n    return 3"),
    "a call that shows a text": make_cell('display(Markdown("Lost"))'),
    "no Python": make_cell("8 d_model^2 of them"),
}
ADDED_AT: dict[str, Callable[[Cells, dict[str, Any], str], object]] = {
    "below": lambda cells, own, name: cells.insert(position(cells, name) + 1, own),
    "above": lambda cells, own, name: cells.insert(position(cells, name), own),
    "above the question": lambda cells, own, name: cells.insert(position(cells, f"{name}-prompt"), own),
    "first": lambda cells, own, _: cells.insert(0, own),
    "last": lambda cells, own, _: cells.append(own),
}


@pytest.mark.parametrize("emptied", [False, True], ids=["untouched", "emptied"])
@pytest.mark.parametrize("place", ADDED_AT)
@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("grade_id", BLANKS)
def test_read_loses_nothing_that_was_added_beside_a_blank_answer(
    grade_id: str, added: str, place: str, emptied: bool
) -> None:
    """A cell added below a blank answer is shown with it in manual review; other answers are unaffected."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=(grade_id,))
        if emptied:
            write(cells, grade_id, "")
        ADDED_AT[place](cells, dict(ADDED[added]), grade_id)

    submission = hand_in(change)
    assert ADDED[added]["source"] in text_of(submission, grade_id)
    is_taken = ADDED[added]["cell_type"] != "code" and grade_id == "why"  # a text below its cell is certain
    assert lost(submission) == {grade_id} or (is_taken and place in {"below", "above"})
    assert submission.remarks


def test_read_shows_a_text_between_two_blank_answers_with_both() -> None:
    def change(cells: Cells) -> None:
        answer_all(cells, without=("width", "depth", "parts"))
        cells.insert(position(cells, "width-check") + 1, make_cell("# 3"))

    submission = hand_in(change)
    assert lost(submission) == {"width", "depth"}
    assert not text_of(submission, "parts").startswith("# 3")


@pytest.mark.parametrize(
    "text",
    ["def main():\n    width = 3\n    depth = 3", "# **My answers:** `width` = 3, `depth` = 3"],
    ids=["in a function", "in a comment"],
)
def test_read_finds_names_where_nothing_defines_them(text: str) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells, without=("width", "depth"))
        cells.insert(position(cells, "why"), make_cell(text))

    assert lost(hand_in(change)) == {"width", "depth"}


def test_read_does_not_take_the_answer_to_a_question_about_the_same_name() -> None:
    """Two questions may ask for the same name; an answer to one of them does not answer the other."""
    release = [make_cell(STUB.format(name="x"), name, answer=True) for name in ("first", "second")]
    between = make_cell("print()", "locked")
    cells = [release[0], between, {**release[1], "source": "x = 1"}]
    loaded = load_release(make_notebook([release[0], between, release[1]]), "exam")
    asked = {"first": {"x"}, "second": {"x"}}
    submission = read_notebook(
        make_notebook(cells), loaded, student="s", assignment="exam", names_asked=asked
    )
    assert not submission.answers["first"].changed


@pytest.mark.parametrize(
    ("source", "is_skipped"),
    [
        ("raise NotImplementedError()\nwidth = 7", True),
        ("# width = ...\n# YOUR CODE HERE\nraise NotImplementedError()\n\nwidth = 7", True),
        ("raise NotImplementedError\nwidth = 7", True),
        ('raise NotImplementedError("to do")\nwidth = 7', True),
        ("width = 7\nraise NotImplementedError()", False),
        ("def width():\n    raise NotImplementedError()\nwidth()", False),
        ("raise ValueError()\nwidth = 7", False),
        ("text = '''\nraise NotImplementedError()\n'''", False),
    ],
    ids=[
        "bare",
        "below the comments",
        "a class",
        "with a text",
        "below the answer",
        "in a function",
        "another error",
        "in a text",
    ],
)
def test_read_notes_a_placeholder_above_the_answer(source: str, is_skipped: bool) -> None:
    """A placeholder's statement above the answer is not run, but the cell is shown unchanged."""

    def change(cells: Cells) -> None:
        answer_all(cells)
        write(cells, "width", source)

    submission = hand_in(change)
    release = load_release(make_notebook(make_release()), "exam")
    ran = mask_skipped_lines(submission.cells, release)
    index = next(index for index, cell in enumerate(submission.cells) if cell.grade_id == "width")
    assert submission.cells[index].source == source
    assert (ran[index].source != source) == is_skipped
    assert ran[index].source.count("\n") == source.count("\n")
    assert ("placeholder-skipped" in {note.code for note in submission.notes}) == is_skipped
    assert ("notebook.placeholder" in remarks(submission)) == is_skipped


@pytest.mark.parametrize(
    ("grade_id", "answer", "stub", "is_skipped"),
    [
        ("parts", 'parts = {"first": 1}', 'parts = {"first": "..."}', True),
        ("parts", 'parts = {"first": 1}', 'parts = {\n    "first":\n        "...",\n}', True),
        ("parts", 'parts = {"first": 1}', 'parts = {"first": "..", "second": 2}', False),
        ("parts", 'pieces = {"first": 1}', 'parts = {"first": "..."}', False),
        ("parts", 'parts = {"first": 1}', 'note = 1; parts = {"first": "..."}', False),
        (
            "area",
            "def area(a):\n    return a * a",
            'def area(a):\n    """Square."""\n    raise NotImplementedError()',
            True,
        ),
        ("area", "def area(a):\n    return a * a", "def area(a):\n    raise NotImplementedError()", False),
        ("area", "def area(a):\n    return a * a", "def helper(a):\n    return 2 * a", False),
    ],
    ids=[
        "dictionary",
        "in other lines",
        "edited",
        "another name above",
        "beside other code",
        "function",
        "another function",
        "given code",
    ],
)
def test_read_notes_a_placeholder_below_the_answer(
    grade_id: str, answer: str, stub: str, is_skipped: bool
) -> None:
    """Only released code that cannot be an answer is skipped."""
    given = (
        'def helper(a):\n    return 2 * a\n\ndef area(a):\n    """Square."""\n    raise NotImplementedError()'
    )
    released = [*make_release(), make_cell(given, "area", answer=True)]
    release = load_release(make_notebook(released), "exam")
    write(released, grade_id, f"{answer}\n{stub}\n# end")
    submission = read_notebook(make_notebook(released), release, student="s", assignment="exam")
    ran = mask_skipped_lines(submission.cells, release)
    source = next(cell.source for cell in ran if cell.grade_id == grade_id)
    expected = "pass" + "\n" * stub.count("\n") if is_skipped else stub
    assert source == f"{answer}\n{expected}\n# end"
    assert submission.answers[grade_id].source == source
    assert ("placeholder-skipped" in {note.code for note in submission.notes}) == is_skipped
    assert ("notebook.placeholder.below" in remarks(submission)) == is_skipped


def test_read_does_not_run_a_copy_of_the_placeholder_below_the_answer() -> None:
    """A copy of the placeholder in a student's cell is not a second answer."""
    stub = 'parts = {"first": "..."}'

    def change(cells: Cells) -> None:
        answer_all(cells)
        cells.append(make_cell(f"{stub}\nraise NotImplementedError()"))

    submission = hand_in(change)
    release = load_release(make_notebook(make_release()), "exam")
    last = mask_skipped_lines(submission.cells, release)[-1].source
    assert last == "pass\nraise NotImplementedError()"
    assert text_of(submission, "parts") == "parts = 3"
    assert {note.code for note in submission.notes} == {"placeholder-skipped"}


@pytest.mark.parametrize(
    ("own", "is_lost"),
    [
        (
            "def square(side, scale):\n    return side * side * scale\nfor n in range(3):\n    square(n, 1)",
            True,
        ),
        ("def square(side):\n    return side * side\nfor n in range(3):\n    square(n)", False),
        ("def show():\n    print(1)\nfor n in range(3):\n    show()", False),
    ],
    ids=["all parameters", "others", "none"],
)
def test_read_leaves_a_blank_function_to_manual_review_if_another_has_its_parameters(
    own: str, is_lost: bool
) -> None:
    """A function under another name, with the parameters of the blank one, may be the answer."""
    stub = "def area(side, scale):\n    raise NotImplementedError()"
    release = load_release(make_notebook([make_cell(stub, "area", answer=True)]), "exam")
    cells = [make_cell(stub, "area", answer=True), make_cell(own)]
    asked = {"area": {"area"}}
    submission = read_notebook(
        make_notebook(cells), release, student="s", assignment="exam", names_asked=asked
    )
    assert lost(submission) == ({"area"} if is_lost else set())


@pytest.mark.parametrize(
    ("source", "ran"),
    [
        ("%reset -f", "pass"),
        ("  %reset\nwidth = 4", "  pass\nwidth = 4"),
        ("text = '''\n%reset\n'''", ""),
        ("%reset_selective -f x", ""),
        ("%%writefile a.py\n%reset", ""),
    ],
)
def test_read_does_not_run_a_reset(source: str, ran: str) -> None:
    """A final cell that resets names does not delete any answer."""

    def change(cells: Cells) -> None:
        answer_all(cells)
        cells.append(make_cell(source))

    submission = hand_in(change)
    release = load_release(make_notebook(make_release()), "exam")
    assert mask_skipped_lines(submission.cells, release)[-1].source == (ran or source)
    assert bool(ran) == ("reset-skipped" in {note.code for note in submission.notes})
    assert bool(ran) == ("notebook.reset" in remarks(submission))


def test_read_leaves_an_untouched_cell_as_it_is() -> None:
    """Code that the release has below its own placeholder is not run either."""
    stub = make_cell("raise NotImplementedError()\nprint(width)", "width", answer=True)
    release = load_release(make_notebook([stub]), "exam")
    submission = read_notebook(make_notebook([stub]), release, student="s", assignment="exam")
    assert list(submission.cells) == mask_skipped_lines(submission.cells, release)


def insert_beside(cells: Cells, grade_id: str, source: str, kind: str = "markdown") -> None:
    """Insert a student's cell below an answer."""
    cells.insert(position(cells, grade_id) + 1, make_cell(source, kind=kind))


TEXT_PLACES: dict[str, Callable[[Cells], object]] = {
    "raw cell below": lambda cells: insert_beside(cells, "why", TEXT, "raw"),
    "text cell among the code": lambda cells: insert_beside(cells, "width-check", TEXT),
    "text cell at the start": lambda cells: cells.insert(0, make_cell(TEXT, kind="markdown")),
    "text cell at the end": lambda cells: cells.append(make_cell(TEXT, kind="markdown")),
    "a picture": lambda cells: insert_beside(cells, "width-check", "![](attachment:sketch.png)"),
    "the title page": lambda cells: cells[0].update(source=cells[0]["source"] + f"\n{TEXT}"),
    "comment in a cell below": lambda cells: insert_beside(cells, "why", f"# {TEXT}", "code"),
    "printed by a cell below": lambda cells: insert_beside(cells, "why", f'print("""{TEXT}""")', "code"),
    "prose in a code cell below": lambda cells: insert_beside(cells, "why", TEXT, "code"),
    "magic of a text": lambda cells: insert_beside(cells, "depth-check", f"%%markdown\n{TEXT}", "code"),
    "comment in the code before it": lambda cells: write(cells, "parts", f"parts = 3\n# {TEXT}"),
    "string in the code before it": lambda cells: write(cells, "parts", f'parts = 3\nwhy = "{TEXT}"'),
    "comment in a check": lambda cells: write(cells, "parts-check", f"# {TEXT}\ncheck('parts')"),
}


@pytest.mark.parametrize("place", TEXT_PLACES)
def test_read_leaves_a_blank_written_answer_to_manual_review_if_a_text_may_be_it(place: str) -> None:
    """The text is shown with the answer; the code answers are judged as before."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("why",))
        TEXT_PLACES[place](cells)

    submission = hand_in(change)
    assert lost(submission) == {"why"}
    assert "notebook.unassigned" in remarks(submission)
    assert (TEXT if place != "a picture" else "sketch.png") in text_of(submission, "why")
    assert "Lovelace" not in text_of(submission, "why")


SHARED_CELLS: dict[str, Callable[[Cells], object]] = {
    "below the answer before it": lambda cells: write(cells, "why", f"It is faster.\n\n{TEXT}"),
    "under a heading": lambda cells: write(cells, "why", f"It is faster.\n\n## How\n\n{TEXT}"),
    "in a new cell below the answer before it": lambda cells: insert_beside(cells, "why", TEXT),
}


@pytest.mark.parametrize("place", SHARED_CELLS)
def test_read_leaves_a_blank_written_answer_to_manual_review_if_its_neighbour_has_two_paragraphs(
    place: str,
) -> None:
    """A text in a neighbour's answer cell may be the blank answer, so that one is not graded as zero."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("how",))
        SHARED_CELLS[place](cells)

    submission = hand_in(change)
    assert lost(submission) == {"how"}
    assert "notebook.unassigned" in remarks(submission)
    assert TEXT in text_of(submission, "how")
    assert text_of(submission, "why")


@pytest.mark.parametrize(
    "text",
    [TEXT, f"{TEXT}\n{TEXT}", f"# Why\n\n{TEXT}", f"{TEXT}\n\n- one two three\n- four five six"],
    ids=["one paragraph", "two lines", "a heading", "a list"],
)
def test_read_counts_a_blank_written_answer_as_none_if_its_neighbour_is_one_answer(text: str) -> None:
    """A neighbouring answer of one paragraph contains no second answer."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("how",))
        write(cells, "why", text)

    assert not lost(hand_in(change))


NO_TEXTS: dict[str, Callable[[Cells], object]] = {
    "a copied question": lambda cells: cells.insert(2, make_cell("Explain why.", kind="markdown")),
    "scratch code": lambda cells: insert_beside(
        cells, "why", "for number in range(3):\n    print(number)", "code"
    ),
    "a comment far away": lambda cells: insert_beside(cells, "width", f"# {TEXT}\nprint(1)", "code"),
    "a docstring": lambda cells: write(
        cells, "parts", f'parts = 3\ndef f():\n    """{TEXT}"""\n    # {TEXT}'
    ),
    "the answer's own value": lambda cells: write(cells, "parts", f'parts = "{TEXT}"'),
    "the student's name": lambda cells: cells[1].update(
        source=f'# {TEXT}\nfamily_name = "a very long name of six words"'
    ),
    "a picture's output": lambda cells: insert_beside(cells, "why", "plot()", "code"),
}


@pytest.mark.parametrize("blank", ["untouched", "deleted"])
@pytest.mark.parametrize("place", NO_TEXTS)
def test_read_counts_a_blank_written_answer_as_none_if_no_text_may_be_it(place: str, blank: str) -> None:
    """Scratch code, distant comments and the cell with the student's name do not cause manual review."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("why",))
        NO_TEXTS[place](cells)
        if blank == "deleted":
            del cells[position(cells, "why")]

    submission = hand_in(change)
    assert not text_of(submission, "why")
    assert not lost(submission)


def test_read_shows_a_bounded_number_of_texts() -> None:
    """Show at most ten texts with a blank answer, however many the notebook contains."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("why",))
        for number in range(50):
            insert_beside(cells, "width-check", f"{TEXT} {number}")

    assert text_of(hand_in(change), "why").count(TEXT) == 10


@pytest.mark.parametrize(
    "write_text",
    [
        lambda cells: cells.append(make_cell("```python\nwidth = 7\n```", kind="markdown")),
        lambda cells: write(cells, "why", f"{TEXT}\n\n```\nwidth = 7\n```"),
        lambda cells: insert_beside(cells, "width", "$7 d^2$"),
        lambda cells: insert_beside(cells, "width", "width = 7", "raw"),
    ],
    ids=["fenced in a text cell", "fenced in a written answer", "formula beside it", "raw cell"],
)
def test_read_leaves_a_blank_code_answer_to_manual_review_if_a_text_has_it(
    write_text: Callable[[Cells], object],
) -> None:
    """Code in a text cell is never run, but is shown in manual review."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("width",))
        write_text(cells)

    submission = hand_in(change)
    assert lost(submission) == {"width"}
    assert "7" in text_of(submission, "width")
    assert submission.answers["why"].changed


@pytest.mark.parametrize(
    ("later", "what", "remark"),
    [
        ("del width", "deletes width after the answer.", "notebook.rebound"),
        ("width = width * 2", "assigns width again, which is what counts.", "notebook.reassigned"),
        (
            "for width in range(3):\n    pass",
            "assigns width again, which is what counts.",
            "notebook.reassigned",
        ),
        ("print(width)", "", ""),
        ("def f():\n    width = 1", "", ""),
        ("other = width", "", ""),
    ],
)
def test_read_tells_which_cell_changes_an_answer_later(later: str, what: str, remark: str) -> None:
    """Messages to student and staff name the cell that redefines an answer."""

    def change(cells: Cells) -> None:
        answer_all(cells)
        cells.append(make_cell(later))

    submission = hand_in(change)
    rebound = [note for note in submission.notes if note.code == "answer-rebound"]
    notes = [note.text for note in rebound if note.place == "width"]
    number = len(submission.cells)
    assert notes == ([f"Cell {number} {what}"] if what else [])
    remarks = {one.message.code for one in submission.remarks if one.position == number - 1}
    assert remarks == ({remark} if remark else set())


@pytest.mark.parametrize("is_deleted", [False, True], ids=["blank", "deleted"])
def test_read_leaves_a_copy_of_another_answers_cell_to_manual_review(is_deleted: bool) -> None:
    """A cell copied as a template has the grade_id of the answer it was copied from."""

    def change(cells: Cells) -> None:
        answer_all(cells, without=("how",))
        at = position(cells, "how")
        copied = make_cell("It looks at the whole source again.", "why", kind="markdown", answer=True)
        cells[at : at + is_deleted] = [copied]

    submission = hand_in(change)
    assert lost(submission) == {"how"}
    assert text_of(submission, "how") == "It looks at the whole source again."
    assert TEXT in text_of(submission, "why")


@pytest.mark.parametrize(
    ("text", "is_shared"),
    [
        ("1. One token per step.\n2. One vector.\nThe encoder looks both ways.", True),
        ("- One token per step.\nThe encoder looks both ways.", True),
        ("1. One token per step, however long\nthe source text may be.", False),
        ("1. One token per step.\n2. One vector for all of it.", False),
    ],
)
def test_read_sees_a_second_answer_below_a_list(text: str, is_shared: bool) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells, without=("how",))
        write(cells, "why", text)

    assert lost(hand_in(change)) == ({"how"} if is_shared else set())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\nwidth = 7\n```", "width = 7"),
        ("```\nwidth = 7\n```\n", "width = 7"),
        ("```py\nwidth = 7", "width = 7"),
        ("My answer:\n\n```python\nwidth = 7\n```\nand\n```python\nheight = 8\n```", None),
        ("width = 7", "width = 7"),
    ],
    ids=["python", "no language", "not closed", "with text", "no fence"],
)
def test_read_takes_fenced_code_of_an_answer_that_was_turned_to_text(text: str, code: str | None) -> None:
    def change(cells: Cells) -> None:
        answer_all(cells)
        cells[position(cells, "width")] |= {"cell_type": "markdown", "source": text}

    submission = hand_in(change)
    source = text_of(submission, "width")
    assert source == code or (code is None and source.startswith("# My answer:\nwidth = 7\n# and\nheight"))
    compile(source, "answer", "exec")
    assert source in [cell.source for cell in submission.cells if isinstance(cell, Cell)]
    assert not lost(submission)


@pytest.mark.parametrize("source", ["missing", None, 7, {"a": 1}], ids=repr)
@pytest.mark.parametrize("grade_id", ["why", "width"])
def test_read_leaves_an_answer_without_text_to_manual_review(grade_id: str, source: object) -> None:
    """An answer cell without valid source needs manual review, unless the answer is in another cell."""

    def change(cells: Cells) -> None:
        answer_all(cells)
        cell = cells[position(cells, grade_id)]
        if source == "missing":
            del cell["source"]
        else:
            cell["source"] = source

    submission = hand_in(change)
    assert lost(submission) == {grade_id}
    assert remarks(submission) == {"notebook.damaged"}
