"""Cells that are marked item by item: the points of each line, and exact losses."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from autograder.core.records import GradingResult, ItemResult, Message, Score, Status
from autograder.grading.grades import PersonMark, PersonMarks, compute_standing
from autograder.marking.points import collect_verdicts, compute_cell_points, get_bounds
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.student_page import render_student_page
from autograder.pages.feedback.summary import render_summary
from autograder.pages.feedback.view import PageView, QuestionView, SubmittedView, build_page_view
from autograder.rubric import AssignmentSettings, Item, Question, Rubric
from tests.pages.examples import RUBRIC, middling
from tests.pages.test_render import Page

MHA = ("exam", "mha")
LABELS = Labels("en")


def page_of(score: Score, rubric: Rubric, marks: PersonMarks) -> PageView:
    """Return the view of the student page."""
    stands = compute_standing(score, rubric, marks)
    return build_page_view(GradingResult(score), rubric, LABELS, SubmittedView("", ""), stands)


def number(shown: str) -> Decimal:
    """Parse a number as shown on the page; an empty text is zero."""
    return Decimal(shown.replace("−", "-") or "0")


def losses(view: QuestionView) -> Decimal:
    """Return the points lost in lines and jointly marked cells, added up as a reader would."""
    together = (marked_text.split(" of ") for marked_text in view.marked)
    lost = (max(number(possible) - number(points), Decimal(0)) for points, possible in together)
    return -sum((number(item.lost) for item in view.items), Decimal(0)) + sum(lost, Decimal(0))


def test_a_line_that_a_person_marked_has_its_own_points() -> None:
    """Automatic results of other lines are unchanged, and the cell has no mark of its own."""
    score = middling().score
    marks = {MHA: PersonMark(Decimal("4.25"), items={"masked": Decimal("1.25")})}
    before = {(result.question, result.item): result for result in score.items}
    assert Decimal(3) == before["mha", "plain"].points
    view = page_of(score, RUBRIC, marks).questions[-1]
    assert ["3 of 3", "1.25 of 3"] == [item.worth for item in view.items]
    assert ["passed", "marked"] == [item.status for item in view.items]
    assert ("−1.75", "", ()) == (view.lost, view.items[0].lost, view.marked)
    text = Page(render_student_page(middling(), RUBRIC, stands=compute_standing(score, RUBRIC, marks))).text
    assert "✎ graded manually 1.25 of 3" in text


def test_what_does_not_add_up_is_a_mark_for_the_whole_cell() -> None:
    """If item points do not add up to the mark, or items are unknown, the mark counts for the whole cell."""
    for mark in (
        PersonMark(Decimal(4), items={"masked": Decimal("1.25")}),
        PersonMark(Decimal("1.25"), items={"masked": Decimal("1.25"), "plain": Decimal(-3)}),
        PersonMark(Decimal(4), items={"gone": Decimal(4)}),
        PersonMark(Decimal(6), items={"masked": Decimal(9)}),
    ):
        view = page_of(middling().score, RUBRIC, {MHA: mark}).questions[-1]
        assert ["", ""] == [item.worth for item in view.items]
        assert (f"{mark.points} of 6",) == view.marked


def test_a_mark_that_is_to_be_looked_at_again_is_open() -> None:
    """The marked lines are open without a loss; automatic results in the cell are kept."""
    marks = {MHA: PersonMark(Decimal(3), again=True, items={"masked": Decimal(0)})}
    view = page_of(middling().score, RUBRIC, marks).questions[-1]
    assert ["passed", "needs-review"] == [item.status for item in view.items]
    assert "" == view.lost


def test_the_summary_counts_marked_lines_alone() -> None:
    """Items without a mark are counted with their automatic result."""
    graded = middling()
    marks = {MHA: PersonMark(Decimal(4), items={"masked": Decimal(1)})}
    text = Page(
        render_summary([graded], RUBRIC, {"grace": compute_standing(graded.score, RUBRIC, marks)})
    ).text
    assert "✎ 1 graded manually" in text


CENTS = st.integers(0, 8)
LINE = st.tuples(
    st.sampled_from([Decimal(one) for one in ("-2", "-0.5", "1", "1.5", "3")]),
    st.sampled_from(["", "", "apart"]),
    st.sampled_from(list(Status)),
    CENTS,
    st.none() | CENTS,
)
"""An item: points, cell, status, eighths of its points from grading, and from manual marking."""


def _result(item: Item, status: Status, eighths: int) -> ItemResult:
    points = {
        Status.PASSED: max(item.points, Decimal(0)),
        Status.FAILED: item.points * eighths / 8,
    }.get(status, Decimal(0))
    return ItemResult("q", item.id, status, points, max(item.points, Decimal(0)), Message("passed"), "")


@given(st.lists(LINE, min_size=1, max_size=5), st.booleans())
def test_losses_add_up_to_what_the_question_lost(
    lines: list[tuple[Decimal, str, Status, int, int | None]], again: bool
) -> None:
    """Losses add up with credits, deductions, several cells, and automatic or manual marks."""
    items = tuple(Item(str(number), points, {}, cell=cell) for number, (points, cell, *_) in enumerate(lines))
    possible = sum((max(item.points, Decimal(0)) for item in items), Decimal(0))
    question = Question("q", "written", possible, items, notebook="a", answer_cell="q-answer")
    rubric = Rubric(1, AssignmentSettings("a", possible), (question,), "")
    results = tuple(
        _result(item, status, eighths) for item, (_, _, status, eighths, _) in zip(items, lines, strict=True)
    )
    score = Score("ada", "a", 1, results)
    marks: dict[tuple[str, str], PersonMark] = {}
    for cell in question.list_cells():
        given_here = {
            item.id: item.points * by_hand / 8
            for item, (*_, by_hand) in zip(items, lines, strict=True)
            if by_hand is not None and (item.cell or "q") == cell
        }
        assert all(
            get_bounds(item)[0] <= given_here.get(item.id, Decimal(0)) <= get_bounds(item)[1]
            for item in items
        )
        points = compute_cell_points(question, cell, collect_verdicts(question, cell, score), given_here)
        if given_here and points is not None:
            marks["a", cell] = PersonMark(points, again=again, items=given_here)
    stands = compute_standing(score, rubric, marks)
    view = page_of(score, rubric, marks).questions[0]
    assert losses(view) == -number(view.lost)
    settled = [cell for cell in stands.questions[0].cells if not cell.pending]
    if len(settled) == len(question.list_cells()):
        assert stands.questions[0].possible - stands.questions[0].points == -number(view.lost)
    if marks and not again:
        marked = sum(item.status == "marked" for item in view.items)
        assert sum(len(mark.items) for mark in marks.values()) == marked
        assert () == view.marked
