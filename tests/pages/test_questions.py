"""A question on the student page: its prompt, the answer with its changes, and each reason once."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest
from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.core.records import (
    Cell,
    CellOutput,
    CellRun,
    ExecutedNotebook,
    GradingResult,
    Markdown,
    Message,
    Status,
)
from autograder.grading.grades import PersonMark, PersonMarks, compute_standing
from autograder.notebook.release import Release, load_release
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.released_texts import list_prompts
from autograder.pages.feedback.student_page import render_cells, render_student_page
from autograder.pages.feedback.view import PageView, SubmittedView, build_page_view
from tests.pages.examples import HOSTILE, RUBRIC, TOML, good, item, middling, png, release, said, stream
from tests.pages.test_render import OUR_TAGS, Page
from tests.redteam.pages import page_faults

LABELS = Labels("en")
STARTER = "class MultiHeadAttention(nn.Module):\n    def forward(self, x):\n        raise NotImplementedError"
ASKED = "## Task 3\n\nHow many numbers has $W_Q \\in R^{d \\times d}$?"


def handed_out() -> Release:
    """Return the release, with a text above the first question and a starter for the last one."""
    notebook = json.loads(release())
    above = {"cell_type": "markdown", "id": "asked", "metadata": {}, "source": ASKED}
    notebook["cells"].insert(1, above)
    for cell in notebook["cells"]:
        if cell["id"] == "mha-answer":
            cell["source"] = STARTER
    return load_release(json.dumps(notebook).encode(), "exam")


def answered(source: str, why: str = "Because.") -> GradingResult:
    """Return the middling student's result with another class and another reason."""
    cells = (
        Markdown(ASKED),
        Cell('mlp_parameters = "4*d_model^2"', "task3-b-answer"),
        Markdown(why, "task3-b-why"),
        Cell(source, "mha-answer"),
        Cell('check("mha")', "mha", locked=True),
    )
    return replace(middling(), notebooks=(ExecutedNotebook("exam", cells, (None,) * len(cells)),))


def view(graded: GradingResult, marks: PersonMarks | None = None) -> PageView:
    """Return the view of the student page."""
    return build_page_view(
        graded,
        RUBRIC,
        LABELS,
        SubmittedView("", ""),
        compute_standing(graded.score, RUBRIC, marks),
        releases={"exam": handed_out()},
    )


def part(source: str, question: str) -> str:
    """Return a question's part of the page."""
    return source[source.index(f'id="question-{question}"') :].split(
        '<details class="card question"', maxsplit=1
    )[0]


def test_the_text_of_the_question_stands_in_it() -> None:
    """The prompt is typeset, adds no headings to the outline, and is shared by the questions below it."""
    first, *other_questions = view(good()).questions
    *_, text = first.prompts
    assert "<strong>Task 3</strong>" in text
    assert "<math" in text
    assert {(text,)} == {question.prompts[-1:] for question in other_questions}
    assert "The question" not in render_student_page(good(), RUBRIC)


@pytest.mark.parametrize(
    ("source", "language", "shown"),
    [
        ("One\n<!-- de -->\nEins", "en", "<p>One</p>"),
        ("One\n<!-- de -->\nEins", "de", "<p>Eins</p>"),
        ("One\n<!-- de -->\nEins", "fr", "<p>One</p>\n<p>Eins</p>"),
        ("One\n<!-- xx -->\nUn", "de", "<p>One</p>\n<p>Un</p>"),
    ],
)
def test_a_text_in_two_languages_is_shown_in_one(source: str, language: str, shown: str) -> None:
    """The prompt is shown in the reader's language if available; unknown markers leave it unchanged."""
    notebook = json.loads(release())
    notebook["cells"][0]["source"] = source
    release_notebook = load_release(json.dumps(notebook).encode(), "exam")
    (prompt,) = list_prompts(
        release_notebook, release_notebook.by_id["task3-b-answer"], ("en", "de"), language
    )
    assert shown == re.sub("\n+", "\n", str(prompt)).strip()


def test_an_answer_stands_beside_its_reasons() -> None:
    """Code is highlighted and compared with the released starter; text is typeset."""
    code = STARTER.replace("raise NotImplementedError", "return x")
    page = render_student_page(
        answered(code, "It has $d^2$ **numbers**."), RUBRIC, releases={"exam": handed_out()}, name="Grace"
    )
    assert '<span class="line gone">        <span class="k">raise</span> NotImplementedError' in page
    assert '<span class="line new">        <span class="k">return</span> x' in page
    assert "<strong>numbers</strong>" in part(page, "task3-b")
    assert "<math" in part(page, "task3-b")
    assert "mlp_parameters" in part(page, "task3-b")
    assert 1 == page.count("mlp_parameters =")


def test_what_was_not_touched_is_no_answer() -> None:
    """The unchanged starter is not shown as an answer."""
    assert () == view(answered(STARTER)).questions[-1].answers
    assert 1 == len(view(answered(STARTER + "\n    pass")).questions[-1].answers)


def test_an_answer_to_two_questions_is_shown_once() -> None:
    """The second question links to the answer shown at the first one."""
    source = re.sub(r'(id = "task3-f"\nkind = "formula")', r'\1\nanswer_cell = "task3-b-answer"', TOML)
    shared = rubrics.parse_rubric(source.encode())
    graded = answered("x = 1")
    found = build_page_view(
        graded, shared, LABELS, SubmittedView("", ""), compute_standing(graded.score, shared)
    ).questions
    assert [("task3-b", 2, 0), ("task3-f", 0, 1)] == [
        (one.name, len(one.answers), len(one.elsewhere)) for one in found[:2]
    ]


def test_one_reason_is_told_once() -> None:
    """Lines that failed for the same reason are grouped, at the question and in the summary of losses."""
    page = Page(render_student_page(middling(), RUBRIC)).text
    sentence = "Moving a memory position that is blocked still changed the output."
    assert 2 == page.count(sentence)
    assert "For all 3 lines above: " + sentence in page
    repair = view(middling()).questions[2]
    assert [1, 1, 3, 1, 1, 1] == [len(reason.items) for reason in repair.reasons]
    assert "−3" == repair.losses[0].lost


def test_reasons_that_differ_in_what_they_quote_stay_apart() -> None:
    """The same code with other values is a different reason."""
    told = ("one", "two")
    items = tuple(
        item("mha", name, Status.FAILED, said("Case {name}", name=value))
        for name, value in zip(("plain", "masked"), told, strict=True)
    )
    score = replace(good().score, items=(*good().score.items[:-2], *items))
    assert [1, 1] == [
        len(question.items) for question in view(replace(good(), score=score)).questions[-1].reasons
    ]


def test_one_cause_in_several_cases_is_one_reason() -> None:
    """One sentence names the first three cases of a cause; the summary of losses names the first."""
    what = [f"attend [{case}]" for case in ("plain", "masked", "long", "short")]
    faults = [result for result in good().score.items if result.question == "task5-a"]
    wrong = {
        result.item: replace(
            result,
            status=Status.FAILED,
            points=Decimal(0),
            student=Message("value.none", {"what": name}),
        )
        for result, name in zip(faults, what, strict=False)
    }
    items = tuple(
        wrong.get(result.item, result) if result.question == "task5-a" else result
        for result in good().score.items
    )
    repair = view(replace(good(), score=replace(good().score, items=items))).questions[2]
    told = "is None. Is a return statement or an assignment missing?"
    (lost,) = repair.losses
    assert (4, "−4", f"attend [plain] {told}") == (lost.shared, lost.lost, lost.brief)
    assert f"attend [plain], attend [masked], attend [long], … {told}" == lost.stating_item.message


def test_what_nobody_read_or_wrote_is_one_line() -> None:
    """Right and unread questions are folded; losses, comments and failed cells are not."""
    questions = {question.name: question.unfolded for question in view(middling()).questions}
    assert {"task3-b": True, "task3-f": False, "task5-a": True, "mha": True} == questions
    assert {False} == {question.unfolded for question in view(good()).questions}
    commented = view(good(), {("exam", "task3-b-why"): PersonMark(Decimal(1), comment="Well said.")})
    assert [True, False, False, False] == [question.unfolded for question in commented.questions]
    failed = ExecutedNotebook("exam", (Cell("1/0", "mha-answer"),), (CellRun(error="ZeroDivisionError"),))
    assert view(replace(good(), notebooks=(failed,))).questions[-1].unfolded


def test_a_comment_stands_at_its_item() -> None:
    """A comment is shown at the only item of its cell, or below several items, and only once."""
    marks = {
        ("exam", "task3-b-why"): PersonMark(Decimal(1), comment="Why not $d^2$?"),
        ("exam", "mha"): PersonMark(comment="Look again."),
        ("exam", "task3-b-answer"): PersonMark(comment="Of the answer."),
    }
    first, *_, last = view(middling(), marks).questions
    assert [(), 1] == [first.items[0].comments, len(first.items[1].comments)]
    assert "<math" in first.items[1].comments[0]
    assert ("Of the answer.",) == first.comments
    assert ("Look again.",) == last.comments
    assert {()} == {item.comments for item in last.items}


def test_a_remark_stands_at_its_item() -> None:
    """Remarks are shown at their items, and the comment on the whole cell below them."""
    marks = {("exam", "mha"): PersonMark(comment="In all.", remarks={"masked": "Which $d_k$?", "gone": "x"})}
    last = view(good(), marks).questions[-1]
    [said] = [item for item in last.items if item.comments]
    assert said.anchor.endswith("masked")
    assert "<math" in said.comments[0]
    assert 1 == len(said.comments)
    assert ("In all.",) == last.comments
    assert last.unfolded


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_answers_stay_text(text: str) -> None:
    """Hostile answers, as code or Markdown, with or without a starter, are shown as text only."""
    for source in (text, f"{STARTER}\n{text}"):
        page = render_student_page(
            answered(source, f"# {text}\n\n{text}\n\n$${text}$$"), RUBRIC, releases={"exam": handed_out()}
        )
        assert set() == {tag for tag, _ in Page(page).elements} - OUR_TAGS
        assert [] == list(page_faults(page))


def drawn() -> GradingResult:
    """Return a result whose answer includes a plot from the student's own cell."""
    picture = CellRun((CellOutput("display", {"image/png": png(), "text/plain": "<Figure>"}),))
    cells = (
        Cell("check()", "elsewhere", locked=True),
        Cell("plot(losses)"),
        Cell('mlp_parameters = "4"', "task3-b-answer"),
        Cell('check("task3-b")', "task3-b", locked=True),
        Markdown("Look at the plot.", "task3-b-why"),
        Cell("far()", "mha-answer"),
        Cell("also()"),
    )
    runs = (picture, picture, CellRun(), CellRun((stream("ok"),)), None, picture, picture)
    return replace(middling(), notebooks=(ExecutedNotebook("exam", cells, runs),))


def test_graders_see_what_was_plotted_for_an_answer() -> None:
    """Graders see plots of the answer's cells and adjacent unnamed cells, but of no other question."""
    graded = drawn()
    shown = render_cells(graded, RUBRIC, "exam", {"task3-b-answer", "task3-b-why"}, "en")
    assert 1 == shown.count("<img")
    assert "Look at the plot." in shown
    assert "far" not in shown
