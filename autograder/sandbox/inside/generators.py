"""The states of generators, so that a seed set by a test holds in the student's box. Runs in boxes."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np


def states() -> dict[str, Any]:
    """The states of the global generators, as plain values and arrays."""
    version, numbers, spare = random.getstate()
    kept: Any = np.random.get_state()
    found: dict[str, Any] = {
        "random": [version, np.array(numbers, np.int64), spare],
        "numpy": [kept[1].copy(), *map(int, kept[2:4]), float(kept[4])],
    }
    if (torch := sys.modules.get("torch")) is not None:
        found["torch"] = torch.get_rng_state().numpy().copy()
    return found


def same(one: Any, other: Any) -> bool:
    """Whether two states of one generator are equal."""
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)


def restore(told: dict[str, Any]) -> None:
    """Put the generators into these states.

    Raises:
        Exception: of any type, where they are none: they may be the student's word.
    """
    if "random" in told:
        version, numbers, spare = told["random"]
        random.setstate((version, tuple(map(int, numbers)), spare))
    if "numpy" in told:
        np.random.set_state(("MT19937", np.array(told["numpy"][0], np.uint32), *told["numpy"][1:]))
    if "torch" in told:
        torch = sys.modules["torch"]
        torch.set_rng_state(torch.from_numpy(np.array(told["torch"], np.uint8)))
