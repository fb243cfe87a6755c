"""What the practice sheet with personal variants asks for, at any sizes."""

from __future__ import annotations

from torch import nn


def position_parameters(most_tokens: int, d_model: int) -> int:
    """The size of a learned table of positions: a vector of width ``d_model`` for each of ``most_tokens``.

    Counted on a real table that holds no numbers, so that it costs no memory.
    """
    return nn.Embedding(most_tokens, d_model, device="meta").weight.numel()


def cached_numbers(n_layers: int, length: int, d_model: int) -> int:
    """How many numbers are kept of one text while it is generated.

    In every layer each token has a key and a value of width ``d_model``.
    """
    return n_layers * length * (d_model + d_model)
