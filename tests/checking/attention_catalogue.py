"""Multi-head attention as a listing, with the variants of tests/submissions/attention/catalogue.toml.

The mistakes are bugs found in public code and in reports, and a few of the same sort. Some variants change
nothing relevant and lose nothing.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parents[1] / "submissions" / "attention" / "catalogue.toml"
RIGHT = '''\
import math

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention in several heads. In the mask 0 means blocked."""

    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be a multiple of n_heads")
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        batch, length, _ = x.shape  # (batch, length, d_model)
        x = x.reshape(batch, length, self.n_heads, self.d_head)
        return x.transpose(1, 2)  # (batch, n_heads, length, d_head)

    def merge(self, x):
        batch, _, length, _ = x.shape  # (batch, n_heads, length, d_head)
        x = x.transpose(1, 2)  # (batch, length, n_heads, d_head)
        return x.reshape(batch, length, self.n_heads * self.d_head)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.q_proj(query))
        k = self.split(self.k_proj(key))
        v = self.split(self.v_proj(value))
        scores = q @ k.transpose(-2, -1)  # (batch, n_heads, queries, keys)
        scores = scores / math.sqrt(self.d_head)
        if mask is not None:
            lowest = torch.finfo(scores.dtype).min
            scores = scores.masked_fill(mask == 0, lowest)
        weights = scores.softmax(dim=-1)
        weights = self.dropout(weights)
        context = weights @ v  # (batch, n_heads, queries, d_head)
        return self.out_proj(self.merge(context))
'''


@dataclass(frozen=True)
class AttentionVariant:
    """The listing with some texts replaced."""

    name: str
    edits: list[list[str]]
    loses: list[str]
    unstated: tuple[str, ...] = ()
    """Items that may be lost or kept."""

    @property
    def source(self) -> str:
        """Return the listing.

        Raises: ValueError: a text does not occur exactly once.
        """
        source = RIGHT
        for old, new in self.edits:
            if source.count(old) != 1:
                raise ValueError(f"{self.name}: {old!r} stands {source.count(old)} times in the listing")
            source = source.replace(old, new)
        return source


VARIANTS = {
    table["name"]: AttentionVariant(**table) for table in tomllib.loads(FILE.read_text("utf-8"))["variant"]
}
