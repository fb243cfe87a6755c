"""The states of generators, so that a seed set by a test holds in the student's box. Runs in boxes."""

from __future__ import annotations

import ctypes
import random
import sys
from typing import Any

import numpy as np

_WORDS = 625
"""Of 32 bits: the state of numpy's Mersenne twister, and its place in it."""


class Generators:
    """The global generators of a box, and how they stood when the other box last knew."""

    def __init__(self) -> None:
        self._random: Any = None
        self._numpy: Any = None
        self._seen = b""
        self._torch: Any = None
        self.moved()

    def moved(self) -> dict[str, Any]:
        """Those that have moved since this was last asked, as plain values and arrays."""
        found: dict[str, Any] = {}
        now = random.getstate()
        if now != self._random:
            self._random = now
            found["random"] = [now[0], np.array(now[1], np.int64), now[2]]
        seen = _numpys_words()
        # A second number of a pair is drawn without moving: with one in reserve the state is read in full.
        if seen != self._seen or self._numpy[3]:
            self._seen = seen
            kept: Any = np.random.get_state()
            if (
                self._numpy is None
                or kept[2:] != self._numpy[2:]
                or not np.array_equal(kept[1], self._numpy[1])
            ):
                self._numpy = kept
                found["numpy"] = [kept[1], *map(int, kept[2:4]), float(kept[4])]
        if (torch := sys.modules.get("torch")) is not None:
            state = torch.get_rng_state().numpy()
            if self._torch is None or not np.array_equal(state, self._torch):
                self._torch = found["torch"] = state
        return found

    def restore(self, told: dict[str, Any]) -> None:
        """Put them into these states, which the other box knows.

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
        if told:
            self.moved()


def _numpys_words() -> bytes:
    """The state where it lies: numpy's own way to ask for it makes a number of each word."""
    numpys: Any = np.random
    generator = numpys.get_bit_generator()
    if type(generator) is not np.random.MT19937:
        return b""
    return ctypes.string_at(generator.ctypes.state_address, 4 * _WORDS)
