"""Measures from outside which outputs of a student's function depend on which inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.checking import Wrong, assert_equal
from reference.checks.tables import rows_of

ROUNDS = 2
"""How often each position is changed: a value may be ignored by chance. No example is left alone twice, so
that each one can be noticed in another one."""
NOTHING = 1e-9
"""A result that moves by less, relative to its largest number, did not move: rounding, or a mask of -1e4."""


def assert_dependence(
    compute: Callable[[Any, Tensor], Any], student: Any, draw: Any, allowed: Tensor
) -> None:
    """Fail unless each output depends on the inputs that it may see, and on no other.

    Calls in two boxes are compared, and their inputs differ at one position of each example, or nowhere. In
    no box does code meet two inputs that have anything in common: memory of earlier calls, or of the other
    examples, does not tell which position was changed.

    Args:
        compute: names of the student, and (examples, length, width) → (examples, length, …).
        student: the names.
        draw: of the hidden inputs.
        allowed: (length, length) bool; rows are outputs.

    Raises:
        Wrong: another dependence was measured, or the result has another form.
    """
    length = len(allowed)
    examples = 2 * (length + 1)
    inputs, others, first, second = (_draw_inputs(draw, examples, length) for _ in range(4))
    drawn = draw.permutation(examples)
    before = _compute_second(compute, student, first, inputs)
    seen, is_mixed = torch.zeros_like(allowed), False
    for round_ in range(ROUNDS):
        where = (drawn + round_) % (length + 1)  # position that is changed in each example; length: none
        changed = _change(inputs, others, where)
        moved = _has_moved(_compute_second(compute, student.again(), second, changed), before)
        seen |= torch.stack([moved[where == key].any(0) for key in range(length)], dim=-1)
        is_mixed = is_mixed or bool(moved[where == length].any())
    if is_mixed and _has_moved(_compute_second(compute, student.again(), second, inputs), before).any():
        raise Wrong("two equal calls differ")
    assert_equal(["changed", "unchanged"] if is_mixed else ["changed"], ["changed"])  # examples that moved
    assert_equal(rows_of(seen), rows_of(allowed))


def _change(inputs: Tensor, others: Tensor, where: Tensor) -> Tensor:
    changed = inputs.clone()
    for example, position in enumerate(where.tolist()):
        if position < inputs.shape[1]:
            changed[example, position] = others[example, position]
    return changed


def _compute_second(
    compute: Callable[[Any, Tensor], Any], names: Any, first: Tensor, inputs: Tensor
) -> Tensor:
    """Return the second result in a box: one that is kept of the first call shows."""
    compute(names, first.clone())  # students may change what they get
    return _read_result(compute(names, inputs.clone()), inputs)


def _draw_inputs(draw: Any, *shape: int, width: int = 4) -> Tensor:
    # From -1 to 1: of normal numbers, attention without a scale sees little but the largest.
    inputs: Tensor = draw.uniform(*shape, width, low=-1, high=1).double()
    return inputs


def _read_result(value: Any, inputs: Tensor) -> Tensor:
    try:
        result = torch.as_tensor(value).double()
    except (TypeError, ValueError, RuntimeError) as error:
        raise Wrong(f"returned a {type(value).__name__}, expected a tensor") from error
    if result.shape[:2] != inputs.shape[:2]:
        raise Wrong(f"returned the shape {tuple(result.shape)}, expected an output for each position")
    if result.isnan().any():
        raise Wrong("NaN in the result")
    return result.flatten(2) if result.ndim > 2 else result[..., None]


def _has_moved(after: Tensor, before: Tensor) -> Tensor:
    if before.shape != after.shape:
        raise Wrong(f"results of two shapes, {tuple(before.shape)} and {tuple(after.shape)}")
    size = before[before.isfinite()].abs().amax() if before.isfinite().any() else before.new_zeros(())
    is_near = (after - before).abs() <= NOTHING * size
    return ((after != before) & ~is_near).any(-1)  # infinity less infinity is not near, but equal
