"""Answers scenarios in this very process, on our own listings. For tests of a kind's judgement only.

It is no sandbox: nothing a student wrote may ever be run here, and no mark comes from it.
"""

from __future__ import annotations

import contextlib
import operator
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from autograder.records import Call, Observation, Opaque, Ref, Scenario, Tensor


class LocalBox:
    """A namespace made by executing source text, asked as a box is."""

    def __init__(self, *sources: str) -> None:
        torch.set_num_threads(1)
        self.namespace: dict[str, Any] = {"__name__": "notebook"}
        for source in sources:
            exec(compile(source, "cell", "exec"), self.namespace)

    def ask(self, scenarios: Sequence[Scenario]) -> list[tuple[Observation, ...]]:
        """One tuple per scenario, one observation per call; the first failure skips the rest."""
        return [self._scenario(one) for one in scenarios]

    def _scenario(self, scenario: Scenario) -> tuple[Observation, ...]:
        kept: dict[str, Any] = {}
        observations: list[Observation] = []
        for call in scenario.calls:
            if observations and not observations[-1].ok:
                observations.append(Observation(ok=False, error="Skipped"))
                continue
            try:
                with _torch_state(call):
                    value = self._value(call, kept)
            except Exception as error:  # noqa: BLE001 - whatever our own listings raise is an observation
                kinds = tuple(one.__name__ for one in type(error).__mro__ if one.__module__ == "builtins")
                observations.append(
                    Observation(ok=False, error=type(error).__name__, message=str(error), kinds=kinds)
                )
                continue
            if call.keep:
                kept[call.keep] = value
                value = Ref(call.keep)
            observations.append(Observation(ok=True, value=_outside(value)))
        return tuple(observations)

    def _value(self, call: Call, kept: dict[str, Any]) -> Any:
        if isinstance(call.target, Ref):
            found = kept[call.target.name]
        elif call.target.startswith("@"):
            found = sys.modules[call.target[1:]]
        elif call.target in self.namespace:
            found = self.namespace[call.target]
        else:
            raise NameError(f"name '{call.target}' is not defined")
        if call.attribute:
            found = operator.attrgetter(call.attribute)(found)
        if call.read:
            return found
        args = [_inside(value, kept) for value in call.args]
        return found(*args, **{name: _inside(value, kept) for name, value in call.kwargs.items()})


@contextlib.contextmanager
def _torch_state(call: Call) -> Iterator[None]:
    if call.seed is not None:
        random.seed(call.seed)
        np.random.seed(call.seed % 2**32)
        torch.default_generator.manual_seed(call.seed)  # torch.manual_seed formats a stack trace each time
    before = torch.get_default_dtype()
    if call.default_dtype:
        torch.set_default_dtype(getattr(torch, call.default_dtype))
    try:
        with torch.set_grad_enabled(call.grad):
            yield
    finally:
        torch.set_default_dtype(before)


def _inside(value: Any, kept: dict[str, Any]) -> Any:
    if isinstance(value, Ref):
        return kept[value.name]
    if isinstance(value, Tensor):
        return torch.from_numpy(np.array(value.array)).to(getattr(torch, value.dtype))
    if isinstance(value, Mapping):
        return {name: _inside(part, kept) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_inside(part, kept) for part in value)
    return value


def _outside(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        array = value.detach().clone().numpy()
        return Tensor(array, str(value.dtype).removeprefix("torch."), "cpu", value.requires_grad)
    if value is None or isinstance(value, bool | int | float | str | Ref | np.ndarray):
        return value
    if isinstance(value, tuple):
        return tuple(_outside(part) for part in value)
    if isinstance(value, list):
        return [_outside(part) for part in value]
    if isinstance(value, Mapping):
        return {key: _outside(part) for key, part in value.items()}
    sympy = type(value).__module__.startswith("sympy.")
    return Opaque(type(value).__name__, str(value) if sympy else "")
