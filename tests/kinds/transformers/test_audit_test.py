"""The kind audit, form test: points for telling classes apart, and none for looking at them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from autograder.checks.base import HasSecondRound
from autograder.messages import languages, render
from autograder.records import Observation, Status
from reference.audits import trials
from tests.checks.asking import DRAW, answer
from tests.checks.asking import check_of as check_from
from tests.kinds.transformers.audit_questions import asked, check_of, observed, sit
from tests.support.thorough import sample

pytestmark = pytest.mark.apart

PLANTED = [pytest.param(trial, id=trial["name"]) for trial in trials.test()]
QUESTION = """
[[question]]
id = "q"
kind = "audit"
points = 3
form = "test"
answer = "audit"
reference = "a:b"
[[question.item]]
id = "all"
points = 2
credit = "each"
at_least = 0.75
text = { en = "all" }
[[question.item]]
id = "masks"
points = 1
groups = ["mask"]
text = { en = "masks" }
"""
CLASSES = [
    *({"source": "", "name": "L", "right": True},) * 4,
    *({"source": "", "name": "L", "right": False, "group": "mask"},) * 2,
    *({"source": "", "name": "L", "right": False, "group": "heads"},) * 6,
]


NO_PYTHON = {"source": "class L(:", "name": "L", "right": True}


@pytest.mark.parametrize("trial", sample(PLANTED, 5))
def test_planted_tests_lose_what_they_say(trial: dict[str, Any]) -> None:
    """A test that looks at enough earns everything; one that says the same of all earns nothing."""
    results = sit("test", trial["source"])
    assert set(trial["loses"]) == {name for name, one in results.items() if one.status is not Status.PASSED}
    for name, points in trial["points"].items():
        assert Decimal(str(points)) == results[name].points
    for one in results.values():
        assert all(render(one.student, language) for language in languages())


CLUSTERS = {
    "the largest group so far": """
groups = []
def alike(cls):
    torch.manual_seed(1)
    layer, x = cls(12, 3).eval(), torch.randn(2, 4, 12)
    return layer(x, x.flip(1), x.flip(0), torch.ones(2, 1, 4, 4).tril())
def audit(cls):
    came = alike(cls)
    group = next((one for one in groups if one[0].allclose(came, atol=1e-4)), None)
    if group is None:
        groups.append(group := [came, 0])
    group[1] += 1
    return group[1] == max(one[1] for one in groups)
""",
    "whatever lies about in memory": """
import gc
def audit(cls):
    texts = {one for kept in gc.get_objects() if type(kept) in (tuple, list, dict)
             for one in (kept.values() if type(kept) is dict else kept)
             if type(one) is str and one.startswith('import math') and 'switches = ' in one}
    return len(texts) < 2
""",
    "the number of the call": """
def audit(cls):
    audit.calls = getattr(audit, 'calls', -1) + 1
    return (audit.calls + torch.initial_seed()) % 2 == 0
""",
}


@pytest.mark.parametrize("source", CLUSTERS.values(), ids=CLUSTERS)
def test_classes_are_not_seen_side_by_side(source: str) -> None:
    """A test that looks which classes agree, or which one it is, says the same of all: each is alone."""
    results = sit("test", f"import torch\n{source}")
    assert "audit.test.constant" == results["all"].code
    assert {Decimal(0)} == {one.points for one in results.values()}


def test_each_class_is_asked_about_in_a_box_of_its_own() -> None:
    """The scenarios differ in nothing but the text of the class: no number, no seed, no other class."""
    check = check_of("test")
    assert isinstance(check, HasSecondRound)
    scenarios = check.second_round(asked("test", "def audit(cls): return True")).student
    assert all(scenario.alone for scenario in scenarios)
    rests = {repr([replace(call, args=()) for call in scenario.calls]) for scenario in scenarios}
    assert 1 == len(rests)


LOOKS = {
    "name": "cls.__name__ + cls.__qualname__ + cls.__module__",
    "repr": "repr(cls) + str(cls)",
    "docstring": "str(cls.__doc__) + str(cls.forward.__doc__)",
    "source": "str(len(seen(cls)))",
    "constants": "len(cls.forward.__code__.co_consts)",
    "names": "sorted(cls.forward.__code__.co_names)",
    "variables": "cls.forward.__code__.co_varnames, cls.forward.__code__.co_stacksize",
    "members": "sorted(vars(cls)), sorted(vars(cls(4, 2))), str(cls(4, 2))",
    "parameters": "[(name, one.shape) for name, one in cls(4, 2).named_parameters()]",
    "module": "sorted(name for name in cls.forward.__globals__ if name != 'switches')",
    "number of switches": "len(cls.forward.__globals__['switches'])",
}
SEEN = """
import inspect
def seen(cls):
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        return ""
"""


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_looking_at_a_class_tells_nothing(look: str) -> None:
    """What can be read off a class, short of its instructions, is the same for right and wrong ones."""
    words = f"{SEEN}\ndef audit(cls):\n    return str(({look}))\n"
    looks = {observations[-1].value for observations in asked("test", words).again}
    assert 1 == len(looks)
    assert isinstance(looks.pop(), str)


def test_the_source_is_not_at_hand() -> None:
    """``inspect`` finds no text of a class."""
    source = f"{SEEN}\ndef audit(cls): return seen(cls) == ''\n"
    assert "audit.test.constant" == sit("test", source)["all"].code


def _said(words: list[Any]) -> tuple[tuple[Observation, ...], ...]:
    """What a test said of every class."""
    before = (Observation(ok=True),) * 4
    return tuple(
        (*before, word if isinstance(word, Observation) else Observation(ok=True, value=word))
        for word in words
    )


def _points(words: list[Any]) -> tuple[Decimal, Decimal]:
    check = check_from(QUESTION)
    evidence = asked_with(words)
    results = check.judge(evidence)
    return results[0].points, results[1].points


def asked_with(words: list[Any]) -> Any:
    """Evidence with these words on `CLASSES`."""
    from autograder.checks.base import Evidence

    found = (observed(None),)
    return Evidence(answer("def audit(cls): ..."), found, (observed(CLASSES),), draw=DRAW, again=_said(words))


RAISED = Observation(ok=False, error="RuntimeError")


@pytest.mark.parametrize(
    ("words", "points"),
    [
        ([True] * 4 + [False] * 8, ("2", "1")),
        ([True] * 4 + [False] * 6 + [True] * 2, ("2", "1")),  # 6/8 is at least 0.75
        ([True] * 4 + [False] * 5 + [True] * 3, ("1.66", "1")),  # 5/8 / 0.75 * 2, rounded down
        ([True] * 3 + [False] * 9, ("2", "0")),  # 1 - 1/4
        ([True] * 2 + [False] * 10, ("1.33", "0")),  # (1 - 2/4) / 0.75 * 2
        ([True] * 4 + [True, False] + [False] * 6, ("2", "0")),
        ([True] * 12, ("0", "0")),
        ([False] * 12, ("0", "0")),
        ([False] * 4 + [True] * 8, ("0", "0")),  # at least 0
        ([RAISED] + [True] * 3 + [False] * 8, ("2", "0")),
        ([True] * 4 + [RAISED] + [False] * 7, ("2", "0")),  # 7/8
        ([True] * 4 + [1] + [False] * 7, ("2", "0")),
        ([1] * 4 + [0] * 8, ("0", "0")),
        ([RAISED] * 12, ("0", "0")),
    ],
)
def test_the_rate_is_caught_minus_rejected(words: list[Any], points: tuple[str, str]) -> None:
    """The points of both sorts of credit, by the formula of the documentation."""
    assert (Decimal(points[0]), Decimal(points[1])) == _points(words)


def test_missing_answers_of_ours_go_to_a_person() -> None:
    """Classes that were not asked about, or that cannot be made, are no fault of the test."""
    check = check_from(QUESTION)
    evidence = asked_with([True] * 4 + [False] * 8)
    broken = (Observation(ok=False, error="SyntaxError"),)
    for bad in (
        replace(evidence, again=()),
        replace(evidence, again=(broken * 5,) * 12, expected=(observed([NO_PYTHON, *CLASSES[1:]]),)),
        replace(evidence, expected=()),
        replace(evidence, expected=(observed("classes"),)),
        replace(evidence, expected=(observed([{"source": 1}]),)),
    ):
        assert {Status.NEEDS_REVIEW} == {one.status for one in check.judge(bad)}


def test_a_box_that_makes_no_classes_has_no_word_on_them() -> None:
    """An error that student code raises in place of ours, whatever its name, is the answer's own."""
    check = check_from(QUESTION)
    refused = (Observation(ok=False, error="SyntaxError", message="invalid syntax"),)
    evidence = replace(asked_with([True] * 12), again=(refused * 5,) * 12)
    results = check.judge(evidence)
    assert {Status.FAILED} == {one.status for one in results}
    assert {Decimal(0)} == {one.points for one in results}
    assert "SyntaxError: invalid syntax" in render(results[0].student, "en")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("torch.ones(1).backward()", "RuntimeError: element 0 of tensors does not require grad"),
        ("raise ValueError('no mask at all')", "ValueError: no mask at all"),
        ("assert False", "AssertionError."),
        ("return 'yes'", "“yes”"),
        ("return None", "None"),
    ],
)
def test_why_a_test_gives_no_word_is_told(body: str, said: str) -> None:
    """The exception with its text, or what was returned instead; on one line of bounded length."""
    for one in sit("test", f"import torch\ndef audit(cls): {body}\n").values():
        assert said in render(one.student, "en")
        assert "audit.test.no-answers" == one.code
    long = sit("test", "def audit(cls): raise ValueError('x\\n' * 5000)\n")["all"]
    assert len(render(long.student, "en")) < 500
    assert "\n" not in render(long.student, "en")


def test_missed_classes_are_told_by_what_they_do() -> None:
    """A test that never uses a mask is told so in words, without the name of a misconception."""
    trial = next(one for one in trials.test() if one["name"] == "without a mask")
    text = render(sit("test", trial["source"])["masks"].student, "en")
    assert "a blocked key still matters" in text
    assert "mask_" not in text


@pytest.mark.parametrize("source", ["audit = None", "", "def audit(): return True", "audit = 'True'"])
def test_what_is_no_test_earns_nothing(source: str) -> None:
    """Anything that cannot be called with a class gives no points and raises nothing."""
    results = sit("test", source)
    assert {Decimal(0)} == {one.points for one in results.values()}
    assert Status.NEEDS_REVIEW not in {one.status for one in results.values()}


def test_classes_come_in_another_order_for_another_draw() -> None:
    """Order and text of the classes follow the course secret."""
    check = check_of("test")
    assert isinstance(check, HasSecondRound)
    first, second = (
        [call.args for scenario in check.reference_plan(draw) for call in scenario.calls]
        for draw in (DRAW, type(DRAW)(b"another"))
    )
    assert first != second
    evidence = asked("test", "def audit(cls): return True")
    scenarios = check.second_round(evidence).student
    sources = [scenario.calls[2].args[0] for scenario in scenarios]
    assert len(set(sources)) == len(sources) == 31
