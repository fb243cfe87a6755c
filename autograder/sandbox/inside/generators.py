"""The states of generators, so that a seed set by a test is valid in the student's box. Runs in boxes."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

_PYTHONS: Any = random.getstate.__self__  # type: ignore[attr-defined]
"""Python's global generator, even if a notebook replaces it."""


class Generators:
    """The global generators of a box, and the states that the other box last knew."""

    def __init__(self) -> None:
        self.forget_states()
        self.collect_moved_states()

    def collect_moved_states(self) -> dict[str, Any]:
        """Return the states that have moved since the last call, as plain values and arrays."""
        states: dict[str, Any] = {}
        if (pythons := _PYTHONS.getstate()) != self._random:
            self._random = pythons
            version, numbers, spare = pythons
            states["random"] = [version, np.array(numbers, np.int64), spare]
        numpys: Any = np.random.get_state()
        state = (numpys[1].tobytes(), *map(int, numpys[2:4]), float(numpys[4]))
        if state != self._numpy:
            self._numpy = state
            states["numpy"] = [numpys[1], *state[1:]]
        if (torch := sys.modules.get("torch")) is not None:
            torchs = torch.default_generator.get_state().numpy()
            if (drawn := torchs.tobytes()) != self._torch:
                self._torch, states["torch"] = drawn, torchs
        return states

    def forget_states(self) -> None:
        """Assume that the other box knows none of the states."""
        self._random: Any = None
        self._numpy: Any = None
        self._torch = b""

    def restore_states(self, states: dict[str, Any]) -> None:
        """Put the generators into these states, which the other box knows.

        Raises:
            Exception: of any type, if they are no states: they may be under the student's control.
        """
        if "random" in states:
            version, numbers, spare = states["random"]
            _PYTHONS.setstate((version, tuple(map(int, numbers)), spare))
        if "numpy" in states:
            np.random.set_state(("MT19937", np.array(states["numpy"][0], np.uint32), *states["numpy"][1:]))
        if "torch" in states:
            torch = sys.modules["torch"]
            torch.set_rng_state(torch.from_numpy(np.array(states["torch"], np.uint8)))
        # The other box knows these states, so they must not count as moved.
        if states:
            self.collect_moved_states()


@contextlib.contextmanager
def keep_states() -> Iterator[None]:
    """Restore the present states of the global generators afterwards."""
    pythons, numpys = _PYTHONS.getstate(), np.random.get_state()
    torch = sys.modules.get("torch")
    torchs = None if torch is None else torch.default_generator.get_state()
    try:
        yield
    finally:
        _PYTHONS.setstate(pythons)
        np.random.set_state(numpys)
        if torch is not None and torchs is not None:
            torch.default_generator.set_state(torchs)
