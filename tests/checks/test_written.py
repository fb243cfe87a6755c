"""Text for a person: waiting, or left alone."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.checks.base import Evidence
from autograder.errors import RubricError
from autograder.records import Answer, Status
from tests.checks.asking import DRAW, answer, check_of, judge

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
    """A written answer has no points yet; staff see its length and the guide."""
    (idea, _) = judge(check_of(WRITTEN), answer("Attention is a weighted mean.", cell_type="markdown"))
    assert (Status.NEEDS_REVIEW, Decimal(0), Decimal(2)) == (idea.status, idea.points, idea.possible)
    assert "for a person: 5 words; Accept any wording." == idea.staff


@pytest.mark.parametrize(("source", "changed"), [("YOUR ANSWER HERE", False), ("  \n ", True)])
def test_a_cell_left_alone_needs_nobody(source: str, changed: bool) -> None:
    """An unchanged or emptied cell is no answer, with nothing to review."""
    (idea, _) = judge(check_of(WRITTEN), answer(source, changed=changed))
    assert (Status.NO_ANSWER, Decimal(0)) == (idea.status, idea.points)


@pytest.mark.parametrize(("changed", "status"), [(True, Status.NEEDS_REVIEW), (False, Status.NO_ANSWER)])
def test_an_item_in_a_cell_of_its_own(changed: bool, status: Status) -> None:
    """An item with a cell of its own is judged by that cell."""
    answers = {"q-remark": Answer("q-remark", "markdown", "Because.", changed)}
    results = check_of(WRITTEN).judge(Evidence(answer("text"), (), answers=answers))
    assert [Status.NEEDS_REVIEW, status] == [one.status for one in results]


def test_nothing_is_run() -> None:
    """Neither the student's nor the reference's box is asked."""
    check = check_of(WRITTEN)
    assert ((), ()) == (check.plan(answer("text"), DRAW), check.reference_plan(DRAW))


@pytest.mark.parametrize(
    ("change", "message"),
    [(("manual = true\n", ""), "needs manual = true"), (("guide", "giude"), "did you mean 'guide'")],
)
def test_slips_in_a_written_rubric_are_named(change: tuple[str, str], message: str) -> None:
    """Only a person can judge a text, and the rubric has to say so."""
    with pytest.raises(RubricError, match=message):
        check_of(WRITTEN.replace(*change))
