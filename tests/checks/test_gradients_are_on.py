"""Student code is called as a notebook calls it: with autograd on, whatever the kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from autograder.checks.base import Check
from autograder.kinds import registered
from autograder.records import Answer, Call, Ref, Scenario
from tests.checks.test_every_kind import DRAW, every_check


def plans(check: Check) -> Iterator[Scenario]:
    """What a check asks about an answer that is code."""
    yield from check.plan(Answer("q-answer", "code", "def f(x): ...", changed=True), DRAW)


def of_student(call: Call) -> bool:
    """Whether a call runs what the student wrote: a name of the notebook, or an object kept from one."""
    if call.read or (isinstance(call.target, str) and call.target.startswith("@")):
        return False
    ours = ("recorder", "fill", "gradients")
    return not (isinstance(call.target, Ref) and (call.attribute or call.target.name in ours))


@pytest.mark.parametrize(("rubric", "check"), every_check())
def test_every_kind_calls_student_code_with_gradients(rubric: object, check: Check) -> None:
    """Every call of a name of the notebook, and of an object made from one, has autograd on."""
    del rubric
    called = [call for scenario in plans(check) for call in scenario.calls if of_student(call)]
    assert [] == [(call.target, call.attribute) for call in called if not call.grad]


def test_the_kinds_that_call_are_all_seen() -> None:
    """The questions above call student code in each of these kinds; the others only read."""
    kinds = {
        check.kind
        for check in (case.values[1] for case in every_check())
        if any(of_student(call) for scenario in plans(check) for call in scenario.calls)
    }
    assert {"count"} <= kinds
    assert kinds <= set(registered())


def test_a_plan_without_gradients_would_be_noticed() -> None:
    """The same call without autograd is what the first test refuses."""
    call = Call("f", grad=True)
    assert of_student(call)
    assert not replace(call, grad=False).grad
