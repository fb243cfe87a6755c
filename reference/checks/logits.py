"""What the checks of filters share: how logits are read and compared, whatever library they come from."""

import numpy as np

from autograder.checking import assert_close
from reference.checks.arrays import read_array

REMOVED = -1e9
"""A logit from here down is as good as -inf for a removed token."""


def read_numbers(value):
    """Return real numbers as an array of float64, other values as they are: `assert_close` judges them."""
    array = read_array(value)
    return value if array is None else array.astype(np.float64)


def assert_filtered(actual, expected):
    """Fail unless the same tokens are kept, with the same logits.

    Args:
        actual: (rows, n_vocab), the student's.
        expected: (rows, n_vocab), with -inf for what is removed.
    """
    logits = read_numbers(actual)
    if isinstance(logits, np.ndarray):
        logits = np.where(logits <= REMOVED, -np.inf, logits)
    assert_close(logits, expected.numpy(), rtol=1e-5)


def draw_logits(draw, *shape):
    """Return logits in double precision: rounding puts no token across an edge."""
    return 2 * draw.normal(*shape).double()
