"""Hidden inputs of checks."""

from __future__ import annotations

import hashlib
import hmac
import importlib
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class InputDraw:
    """Draws hidden inputs: the same for every submission of a course, others for another course.

    Arrays are tensors if the checks, the solution or their imports use torch, otherwise NumPy arrays. Without
    a shape, a plain number is drawn.
    """

    def __init__(self, seed: bytes, *, tensors: bool = False) -> None:
        """Seed the draw.

        Args:
            seed: of one check, or of one part of it.
            tensors: give tensors instead of arrays.
        """
        self.origin = seed
        """The seed, which identifies the inputs of this draw."""
        self._tensors = tensors
        key = hmac.new(seed, b"draw", hashlib.sha256).digest()[:16]
        self._generator = np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))

    def restarted(self) -> InputDraw:
        """Return a draw that gives the same inputs from the beginning."""
        return type(self)(self.origin, tensors=self._tensors)

    def normal(self, *shape: int) -> Any:
        """Return standard normal numbers."""
        return self._finish(self._generator.standard_normal(shape), shape)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Any:
        """Return numbers from `low` to below `high`."""
        return self._finish(self._generator.uniform(low, high, shape), shape)

    def integers(self, low: int, high: int, *shape: int) -> Any:
        """Return integers from `low` to below `high`, like Python's ``range``."""
        return self._finish(self._generator.integers(low, high, shape), shape)

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[int(self._generator.integers(len(options)))]

    def permutation(self, count: int) -> Any:
        """Return the numbers from 0 to below `count` in random order."""
        return self._finish(self._generator.permutation(count), (count,))

    def mask(self, *shape: int) -> Any:
        """Return booleans; along the last axis at least one is true and, from two on, one is false."""
        values = self._generator.random(shape) < 0.5
        rows = values.reshape(-1, shape[-1])  # (rows, length)
        for row in rows:
            # Two different positions in each row: one is set, the other cleared.
            first, second = self._generator.permutation(max(shape[-1], 2))[:2]
            row[first % shape[-1]] = True
            if shape[-1] > 1:
                row[second] = False
        return self._finish(rows.reshape(shape), shape)

    def seed(self) -> int:
        """Return a seed for another generator."""
        return int(self._generator.integers(2**31))

    def _finish(self, values: Any, shape: tuple[int, ...]) -> Any:
        if not shape:
            return np.asarray(values).item()
        if not self._tensors:
            return values
        torch = importlib.import_module("torch")  # loaded already: see `tensors`
        tensor = torch.from_numpy(np.ascontiguousarray(values))
        return tensor.to(torch.get_default_dtype()) if tensor.is_floating_point() else tensor


class RecordedDraw(InputDraw):
    """Draws the same inputs, and keeps each with the call that drew it."""

    def __init__(self, seed: bytes, *, tensors: bool = False) -> None:
        """See `InputDraw`."""
        super().__init__(seed, tensors=tensors)
        self.drawn: list[tuple[str, Any]] = []

    def __getattribute__(self, name: str) -> Any:
        attribute = super().__getattribute__(name)
        # Intercepted here, so that no drawing method has to be overridden.
        if name not in _DRAWING:
            return attribute

        def draw(*arguments: Any, **named: Any) -> Any:
            value = attribute(*arguments, **named)
            words = [*map(repr, arguments), *(f"{key}={argument!r}" for key, argument in named.items())]
            self.drawn.append((f"draw.{name}({', '.join(words)[:_LONGEST_CALL]})", value))
            return value

        return draw


_DRAWING = frozenset(("normal", "uniform", "integers", "choice", "permutation", "mask", "seed"))
_LONGEST_CALL = 80


def derive_seed(seed: bytes, check: str, part: str) -> bytes:
    """Return the seed of one part of a check, so that adding a check does not change other inputs."""
    return hmac.new(seed, f"check\0{check}\0{part}".encode(), hashlib.sha256).digest()
