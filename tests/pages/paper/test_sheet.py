"""Printed sheets contain all questions, no secrets, and space for every answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from html import unescape

import pytest

from autograder.grading import release_generation
from autograder.notebook.release import ReleaseCell
from autograder.pages.feedback.typeset import Typesetter
from autograder.pages.paper.answer_boxes import (
    LEAST_TEXT,
    MOST_MILLIMETRES,
    make_empty_box,
    make_solved_box,
    render_form,
)
from autograder.pages.paper.sheet import SheetLabels, build_item_guide, make_sheet, render_sheet
from autograder.rubric import Rubric, parse_rubric
from tests.pages.paper.conftest import COURSE
from tests.support.solution_lines import solution_fragments

Page = Callable[..., str]


def plain(page: str) -> str:
    """Return the text of a page without markup."""
    return unescape(re.sub(r"<[^>]*>", "", page))


def cell(source: str, cell_type: str = "code") -> ReleaseCell:
    """Return a released answer cell."""
    return ReleaseCell(1, cell_type, source, "q-answer", solution=True)


def rubric(kind: str, more: str, item: str) -> Rubric:
    """Return a rubric with one question worth four points."""
    return parse_rubric(
        f'version = 1\n[assignment]\nname = "a"\npoints = 4\n[[question]]\nid = "q"\nkind = "{kind}"\n'
        "points = 4\n"
        f'{more}\n[[question.item]]\nid = "i"\npoints = 4\ntext = {{ en = "t" }}\n{item}\n'.encode()
    )


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_question_is_there_once_with_its_points(page: Page, exam: Rubric, language: str) -> None:
    """The sheet lists the questions in the order of the rubric, with their points."""
    unit = {"en": ("points", "point"), "de": ("Punkte", "Punkt")}[language]
    questions = re.findall(r'id="question-([^"]+)" data-points="([^"]+) (\w+)"', page(language))
    assert [question.id for question in exam.questions] == [name for name, _, _ in questions]
    for question, (_, points, word) in zip(exam.questions, questions, strict=True):
        assert question.points == Decimal(points.replace(",", "."))
        assert word == unit[question.points == 1]


def test_the_boxes_are_worth_the_exam(page: Page, exam: Rubric) -> None:
    """The points of the boxes add up to those of the assignment."""
    worth = re.findall(r"</span> / ([0-9.]+) points?</span>", page())
    assert exam.assignment.points == sum(map(Decimal, worth))


def test_no_solution_on_the_students_sheet(page: Page, exam: Rubric) -> None:
    """The students' sheet contains no withheld line of the answer key and no items."""
    text = plain(page())
    for source in release_generation.read_answer_key(COURSE, exam).values():
        assert [] == [line for line in solution_fragments(source) if line in text]
    assert "item-" not in page()


def test_every_item_on_the_graders_sheet(page: Page, exam: Rubric) -> None:
    """The solution sheet contains each item with its points, and the cells of the answer key."""
    solved = page(solutions=True)
    item_rows = re.findall(r'<tr id="item-([^"]+)"><td class="num">([^<]+)</td>', solved)
    assert [
        (f"{question.id}-{item.id}", item.points) for question in exam.questions for item in question.items
    ] == [(name, Decimal(points.replace("−", "-"))) for name, points in item_rows]
    for line in ('parallel_time = "O(1)"', "a vector, its last hidden state", "return self.output_head(x)"):
        assert line in plain(solved)


def test_graders_read_alternatives_and_guides(page: Page) -> None:
    """Solutions show typeset formulas, points and messages of other answers, and guides of manual items."""
    solved = page(solutions=True)
    assert "Also right:" in solved
    assert re.search(
        r"Worth 0 points:</span> <math.*?</math> – That is the order of a layer that passes", solved
    )
    assert "Guide:" in solved
    assert "Graded manually." in solved
    assert "every right approach counts" in solved


def test_a_repair_shows_which_lines_are_new(page: Page) -> None:
    """The solution of a repair highlights only the corrected lines."""
    solved = page(solutions=True)
    new = [unescape(line) for line in re.findall(r'<span class="new">(.*?)</span>', solved)]
    assert "return self.output_head(x)" in [line.strip() for line in new]
    assert "self.norm = nn.LayerNorm(d_model)" not in [line.strip() for line in new]


def test_a_solution_inside_a_function_keeps_its_head() -> None:
    """A solution inside a function is shown with its def line; an assignment replaces the released hint."""
    body = "def f(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"
    assignment = "# y = ...\n### BEGIN SOLUTION\ny = 1\n### END SOLUTION"
    (question,) = rubric("number", 'answer = "y"', "value = 1").questions
    shown = [
        make_solved_box(question, cell(""), Decimal(1), key).pieces[0].text for key in (body, assignment)
    ]
    assert ["def f(x):\n    return 2 * x", "y = 1"] == shown


def test_name_number_and_page_on_every_page(page: Page) -> None:
    """The header has fields for name and number, the footer page numbers; solutions have no name field."""
    german = page("de")
    assert re.search(r'@top-left \{ content: "Name: _+   Matrikelnummer: _+"', german)
    assert 'content: "Seite " counter(page) " von " counter(pages)' in german
    assert "Student number" not in page(solutions=True)


def test_nothing_of_the_computer_is_printed(page: Page) -> None:
    """Cells that only check, and placeholders of missing answers, are omitted."""
    text = plain(page().partition("Task 1: neural")[2])
    for word in ("coursecheck", 'check("', "NotImplementedError", "YOUR ANSWER HERE"):
        assert word not in text


def test_room_grows_with_points() -> None:
    """The height of a text box grows with its points, up to a maximum."""
    question = rubric("written", "", "manual = true").questions[0]
    heights = [
        make_empty_box(question, cell("YOUR ANSWER HERE", "markdown"), Decimal(points)).pieces[0].millimetres
        for points in (0, 2, 4, 40)
    ]
    assert LEAST_TEXT == heights[0] < heights[1] < heights[2] < heights[3] == MOST_MILLIMETRES


def test_a_short_answer_has_a_line() -> None:
    """Each ``...`` in the release becomes a blank; without one, each requested name gets a line."""
    question = rubric("number", 'answer = "total"', "value = 1").questions[0]
    hinted = make_empty_box(question, cell('# total = "..."\n# YOUR CODE HERE'), Decimal(1))
    bare = make_empty_box(question, cell("# YOUR CODE HERE\nraise NotImplementedError()"), Decimal(1))
    for box in (hinted, bare):
        assert ["blanks"] == [piece.kind for piece in box.pieces]
        assert re.fullmatch(r'total = <span class="blank" style="width:\d+mm"></span>', box.pieces[0].markup)


def test_each_entry_of_a_dictionary_has_a_line() -> None:
    """Quotes of adjacent names are not read as one string around the text between them."""
    question = rubric("number", 'answer = "total"', "value = 1").questions[0]
    (piece,) = make_empty_box(question, cell('total = {"a": ..., "b": "..."}'), Decimal(1)).pieces
    assert 'total = {"a": _, "b": _}' == plain(re.sub('<span class="blank"[^>]*></span>', "_", piece.markup))


def test_what_closes_an_answer_stays_on_its_line() -> None:
    """A comma or bracket stays with the blank before it, and the whole line fits its box."""
    question = rubric("number", 'answer = "total"', "value = 1").questions[0]
    source = '"' + 36 * "a" + '": ...,\nnames = ["...", "..."]'
    entry, names = (piece.markup for piece in make_empty_box(question, cell(source), Decimal(1)).pieces)
    blank = r'<span class="kept"><span class="blank" style="width:(\d+)mm"></span>{}</span>'
    assert re.search(blank.format(","), entry)
    (width,) = (int(digits) for digits in re.findall(r"width:(\d+)mm", entry))
    assert len('"": ,' + 36 * "a") * 2.15 + width + 2 <= 160
    assert re.fullmatch(rf"names = \[{blank.format(',')} {blank.format(']')}", names)


def test_a_table_is_ruled_without_its_rows_names() -> None:
    """A table has column names and empty rows, because row names are part of the answer."""
    question = rubric(
        "table",
        '[[question.column]]\nid = "name"\nkind = "key"\n[[question.column]]\nid = "size"\nkind = "number"\n'
        '[[question.row]]\nid = "secret_row"\ncells = { size = 77 }',
        'columns = ["size"]',
    ).questions[0]
    box = make_empty_box(question, cell("# YOUR CODE HERE"), Decimal(4))
    assert [("grid", ("name", "size"), 3)] == [
        (piece.kind, piece.columns, piece.rows) for piece in box.pieces
    ]


def test_own_details_are_a_form() -> None:
    """A cell that only assigns empty strings to names becomes a form; other cells are code."""
    form = render_form("# Name and number\nname = \"\"\nnumber = ''\n")
    assert form is not None
    assert 2 == form.count('class="blank"')
    assert "# Name and number" in form
    for source in ("", "# nothing\n", 'name = ""\nprint(name)', 'name = "Ada"'):
        assert render_form(source) is None, source


def test_a_title_page_ends_with_the_form(exam: Rubric) -> None:
    """If the title page has a form for personal details, the questions begin on the next page."""
    import json

    files = release_generation.build_release_files(COURSE, exam, "en")
    (name,) = (page_notebook.name for page_notebook in exam.assignment.notebooks)
    notebook = json.loads(files[f"{name}.ipynb"])
    details = {"cell_type": "code", "id": "details", "metadata": {}, "outputs": [], "execution_count": None}
    plain_sheet = render_sheet(make_sheet(exam, {name: files[f"{name}.ipynb"]}, language="en"))
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader")]
    notebook["cells"].insert(1, {**details, "source": 'family_name = ""\n'})
    page = render_sheet(make_sheet(exam, {name: json.dumps(notebook).encode()}, language="en"))
    assert re.search(r'<section class="text front">(?:(?!</section>).)*family_name = <span', page, re.DOTALL)
    assert 1 == page.count('class="text front"') >= plain_sheet.count('class="text front"')


def test_graders_read_examples() -> None:
    """Manual items show their examples for full, half and no points, and their closed list."""
    examples = 'examples = { full = "All of it.", none = "Nothing of it." }'
    asked = rubric("written", "", f'manual = true\n{examples}\nsuggest = ["order", "<b>*"]')
    item = asked.questions[0].items[0]
    notes = build_item_guide(asked.questions[0], item, SheetLabels("en"), Typesetter({})).notes
    assert [
        ("Full points", "All of it."),
        ("No points", "Nothing of it."),
        ("Words to look for", "order · <b>*"),
    ] == [(note.label, plain(note.text).strip()) for note in notes[1:]]


def test_growth_is_shown_with_its_letter() -> None:
    """A growth rate without a letter gets the letter of the answer; one with a letter keeps it."""
    stated = 'form = "asymptotic"\naccept = ["n^2", "Theta(log(n))", "log(n)"]'
    text = (
        'version = 1\n[assignment]\nname = "a"\npoints = 1\n[assignment.symbols]\nn = {}\n'
        f'[[question]]\nid = "q"\nkind = "formula"\npoints = 1\nanswer = "a"\n'
        f'[[question.item]]\nid = "i"\npoints = 1\n{stated}\n'
        'text = { en = "t" }\n'
    )
    asked = parse_rubric(text.encode())
    typesetter = Typesetter(asked.assignment.symbols)
    notes = build_item_guide(
        asked.questions[0], asked.questions[0].items[0], SheetLabels("en"), typesetter
    ).notes
    labels = [re.search(r'aria-label="([^"]*)"', note.text) for note in notes]
    assert ["O(n^2)", "Θ(log(n))", "O(log(n))"] == [match and match[1] for match in labels]


@pytest.mark.parametrize(
    ("kind", "stated", "right", "shown"),
    [
        ("number", 'unit = "MB"\n', "value = 500", "500 MB"),
        ("number", 'unit = "MB"\n', 'value = "0.5 GB"', "0.5 GB"),
        ("number", "", "value = 500", "500"),
    ],
)
def test_a_right_number_has_its_unit(kind: str, stated: str, right: str, shown: str) -> None:
    """A number without a unit is shown with the question's unit; other values get none."""
    asked = rubric(kind, stated, right)
    notes = build_item_guide(
        asked.questions[0], asked.questions[0].items[0], SheetLabels("en"), Typesetter({})
    ).notes
    assert shown == plain(notes[0].text).strip()


def test_bonus_points_are_told(page: Page, exam: Rubric) -> None:
    """Only boxes of bonus questions are labelled as bonus, on both sheets."""
    from msgspec.structs import replace

    first, *other_questions = exam.questions
    odd = replace(exam, questions=(replace(first, bonus=True), *other_questions))
    files = release_generation.build_release_files(COURSE, exam, "de")
    releases = {notebook.name: files[f"{notebook.name}.ipynb"] for notebook in exam.assignment.notebooks}
    for key in (None, release_generation.read_answer_key(COURSE, exam)):
        labels = re.findall(
            r'<p class="label"><span>([^<]*)</span>(.*?)</p>',
            render_sheet(make_sheet(odd, releases, language="de", key=key)),
        )
        assert {first.id} == {name.removesuffix("-answer") for name, label in labels if "· Bonus" in label}
    assert "· Bonus" not in page("de")


def test_a_title_cannot_leave_its_place(exam: Rubric) -> None:
    """Quotes and elements in a title stay text in the page and in its style sheet."""
    from msgspec.structs import replace

    title = {"en": '"; } </style><script>alert(1)</script>'}
    odd = replace(exam, assignment=replace(exam.assignment, title=title))
    files = release_generation.build_release_files(COURSE, exam, "en")
    releases = {notebook.name: files[f"{notebook.name}.ipynb"] for notebook in exam.assignment.notebooks}
    page = render_sheet(make_sheet(odd, releases, language="en"))
    assert "<script" not in page
    assert 1 == page.count("</style>")
