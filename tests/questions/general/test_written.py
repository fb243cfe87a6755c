"""Test written answers: they need manual review, or are no answer."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import Answer, Status
from autograder.questions.base.base import Evidence
from tests.questions.base.asking import answer, check_of, judge

WRITTEN = """
[[question]]
id = "q"
kind = "written"
points = 3
[[question.item]]
id = "idea"
points = 2
manual = true
text = { en = "The idea" }
guide = "Accept any wording."
[[question.item]]
id = "remark"
points = 1
manual = true
text = { en = "A remark" }
cell = "q-remark"
"""


def test_a_text_waits_for_a_person() -> None:
    """A written answer needs manual review; staff see its length and the guide."""
    (idea, _) = judge(check_of(WRITTEN), answer("Attention is a weighted mean.", cell_type="markdown"))
    assert (Status.NEEDS_REVIEW, Decimal(0), Decimal(2)) == (idea.status, idea.points, idea.possible)
    assert "for a person: 5 words; Accept any wording." == idea.staff


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("The stub", False),
        ("  \n ", True),
        ("*Your answer here*", True),
        ("Ihre Antwort hier …", True),
        ("–", True),
    ],
)
def test_a_cell_left_alone_needs_nobody(source: str, changed: bool) -> None:
    """An unchanged or empty cell, or a remaining placeholder, is no answer without review."""
    (idea, _) = judge(check_of(WRITTEN), answer(source, changed=changed, cell_type="markdown"))
    assert (Status.NO_ANSWER, Decimal(0)) == (idea.status, idea.points)


@pytest.mark.parametrize(("changed", "status"), [(True, Status.NEEDS_REVIEW), (False, Status.NO_ANSWER)])
def test_an_item_in_a_cell_of_its_own(changed: bool, status: Status) -> None:
    """An item with its own cell is judged by that cell."""
    answers = {"q-remark": Answer("q-remark", "markdown", "Because.", changed)}
    results = check_of(WRITTEN).judge(Evidence(answer("text"), (), answers=answers))
    assert [Status.NEEDS_REVIEW, status] == [result.status for result in results]


def test_words_of_the_list_suggest_and_give_nothing() -> None:
    """Listed words are reported to staff, but give no points without review."""
    listed = WRITTEN.replace("guide = ", 'suggest = ["weighted mean", "*mittel"]\nguide = ')
    (idea, _) = judge(check_of(listed), answer("A weighted\nMean.", cell_type="markdown"))
    assert (Status.NEEDS_REVIEW, Decimal(0)) == (idea.status, idea.points)
    assert "words of the list occur" in idea.staff
    (idea, _) = judge(check_of(listed), answer("A mean.", cell_type="markdown"))
    assert "of the list" not in idea.staff


def test_code_that_a_person_reads_is_never_a_placeholder() -> None:
    """Code that is an ellipsis needs manual review, because only text cells can be placeholders."""
    (idea, _) = judge(check_of(WRITTEN), answer("...", cell_type="code"))
    assert Status.NEEDS_REVIEW is idea.status


def test_nothing_is_run() -> None:
    """Neither the student's nor the reference's box is called."""
    check = check_of(WRITTEN)
    assert ((), ()) == (check.plan_calls(answer("text")), check.plan_reference_calls())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("manual = true\n", ""), "needs manual = true"),
        (("guide", "giude"), "did you mean 'guide'"),
        (("guide = ", 'examples = { full = "a" }\nguide = '), "none"),
        (("guide = ", 'suggest = ["a", " *"]\nguide = '), "suggest: expected words"),
        (("guide = ", 'suggest = ["a*b"]\nguide = '), "at most at their ends"),
        (("guide = ", 'suggest = "a"\nguide = '), "suggest"),
    ],
)
def test_errors_in_a_written_rubric_are_named(change: tuple[str, str], message: str) -> None:
    """A rubric for a written answer must declare it as manual."""
    with pytest.raises(RubricError, match=message):
        check_of(WRITTEN.replace(*change))


def test_what_is_stated_for_graders_is_read_in_every_kind() -> None:
    """A manual item may also have the keys of its kind; wrong types and unknown keys are rejected."""
    mixed = """
[[question]]
id = "q"
kind = "number"
points = 1
answer = "n"
[[question.item]]
id = "why"
points = 1
manual = true
text = { en = "Why" }
value = 3
guide = "Any reason."
"""
    assert "number" == check_of(mixed).kind
    with pytest.raises(RubricError, match="guide"):
        check_of(mixed.replace('"Any reason."', "3"))
    with pytest.raises(RubricError, match="item 'why': unknown key 'giude'; did you mean 'guide'"):
        check_of(mixed.replace("guide", "giude"))
