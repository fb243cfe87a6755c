"""The staff's page for marking by hand: each answer once, with who gave it and what graders need."""

from __future__ import annotations

import re
from decimal import Decimal

from msgspec.structs import replace

from autograder.feedback.answers import marked_cells
from autograder.feedback.marking import render_marking
from autograder.feedback.render import render
from autograder.grades import PersonMark, standing
from autograder.records import ExecutedNotebook, Graded, Markdown, Status
from tests.feedback.examples import HOSTILE, TOML, good, item, said
from tests.feedback.test_render import Page
from tests.test_grades import WHY, rubric

GUIDE = """guide = "Both matrices must be named."
suggest = ["two matrices", "zwei Matrizen"]
examples = { full = "Up and back.", half = "Two matrices.", none = "It is large." }
text = { en = "Your reason, in a sentence\""""
SECRET = bytes(range(32))
EXAM = rubric(toml=TOML.replace('text = { en = "Your reason, in a sentence"', GUIDE))


def wrote(student: str, text: str, *, empty: bool = False) -> Graded:
    """Ada's result with another reason, by another student."""
    graded = good()
    notebook = graded.notebooks[0]
    cells = tuple(
        Markdown(text, cell.grade_id) if cell.grade_id == WHY[1] else cell for cell in notebook.cells
    )
    items = tuple(
        item("task3-b", "why", Status.NO_ANSWER, said("Nothing.")) if empty and one.item == "why" else one
        for one in graded.score.items
    )
    executed = ExecutedNotebook(notebook.name, cells, notebook.runs)
    return replace(graded, score=replace(graded.score, student=student, items=items), notebooks=(executed,))


def page_of(*graded: Graded, marks: dict[str, str] | None = None) -> Page:
    """The page of a class, with marks that people gave by student."""
    stands = {
        one.score.student: standing(
            one.score,
            EXAM,
            {WHY: PersonMark(Decimal(marks[one.score.student]))}
            if marks and one.score.student in marks
            else {},
        )
        for one in graded
    }
    return Page(render_marking(graded, EXAM, stands, secret=SECRET))


def test_the_same_answer_stands_once_with_all_who_gave_it() -> None:
    """Answers that differ in trivial things are one group; the largest stands first, nobody is missing."""
    page = page_of(
        wrote("kurt", "A number."),
        wrote("ada", "There are two matrices."),
        wrote("alan", "there are **two matrices**"),
        wrote("emmy", "", empty=True),
    ).text
    assert "ada alan 4 words, English the same 2 times There are two matrices ." in page
    assert page.index("ada alan") < page.index("kurt")
    assert "Different answers: 2 · waiting: 3 · nothing written: 1" in page
    assert "emmy" not in page


def test_graders_read_guide_examples_and_hits() -> None:
    """Guide and examples stand above the answers; words of the list are marked and suggest the item."""
    page = page_of(wrote("ada", "Zwei  MATRIZEN, also das Doppelte."), wrote("alan", "No idea."))
    assert "Both matrices must be named." in page.text
    assert "Full Up and back. Half Two matrices. None It is large." in page.text
    assert ["mark"] == [tag for tag, _ in page.elements if tag == "mark"]
    assert 1 == page.text.count("Look at: Your reason, in a sentence")
    assert "words, German" in page.text


def test_graders_read_the_rubric_in_their_language() -> None:
    """Guide, examples and item are in the language asked for; a text without languages is for all."""
    german = GUIDE.replace('guide = "', 'guide = { en = "').replace(
        'named."', 'named.", de = "Beide nennen." }'
    )
    german = german.replace('full = "Up and back."', 'full = { en = "Up and back.", de = "Hin und zurück." }')
    asked = rubric(toml=TOML.replace('text = { en = "Your reason, in a sentence"', german))
    graded = wrote("ada", "Zwei Matrizen.")
    stands = {"ada": standing(graded.score, asked, {})}
    page = Page(render_marking([graded], asked, stands, "de")).text
    assert "Beide nennen." in page
    assert "Full Hin und zurück. Half Two matrices. None It is large." in page
    assert "must be named" not in page
    assert "Up and back" not in page
    assert "Both matrices must be named." in Page(render_marking([graded], asked, stands, "en")).text


def test_cues_are_told_below_each_answer() -> None:
    """What is there, what is missing, and what could not be told; no mark comes of it."""
    cues = """
cue = [
  { id = "two", text = { en = "the number two", de = "die Zahl zwei" }, pattern = "two|<b>" },
  { id = "sum", text = { en = "a sum" }, pattern = "sum" },
]
"""
    sought = 'manual = true\ncues = { two = "some", sum = 2 }\npart = "^why:"\n'
    toml = TOML.replace(
        'kind = "symbolic"\npoints = 1\nanswer = "all_layers"', f'kind = "written"\npoints = 1{cues}'
    )
    exam = rubric(
        toml=toml.replace(
            'text = { en = "The parameters of all', f'{sought}text = {{ en = "The parameters of all'
        )
    )
    items = tuple(
        item("task3-f", "formula", Status.NEEDS_REVIEW, said("Waits.")) if one.question == "task3-f" else one
        for one in good().score.items
    )
    score = replace(good().score, items=items)
    for text, told in (
        ("Why: <b>two</b>, a sum", "✓ the number two ✕ a sum (1 found, expected 2)"),
        ("Two.", "? nothing is told (no heading of its own in the answer)"),
    ):
        executed = ExecutedNotebook("exam", (Markdown(text, "task3-f"),), (None,))
        graded = replace(good(), score=score, notebooks=(executed,))
        page = Page(render_marking([graded], exam, {"ada": standing(score, exam)}))
        assert f"A hint, no mark: The parameters of all layers {told}" in page.text
        assert (3 if "<b>" in text else 0) == sum(tag == "mark" for tag, _ in page.elements)
        german = Page(render_marking([graded], exam, {"ada": standing(score, exam)}, "de")).text
        assert told.replace("the number two", "die Zahl zwei") in german
        student = render(graded, exam)
        assert "the number two" not in student
        assert "A hint" not in student


def test_marks_are_shown_and_differences_are_pointed_out() -> None:
    """A group shows each one's mark; unequal marks for one answer stand out, and marked groups come last."""
    class_ = (wrote("ada", "Two."), wrote("alan", "two"), wrote("kurt", "Three"))
    marked = page_of(*class_, marks={"ada": "1", "alan": "0.5"}).text
    assert "ada 1 alan 0.5" in marked
    assert "different marks for the same answer" in marked
    assert marked.index("kurt") < marked.index("ada 1")
    assert "different marks" not in page_of(*class_, marks={"ada": "1", "alan": "1"}).text


def test_a_group_has_a_name_for_the_list_of_decisions() -> None:
    """It follows from secret, cell and text; pictures, and cells that checks decide as well, have none."""
    (cell,) = [one for one in marked_cells(EXAM, SECRET) if one.name == "task3-b-why"]
    name = cell.group("Two matrices.")
    assert cell.group("  two MATRICES ") == name != cell.group("Three matrices.")
    assert re.fullmatch("[0-9a-f]{32}", name)
    assert name != replace(cell, secret=bytes(32)).group("Two matrices.")
    assert f"exam,task3-b-why,{name}," in page_of(wrote("ada", "Two matrices.")).text
    assert ["", ""] == [cell.group("![](attachment:a.png)"), cell.group(" ")]
    assert "" == replace(cell, whole=False).group("Two matrices.")
    assert "" == replace(cell, secret=b"").group("Two matrices.")
    assert "" == cell.group("Two matrices. " * 2000)  # of which nobody reads the end


def test_nothing_that_students_wrote_acts() -> None:
    """Hostile answers are text, highlighted ones as well."""
    hostile = [
        wrote(f"s{number}", f"two matrices {text} zwei Matrizen") for number, text in enumerate(HOSTILE[1:])
    ]
    page = page_of(*hostile)
    assert not {"script", "img", "svg", "iframe", "meta http-equiv"} & {tag for tag, _ in page.elements}
    assert 2 * len(hostile) == sum(tag == "mark" for tag, _ in page.elements)
    assert "<script>alert(1)</script>" in page.text


def test_whoever_waits_is_shown_even_without_a_text() -> None:
    """An answer that waits but is not in the notebook is told so; a notebook refused has written nothing."""
    page = page_of(replace(good(), notebooks=())).text
    assert "ada 0 words no text found: look into the notebook" in page
    assert "waiting: 1" in page
    assert "nothing written: 1" in page_of(replace(wrote("ada", "", empty=True), notebooks=())).text


def test_what_the_program_could_not_decide_is_listed_with_its_reason() -> None:
    """An automatic item that waits says why."""
    graded = good()
    items = tuple(
        replace(one, status=Status.NEEDS_REVIEW, points=Decimal(0), staff="odd in <b>loss 1</b>")
        if one.question == "task3-f"
        else one
        for one in graded.score.items
    )
    page = page_of(replace(graded, score=replace(graded.score, items=items))).text
    assert "ada task3-f, formula odd in <b>loss 1</b>" in page
    assert "What the program could not decide" not in page_of(good()).text


def test_an_answer_in_the_grade_cell_itself_is_found() -> None:
    """Where there is no answer cell of its own, the answer is what stands in the question's cell."""
    manual = TOML.replace(
        'kind = "symbolic"\npoints = 1\nanswer = "all_layers"', 'kind = "written"\npoints = 1'
    )
    exam = rubric(
        toml=manual.replace(
            'text = { en = "The parameters of all', 'manual = true\ntext = { en = "The parameters of all'
        )
    )
    executed = ExecutedNotebook("exam", (Markdown("Twelve times.", "task3-f"),), (None,))
    items = tuple(
        item("task3-f", "formula", Status.NEEDS_REVIEW, said("Waits.")) if one.question == "task3-f" else one
        for one in good().score.items
    )
    graded = replace(good(), score=replace(good().score, items=items), notebooks=(executed,))
    page = Page(render_marking([graded], exam, {"ada": standing(graded.score, exam)})).text
    assert "Twelve times." in page
