"""Multi-head attention as the course teaches it.

Contract of the exam: ``forward(query, key, value, mask=None)``; in the mask 0 (or False) means blocked,
and it is broadcastable to (batch, n_heads, queries, keys). The projections are called ``q_proj``,
``k_proj``, ``v_proj`` and ``out_proj``.

A query whose keys are all blocked attends to every key evenly: its output is the projection of the mean
value, and finite. Blocked scores are set to the lowest finite number of their type, so that a softmax
over nothing but blocked keys is uniform, where minus infinity would give NaN and poison the gradients.

Source of the formula: Vaswani et al., Attention Is All You Need (2017), section 3.2.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    """Several scaled dot-product attentions side by side, each on its own slice of the width.

    Args:
        d_model: width of queries, keys, values and of the output.
        n_heads: number of heads; each works on d_head = d_model / n_heads features.

    Raises:
        ValueError: d_model is not divisible by n_heads.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model: expected a multiple of n_heads = {n_heads}, got {d_model}")
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend from every query to the keys the mask leaves visible.

        Args:
            query: (batch, queries, d_model).
            key: (batch, keys, d_model).
            value: (batch, keys, d_model).
            mask: broadcastable to (batch, n_heads, queries, keys); 0 or False = blocked.

        Returns:
            (batch, queries, d_model).
        """
        q = self._split(self.q_proj(query))  # (batch, n_heads, queries, d_head)
        k = self._split(self.k_proj(key))  # (batch, n_heads, keys, d_head)
        v = self._split(self.v_proj(value))  # (batch, n_heads, keys, d_head)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)  # (batch, n_heads, queries, keys)
        if mask is not None:
            lowest = torch.finfo(scores.dtype).min
            scores = scores.masked_fill(mask == 0, lowest)  # (batch, n_heads, queries, keys)
        weights = scores.softmax(dim=-1)  # (batch, n_heads, queries, keys); every row sums to 1
        heads = weights @ v  # (batch, n_heads, queries, d_head)
        merged = heads.transpose(1, 2).flatten(2)  # (batch, queries, n_heads * d_head = d_model)
        output: Tensor = self.out_proj(merged)  # (batch, queries, d_model)
        return output

    def _split(self, x: Tensor) -> Tensor:
        """(batch, length, d_model) → (batch, n_heads, length, d_head)."""
        batch, length, _ = x.shape
        return x.reshape(batch, length, self.n_heads, self.d_head).transpose(1, 2)
