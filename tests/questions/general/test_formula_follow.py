"""Test the kind ``formula``: errors carried forward, and optional terms."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import Answer, ItemResult, Status
from autograder.questions.base.base import Evidence, list_trials
from autograder.questions.formula import FormulaCheck
from autograder.rubric import Rubric, parse_rubric

RUBRIC = """
version = 1
[assignment]
name = "chain"
points = 14
[assignment.symbols]
k = {}
w = {}
h = {}
[assignment.assume]
heads = "w = k*h"

[[question]]
id = "first"
kind = "formula"
points = 3
answer = "one"
[[question.item]]
id = "sum"
points = 1
text = { en = "Sum" }
accept = ["2*w"]
early_points = 0.5
mistake = [{ code = "once", when = ["w", "w + 1"], points = 0.5, text = { en = "Twice?" } }]
[[question.item]]
id = "shape"
points = 1
form = "tuple"
answer = "shape"
text = { en = "Shape" }
accept = ["(w, 4*w)"]
mistake = [{ code = "wide", when = "(w, 5*w)", text = { en = "Width?" } }]
[[question.item]]
id = "entries"
points = 1
answer = "entries"
text = { en = "Entries" }
accept = ["4*w^2"]
follow = ["rows*columns"]
[question.follows]
rows = "first.shape[1]"
columns = "first.shape[2]"

[[question]]
id = "second"
kind = "formula"
points = 2
answer = "two"
[[question.item]]
id = "sum"
points = 2
text = { en = "Sum" }
accept = ["3*k"]
mistake = [{ code = "half", when = "k", points = 1, text = { en = "Half?" } }]

[[question]]
id = "third"
kind = "formula"
points = 5
answer = "three"
[question.follows]
left = "first.sum"
right = "second.sum"
[[question.item]]
id = "sum"
points = 5
text = { en = "Both" }
assume = ["heads"]
accept = ["2*w + 3*k"]
follow = ["left + right"]
follow_points = 4
mistake = [
  { code = "left-only", when = "left", points = 1, text = { en = "And the other?" } },
  { code = "product", when = "6*w*k", points = 2, text = { en = "Add them." } },
]
[question.item.optional]
terms = ["h", "k"]
points = 3
text = { en = "Some of the terms." }

[[question]]
id = "fourth"
kind = "formula"
points = 4
answer = "four"
follows = { both = "third.sum" }
[[question.item]]
id = "simple"
points = 4
text = { en = "Without h" }
assume = ["heads"]
accept = ["2*w + 3*k"]
follow = ["both"]
without = ["h"]
form_points = 1
"""


def rubric(old: str = "", new: str = "") -> Rubric:
    """Return the rubric with one place changed."""
    assert old in RUBRIC
    return parse_rubric(RUBRIC.replace(old, new, 1).encode())


READ = rubric()
CHECKS = {one.id: FormulaCheck(one, READ) for one in READ.questions}


def graded(**sources: str) -> dict[str, ItemResult]:
    """Return the results of all questions by ``question.item``; missing answers are right ones."""
    answers_by_question = {
        "first": "one = '2*w'\nshape = '(w, 4*w)'\nentries = '4*w^2'",
        "second": "two = '3*k'",
        "third": "three = '2*w + 3*k'",
        "fourth": "four = '2*w + 3*k'",
    } | sources
    results: dict[str, ItemResult] = {}
    for question, check in CHECKS.items():
        answer = Answer("a", "code", answers_by_question[question], changed=True)
        results |= {
            f"{question}.{result.item}": result for result in check.judge(Evidence(answer, (), (), results))
        }
    return results


FIRST = "one = {!r}\nshape = '(w, 4*w)'\nentries = '4*w^2'"


@pytest.mark.parametrize(
    ("before", "two", "three", "points", "code"),
    [
        ("2*w", "3*k", "2*w + 3*k", "5", ""),
        ("w", "3*k", "w + 3*k", "4", "formula.carried-forward"),
        ("2*w", "k", "2*w + k", "4", "formula.carried-forward"),
        ("w", "k", "w + k", "4", "formula.carried-forward"),
        ("w", "k", "2*w + 3*k", "5", ""),
        ("w", "k", "2*w + k", "0", "diagnosis.coefficient"),
        ("w", "3*k", "w", "1", "left-only"),
        ("2*w", "3*k", "2*w", "1", "left-only"),
        ("w", "3*k", "2*w", "0", "diagnosis.missing-term"),
        ("w", "3*k", "6*w*k", "2", "product"),
        ("", "3*k", "2*w", "1", "left-only"),
        ("7", "3*k", "7 + 3*k", "0", "diagnosis.part-replaced"),
        ("w/0", "3*k", "3*k", "0", "diagnosis.missing-term"),
        ("w + z", "3*k", "w + z + 3*k", "0", "unreadable.unknown-name"),
    ],
)
def test_what_follows_from_both(before: str, two: str, three: str, points: str, code: str) -> None:
    """The key and the mistakes are recomputed with the student's earlier results."""
    result = graded(first=FIRST.format(before), second=f"two = {two!r}", third=f"three = {three!r}")[
        "third.sum"
    ]
    assert (Decimal(points), code) == (result.points, result.code)


def test_a_result_that_was_carried_is_carried_on() -> None:
    """A carried error is carried on: the third builds on the first, and the fourth on the third."""
    answers = {"first": FIRST.format("w"), "third": "three = 'w + 3*k'", "fourth": "four = 'w + 3*k'"}
    results = graded(**answers)
    assert ("formula.carried-forward", Decimal(4)) == (
        results["fourth.simple"].code,
        results["fourth.simple"].points,
    )


@pytest.mark.parametrize(
    ("three", "four", "points"),
    [
        ("h*k + 3*k", "w + 3*k", "4"),
        ("h*k + 3*k", "h*k + 3*k", "1"),
        ("h*k + 3*k", "3*k + k*h", "1"),
        ("w + 3*k", "w + 3*k", "4"),
        ("7*k", "7*k", "0"),
        ("7*h", "7*h", "0"),
    ],
)
def test_a_copy_earns_what_is_not_in_the_form(three: str, four: str, points: str) -> None:
    """A copied earlier answer earns no points for the form and no more than it earned before."""
    answers = {"first": FIRST.format("w"), "third": f"three = {three!r}", "fourth": f"four = {four!r}"}
    assert Decimal(points) == graded(**answers)["fourth.simple"].points


@pytest.mark.parametrize(
    ("shape", "entries", "points"),
    [
        ("(w, 4*w)", "4*w^2", "1"),
        ("(w, 5*w)", "5*w^2", "1"),
        ("(w, 5*w)", "4*w^2", "1"),
        ("(w, 5*w)", "6*w^2", "0"),
        ("(2, 3)", "6", "0"),
        ("(w, k, h)", "w*k", "1"),
        ("w", "w^2", "0"),
        ("", "5*w^2", "0"),
    ],
)
def test_elements_of_a_shape_that_was_asked_for_beside(shape: str, entries: str, points: str) -> None:
    """Names may refer to elements of a tuple, also in the same question."""
    results = graded(first=f"one = '2*w'\nshape = {shape!r}\nentries = {entries!r}")
    assert Decimal(points) == results["first.entries"].points


@pytest.mark.parametrize(
    ("three", "points", "code"),
    [
        ("2*w + 3*k + h + k", "5", ""),
        ("2*w + 4*k + h", "5", ""),
        ("2*w + 3*k + h", "3", "mixed"),
        ("2*w + 4*k", "3", "mixed"),
        ("2*w + 5*k + h", "0", "diagnosis.wrong-term"),
        ("6*w*k + h + k", "2", "product"),
    ],
)
def test_terms_that_may_be_there(three: str, points: str, code: str) -> None:
    """All optional terms or none are right, some are a named mistake, and other mistakes are still found."""
    result = graded(third=f"three = {three!r}")["third.sum"]
    assert (Decimal(points), code) == (result.points, result.code)


def test_what_is_right_under_a_relation_that_is_not_granted_earns_its_share() -> None:
    """An answer under a relation that is not granted earns its share, also with carried errors."""
    result = graded(first=FIRST.format("2*k*h"))["first.sum"]
    assert ("formula.early", Decimal("0.5")) == (result.code, result.points)


def test_while_a_person_decides_the_later_answer_waits() -> None:
    """A later answer needs review while an earlier result that matters needs it."""
    before = graded(first=FIRST.format("w"))
    undecided = {
        name: ItemResult(
            one.question,
            one.item,
            Status.NEEDS_REVIEW,
            Decimal(0),
            one.possible,
            one.student,
            "",
            "",
            one.reading,
        )
        for name, one in before.items()
    }
    answer = Answer("a", "code", "three = 'w + 3*k'", changed=True)
    (result,) = CHECKS["third"].judge(Evidence(answer, (), (), undecided))
    assert Status.NEEDS_REVIEW is result.status


def test_verify_plants_what_follows_from_each_named_mistake() -> None:
    """`verify` plants the consequence of each mistake in each source, with the other sources right."""
    key = Answer("a", "code", "three = '2*w + 3*k'", changed=True)
    planted = {trial.name: trial for trial in list_trials(CHECKS["third"], key)}
    followed = [name for name in planted if "carried on from" in name]
    assert ["left, once", "right, half"] == [
        name.partition("from ")[2].partition(":")[0] for name in followed
    ]
    assert {"first", "second"} == {place for name in followed for place in planted[name].earlier}
    assert {"sum"} == {item for name in followed for item in planted[name].loses}  # four of five points
    some = [trial for name, trial in planted.items() if "with some optional terms" in name]
    assert [{"sum": Decimal(3)}] * 2 == [dict(trial.points) for trial in some]


@pytest.mark.parametrize(
    ("question", "old", "new", "message"),
    [
        ("third", 'left = "first.sum"', 'left = "first.none"', "got 'first.none'; there are: first.sum, "),
        ("third", 'left = "first.sum"', 'left = "first.shape"', "got 'first.shape'"),
        ("third", 'left = "first.sum"', 'left = "first.sum[1]"', r"got 'first.sum\[1\]'"),
        ("third", 'left = "first.sum"', 'left = "fourth.simple"', "in an earlier question"),
        ("third", 'left = "first.sum"', 'w = "first.sum"', "cannot be a symbol of its own"),
        ("third", 'left = "first.sum"', '"left hand" = "first.sum"', "is no name"),
        ("third", '["left + right"]', '["2*w"]', "must stand for the earlier result"),
        ("third", '["left + right"]', '["left + center"]', "not readable"),
        ("third", "follow_points = 4", "follow_points = nan", "follow_points: expected from 0"),
        ("third", 'terms = ["h", "k"]', "terms = []", "from 1 to 5"),
        ("third", 'terms = ["h", "k"]', 'terms = ["h", "z"]', "not readable"),
        ("third", "points = 3\ntext", "points = 5\ntext", "points: expected from 0 to below 5"),
        ("first", 'columns = "first.shape[2]"', 'columns = "first.shape[3]"', "no such element"),
        ("first", 'columns = "first.shape[2]"', 'columns = "first.entries"', "in an earlier question"),
        ("first", "early_points = 0.5", "early_points = 2", "early_points: expected from 0"),
        ("first", "early_points = 0.5", "number_points = 2", "number_points: expected from 0"),
        ("first", 'accept = ["2*w"]', 'accept = ["2*w"]\nfollow = ["columns"]', "which comes later"),
    ],
)
def test_errors_in_the_rubric(question: str, old: str, new: str, message: str) -> None:
    """Rules that could never apply are rejected with their place."""
    read = rubric(old, new)
    with pytest.raises(RubricError, match=message):
        FormulaCheck(read.get_question(question), read)
