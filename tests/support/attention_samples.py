"""What a class writes for the assignment ``attention``: right in several styles, and usual misconceptions."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from autograder.authoring.demo.papers import Sample

_HEAD = """\
import math

import torch
from torch import nn


class MyMultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be a multiple of n_heads")
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

"""

_PLAIN = (
    _HEAD
    + """\
    def split_heads(self, x):
        batch, length, _ = x.shape
        return x.view(batch, length, self.n_heads, self.d_head).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.split_heads(self.q_proj(query))
        k = self.split_heads(self.k_proj(key))
        v = self.split_heads(self.v_proj(value))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_head)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = torch.softmax(scores, dim=-1)
        context = torch.matmul(weights, v)
        batch, _, length, _ = context.shape
        context = context.transpose(1, 2).contiguous().view(batch, length, -1)
        return self.out_proj(context)
"""
)

_EINSUM = (
    _HEAD
    + """\
    def forward(self, query, key, value, mask=None):
        q = self.q_proj(query).unflatten(-1, (self.n_heads, self.d_head))
        k = self.k_proj(key).unflatten(-1, (self.n_heads, self.d_head))
        v = self.v_proj(value).unflatten(-1, (self.n_heads, self.d_head))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * self.d_head**-0.5
        if mask is not None:
            scores = torch.where(mask.bool(), scores, torch.full_like(scores, float("-inf")))
        context = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)
        return self.out_proj(context.flatten(-2))
"""
)

_LOOP = (
    _HEAD
    + """\
    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        heads = []
        for head in range(self.n_heads):
            part = slice(head * self.d_head, (head + 1) * self.d_head)
            scores = q[..., part] @ k[..., part].transpose(1, 2) / self.d_head**0.5
            if mask is not None:
                blocked = (mask == 0).expand(scores.shape[0], self.n_heads, *scores.shape[1:])
                scores = scores.masked_fill(blocked[:, head], float("-inf"))
            heads.append(scores.softmax(-1) @ v[..., part])
        return self.out_proj(torch.cat(heads, dim=-1))
"""
)

ITEMS: Mapping[str, Decimal] = {
    "parameters": Decimal(1),
    "construct": Decimal("0.5"),
    "self": Decimal(2),
    "cross": Decimal(2),
    "padding": Decimal(1),
    "causal": Decimal(1),
    "blocked": Decimal("0.5"),
}
"""What a right class earns."""


def _edited(portrait: str, old: str, new: str, points: Mapping[str, str]) -> Sample:
    """The plain class with one misconception; items that are not named keep their full points."""
    if _PLAIN.count(old) != 1:
        raise ValueError(f"{portrait}: {old!r} does not stand exactly once in the class")
    earned = {item: Decimal(points.get(item, full)) for item, full in ITEMS.items()}
    return Sample(_PLAIN.replace(old, new), earned, portrait)


_NO_VALUES = {"self": "0", "cross": "0"}
"""A mistake that shows without a mask: where the mask is applied, the items about masks keep their points."""

RIGHT: tuple[Sample, ...] = (Sample(_PLAIN, ITEMS), Sample(_EINSUM, ITEMS), Sample(_LOOP, ITEMS))
"""Right classes."""

WRONG: tuple[Sample, ...] = (
    _edited("forgot the scaling in attention", " / math.sqrt(self.d_head)", "", _NO_VALUES),
    _edited(
        "scaled by the model's width",
        "math.sqrt(self.d_head)",
        "math.sqrt(self.d_head * self.n_heads)",
        _NO_VALUES,
    ),
    _edited(
        "softmax over the queries",
        "torch.softmax(scores, dim=-1)",
        "torch.softmax(scores, dim=-2)",
        {**_NO_VALUES, "padding": "0", "causal": "0", "blocked": "0"},
    ),
    _edited("forgot the output projection", "return self.out_proj(context)", "return context", _NO_VALUES),
    _edited(
        "took the mask the other way round",
        "mask == 0",
        "mask == 1",
        {"padding": "0", "causal": "0", "blocked": "0"},
    ),
    _edited(
        "ignored the mask",
        "if mask is not None:",
        "if False:",
        {"padding": "0", "causal": "0", "blocked": "0"},
    ),
    _edited(
        "did not refuse indivisible widths",
        "if d_model % n_heads != 0:",
        "if False:",
        {"construct": "0"},
    ),
    _edited("took the keys for values", "self.v_proj(value)", "self.v_proj(key)", {"cross": "0"}),
)
"""One misconception each, with what the class still earns."""
