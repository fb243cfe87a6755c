"""Listings whose shapes are traced. The notebook shows them in locked cells; a test compares the two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Listing:
    """A function whose lines are named by what they assign.

    It is also run on shapes that students wrote, so it must not loop over a size or make a list that long.

    Args:
        function: the listing.
        inputs: argument → the sizes of a tensor, or the symbol of a number.
        symbols: which are free.
        derived: symbol → the product of others that it is.
        whole_numbers: the tensors among the inputs are token ids.
    """

    function: Callable[..., Any]
    inputs: Mapping[str, tuple[str, ...] | str]
    symbols: tuple[str, ...]
    derived: Mapping[str, str] = field(default_factory=dict)
    whole_numbers: bool = False


def attention(x: Tensor, past: Tensor, n_heads: int) -> Tensor:
    """Attention with keys and values of earlier tokens; without the scale of the scores."""
    batch, seq, d_model = x.shape
    qkv = nn.Linear(d_model, 3 * d_model)(x)
    query, key, value = qkv.chunk(3, dim=-1)
    heads = query.view(batch, seq, n_heads, -1)
    query_heads = heads.transpose(1, 2)
    key_heads = key.view(batch, seq, n_heads, -1).transpose(1, 2)
    all_keys = torch.cat([past, key_heads], dim=2)
    scores = query_heads @ all_keys.transpose(-2, -1)
    highest = scores.amax(dim=-1, keepdim=True)
    weights = torch.exp(scores - highest)
    sums = weights.sum(dim=-1)
    values = value.view(batch, seq, n_heads, -1).transpose(1, 2)
    all_values = torch.cat([past, values], dim=2)
    mixed = weights / sums[..., None] @ all_values
    return mixed.transpose(1, 2).flatten(2)


def classifier(tokens: Tensor, n_classes: int, d_model: int) -> Tensor:
    """Embeddings, a convolution over positions, pooling, scores of classes, and a loss."""
    x = nn.Embedding(100, d_model)(tokens)
    turned = x.transpose(1, 2)
    features = nn.Conv1d(d_model, 24, kernel_size=3)(turned)
    halved = nn.functional.max_pool1d(features, 2)
    pooled = halved.mean(dim=-1)
    logits = nn.Linear(24, n_classes)(pooled)
    return nn.functional.cross_entropy(logits, logits.argmax(dim=-1))


LISTINGS: Mapping[str, Listing] = MappingProxyType({
    "attention": Listing(
        attention,
        {
            "x": ("batch", "seq", "d_model"),
            "past": ("batch", "n_heads", "past", "d_head"),
            "n_heads": "n_heads",
        },
        ("batch", "n_heads", "seq", "past", "d_head"),
        {"d_model": "n_heads*d_head"},
    ),
    "classifier": Listing(
        classifier,
        {"tokens": ("batch", "seq"), "n_classes": "n_classes", "d_model": "d_model"},
        ("batch", "seq", "n_classes", "d_model"),
        whole_numbers=True,
    ),
})  # fmt: skip
