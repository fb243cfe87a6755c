"""The states of generators, so that a seed set by a test is valid in the student's box. Runs in boxes."""

from __future__ import annotations

import contextlib
import ctypes
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

_WORDS = 625
"""32-bit words: the state of a Mersenne twister and its position; Python's and numpy's are alike."""
_PYTHONS: Any = random.getstate.__self__  # type: ignore[attr-defined]
"""Python's global generator, even if a notebook replaces it."""


class Generators:
    """The global generators of a box, and the states that the other box last knew."""

    def __init__(self) -> None:
        self._random: tuple[bytes, Any] = (b"", None)
        self._numpy: Any = None
        self._seen = b""
        self._torch = b""
        self.collect_moved_states()

    def collect_moved_states(self) -> dict[str, Any]:
        """Return the states that have moved since the last call, as plain values and arrays."""
        states: dict[str, Any] = {}
        now = (
            _read_python_state(_PYTHONS) if _LIES_AS_KNOWN else repr(_PYTHONS.getstate()).encode(),
            _PYTHONS.gauss_next,
        )
        if now != self._random:
            self._random = now
            version, numbers, spare = _PYTHONS.getstate()
            states["random"] = [version, np.array(numbers, np.int64), spare]
        seen = _read_numpy_state()
        # The second number of a pair is drawn without moving: with one in reserve the state is read in full.
        if seen != self._seen or self._numpy[3]:
            self._seen = seen
            kept: Any = np.random.get_state()
            if (
                self._numpy is None
                or kept[2:] != self._numpy[2:]
                or not np.array_equal(kept[1], self._numpy[1])
            ):
                self._numpy = kept
                states["numpy"] = [kept[1], *map(int, kept[2:4]), float(kept[4])]
        if (torch := sys.modules.get("torch")) is not None:
            state = torch.default_generator.get_state().numpy()
            if (drawn := state.tobytes()) != self._torch:
                self._torch, states["torch"] = drawn, state
        return states

    def forget_states(self) -> None:
        """Assume that the other box knows none of the states."""
        self._random, self._numpy, self._seen, self._torch = (b"", None), None, b"", b""

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


def _read_python_state(generator: random.Random) -> bytes:
    """Read the state from memory, behind the header of the object: `getstate` makes a number of each word."""
    return ctypes.string_at(id(generator) + object.__basicsize__, 4 * _WORDS)


def _has_known_layout() -> bool:
    """Return whether this Python keeps the state where `_read_python_state` reads: position, then words."""
    generator = random.Random(1)
    generator.random()
    *words, position = generator.getstate()[1]
    return _read_python_state(generator) == np.array([position, *words], np.uint32).tobytes()


_LIES_AS_KNOWN = type(_PYTHONS) is random.Random and _has_known_layout()


def _read_numpy_state() -> bytes:
    """Read the state from memory: numpy's own function makes a number of each word."""
    numpys: Any = np.random
    generator = numpys.get_bit_generator()
    if type(generator) is not np.random.MT19937:
        return b""
    return ctypes.string_at(generator.ctypes.state_address, 4 * _WORDS)
