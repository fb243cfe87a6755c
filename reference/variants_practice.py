"""What the practice sheet with personal variants asks for, at any sizes."""

from __future__ import annotations

from typing import Any

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


Trial = dict[str, Any]
"""A planted answer: ``name``, ``source`` of the answer cell, and the items it ``loses``."""


def cache_trials() -> list[Trial]:
    """Misconceptions in `cached_numbers`, and another right way of writing it."""
    head = "def cached_numbers(n_layers, length, d_model):\n    return "
    wrong = {
        "keys alone": "n_layers * length * d_model",
        "one layer": "2 * length * d_model",
        "all pairs of tokens": "2 * n_layers * length**2 * d_model",
    }
    misconceptions = [
        {"name": name, "source": head + formula, "loses": ["function"]} for name, formula in wrong.items()
    ]
    written_out = head + "sum(d_model + d_model for _ in range(n_layers * length))"
    return [*misconceptions, {"name": "added up", "source": written_out, "loses": []}]
