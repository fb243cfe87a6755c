"""Properties of transformers, for checks of planted faults and others; see docs/repair.md.

Each function is called in a check. Outputs are (texts, places, features): a row for each word of each text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.checking import models
from autograder.checking.loading import results_of
from autograder.checking.objects import objects
from autograder.checking.outcomes import Unclear

_MOVED = {torch.float32: 2e-5, torch.float64: 1e-9}
"""Differences from here on are no rounding, relative to the largest number of both outputs."""


class Model:
    """A model of the student's, in evaluation mode and with float64 unless asked otherwise."""

    def __init__(self, kind: Any, sizes: Sequence[Any], **options: Any) -> None:
        """Make the model and move its weights a little, so that none is 0 or 1 by chance.

        Args:
            kind: the student's class.
            sizes: its arguments.
            options: ``training=True``, ``seed``, ``noise`` and ``scale`` of the weights, ``dtype``, and
                ``inner=True``: outputs are what the last module inside gives.
        """
        self.handle = objects().run_beside(models.make_model, kind, list(sizes), options)
        self._options = {name: options[name] for name in ("dtype", "inner") if name in options}

    def run(self, *inputs: Any, **options: Any) -> Any:
        """Return the output of a forward pass, as the student's code returns it."""
        return objects().run_beside(
            models.run_model, self.handle, list(inputs), self._options | options
        )

    def find_slopes(self, *inputs: Any, **options: Any) -> Tensor:
        """Return the slope of the output's sum of squares for every weight, in one vector."""
        return fetch_tensor(
            objects().run_beside(models.find_slopes, self.handle, list(inputs), self._options | options)
        )

    def find_own_weights(self, usual: Sequence[Any], special: Sequence[Any], **options: Any) -> Tensor:
        """Return a mask of the weights that have a part with special inputs and none with usual ones."""
        return fetch_tensor(
            objects().run_beside(
                models.find_own_weights, self.handle, list(usual), list(special), self._options | options
            )
        )

    def get_weights(self) -> Tensor:
        """Return all weights in one vector."""
        return fetch_tensor(objects().run_beside(models.get_weights, self.handle))

    def set_weights(self, weights: Tensor) -> None:
        """Put all weights, in one vector, into the model."""
        objects().run_beside(models.set_weights, self.handle, weights)

    def count_weights(self, *, buffers: bool = False) -> int:
        """Return how many weights there are, or numbers of the state with its buffers."""
        return int(objects().run_beside(models.count_weights, self.handle, buffers))


def fetch_tensor(value: Any) -> Tensor:
    """Return a value that must be a tensor.

    Raises:
        Unclear: it is something else.
    """
    if type(value) is not Tensor:
        raise Unclear(f"a {objects().class_name(value)} instead of a tensor")
    return value.detach()


def remember(student: Any, make: Callable[[], Any], key: Any) -> Any:
    """Return what a function found out about an answer; it is called once for each answer.

    Args:
        student: as a check gets it.
        make: finds it out.
        key: by which it is remembered.
    """
    known = results_of(student)
    if key not in known:
        known[key] = make()
    return known[key]


def measure_change(first: Tensor, second: Tensor) -> Tensor:
    """Return the largest difference of two outputs for each place, relative where numbers exceed one.

    Args:
        first: (texts, places, features).
        second: of the same shape.

    Returns:
        (texts, places).

    Raises:
        Unclear: the shapes differ.
    """
    if first.shape != second.shape:
        raise Unclear(f"outputs of two shapes: {tuple(first.shape)} and {tuple(second.shape)}")
    largest = max(1.0, float(first.abs().max()), float(second.abs().max()))
    return (first - second).abs().amax(-1) / largest


def find_moved(first: Tensor, second: Tensor) -> Tensor:
    """Return for each place whether two outputs differ by more than rounding: (texts, places)."""
    return measure_change(first, second) > _MOVED.get(first.dtype, 1e-9)


def change_one_place(tensor: Tensor, other: Tensor) -> Tensor:
    """Return a batch whose text `b` has at place `b` what another batch has there.

    Args:
        tensor: (places, places, …): as many texts as places.
        other: of the same shape.
    """
    changed = tensor.clone()
    places = torch.arange(len(tensor))
    changed[places, places] = other[places, places]
    return changed


def make_causal_mask(texts: int, length: int) -> Tensor:
    """Return a mask that hides what is later: (texts, 1, length, length)."""
    return torch.ones(texts, 1, length, length, dtype=torch.bool).tril()


def show_only_to_itself(mask: Tensor, hidden: Tensor) -> Tensor:
    """Return a mask under which some words are seen by themselves alone.

    Args:
        mask: (texts, 1, length, length); true: seen.
        hidden: broadcastable to it; true along the keys that are hidden.
    """
    return mask & (~hidden | torch.eye(mask.shape[-1], dtype=torch.bool))
