"""What comes out of a box about calls of earlier functions is taken as data, or not at all."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from autograder.checks.judging.carried import (
    CODES,
    KnownResult,
    answers_apart,
    better,
    gains,
    lost_points,
    seen,
    standing_in,
    without_gradients,
)
from autograder.checks.judging.results import Finding, failed, no_answer, result, review
from autograder.messages import languages, render
from autograder.records import Call, ItemResult, Message, Observation, Opaque, Ref, Scenario, Status, Tensor
from autograder.rubric import Item, Question

KEY = "0a" * 32
ITEM = Item("one", Decimal(2), {"en": "one"})
QUESTION = Question("q", "value", Decimal(2), (ITEM, Item("words", Decimal(0), {"en": "x"}, manual=True)))
WRONG = failed("value.differs", "differs", what="f [1]")


def told(*entries: Any) -> list[Any]:
    """What `seen` makes of what a box told of one scenario."""
    observed = [(), (Observation(ok=True, value=[*entries]),)]
    return [(one.name, one.key, one.args, one.kwargs) for one in seen(observed, ["f"])]


def test_calls_are_read_with_their_arguments() -> None:
    """Numbers, texts, arrays and nests of them."""
    array = np.ones(2)
    arguments = [1, "mean", array, {"a": (None, True)}, Tensor(array, "float32")]
    assert [("f", KEY, tuple(arguments), {"dim": -1})] == told(["f", KEY, arguments, {"dim": -1}])


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "f",
        ["f", KEY, []],
        ["g", KEY, [], {}],
        [["f"], KEY, [], {}],
        ["f", "short", [], {}],
        ["f", 3, [], {}],
        ["f", KEY, {}, {}],
        ["f", KEY, [], []],
        ["f", KEY, [Opaque("function")], {}],
        ["f", KEY, [[{"a": Ref("model")}]], {}],
        ["f", KEY, [Tensor(np.ones(2), "load")], {}],
        ["f", KEY, [], {"not a name": 1}],
        ["f", KEY, [], {3: 1}],
        ["f", KEY, ["../reference/f.py"], {}],
        ["f", KEY, [], {"path": "/etc/passwd"}],
        ["f", KEY, [{"a/b": 1}], {}],
    ],
)
def test_what_is_no_such_call_is_left_out(entry: Any) -> None:
    """Objects, handles, names of files, and whatever else a box may make up."""
    assert [] == told(entry)
    assert 1 == len(told(entry, ["f", KEY, [], {}]))


def test_a_box_that_tells_nothing_says_nothing() -> None:
    """It may have ended, or return something else than a list."""
    for observed in ((), (Observation(ok=False, error="X"),), (Observation(ok=True, value=3),)):
        assert [] == list(seen([(), observed], ["f"]))


def test_each_scenario_is_asked_apart_and_then_what_was_not_known() -> None:
    """The table goes in before its first call; both share a box of their own."""
    plan = (Scenario("a", (Call("g"),), serves="one"), Scenario("b", (Call("g"), Call("g"))))
    known = {("f", KEY): KnownResult(3), ("other", KEY): KnownResult(4)}
    asked = standing_in(plan, ["f"], known)
    assert [2, 1, 3, 1] == [len(one.calls) for one in asked]
    assert {"carried"} == {one.alone for one in asked}
    assert ({"f": [[KEY, False, 3]]},) == asked[0].calls[0].args
    assert {"own": True} == asked[0].calls[0].kwargs
    assert "one" == asked[0].serves
    one, two, three = (Observation(ok=True, value=number) for number in range(3))
    assert ((two,), (two, three)) == answers_apart([(one, two), (one,), (one, two, three), (one,)])


def test_gradients_do_not_travel() -> None:
    """A result stands alone: nothing is computed through it."""
    wanted = Tensor(np.ones(2), "float32", requires_grad=True)
    found = without_gradients({"a": [wanted, (wanted, 3)]})
    assert not found["a"][0].requires_grad
    assert not found["a"][1][0].requires_grad
    assert 3 == found["a"][1][1]


def test_right_with_others_is_right() -> None:
    """All points, and the sentence says by what; staff reads what was wrong before."""
    found = better(QUESTION, ITEM, WRONG, None, "f")
    assert isinstance(found, ItemResult)
    assert (Status.PASSED, Decimal(2), "carried.right") == (found.status, found.points, found.code)
    assert "with the student's own: differs" in found.staff
    assert "results of f in" in render(found.student, "en")


def test_it_only_becomes_better() -> None:
    """What is no better stays as it was; a mistake's own sentence, or more points, are."""
    more = Finding(Status.FAILED, Message("value.differs"), "less", Decimal(1))
    named = Finding(
        Status.FAILED, Message("swapped", {"what": "f"}, {"en": "{what}: swapped"}), "", Decimal(0)
    )
    assert None is better(QUESTION, ITEM, None, WRONG, "f")
    assert more == better(QUESTION, ITEM, more, WRONG, "f")
    assert WRONG == better(QUESTION, ITEM, WRONG, WRONG, "f")
    assert WRONG == better(QUESTION, ITEM, WRONG, review("x"), "f")
    assert review("x") == better(QUESTION, ITEM, review("x"), None, "f")
    found = better(QUESTION, ITEM, WRONG, more, "f")
    assert isinstance(found, Finding)
    assert ("carried.partly", Decimal(1)) == (found.code, found.points)
    found = better(QUESTION, ITEM, WRONG, named, "f")
    assert isinstance(found, Finding)
    assert "swapped" == found.code
    said = render(found.message, "en")
    assert said == "With right results of f in the place of yours: f: swapped"


def test_a_function_is_wrong_where_its_question_lost_something() -> None:
    """Also where it was right with others alone; what a person decides, or still decides, is no loss."""

    def lost(finding: Finding | None, **changed: Any) -> bool:
        one = result(QUESTION, ITEM, finding)
        words = result(QUESTION, QUESTION.items[1], no_answer())
        code = changed.get("code", one.code)
        return lost_points(QUESTION, {"q.one": _with(one, code), "q.words": words})

    assert [False, True, True, False] == [lost(one) for one in (None, WRONG, no_answer(), review("x"))]
    assert all(lost(None, code=code) for code in CODES)
    assert not lost_points(QUESTION, {})


def _with(one: ItemResult, code: str) -> ItemResult:
    return ItemResult(
        one.question, one.item, one.status, one.points, one.possible, one.student, one.staff, code
    )


def test_what_is_forbidden_is_not_asked_again() -> None:
    """Nothing could be gained by it."""
    wrong, passed = result(QUESTION, ITEM, WRONG), result(QUESTION, ITEM, None)
    assert [True, False] == [gains([wrong]), gains([passed])]
    assert not gains([result(QUESTION, ITEM, failed("forbidden.used", what="f", names="g"))])


def test_the_sentences_are_there_in_every_language() -> None:
    """With the names of the functions."""
    for language in languages():
        for code in CODES:
            assert "f, g" in render(Message(code, {"names": "f, g"}), language)
