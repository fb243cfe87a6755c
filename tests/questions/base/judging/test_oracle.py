"""Test references that know mistakes: a wrong number is never attributed to the wrong mistake."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from autograder.core.errors import RubricError
from autograder.core.records import ItemResult, Status
from autograder.messages import render_message
from autograder.questions.base.judging.oracle import read_reply
from tests.questions.base.asking import check_of, error, judge, value

COUNT = """
[[question]]
id = "q"
kind = "number"
points = 2
answer = "counts"
reference = "counting.oracle:experts"
config = { model = { n_layers = 2 }, share = 0.5 }
[[question.item]]
id = "total"
points = 2
text = { en = "All parameters" }
key = "total"
"""

ORACLE: dict[str, Any] = {
    "right": {"total": 100},
    "mistakes": [
        {"code": "no-gate", "family": "less", "values": {"total": 70}},
        {"code": "multi-head", "family": "heads", "values": {"total": 130}},
        {"code": "no-norms", "family": "less", "values": {"total": 60}},
        {"code": "no-biases", "family": "less", "values": {"total": 60}},
        {"code": "one-layer", "family": "factors", "values": {"total": 50}},
        {"code": "no-router", "family": "less", "values": {"total": 50}},
        {"code": "no-head", "family": "less", "values": {"active": 1}},
        {"code": "unheard-of", "family": "less", "values": {"total": 40}},
    ],
}


def told(rubric: str, observed_value: Any, oracle: Any = None) -> ItemResult:
    """Return the result for a dictionary with this number."""
    observed = [value({"total": observed_value})]
    return judge(check_of(rubric), "counts = f()", observed, [value(ORACLE if oracle is None else oracle)])[0]


def test_the_reference_is_called_with_the_config() -> None:
    """The reference is called once with the dictionary of the rubric; decimals arrive as floats."""
    (call,) = check_of(COUNT).plan_reference_calls()
    assert ({"model": {"n_layers": 2}, "share": 0.5},) == call.args


@pytest.mark.parametrize(
    ("answer_value", "code"),
    [
        (100, "passed"),
        (70, "counting.no-gate"),
        (130, "counting.multi-head"),
        (60, "counting.less"),
        (50, "counting.several"),
        (40, "number.wrong"),
        (1, "number.wrong"),
        (101, "number.wrong"),
        ("70", "counting.no-gate"),
        (True, "number.bool"),
    ],
)
def test_a_number_is_named_by_the_mistake_that_leads_to_it(answer_value: Any, code: str) -> None:
    """A number is explained by its mistake; several mistakes are explained by what they share."""
    assert code == told(COUNT, answer_value).student.code


def test_the_sentence_does_not_tell_the_right_number() -> None:
    """The message contains neither the right number nor that of another mistake."""
    result = told(COUNT, 70)
    assert {"what": "counts", "value": "70"} == result.student.params
    assert "no-gate" in result.staff
    assert "100" in result.staff


def test_a_rubric_gives_points_for_a_known_mistake() -> None:
    """``diagnosis:no-gate`` gives a known mistake points and another message."""
    rubric = COUNT + '[[question.item.mistake]]\ncode = "gate"\nwhen = "diagnosis:no-gate"\npoints = 1\n'
    result = told(rubric + 'text = { en = "Look at the MLP." }\n', 70)
    assert (Decimal(1), "gate", Status.FAILED) == (result.points, result.code, result.status)
    assert "counting.multi-head" == told(rubric + 'text = { en = "Look at the MLP." }\n', 130).code


def test_a_diagnosis_that_is_not_known_is_refused() -> None:
    """A misspelt diagnosis is rejected with a suggestion."""
    rubric = (
        COUNT + '[[question.item.mistake]]\ncode = "gate"\nwhen = "diagnosis:no-gat"\ntext = { en = "-" }\n'
    )
    with pytest.raises(RubricError, match="did you mean 'no-gate'"):
        check_of(rubric)


@pytest.mark.parametrize(
    "oracle", [None, 7, [], {}, {"right": {}}, {"right": {"total": "x"}}, {"right": 100}]
)
def test_an_oracle_that_says_nothing_is_our_fault(oracle: Any) -> None:
    """Without a right number from the reference, any answer needs manual review."""
    observed = [value({"total": 100})]
    (result,) = judge(check_of(COUNT), "counts = f()", observed, [value(oracle)])
    assert (Status.NEEDS_REVIEW, Decimal(0)) == (result.status, result.points)
    (result,) = judge(check_of(COUNT), "counts = f()", observed, [error("ImportError")])
    assert Status.NEEDS_REVIEW == result.status


@pytest.mark.parametrize(
    "mistakes", [None, 3, "no-gate", [3, None, {}], [{"code": ["x"], "values": 3}], {"a": 1}]
)
def test_malformed_mistakes_are_left_out(mistakes: Any) -> None:
    """Malformed mistakes of the reference are ignored, and the right number is still used."""
    oracle = {"right": {"total": 100}, "mistakes": mistakes}
    assert Status.PASSED == told(COUNT, 100, oracle).status
    assert "number.wrong" == told(COUNT, 70, oracle).code


QUANTITY = COUNT.replace(
    'key = "total"', 'key = "total"\nunit = "GB"\nunits = "required"\ntolerance = { digits = 3 }'
)


@pytest.mark.parametrize(
    ("answer_value", "code"),
    [
        ("8 GB", "passed"),
        ("7.4505 GiB", "passed"),
        ("2 GB", "counting.keys-only"),
        ("1.8626 GiB", "counting.keys-only"),
        ("8 GiB", "number.binary-prefix"),
        ("7.45 GB", "number.binary-prefix"),
        ("64 GB", "counting.several"),
        ("3 GB", "number.wrong"),
        ("2 tokens", "number.dimension"),
        (8, "number.unit-missing"),
        (2, "counting.keys-only"),
    ],
)
def test_a_quantity_is_named_in_any_unit(answer_value: Any, code: str) -> None:
    """A mistake is recognised in any unit; if a unit explains the number too, neither is reported."""
    oracle = {
        "right": {"total": "8000000000 bytes"},
        "mistakes": [
            {"code": "keys-only", "family": "factors", "values": {"total": "2000000000 bytes"}},
            {"code": "multi-head", "family": "heads", "values": {"total": "64000000000 bytes"}},
        ],
    }
    assert code == told(QUANTITY, answer_value, oracle).student.code


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('reference = "counting.oracle:experts"\n', ""), "config: it needs a reference"),
        (("config = { model", "confg = { model"), "did you mean 'config'"),
    ],
)
def test_errors_in_a_rubric_are_named(change: tuple[str, str], message: str) -> None:
    """A config without a reference is rejected."""
    with pytest.raises(RubricError, match=message):
        check_of(COUNT.replace(*change))


def test_a_path_leads_into_nested_entries() -> None:
    """A path addresses an entry of a table by row and column; an unknown path gives no value."""
    oracle = {"right": {"row": {"count": 5}}}
    assert 5 == read_reply(oracle, ("row", "count")).right
    assert read_reply(oracle, ("row", "shape")).right is None
    assert read_reply(oracle, ("row", "count", "deeper")).right is None
    assert render_message(told(COUNT, 70).student, "de").startswith("counts: Ein MLP mit Gate")
