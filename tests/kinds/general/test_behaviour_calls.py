"""What a question about code says of earlier functions and of named mistakes, before anything runs."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.checks.base import Evidence, TrialResults
from autograder.errors import RubricError
from autograder.kinds import make_check
from autograder.records import ItemResult
from autograder.rubric import parse
from tests.checks.asking import DRAW, answer, check_of
from tests.kinds.general.test_behaviour import ATTEND, ATTENTION, FUNCTION, RIGHT
from tests.support.calling_course import RUBRIC
from tests.support.local_box import LocalBox


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('["weights"]', '["weihgts"]'), "'weihgts' is no question before this one.*did you mean 'weights'"),
        (('["weights"]', '["twice"]'), "'twice' is no question before this one"),
        (('["weights"]', '["attend"]'), "'attend' is no question before this one"),
        (('reference = "calling:weights"\n', ""), "'weights': expected a question.*with a reference"),
        (
            ('answer = "weights"', 'answer = "weights"\nconstruct = {}'),
            "'weights': expected .*about a function",
        ),
    ],
)
def test_only_functions_before_are_carried_forward(change: tuple[str, str], said: str) -> None:
    """Of the same notebook, with something that computes right results."""
    text = RUBRIC.replace(*change)
    if "reference" in change[0]:
        text = text.replace("shape = [3, 5] }]", "shape = [3, 5] }]\nvalue = 3", 1)
    rubric = parse(text.encode())
    with pytest.raises(RubricError, match=f"'attend': carry_forward: {said}"):
        make_check(rubric.question("attend"), rubric)


def sit(question: str, source: str, right: str, trials: dict[str, str]) -> dict[str, ItemResult]:
    """The results of one source, beside the right one and named mistakes, through the local box."""
    check = check_of(question)
    given = answer(source)
    named = [
        TrialResults(
            code, {"en": code}, {"result": Decimal("0.25")}, LocalBox(trial).ask(check.trial_plan(DRAW))
        )  # type: ignore[attr-defined]
        for code, trial in trials.items()
    ]
    observed = LocalBox(source).ask(check.plan(given, DRAW))
    expected = LocalBox(right).ask(check.reference_plan(DRAW))
    results = check.judge(Evidence(given, observed, expected, draw=DRAW, named=named))
    return {one.item: one for one in results}


LATER = ATTEND.replace(".tril()", ".triu()")
UNREFUSED = ATTEND.replace('raise ValueError("three axes")', 'return x.cumsum(0), "more"')
UNNORMALISED = ATTEND.replace(".softmax(-1)", ".sigmoid()")


def test_properties_are_told_by_mistakes_as_well() -> None:
    """By the results of the same hidden inputs; a property that holds, and an item that is right, stay so."""
    trials = {"later": LATER, "unrefused": UNREFUSED, "unnormalised": UNNORMALISED}
    found = sit(FUNCTION, LATER.replace("s = x", "t = x").replace("t = x", "s = x"), ATTEND, trials)
    assert ["later", "later", "", ""] == [one.code for one in found.values()]
    assert Decimal("0.25") == found["result"].points
    found = sit(FUNCTION, UNNORMALISED, ATTEND, trials)
    assert ["unnormalised", "", "unnormalised", ""] == [one.code for one in found.values()]
    found = sit(FUNCTION, UNREFUSED.replace("more", "less"), ATTEND, trials)
    assert ["", "", "", "unrefused"] == [one.code for one in found.values()]


def test_classes_are_told_by_mistakes() -> None:
    """With the weights that both are given; partial credit for other cases stays."""
    unmasked = RIGHT.replace("if mask is not None", "if False")
    unscaled = RIGHT.replace("/ math.sqrt(q.shape[-1])", "")
    trials = {"unmasked": unmasked, "unscaled": unscaled}
    found = sit(ATTENTION, unmasked.replace("self.h", "self.heads"), RIGHT, trials)
    assert {"both": "unmasked", "padding": "unmasked"} == {
        name: one.code for name, one in found.items() if one.code
    }
    assert Decimal(2) == found["both"].points
    found = sit(ATTENTION, unscaled, RIGHT, trials)
    assert {"self": "unscaled", "both": "unscaled"} == {
        name: one.code for name, one in found.items() if one.code
    }


def test_an_answer_that_raises_is_told_by_that() -> None:
    """No trial is blamed for what gives no results."""
    found = sit(FUNCTION, ATTEND.replace("s.softmax(-1)", "s.softmaxx(-1)"), ATTEND, {"later": LATER})
    assert {"raised"} == {one.code for name, one in found.items()}
