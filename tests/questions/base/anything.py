"""Random reports of a run: values of every form, observations and answer cells.

Each is drawn from one random number, because hypothesis would take longer to build such values than checks
take to judge them.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.core.records import Ending, Observation, OpaqueValue, Tensor

DEEPEST = 4
TEXTS = ("", "yes", "a", "fp16", "(8, 12, 128, 128)", "124,439,808", "\ud800", "{what}", "x" * 5000, "wpe")
NUMBERS = (None, True, False, 0, 1, -1, 3, 1 << 3000, 0.0, -0.0, 0.5, 5e-324, 1e308, np.nan, np.inf, -np.inf)
ARRAYS = (
    np.array(3),
    np.array([0.245, 0.665, 0.09]),
    np.array([np.nan, np.inf, -np.inf]),
    np.zeros((2, 2, 5, 4)),
    np.zeros((0, 3)),
    np.array(["text"]),
    np.array([1 + 2j]),
    np.array([1, 1 << 62], "uint64"),
    np.array(1e300),
    np.array([None], object),
    np.array("2024-01-01", "datetime64[D]"),
)
DTYPES = ("float32", "bfloat16", "int64", "", "nonsense")
ERRORS = ("", "Skipped", "NameError", "ValueError", "TypeError", "NotImplementedError")
SOURCES = ("", "x = f()", "total = 124_439_808", "answer = 'yes'", "def f(:", "\x00", "%time f()")


def text(numbers: random.Random, most: int = 20) -> str:
    """Return characters from all of Unicode, half of them from its beginning."""
    top = numbers.choice((128, 0x110000))
    return "".join(chr(numbers.randrange(top)) for _ in range(numbers.randint(0, most)))


def value(numbers: random.Random, depth: int = 0) -> Any:
    """Return a leaf, or a list, tuple or dictionary of values."""
    if depth < DEEPEST and numbers.random() < 0.4:
        inner = [value(numbers, depth + 1) for _ in range(numbers.randint(0, 4))]
        form = numbers.randrange(3)
        if form == 2:
            return {numbers.choice((text(numbers, 3), numbers.randint(-9, 9), "wpe")): one for one in inner}
        return tuple(inner) if form else inner
    return numbers.choice(_LEAVES)(numbers)


def observation(numbers: random.Random) -> Observation:
    """Return a value, an exception or the end of the box."""
    form = numbers.randrange(3)
    if form == 0:
        return Observation(ok=True, value=value(numbers))
    if form == 1:
        return Observation(ok=False, error=numbers.choice(ERRORS), message=text(numbers, 30))
    return Observation(ok=False, ending=numbers.choice(list(Ending)))


def observations(numbers: random.Random, most: int) -> list[Observation]:
    """Return observations of up to `most` calls."""
    return [observation(numbers) for _ in range(numbers.randint(0, most))]


def source(numbers: random.Random) -> str:
    """Return the source of an answer cell."""
    return numbers.choice((*SOURCES, text(numbers, 30)))


def _tensor(numbers: random.Random) -> Tensor:
    return Tensor(numbers.choice(ARRAYS), numbers.choice(DTYPES), "cuda:1")


_LEAVES: tuple[Callable[[random.Random], Any], ...] = (
    lambda numbers: numbers.choice(NUMBERS),
    lambda numbers: numbers.choice(TEXTS),
    lambda numbers: numbers.choice(ARRAYS),
    lambda numbers: numbers.randint(-1000, 1000),
    lambda numbers: numbers.getrandbits(numbers.choice((8, 64, 3000))),
    lambda numbers: struct.unpack("d", numbers.randbytes(8))[0],
    text,
    _tensor,
    lambda numbers: OpaqueValue(text(numbers, 5)),
    lambda _: Tensor("not an array", "float32"),  # type: ignore[arg-type]
)
