"""A tiny GPT-2 with random weights: what decoding and training questions are asked about.

The architecture is that of Radford et al. (2019): learned positions, layers that normalise before each
sub-layer, the tanh approximation of GELU, and an output head tied to the token embedding. Tests show that
it computes what ``transformers.GPT2LMHeadModel`` computes with the same weights. Notebooks carry this class
in a locked cell, so it needs torch and nothing else.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Layer(nn.Module):
    """Causal self-attention and an MLP, each normalised before it and added to what came in.

    Args:
        d_model: width of a token's vector.
        n_heads: number of attention heads.
        dropout: probability of dropping an attention weight, or a feature of either sub-layer's output.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.dropout = nn.Dropout(dropout)
        self.attention_norm = nn.LayerNorm(d_model)
        self.query_key_value = nn.Linear(d_model, 3 * d_model)
        self.projection = nn.Linear(d_model, d_model)
        self.mlp_norm = nn.LayerNorm(d_model)
        self.up = nn.Linear(d_model, 4 * d_model)
        self.down = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Tensor, visible: Tensor) -> Tensor:
        """Update every position.

        Args:
            x: (batch, length, d_model).
            visible: (batch, 1, length, length) bool; True where a query may see a key.

        Returns:
            (batch, length, d_model).
        """
        parts = self.query_key_value(self.attention_norm(x)).chunk(3, dim=-1)
        query, key, value = (part.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for part in parts)
        scores = query @ key.transpose(-1, -2) / query.size(-1) ** 0.5  # (batch, n_heads, length, length)
        scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
        attended = self.dropout(scores.softmax(-1)) @ value  # (batch, n_heads, length, d_head)
        x = x + self.dropout(self.projection(attended.transpose(1, 2).flatten(2)))
        hidden = functional.gelu(
            self.up(self.mlp_norm(x)), approximate="tanh"
        )  # (batch, length, 4 * d_model)
        updated: Tensor = x + self.dropout(self.down(hidden))
        return updated


class GPT2(nn.Module):
    """Logits for the next token at every position.

    Args:
        n_vocab: number of tokens.
        n_positions: longest input.
        d_model: width of a token's vector.
        n_layers: number of layers.
        n_heads: number of attention heads.
        dropout: see `Layer`; also of the embeddings.
        spread: standard deviation of the random weights; the larger, the more certain the model.
    """

    def __init__(
        self,
        n_vocab: int,
        n_positions: int,
        d_model: int = 16,
        n_layers: int = 2,
        n_heads: int = 2,
        dropout: float = 0.0,
        spread: float = 0.3,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(n_vocab, d_model)
        self.positions = nn.Embedding(n_positions, d_model)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList([Layer(d_model, n_heads, dropout) for _ in range(n_layers)])
        self.norm = nn.LayerNorm(d_model)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=spread)

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Logits for the token after each position.

        Args:
            tokens: (batch, length) int64.
            attention_mask: (batch, length), 0 = padding, which nothing sees and which counts for no position.

        Returns:
            (batch, length, n_vocab).
        """
        mask = torch.ones_like(tokens) if attention_mask is None else attention_mask.long()
        positions = (mask.cumsum(-1) - 1).clamp(min=0)  # (batch, length)
        causal = torch.ones(tokens.size(1), tokens.size(1), dtype=torch.bool, device=tokens.device).tril()
        visible = causal & (mask[:, None, None, :] != 0)  # (batch, 1, length, length)
        x = self.dropout(self.tokens(tokens) + self.positions(positions))  # (batch, length, d_model)
        for layer in self.layers:
            x = layer(x, visible)
        logits: Tensor = self.norm(x) @ self.tokens.weight.T
        return logits
