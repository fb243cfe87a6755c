"""What the checks of searches share: random models, and how results are read and compared."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from autograder.checking import Wrong, assert_equal
from torch import Tensor

from reference.gpt2 import GPT2

Rows = list[list[int]]
Ways = Callable[[], list[Rows]]
"""Gives for each row all that ties allow."""


@functools.lru_cache(maxsize=256)
def make_model(seed: int, n_vocab: int, spread: float) -> GPT2:
    """Return a random model. It is frozen, so that a search may change in place what it gives."""
    torch.manual_seed(seed)
    return GPT2(n_vocab, 24, n_layers=1, spread=spread).requires_grad_(False).eval()


def copy_model(student: Any, model: GPT2) -> Any:
    """Return a model of the student's notebook with the same weights."""
    n_vocab = model.tokens.num_embeddings
    copy = getattr(student, "GPT2", GPT2)(n_vocab, 24, n_layers=1).requires_grad_(False).eval()
    copy.load_state_dict(model.state_dict())
    return copy


def read_rows(value: Any) -> Rows:
    """Return rows of token ids.

    Raises:
        Wrong: these are none.
    """
    try:
        rows = np.asarray(value) if isinstance(value, Tensor | np.ndarray | list | tuple) else np.empty(0)
    except ValueError:  # rows of different lengths
        rows = np.empty(0)
    if rows.ndim != 2 or rows.dtype.kind not in "iu":
        raise Wrong(f"rows of token ids are asked for, got shape {rows.shape}, {rows.dtype}")
    found: Rows = rows.tolist()
    return found


def assert_all_found(results: Iterable[tuple[Any, Rows, Ways]]) -> None:
    """Fail unless each row is one of those that ties allow.

    All results are compared before this fails, so that a mistake is recognised by all of them.

    Args:
        results: the student's result, our rows, and what to ask if they differ.
    """
    first: Wrong | None = None
    for value, expected, find_ways in results:
        try:
            rows = read_rows(value)
            if rows != expected and len(rows) == len(expected):
                expected = [row if row in ways else ways[0] for row, ways in zip(rows, find_ways(), strict=True)]
            assert_equal([len(rows), *rows], [len(expected), *expected])
        except Wrong as error:
            first = first or error
    if first is not None:
        raise first
