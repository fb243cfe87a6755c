"""Gradients written by hand, and three witnesses: autograd, central differences, and known misconceptions.

A question of kind ``gradient`` names one of the oracles here as its ``reference``. An oracle is asked with
the arguments of the student's function, in double precision.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from reference.faults.misconception import Misconception, compiled, planted, trials
from reference.tracing import backward
from reference.tracing.misconceptions import MISCONCEPTIONS

EPSILON = torch.finfo(torch.float64).eps
STEP = EPSILON ** (1 / 3)
"""Of central differences, for numbers around 1: the sum of both errors, h²/6·|f'''| and eps·|f|/h, is least
near the cube root of eps."""
ROUNDING = 16
"""How often a rounding error of the loss may add up in one difference."""

Loss = Callable[..., Tensor]


def numeric(loss: Loss, arguments: Sequence[Any], count: int) -> tuple[list[Tensor], list[float]]:
    """Gradients by central differences, and how far each may be from the true one.

    The error of truncation grows with the square of the step, so the difference between the results of the
    double and the single step is three times that of the single one; rounding adds eps·|loss|/step.

    Args:
        loss: arguments → a number.
        arguments: of the loss.
        count: for so many of them, from the first.
    """
    gradients, bounds = [], []
    size = float(loss(*arguments).abs()) + 1
    for place in range(count):
        single, double = (_differences(loss, arguments, place, factor) for factor in (1, 2))
        gradients.append(single)
        bounds.append(float((double - single).abs().max()) + ROUNDING * EPSILON * size / STEP)
    return gradients, bounds


def _differences(loss: Loss, arguments: Sequence[Any], place: int, factor: int) -> Tensor:
    value = arguments[place]
    gradient = torch.empty_like(value)
    for index in range(value.numel()):
        step = factor * STEP * max(1.0, float(value.flatten()[index].abs()))
        ends = []
        for sign in (1, -1):
            moved = value.clone()
            moved.view(-1)[index] += sign * step
            ends.append(float(loss(*arguments[:place], moved, *arguments[place + 1 :])))
        gradient.view(-1)[index] = (ends[0] - ends[1]) / (2 * step)
    return gradient


def automatic(loss: Loss, arguments: Sequence[Any], count: int) -> list[Tensor]:
    """Gradients for the first ``count`` arguments by autograd."""
    with torch.enable_grad():
        inputs = [one.detach().clone().requires_grad_() for one in arguments[:count]]
        return list(torch.autograd.grad(loss(*inputs, *arguments[count:]), inputs))


class Oracle:
    """What is right for one function, with witnesses, and what its misconceptions give.

    Args:
        function: from `reference.tracing.backward`.
        loss: the function's arguments → the number whose gradients it gives.
        count: gradients for so many arguments, from the first.
    """

    def __init__(self, function: Callable[..., Any], loss: Loss, count: int) -> None:
        self.function = function
        self.loss = loss
        self.count = count
        self._planted: list[tuple[str, Callable[..., Any]]] = []

    @property
    def source(self) -> str:
        """The right answer's text."""
        return inspect.getsource(self.function)

    @property
    def misconceptions(self) -> tuple[Misconception, ...]:
        """What else is known to be written."""
        return MISCONCEPTIONS[self.function.__name__]

    def expected(self, *arguments: Any) -> dict[str, Any]:
        """What is right for some arguments.

        Returns:
            ``right`` by autograd and ``numeric`` by differences, one array for each gradient; ``bounds``, how
            far the two may be apart; ``mistakes``: code and gradients of each misconception.
        """
        gradients, bounds = numeric(self.loss, arguments, self.count)
        mistakes = []
        for code, function in self._faulty():
            try:
                mistakes.append({"code": code, "values": _listed(function(*arguments))})
            except (
                RuntimeError,
                IndexError,
            ):  # for sizes that do not fit the misconception, nothing comes of it
                continue
        return {
            "right": automatic(self.loss, arguments, self.count),
            "numeric": gradients,
            "bounds": bounds,
            "mistakes": mistakes,
        }

    def trials(self) -> list[dict[str, Any]]:
        """Every misconception as an answer cell."""
        return trials(self.source, self.misconceptions)

    def _faulty(self) -> list[tuple[str, Callable[..., Any]]]:
        """Code and function of every misconception; made once, because rewriting takes long."""
        if not self._planted:
            name = self.function.__name__
            self._planted = [
                (misconception.code, compiled(planted(self.source, misconception), name, vars(backward)))
                for misconception in self.misconceptions
                if misconception.code
            ]
        return self._planted


def _listed(returned: Any) -> list[Tensor]:
    return list(returned) if isinstance(returned, tuple) else [returned]


def _attention(query: Tensor, key: Tensor, value: Tensor, gradient: Tensor) -> Tensor:
    return (functional.scaled_dot_product_attention(query, key, value) * gradient).sum()


def _layer_norm(x: Tensor, gain: Tensor, bias: Tensor, gradient: Tensor) -> Tensor:
    return (functional.layer_norm(x, x.shape[-1:], gain, bias) * gradient).sum()


softmax = Oracle(backward.softmax_backward, lambda scores, grad: (scores.softmax(-1) * grad).sum(), 1)
matmul = Oracle(backward.matmul_backward, lambda a, b, grad: (a @ b * grad).sum(), 2)
cross_entropy = Oracle(backward.cross_entropy_backward, functional.cross_entropy, 1)
layer_norm = Oracle(backward.layer_norm_backward, _layer_norm, 3)
attention = Oracle(backward.attention_backward, _attention, 3)


def softmax_trials() -> list[dict[str, Any]]:
    """For `autograder verify`, as all that follow."""
    return softmax.trials()


def matmul_trials() -> list[dict[str, Any]]:
    """See `softmax_trials`."""
    return matmul.trials()


def cross_entropy_trials() -> list[dict[str, Any]]:
    """See `softmax_trials`."""
    return cross_entropy.trials()


def layer_norm_trials() -> list[dict[str, Any]]:
    """See `softmax_trials`."""
    return layer_norm.trials()


def attention_trials() -> list[dict[str, Any]]:
    """See `softmax_trials`."""
    return attention.trials()
