"""Answer calls in this process on our own listings, only for tests of how a kind judges.

This is not a sandbox: it must never run student code or decide about marks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from autograder.core.records import Call, Observation, OpaqueValue, Tensor


class LocalBox:
    """A namespace of executed source text, with the interface of a box."""

    def __init__(self, *sources: str) -> None:
        torch.set_num_threads(1)
        self.namespace: dict[str, Any] = {"__name__": "notebook"}
        for source in sources:
            exec(compile(source, "cell", "exec"), self.namespace)

    def ask(self, calls: Sequence[Call]) -> list[Observation]:
        """Return one observation per call."""
        return [self._observe(call) for call in calls]

    def _observe(self, call: Call) -> Observation:
        try:
            return Observation(ok=True, value=_outside(self._value(call)))
        except Exception as error:  # noqa: BLE001 - whatever our own listings raise is an observation
            return Observation(ok=False, error=type(error).__name__, message=str(error))

    def _value(self, call: Call) -> Any:
        if call.target not in self.namespace:
            raise NameError(f"name '{call.target}' is not defined")
        found = self.namespace[call.target]
        return found if call.read else found(*map(_inside, call.args))


def _inside(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.from_numpy(np.array(value.array)).to(getattr(torch, value.dtype))
    if isinstance(value, Mapping):
        return {name: _inside(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_inside(part) for part in value)
    return value


def _outside(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        array = value.detach().clone().numpy()
        return Tensor(array, str(value.dtype).removeprefix("torch."), "cpu", value.requires_grad)
    if value is None or isinstance(value, bool | int | float | str | np.ndarray):
        return value
    if isinstance(value, tuple):
        return tuple(_outside(part) for part in value)
    if isinstance(value, list):
        return [_outside(part) for part in value]
    if isinstance(value, Mapping):
        return {key: _outside(part) for key, part in value.items()}
    sympy = type(value).__module__.startswith("sympy.")
    return OpaqueValue(type(value).__name__, str(value) if sympy else "")
