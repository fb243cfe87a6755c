"""The text shown for an item whose title reveals the answer, until the marks are final."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder import messages
from autograder import rubric as rubrics
from autograder.core.errors import RubricError
from autograder.core.records import Answer, CellOutcome, Ending, GradingResult, Status
from autograder.grading.grades import PersonMark, compute_standing
from autograder.pages.feedback.student_page import render_student_page
from autograder.pages.feedback.summary import render_summary
from autograder.questions import make_check
from autograder.questions.base.base import Evidence
from autograder.rubric.missing_translations import list_untranslated
from autograder.store.gradebook.book import format_comments
from tests.pages.examples import TOML, middling

TITLE = {"en": "Blocked positions have no effect", "de": "Gesperrte Positionen wirken nicht"}
SHOWN = {"en": "With a mask", "de": "Mit Maske"}
LINE = f'text = {{ en = "{TITLE["en"]}", de = "{TITLE["de"]}" }}'
RUBRIC = rubrics.parse_rubric(
    TOML.replace(LINE, f'{LINE}\nshown = {{ en = "{SHOWN["en"]}", de = "{SHOWN["de"]}" }}').encode()
)
DECIDED = {("exam", "task3-b-why"): PersonMark(Decimal(1))}


def settled() -> GradingResult:
    """Return the middling student's result without open manual items."""
    graded = middling()
    items = tuple(
        replace(result, status=Status.FAILED) if result.status is Status.NEEDS_REVIEW else result
        for result in graded.score.items
    )
    return replace(graded, score=replace(graded.score, items=items))


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_title_is_told_when_the_marks_are_final(language: str) -> None:
    """Until then, the page contains the rubric's replacement text, but neither title nor id."""
    waiting = compute_standing(middling().score, RUBRIC)
    final = compute_standing(middling().score, RUBRIC, DECIDED)
    assert (False, True) == (waiting.final, final.final)
    before = render_student_page(middling(), RUBRIC, language=language, stands=waiting)
    assert SHOWN[language] in before
    assert TITLE[language] not in before
    assert "item-mha-masked" not in before
    after = render_student_page(middling(), RUBRIC, language=language, stands=final)
    assert TITLE[language] in after
    assert SHOWN[language] not in after
    assert "item-mha-masked" in after


def test_staff_read_the_title() -> None:
    """Pages for staff always show the title; items without the option are unaffected."""
    stands = {"grace": compute_standing(middling().score, RUBRIC)}
    staff = render_summary([middling()], RUBRIC, stands)
    assert SHOWN["en"] not in staff
    plain = rubrics.parse_rubric(TOML.encode())
    assert TITLE["en"] in render_student_page(middling(), plain, stands=stands["grace"])


@pytest.mark.parametrize("language", ["en", "de"])
def test_comments_in_nbgrader_keep_to_it(language: str) -> None:
    """Comments in nbgrader use the replacement, because students may see them at any time."""
    cells = {("exam", "mha-answer")}
    (waiting,) = format_comments(middling().score, RUBRIC, cells, language).values()
    (decided,) = format_comments(settled().score, RUBRIC, cells, language).values()
    assert (True, False) == (SHOWN[language] in waiting, TITLE[language] in waiting)
    assert (False, True) == (SHOWN[language] in decided, TITLE[language] in decided)


@pytest.mark.parametrize(
    "outcome",
    [
        CellOutcome(error="ValueError", message="here", raised=True),
        CellOutcome(error="Wrong", message="for staff"),
        CellOutcome(ending=Ending.CALL_TIME),
    ],
    ids=["raised", "wrong", "ended"],
)
def test_results_of_checks_do_not_quote_a_hidden_title(outcome: CellOutcome) -> None:
    """Results of checks do not quote the title, because students read them before marks are final."""
    rubric = rubrics.load_rubric(Path(__file__).parents[2] / "rubrics" / "gpt2.toml")
    question = rubric.get_question("proposal")
    answer = Answer("proposal-answer", "code", "proposal_findings = []", changed=True)
    tests = {item.id: outcome for item in question.items}
    for result in make_check(question, rubric).judge(Evidence(answer, (), (), tests=tests)):
        assert Status.FAILED is result.status
        item = question.get_item(result.item)
        for language in ("en", "de"):
            assert item.text[language] not in messages.render_message(result.student, language)


def test_errors_are_refused() -> None:
    """The replacement needs a text in each of the assignment's languages."""
    half = rubrics.parse_rubric(TOML.replace(LINE, f'{LINE}\nshown = {{ en = "With a mask" }}').encode())
    assert [("question 'mha', item 'masked': shown", "'de' is missing")] == list_untranslated(half)
    with pytest.raises(RubricError, match=r"item 2 \(masked\): shown"):
        rubrics.parse_rubric(TOML.replace(LINE, f'{LINE}\nshown = "With a mask"').encode())


def test_shipped_titles_that_give_answers_away_are_not_shown_early() -> None:
    """The shipped audits and reasons, whose titles reveal answers, have replacement texts."""
    folder = Path(__file__).parents[2] / "rubrics"
    hidden = {}
    for name in ("gpt2", "dl4nlp-exam"):
        for question in rubrics.load_rubric(folder / f"{name}.toml").questions:
            for item in question.items:
                if item.shown:
                    hidden[item.text["en"]] = item.shown
                    assert set(item.text) == set(item.shown)
    assert {
        "The class is right, and no fault is claimed",
        "Cross-attention sees the padding of the source",
    } <= set(hidden)
    audits = [
        question
        for question in rubrics.load_rubric(folder / "gpt2.toml").questions
        if question.id in ("attention", "translator", "proposal")
    ]
    telling = [item for question in audits for item in question.items if item.id != "claims"]
    assert [] == [item.id for item in telling if not item.shown]
