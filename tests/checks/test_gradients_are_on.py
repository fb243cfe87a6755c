"""Student code is called as a notebook calls it: with autograd on, whatever the kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from autograder.checks.base import Check
from autograder.kinds import registered
from autograder.records import Answer, Call, Ref, Scenario
from reference.audits import trials
from tests.checks.test_every_kind import DRAW, every_check
from tests.kinds.transformers.audit_questions import sit


def plans(check: Check) -> Iterator[Scenario]:
    """What a check asks about an answer that is code."""
    yield from check.plan(Answer("q-answer", "code", "def f(x): ...", changed=True), DRAW)


def of_student(call: Call) -> bool:
    """Whether a call runs what the student wrote: a name of the notebook, or an object kept from one."""
    if call.read or (isinstance(call.target, str) and call.target.startswith("@")):
        return False
    if isinstance(call.target, Ref) and call.attribute:
        return call.target.name in ("first", "second", "only") and call.attribute in ("train", "checkpoint")
    return not (isinstance(call.target, Ref) and call.target.name in ("recorder", "fill", "gradients"))


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
    calling = {"audit", "causality", "decoding", "gradient", "memorisation"}
    assert calling | {"training"} <= kinds
    assert kinds <= set(registered())


BY_GRADIENT = """
import torch

def audit(cls):
    torch.manual_seed(3)
    layer = cls(8, 2).eval()
    x = torch.randn(1, 5, 8, requires_grad=True)
    mask = torch.ones(5, 5).tril()[None, None]
    seen, = torch.autograd.grad(layer(x, x, x, mask)[0, 1].sum(), x)
    if seen[0, 2:].abs().max() > 1e-7:
        return False
    return right_otherwise(cls)
"""


@pytest.mark.slow
def test_a_test_by_gradients_works() -> None:
    """A test of causality by `torch.autograd.grad`, beside the key's own comparison, earns everything."""
    key = next(one for one in trials.test() if not one["loses"])
    source = key["source"].replace("def audit(", "def right_otherwise(") + BY_GRADIENT
    results = sit("test", source)
    assert {"passed"} == {one.student.code for one in results.values()}


def test_a_plan_without_gradients_would_be_noticed() -> None:
    """The same call without autograd is what the first test refuses."""
    call = Call("f", grad=True)
    assert of_student(call)
    assert not replace(call, grad=False).grad
