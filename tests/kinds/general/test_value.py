"""Numbers and arrays within a tolerance, from a variable or a call."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from autograder.checks.base import Evidence
from autograder.errors import RubricError
from autograder.records import Observation, Opaque, Status, Tensor
from tests.checks.asking import DRAW, answer, check_of, judge, value

WEIGHTS = """
[[question]]
id = "q"
kind = "value"
points = 2
answer = "weights"
compare = { rtol = 1e-3, atol = 1e-3, dtype = "any" }
[[question.item]]
id = "weights"
points = 2
text = { en = "The weights" }
value = [0.245, 0.665, 0.090]
[[question.item.mistake]]
code = "not-scaled"
when = [0.114, 0.844, 0.042]
points = 1
text = { en = "Not scaled." }
"""
SOFTMAX = """
[[question]]
id = "q"
kind = "value"
points = 2
answer = "weights"
reference = "numbers:softmax"
[[question.item]]
id = "softmax"
points = 2
text = { en = "Softmax" }
"""


@pytest.mark.parametrize(
    ("source", "points", "code"),
    [
        ("weights = [0.245, 0.665, 0.09]", "2", ""),
        ("weights = (0.2449, 0.6651, 0.0901)", "2", ""),
        ("weights = [0.114, 0.844, 0.042]", "1", "not-scaled"),
        ("weights = [0.3, 0.6, 0.1]", "0", "value.differs"),
        ("weights = [0.245, 0.665]", "0", "value.shape"),
        ("weights = 'no idea'", "0", "value.form"),
    ],
)
def test_a_stated_value(source: str, points: str, code: str) -> None:
    """Within the tolerance is right; a named mistake has its own points."""
    (item,) = judge(check_of(WEIGHTS), source)
    assert (Decimal(points), code) == (item.points, item.code)


def test_the_reference_gives_what_is_right() -> None:
    """Without a stated value the reference is asked."""
    check = check_of(SOFTMAX)
    assert ["weights"] == [scenario.calls[0].target for scenario in check.reference_plan()]
    right = Tensor(np.full((2, 5), 0.2), "float64")
    (item,) = judge(check, "weights = softmax(x)", [value(right)], [value(right)])
    assert Status.PASSED == item.status


def test_a_reference_that_cannot_be_compared_is_our_fault() -> None:
    """An expected value without a plain form goes to a person."""
    (item,) = judge(check_of(SOFTMAX), "weights = f(x)", [value(1)], [value(Opaque("Thing"))])
    assert Status.NEEDS_REVIEW == item.status


def test_an_item_may_have_rules_of_its_own() -> None:
    """The item's tolerance replaces the question's."""
    check = check_of(WEIGHTS.replace("value = [0.245", "compare = { atol = 0.1 }\nvalue = [0.245"))
    assert Status.PASSED == judge(check, "weights = [0.3, 0.6, 0.1]")[0].status


def test_misspelt_rules_are_refused() -> None:
    """The table of rules knows its keys."""
    with pytest.raises(RubricError, match="rtoll"):
        check_of(WEIGHTS.replace("rtol", "rtoll"))


@pytest.mark.parametrize(
    ("question", "rules", "right", "accepted"),
    [
        pytest.param(WEIGHTS, "atol = 0.7", None, ["zeros"], id="stated"),
        pytest.param(WEIGHTS, "atol = 1e-3", None, [], id="stated, small tolerance"),
        pytest.param(SOFTMAX, "atol = 1e-2", np.full((2, 5000), 2e-4), ["zeros"], id="wide softmax"),
        pytest.param(SOFTMAX, "atol = 1e-6", np.full((2, 5000), 2e-4), [], id="small tolerance"),
        pytest.param(SOFTMAX, "atol = 1e-2", None, [], id="no reference"),
    ],
)
def test_accepted_results_names_tolerances_that_are_too_wide(
    question: str, rules: str, right: np.ndarray | None, accepted: list[str]
) -> None:
    """Zeros must not be right unless they are, whoever says what is right."""
    old = 'compare = { rtol = 1e-3, atol = 1e-3, dtype = "any" }\n'
    new = f'compare = {{ rtol = 0, {rules}, dtype = "any" }}\n'
    stated = question.partition("[[question.item.mistake]]")[0]
    text = stated.replace(old, "").replace('kind = "value"\n', f'kind = "value"\n{new}')
    expected = () if right is None else ((Observation(ok=True, value=right),),)
    check = check_of(text)
    found = check.accepted_results(Evidence(answer("weights = 1"), (), expected, draw=DRAW))
    assert accepted == [one.result for one in found]
