"""Test the kind ``formula``: slips in chains of equations, entries of tuples, and partial credit."""

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
name = "partial"
points = 6
[assignment.symbols]
d = {}
h = {}

[[question]]
id = "first"
kind = "formula"
points = 1
answer = "hidden"
[[question.item]]
id = "shape"
points = 1
form = "tuple"
text = { en = "Shape" }
accept = ["(d, 4*d)"]

[[question]]
id = "one"
kind = "formula"
points = 5
answer = "number"
[question.follows]
width = "first.shape[2]"
[[question.item]]
id = "sum"
points = 3
text = { en = "Sum" }
accept = ["12*d^2"]
slip_points = 2
diagnosis_points = { factor-too-small = 0.5, factor-too-large = 1 }
mistake = [{ code = "lost", when = "11*d^2", points = 1.5, text = { en = "One is missing." } }]
[[question.item]]
id = "shape"
points = 2
form = "tuple"
answer = "shape"
text = { en = "Shape" }
accept = ["(4*d, d)"]
follow = ["(width, d)"]
credit = "each"
mistake = [{ code = "turned", when = "(d, 4*d)", points = 0.5, text = { en = "Input first." } }]
"""


def rubric(old: str = "", new: str = "") -> Rubric:
    """Return the rubric with one place changed."""
    assert old in RUBRIC
    return parse_rubric(RUBRIC.replace(old, new, 1).encode())


def marked(number: str = "0", shape: str = "(0, 0)", hidden: str = "(d, 4*d)") -> dict[str, ItemResult]:
    """Return the results of two answers after an earlier one."""
    read = rubric()
    answers = {"first": f"hidden = {hidden!r}", "one": f"number = {number!r}\nshape = {shape!r}"}
    earlier_results: dict[str, ItemResult] = {}
    for name, source in answers.items():
        results = FormulaCheck(read.get_question(name), read).judge(
            Evidence(Answer(name, "code", source, changed=True), (), (), earlier=earlier_results)
        )
        earlier_results |= {f"{name}.{result.item}": result for result in results}
    return earlier_results


@pytest.mark.parametrize(
    ("number", "points"),
    [
        ("4*d^2 + 8*d^2 = 12*d^2", "3"),
        ("4*d^2 + 8*d^2 = 13*d^2", "2"),  # right, with an error in the final sum
        ("12*d^2 = 4*d^2 + 9*d^2", "2"),
        ("4*d^2 + 8*d^2 = 11*d^2", "2"),
        ("3*d^2 + 8*d^2 + h = 11*d^2", "1.5"),  # all sides are wrong: the last one decides
        ("3*d^2 + 8*d^2 = 11*d^2", "1.5"),
        ("h*d^2 = 7*d", "0"),
        ("7*d = 12*d^2", "2"),  # two answers do not count as one
        ("11*d^2", "1.5"),
        ("6*d^2", "0.5"),
        ("13*d^2", "1"),
        ("12*d^3", "0"),
    ],
)
def test_what_a_wrong_formula_is_worth(number: str, points: str) -> None:
    """A slip after a right side gets partial credit; otherwise the end of the chain or a diagnosis does."""
    result = marked(number)["one.sum"]
    assert (Decimal(points), points == "3") == (result.points, result.status is Status.PASSED)


@pytest.mark.parametrize(
    ("number", "points"),
    [
        ("12*d^2 + 8*d + h", "3"),
        ("12*d^2 + 5*d + h", "2"),
        ("6*d^2", "0.5"),
        ("6*d^2 + 8*d", "0.5"),  # the same slip, with biases
        ("6*d^2 + 5*d + 3*d", "0.5"),
        ("d*(6*d + 5) + h", "0.5"),
        ("6*d^2 + h*d", "0"),  # not an optional term
    ],
)
def test_a_slip_beside_optional_terms_is_worth_the_same(number: str, points: str) -> None:
    """Optional terms are removed in any spelling before a slip is judged."""
    optional = '[question.item.optional]\nterms = ["5*d", "3*d", "h"]\npoints = 2\ntext = { en = "Some." }\n'
    read = rubric(
        '[[question.item]]\nid = "shape"\npoints = 2',
        f'{optional}[[question.item]]\nid = "shape"\npoints = 2',
    )
    check = FormulaCheck(read.get_question("one"), read)
    results = check.judge(Evidence(Answer("one", "code", f"number = {number!r}", changed=True), (), ()))
    assert Decimal(points) == next(result.points for result in results if result.item == "sum")


def test_a_slip_is_told_where_it_is() -> None:
    """Students see which two sides of a chain differ."""
    result = marked("4*d^2 + 8*d^2 = 6*d^2 + 6*d^2 = 13*d^2")["one.sum"]
    assert ("formula.sides-differ", Decimal(2)) == (result.student.code, result.points)
    assert {"left": "6*d^2 + 6*d^2", "right": "13*d^2"} == dict(result.student.params)


@pytest.mark.parametrize(
    ("hidden", "shape", "points"),
    [
        ("(d, 4*d)", "(4*d, d)", "2"),
        ("(d, 4*d)", "(4*d, 2*d)", "1"),
        ("(d, 4*d)", "(3*d, d)", "1"),
        ("(d, 4*d)", "(3*d, 3*d)", "0"),
        ("(d, 4*d)", "(d, 4*d)", "0.5"),  # a named mistake has its own points
        ("(d, 4*d)", "(4*d, d, d)", "0"),  # another length: entries cannot be compared by position
        ("(d, 5*d)", "(5*d, d)", "2"),  # follows from the student's own result
        ("(d, 5*d)", "(5*d, 3*d)", "1"),
        ("(d, 5*d)", "(4*d, d)", "2"),
        ("(d, 5*d)", "(4*d, 5*d)", "1"),
    ],
)
def test_right_entries_earn_their_part(hidden: str, shape: str, points: str) -> None:
    """Right entries earn their share, compared with the closest right tuple or the carried one."""
    assert Decimal(points) == marked(shape=shape, hidden=hidden)["one.shape"].points


def test_an_entry_that_nobody_can_decide_goes_to_a_person() -> None:
    """A tuple with an entry that cannot be decided needs manual review."""
    result = marked(shape="(max(3*d - 1, d^2 + 1) - d^2 - 1 + 4*d, d)")["one.shape"]
    assert Status.NEEDS_REVIEW is result.status


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("slip_points = 2", "slip_points = 3", "slip_points: expected from 0 to below 3"),
        ('credit = "each"', "slip_points = 1", "slip_points: belongs to a formula"),
        ("factor-too-small = 0.5", "factor-too-smal = 0.5", "factor-too-smal.*unknown code"),
        ("factor-too-small = 0.5", "factor-too-small = 5", "factor-too-small: expected from 0 to below 3"),
        ('"(4*d, d)"]', '"(4*d, d)", "(1, 2, 3)"]', "needs right tuples of one length"),
        ('"(4*d, d)"]', '"(4*d, d, d)"]', "cannot be divided into 3"),
        ('accept = ["12*d^2"]', 'accept = ["12*d^2"]\ncredit = "each"', "credit: belongs to"),
    ],
)
def test_errors_in_the_rubric(old: str, new: str, message: str) -> None:
    """Rules that could never apply are rejected with their place."""
    read = rubric(old, new)
    with pytest.raises(RubricError, match=message):
        FormulaCheck(read.get_question("one"), read)


def test_slips_and_entries_are_planted() -> None:
    """`verify` plants slips and wrong entries with their expected points."""
    read = rubric()
    check = FormulaCheck(read.get_question("one"), read)
    key = Answer("one", "code", 'number = "12*d^2"\nshape = "(4*d, d)"', changed=True)
    planted = {
        trial.name.split(":")[1].strip(): dict(trial.points)
        for trial in list_trials(check, key)
        if "slip" in trial.name or "entry" in trial.name
    }
    assert {"a slip at the end": {"sum": Decimal(2)}, "one wrong entry": {"shape": Decimal(1)}} == planted
