"""What the last module in a torch model gave, in place of what the model returned. Pure.

Before each call of the model a dictionary is emptied in which every module writes its inputs down when it is
called; afterwards the last of them is called again with the same inputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from autograder.checks.planning.subject import MODEL
from autograder.records import Call, Observation, Ref, Scenario

# Such as no author keeps anything under.
_SEEN, _WRITE, _REGISTER = Ref("last module: seen"), Ref("last module: write"), Ref("last module: register")
_LAST, _MODULE, _GIVEN = Ref("last module: pair"), Ref("last module: itself"), Ref("last module: given")
_NOTHING = "last module: nothing"
_SPY = (
    Call("@builtins", "dict", keep=_SEEN.name),
    Call(_SEEN, "__setitem__", read=True, keep=_WRITE.name),
    Call("@operator", "methodcaller", args=("register_forward_pre_hook", _WRITE), keep=_REGISTER.name),
    Call("@torch", "nn.Module.apply", args=(Ref(MODEL), _REGISTER), keep=_NOTHING),
)
"""A dictionary takes a module and its inputs as a hook does."""


def of_last_module(scenario: Scenario) -> Scenario:
    """The same calls, each of the model giving what its last module gives."""
    calls = tuple(made for call in scenario.calls for made in _calls(call))
    return msgspec.structs.replace(scenario, calls=calls)


def as_asked(scenario: Scenario, observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """The observations of `of_last_module`, one for each call of the scenario it was made of."""
    found: list[Observation] = []
    begin = 0
    for call in scenario.calls:
        size = len(_calls(call))
        some, begin = observations[begin : begin + size], begin + size
        failed = next((one for one in some if not one.ok), None)
        if failed is None and len(some) < size:
            break
        found.append(failed or some[-1])
    return tuple(found)


def _calls(call: Call) -> tuple[Call, ...]:
    if call.keep == MODEL and call.target != Ref(MODEL):
        return (call, *_SPY)
    if call.target != Ref(MODEL) or call.attribute:
        return (call,)
    return (
        Call(_SEEN, "clear", keep=_NOTHING),
        msgspec.structs.replace(call, keep=_NOTHING),
        Call(_SEEN, "popitem", keep=_LAST.name),
        Call(_LAST, "__getitem__", args=(0,), keep=_MODULE.name),
        Call(_LAST, "__getitem__", args=(1,), keep=_LAST.name),
        Call(_LAST, "__getitem__", args=(0,), keep=_GIVEN.name),
        msgspec.structs.replace(call, target=_MODULE, args=(_GIVEN,), kwargs={}),
    )
