"""Compares gradients that students wrote by hand with those of autograd."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.checking import Wrong, assert_close

TOLERANCE = 1e-6
"""Relative to the largest number of the gradients: single precision passes, another formula does not."""
SMALLEST_SIZE = 1e-3
"""Gradients without a larger number are compared as if they had one: rounding has a size of its own."""


def draw_doubles(draw: Any, *shapes: tuple[int, ...]) -> list[Tensor]:
    """Return normal numbers in double precision, a tensor for each shape."""
    return [draw.normal(*shape).double() for shape in shapes]


def assert_gradients(
    returned: Any, wanted: Sequence[str], loss: Callable[..., Tensor], **inputs: Tensor
) -> None:
    """Fail unless some gradients are those of autograd.

    Args:
        returned: by the student: a tuple in the order of `inputs`, or a dictionary; one may stand alone.
        wanted: names of the gradients that are compared.
        loss: `inputs` → a number.
        inputs: by name; none is changed.

    Raises:
        Wrong: a gradient is missing, or has other numbers.
    """
    leaves = {name: value.clone().requires_grad_() for name, value in inputs.items()}
    gradients = torch.autograd.grad(loss(**leaves), list(leaves.values()))
    expected = dict(zip(leaves, gradients, strict=True))
    given = _split(returned, list(leaves))
    atol = TOLERANCE * max(SMALLEST_SIZE, *(float(expected[name].abs().max()) for name in wanted))
    # Lists, because arrays and lists are right as well. One gradient stands alone: mutants explain it then.
    pairs = [(given[name], expected[name].tolist()) for name in wanted]
    actual, right = pairs[0] if len(pairs) == 1 else zip(*pairs, strict=True)
    assert_close(actual, right, rtol=0, atol=atol)


def _split(returned: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """Return what was returned, by the names of the inputs."""
    if isinstance(returned, Mapping):
        missing = [name for name in names if name not in returned]
        if missing:
            raise Wrong(f"no entry {missing[0]!r}")
        return returned
    if len(names) == 1 and not (isinstance(returned, list | tuple) and len(returned) == 1):
        return {names[0]: returned}
    if not isinstance(returned, list | tuple) or len(returned) != len(names):
        count = len(returned) if isinstance(returned, list | tuple) else "no tuple"
        raise Wrong(f"returned {count}, expected the gradients for {', '.join(names)}")
    return dict(zip(names, returned, strict=True))
