"""What the checks of filters share: how logits are read and compared, whatever library they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
from autograder.checking import assert_close
from torch import Tensor

REMOVED = -1e9
"""The question accepts any logit below this for a removed token."""


def read_numbers(value: Any) -> Any:
    """Return real numbers as an array of float64, other values as they are: `assert_close` judges them."""
    if isinstance(value, Tensor):
        value = value.detach().numpy()
    if not isinstance(value, list | tuple | np.ndarray):
        return value
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return value
    return array.astype(np.float64) if array.dtype.kind in "iuf" else value


def assert_filtered(actual: Any, expected: Tensor) -> None:
    """Fail unless the same tokens are kept, with the same logits.

    Args:
        actual: (rows, n_vocab), the student's.
        expected: (rows, n_vocab), with -inf for what is removed.
    """
    logits = read_numbers(actual)
    if isinstance(logits, np.ndarray):
        logits = np.where(logits < REMOVED, -np.inf, logits)
    assert_close(logits, expected.numpy(), rtol=1e-5)


def draw_logits(draw: Any, *shape: int) -> Tensor:
    """Return logits in double precision: rounding puts no token across an edge."""
    logits: Tensor = 2 * draw.normal(*shape).double()
    return logits
