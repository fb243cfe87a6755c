"""A wrong result is told by the mistake that gives the same, where it is the only one and chance is not."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from autograder.checks.base import TrialResults
from autograder.checks.judging.named import ScenarioResults, told_as_named
from autograder.checks.judging.results import Finding, failed, review
from autograder.checks.options import Rules

RIGHT = np.array([[0.5, 0.25], [1.5, 0.75]])
WRONG = RIGHT.T * 1.25
WORSE = RIGHT * 3.5
FOUND = failed("value.differs", "differs", what="f [1]")


def trial(code: str, points: str = "0") -> TrialResults:
    """A named mistake; its results stand in the scenarios."""
    return TrialResults(code, {"en": f"The sentence of {code}"}, {"item": Decimal(points)}, ())


def case(given: Any, right: Any, *trials: Any) -> ScenarioResults:
    """One case, asked twice; what is None was not returned."""
    twice = [() if one is None else (one, one) for one in (given, *trials)]
    return ScenarioResults(twice[0], (right,), twice[1:])


def told(
    own: Sequence[ScenarioResults],
    others: Sequence[ScenarioResults] = (),
    codes: Sequence[str] = ("one", "other"),
    finding: Finding = FOUND,
) -> Finding:
    """What is said of an item."""
    trials = [trial(code) for code in codes]
    return told_as_named(finding, "item", trials, own, others=(*own, *others), rules=Rules())


def test_the_same_wrong_results_are_told_by_the_sentence() -> None:
    """Code, text and points are the mistake's, and staff reads both."""
    trials = [trial("one", "0.5"), trial("other", "1.5")]
    found = told_as_named(FOUND, "item", trials, [case(WRONG, RIGHT, WORSE, WRONG)], others=[], rules=Rules())
    assert ("other", {"en": "The sentence of other"}) == (found.code, found.message.text)
    assert {"what": "f [1]"} == found.message.params
    assert Decimal("1.5") == found.points
    assert "differs; the same results as mistake other" == found.staff


def test_points_that_were_earned_are_not_taken_away() -> None:
    """Partial credit for the cases that are right is the least there is."""
    more = Finding(FOUND.status, FOUND.message, "", Decimal(3))
    found = told_as_named(
        more, "item", [trial("one", "0.5")], [case(WRONG, RIGHT, WRONG)], others=[], rules=Rules()
    )
    assert ("one", Decimal(3)) == (found.code, found.points)


def test_equal_is_what_counts_as_right_elsewhere() -> None:
    """Within the tolerance the results are the same, beyond it and in another shape they are not."""
    assert "one" == told([case(WRONG * (1 + 1e-8), RIGHT, WRONG, WORSE)]).code
    assert FOUND == told([case(WRONG * (1 + 1e-3), RIGHT, WRONG, WORSE)])
    assert FOUND == told([case(WRONG.ravel(), RIGHT, WRONG, WORSE)])


def test_every_case_of_the_item_has_to_fit() -> None:
    """Also those that are right: a mistake that goes wrong there is another one."""
    assert "one" == told([case(WRONG, RIGHT, WRONG, WORSE), case(RIGHT, RIGHT, RIGHT, RIGHT)]).code
    assert FOUND == told([case(WRONG, RIGHT, WRONG, WORSE), case(RIGHT, RIGHT, WRONG, RIGHT)])


def test_where_several_fit_the_other_cases_decide() -> None:
    """The one that fits all cases of the question; where there is none, or still several, none is told."""
    own = [case(WRONG, RIGHT, WRONG, WRONG)]
    assert "other" == told(own, [case(WORSE, RIGHT, WRONG, WORSE)]).code
    for others in ([], [case(WORSE, RIGHT, WRONG, RIGHT)], [case(WORSE, RIGHT, WORSE, WORSE)]):
        found = told(own, others)
        assert ("value.differs", FOUND.message) == (found.code, found.message)
        assert found.staff.endswith("cannot be told apart here: one, other")


def test_one_mistake_in_two_writings_is_one() -> None:
    """Trials of the same code need not be told apart."""
    assert "one" == told([case(WRONG, RIGHT, WRONG, WRONG)], codes=("one", "one")).code


def test_what_returns_nothing_fits_nothing() -> None:
    """An exception, on either side, is no result."""
    assert FOUND == told([case(None, RIGHT, None, WRONG)])
    assert FOUND == told([case(WRONG, RIGHT, None, None)])


def test_only_what_is_wrong_is_told() -> None:
    """What a person has to look at stays that."""
    assert review("x") == told([case(WRONG, RIGHT, WRONG, WORSE)], finding=review("x"))


NAN = float("nan")


@pytest.mark.parametrize(
    ("wrong", "right", "is_told"),
    [
        (0.123, 0.5, True),
        (2.0, 1.0, False),
        (3, 2, False),
        ([3, 4, 9], [1, 2, 9], False),
        ([3, 4, 5], [1, 2, 9], True),
        ([0, 0, 0], [1, 2, 3], False),
        (np.zeros(9), np.arange(9) + 0.5, False),
        (np.full(9, NAN), np.arange(9) + 0.5, False),
        (np.array([NAN, 0.25]), np.array([0.125, 0.875]), True),
        (True, False, False),
        ([True, True, True], [False, False, False], True),
        ("b", "a", False),
        (["b", "c", "d"], ["a", "a", "a"], True),
        ({"a": 1, "b": 7, "c": 8}, {"a": 2, "b": 9, "c": 9}, True),
        ({"a": 1.25}, {"b": 2}, True),
        (None, 0.5, False),
    ],
)
def test_what_many_mistakes_could_give_tells_none(wrong: Any, right: Any, is_told: bool) -> None:
    """One number with a fraction is enough; of whole numbers, truth values and texts it takes three."""
    results = ScenarioResults((wrong,), (right,), [(wrong,)])
    found = told_as_named(FOUND, "item", [trial("one")], [results], others=[results], rules=Rules())
    assert is_told is (found.code == "one")


def test_several_cases_tell_together() -> None:
    """Three whole numbers may come from three cases."""
    cases = [case(number + 1, number, number + 1, number + 2) for number in (3, 8, 21)]
    assert FOUND == told(cases[:2])
    assert "one" == told(cases).code


def test_results_of_properties_are_compared_as_a_whole() -> None:
    """Nothing is right there by itself: the same results for the same inputs have the same mistake."""
    own = ScenarioResults((WRONG, WORSE), (), [(WRONG, WORSE), (WRONG, RIGHT)])
    assert "one" == told([own]).code
