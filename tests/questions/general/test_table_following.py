"""Test tables with ``following``: lines are judged one by one, with errors carried forward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import Answer, Call, ItemResult, Observation, Status
from autograder.messages import list_languages, render_message
from autograder.questions.base.base import Evidence
from autograder.questions.table import TableCheck
from tests.questions.base.asking import DRAW, answer, check_of, error, value
from tests.support.local_box import LocalBox

REFERENCE = LocalBox("from reference.tracing.shapes import traced as shapes")
RIGHT = {
    "qkv": "(batch, seq, 3*d_model)",
    "query_heads": "(batch, n_heads, seq, d_head)",
    "all_keys": "(batch, n_heads, seq + past, d_head)",
    "scores": "(batch, n_heads, seq, past + seq)",
    "weights": "(batch, n_heads, seq, past + seq)",
    "mixed": "(batch, n_heads, seq, d_head)",
}
SHORT = "(batch, n_heads, seq, seq)"


def question(more: str = "", *, manual: bool = False) -> TableCheck:
    """Return a question about six lines with a point each."""
    rows = "".join(f'[[question.row]]\nid = "{row}"\n' for row in RIGHT)
    check = check_of(
        "past = {}\n"
        '[[question]]\nid = "q"\nkind = "table"\npoints = 6\nanswer = "shapes"\n'
        f'reference = "tracing.shapes:traced"\nconfig = {{ listing = "attention" }}\n{more}\n'
        '[[question.column]]\nid = "line"\nkind = "key"\n[[question.column]]\nid = "shape"\nkind = "shape"\n'
        f'{rows}[[question.item]]\nid = "i"\npoints = 6\ntext = {{ en = "x" }}\n'
        + ("manual = true\n" if manual else 'columns = ["shape"]\n')
    )
    assert isinstance(check, TableCheck)
    return check


def ask_reference(call: Call) -> Observation:
    """Return the value that the reference computes, which must succeed."""
    observed = REFERENCE.ask([call])[0]
    assert observed.ok
    return observed


def refuse(call: Call) -> Observation:
    """Act as a reference that must not be called again."""
    raise AssertionError(call)


def evidence_of(
    check: TableCheck, given_answer: Answer, ask: Callable[[Call], Observation] = ask_reference
) -> Evidence:
    """Return evidence of an answer with the reply of the reference."""
    return Evidence(
        given_answer, (), REFERENCE.ask(check.plan_reference_calls()), draw=DRAW, ask_reference=ask
    )


def judged(check: TableCheck, changed_rows: Mapping[str, Any]) -> ItemResult:
    """Return the result of the right table with some rows replaced; the reference may be called again."""
    rows = [(row, shape) for row, shape in {**RIGHT, **changed_rows}.items() if shape is not None]
    given_answer = answer(f"shapes = {rows!r}")
    assert () == check.plan_calls(given_answer)
    (result,) = check.judge(evidence_of(check, given_answer))
    assert all(render_message(result.student, language) for language in list_languages())
    return result


TOLD, CREDITED = question('following = "told"'), question('following = "credited"')
FOLLOWING = {"all_keys": "(batch, n_heads, seq, d_head)", "scores": SHORT, "weights": SHORT}


def test_right_shapes_are_not_asked_about_again() -> None:
    """A right table earns full points with a single call of the reference."""
    rows = list(RIGHT.items())
    (result,) = TOLD.judge(evidence_of(TOLD, answer(f"shapes = {rows!r}"), refuse))
    assert Status.PASSED is result.status


@pytest.mark.parametrize(
    ("check", "own", "points", "words"),
    [
        (TOLD, {"scores": SHORT}, 5, "axis #4 is wrong"),
        (TOLD, FOLLOWING, 3, "follows from your own shapes"),
        (CREDITED, FOLLOWING, 5, "right: 5 of 6."),
        (CREDITED, {"scores": SHORT, "weights": SHORT}, 5, ""),
        (CREDITED, {"scores": SHORT, "weights": "(batch, n_heads, seq, past)"}, 4, ""),
        (CREDITED, {"scores": None, "weights": SHORT}, 4, "no row"),
        (CREDITED, {**FOLLOWING, "mixed": "(batch, seq, d_head)"}, 4, "would raise an error"),
        (CREDITED, dict.fromkeys(RIGHT, "(batch, seq)"), 0, ""),
        (CREDITED, {"all_keys": "(batch, n_heads, 2^50, d_head)"}, 5, ""),
        (CREDITED, {"all_keys": "(batch, n_heads, seq/3, d_head)", "scores": "?"}, 4, ""),
        (CREDITED, {"all_keys": (1, 2, 3), "scores": (0,) * 16}, 4, ""),
    ],
)
def test_a_misconception_is_followed(
    check: TableCheck, own: Mapping[str, Any], points: int, words: str
) -> None:
    """A line that follows from the student's shapes is reported or credited; a new mistake still costs."""
    result = judged(check, own)
    assert Decimal(points) == result.points, result.staff
    assert words in render_message(result.student, "en")


def test_nothing_is_credited_by_itself() -> None:
    """A wrong first line is never credited, even if its numbers fit."""
    for shape in ("(batch, seq, d_model)", "(batch, seq, 3*n_heads*d_head)"):
        assert Decimal(5) == judged(CREDITED, {"qkv": shape}).points


@pytest.mark.parametrize(
    "second_answer", [{}, {"follows": 3}, {"follows": {"scores": "x"}}, {"follows": {"scores": 3}}, None]
)
def test_a_second_answer_of_another_form_costs_nothing(second_answer: Any) -> None:
    """If the second call of the reference fails, a line that may be credited needs review.

    Without credit, it stays wrong.
    """
    rows = list({**RIGHT, "scores": SHORT}.items())
    given_answer = answer(f"shapes = {rows!r}")
    for observed in (value(second_answer), error("ValueError")):
        assert (
            Decimal(5) == TOLD.judge(evidence_of(TOLD, given_answer, lambda _, said=observed: said))[0].points
        )
        credited = CREDITED.judge(evidence_of(CREDITED, given_answer, lambda _, said=observed: said))
        assert Status.NEEDS_REVIEW is credited[0].status


def test_a_table_that_people_mark_is_not_asked_about_again() -> None:
    """If all items are marked manually, the reference is not called again."""
    check = question(manual=True)
    evidence = evidence_of(check, answer("shapes = [('qkv', '(1,)')]"), refuse)
    assert Status.NEEDS_REVIEW is check.judge(evidence)[0].status


def test_a_reference_that_says_nothing_costs_nothing() -> None:
    """An empty reply of the reference needs manual review, and it is not called again."""
    given_answer = answer(f"shapes = {list(RIGHT.items())!r}")
    evidence = Evidence(given_answer, (), [value({"right": {}})], draw=DRAW, ask_reference=refuse)
    assert Status.NEEDS_REVIEW is TOLD.judge(evidence)[0].status


def test_answers_that_are_no_table_are_not_asked_about() -> None:
    """For an empty cell or a number, the reference is not called again."""
    for given_answer, status in (
        (answer("", changed=False), Status.NO_ANSWER),
        (answer("shapes = 3"), Status.NEEDS_REVIEW),
    ):
        assert status is TOLD.judge(evidence_of(TOLD, given_answer, refuse))[0].status


@pytest.mark.parametrize(
    ("before", "after", "match"),
    [
        ('kind = "shape"', 'kind = "number"', 'a second column with kind = "shape" and no other'),
        ('config = { listing = "attention" }', "", "config"),
        ('following = "told"', 'following = "counted"', "following"),
    ],
)
def test_errors_in_a_rubric_are_named(before: str, after: str, match: str) -> None:
    """Invalid columns, listings and credit options are rejected."""
    text = (
        '[[question]]\nid = "q"\nkind = "table"\npoints = 1\nanswer = "shapes"\n'
        'reference = "tracing.shapes:traced"\nconfig = { listing = "attention" }\nfollowing = "told"\n'
        '[[question.column]]\nid = "line"\nkind = "key"\n[[question.column]]\nid = "shape"\nkind = "shape"\n'
        '[[question.row]]\nid = "qkv"\n[[question.item]]\nid = "i"\npoints = 1\ntext = { en = "x" }\n'
        'columns = ["shape"]\n'
    )
    check_of(text)
    with pytest.raises(RubricError, match=match):
        check_of(text.replace(before, after))
