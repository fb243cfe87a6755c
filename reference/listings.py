"""The listings of the repair question, without faults; `reference.checks.decoder` plants them.

`GIVEN` is the locked cell of the exam: imports and two classes that are right. `RIGHT` is the answer cell of
the key, which behaves as `reference.decoder`.

The given attention is a thin class over ``nn.MultiheadAttention``, because the same exam asks students to
write multi-head attention: the cell must not show how the heads are made, scored and put together. It
keeps the contract of `reference.attention`, also for a query whose keys are all blocked: the lowest finite
number is added to blocked scores. A bias of that type also keeps torch off the fast path of evaluation,
which takes masks differently.

The answer cell looks ``MultiHeadAttention`` and ``TransformerBlock`` up when a decoder is built, so no
other question of the same notebook may ask for classes of these names.
"""

from __future__ import annotations

GIVEN = '''\
import math

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.MultiheadAttention):
    """PyTorch's attention of several heads, for masks in which 0 means blocked."""

    def __init__(self, d_model, n_heads):
        if d_model % n_heads != 0:
            raise ValueError("d_model must be a multiple of n_heads")
        super().__init__(d_model, n_heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        bias = None  # what is added to the scores
        if mask is not None:
            sizes = query.size(0), self.num_heads, query.size(1), key.size(1)
            blocked = (mask == 0).expand(sizes).flatten(0, 1)  # (batch * heads, queries, keys)
            bias = blocked.to(query.dtype) * torch.finfo(query.dtype).min
        return super().forward(query, key, value, attn_mask=bias, need_weights=False)[0]


class TransformerBlock(nn.Module):
    """Attention, add and norm, feed-forward, add and norm."""

    def __init__(self, d_model, n_heads, d_hidden, dropout):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_hidden),
            nn.ReLU(),
            nn.Linear(d_hidden, d_model),
        )
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask):
        x = self.attention_norm(query + self.dropout(self.attention(query, key, value, mask)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
'''

RIGHT = '''\
class DecoderBlock(nn.Module):
    """Self-attention over the target, then a transformer block over the memory."""

    def __init__(self, d_model, n_heads, d_hidden, dropout):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.cross_block = TransformerBlock(d_model, n_heads, d_hidden, dropout)

    def forward(self, x, key, value, memory_mask, target_mask):
        attended = self.self_attention(x, x, x, target_mask)
        query = self.norm(x + self.dropout(attended))
        return self.cross_block(query, key, value, memory_mask)


class Decoder(nn.Module):
    """Embeddings, a stack of decoder blocks, and scores for the next token."""

    def __init__(self, n_tokens, d_model, n_layers, n_heads, d_hidden, dropout, max_len):
        super().__init__()
        self.token_embedding = nn.Embedding(n_tokens, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.blocks = nn.ModuleList(
            [DecoderBlock(d_model, n_heads, d_hidden, dropout) for _ in range(n_layers)]
        )
        self.dropout = nn.Dropout(dropout)
        self.output_head = nn.Linear(d_model, n_tokens)

    def forward(self, tokens, memory, memory_mask, target_mask):
        batch, length = tokens.shape
        positions = torch.arange(length, device=tokens.device).expand(batch, length)
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for block in self.blocks:
            x = block(x, memory, memory, memory_mask, target_mask)
        return self.output_head(x)
'''
