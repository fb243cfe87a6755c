"""The decoder of the repair question, without faults.

Contract of the exam, which the listings, the rubric and the checks rely on::

    Decoder(n_tokens, d_model, n_layers, n_heads, d_hidden, dropout, max_len)
    forward(tokens, memory, memory_mask, target_mask) -> logits

    tokens       (batch, length) int64, below n_tokens; length at most max_len
    memory       (batch, source, d_model), the encoder's output
    memory_mask  broadcastable to (batch, n_heads, length, source); 0 = blocked
    target_mask  broadcastable to (batch, n_heads, length, length); 0 = blocked
    logits       (batch, length, n_tokens)

Layers are normalised after the residual sum, as in Vaswani et al. (2017); positions are learned.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention


class TransformerBlock(nn.Module):
    """Attention, add and norm, feed-forward, add and norm.

    Args:
        d_model: width of the state.
        n_heads: number of attention heads.
        d_hidden: width of the feed-forward network's hidden layer.
        dropout: probability of dropping a feature of either sub-layer's output.
    """

    def __init__(self, d_model: int, n_heads: int, d_hidden: int, dropout: float) -> None:
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

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """Update every query by what it sees; the query is also the residual.

        Args:
            query: (batch, queries, d_model).
            key: (batch, keys, d_model).
            value: (batch, keys, d_model).
            mask: broadcastable to (batch, n_heads, queries, keys); 0 = blocked.

        Returns:
            (batch, queries, d_model).
        """
        attended = self.attention(query, key, value, mask)  # (batch, queries, d_model)
        x = self.attention_norm(query + self.dropout(attended))  # (batch, queries, d_model)
        expanded = self.feed_forward(x)  # (batch, queries, d_model)
        output: Tensor = self.feed_forward_norm(x + self.dropout(expanded))  # (batch, queries, d_model)
        return output


class DecoderBlock(nn.Module):
    """Self-attention over the target, add and norm, then a `TransformerBlock` over the memory.

    Args:
        d_model: width of the state.
        n_heads: number of attention heads.
        d_hidden: width of the feed-forward network's hidden layer.
        dropout: probability of dropping a feature of a sub-layer's output.
    """

    def __init__(self, d_model: int, n_heads: int, d_hidden: int, dropout: float) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.cross_block = TransformerBlock(d_model, n_heads, d_hidden, dropout)

    def forward(
        self,
        x: Tensor,
        key: Tensor,
        value: Tensor,
        memory_mask: Tensor | None,
        target_mask: Tensor | None,
    ) -> Tensor:
        """One layer of the decoder.

        Args:
            x: (batch, length, d_model), the state of the target.
            key: (batch, source, d_model), the memory.
            value: (batch, source, d_model), the memory.
            memory_mask: broadcastable to (batch, n_heads, length, source); 0 = blocked.
            target_mask: broadcastable to (batch, n_heads, length, length); 0 = blocked.

        Returns:
            (batch, length, d_model).
        """
        attended = self.self_attention(x, x, x, target_mask)  # (batch, length, d_model)
        query = self.norm(x + self.dropout(attended))  # (batch, length, d_model)
        output: Tensor = self.cross_block(query, key, value, memory_mask)  # (batch, length, d_model)
        return output


class Decoder(nn.Module):
    """Embeddings, a stack of `DecoderBlock`, and the projection onto the vocabulary.

    Args:
        n_tokens: size of the vocabulary.
        d_model: width of the state and of the memory.
        n_layers: number of blocks; 0 is allowed.
        n_heads: number of attention heads.
        d_hidden: width of the feed-forward networks' hidden layers.
        dropout: probability of dropping a feature, of the embeddings and of every sub-layer.
        max_len: longest target that can be read.
    """

    def __init__(
        self,
        n_tokens: int,
        d_model: int,
        n_layers: int,
        n_heads: int,
        d_hidden: int,
        dropout: float,
        max_len: int,
    ) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(n_tokens, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, n_heads, d_hidden, dropout) for _ in range(n_layers)
        )
        self.dropout = nn.Dropout(dropout)
        self.output_head = nn.Linear(d_model, n_tokens)

    def forward(
        self,
        tokens: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None,
        target_mask: Tensor | None,
    ) -> Tensor:
        """Logits of the next token at every position; shapes as in the module's docstring."""
        batch, length = tokens.shape
        positions = torch.arange(length, device=tokens.device).expand(batch, length)  # (batch, length)
        embedded = self.token_embedding(tokens) + self.position_embedding(positions)
        x = self.dropout(embedded)  # (batch, length, d_model)
        for block in self.blocks:
            x = block(x, memory, memory, memory_mask, target_mask)  # (batch, length, d_model)
        logits: Tensor = self.output_head(x)  # (batch, length, n_tokens)
        return logits
