"""Multi-head self-attention over texts of different lengths, with a causal mask."""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Every position looks at itself and those before it, in several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        """The heads: (batch, position, width) → (batch, head, position, width of a head)."""
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(batch, position, width), and how many positions of each text are no padding → like ``x``."""
        queries = self.split(self.query(x))
        keys = self.split(self.key(x))
        values = self.split(self.value(x))
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
        positions = torch.arange(x.shape[1])
        future = positions[None, :] > positions[:, None]
        padding = positions >= lengths[:, None]
        smallest = torch.finfo(scores.dtype).min
        scores = scores.masked_fill(future, smallest)
        scores = scores.masked_fill(padding[:, None, None, :], smallest)
        heads = scores.softmax(dim=-1) @ values
        joined = heads.transpose(1, 2).reshape(x.shape)
        mixed: torch.Tensor = self.output(joined)
        return mixed
