"""The decoder of a transformer, normalised after each residual sum, with learned positions."""

import torch
from torch import nn


class MultiHeadAttention(nn.MultiheadAttention):
    """PyTorch's attention of several heads, for masks in which 0 means blocked."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__(d_model, n_heads, batch_first=True)

    def forward(  # type: ignore[override]
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """(batch, queries, d_model) and twice (batch, keys, d_model) → like ``query``."""
        bias = None  # what is added to the scores
        if mask is not None:
            sizes = query.size(0), self.num_heads, query.size(1), key.size(1)
            blocked = (mask == 0).expand(sizes).flatten(0, 1)  # (batch * heads, queries, keys)
            bias = blocked.to(query.dtype) * torch.finfo(query.dtype).min
        return super().forward(query, key, value, attn_mask=bias, need_weights=False)[0]


class TransformerBlock(nn.Module):
    """Attention, add and norm, feed-forward, add and norm."""

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

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """As attention; the query is also the residual."""
        x = self.attention_norm(query + self.dropout(self.attention(query, key, value, mask)))
        output: torch.Tensor = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        return output


class DecoderBlock(nn.Module):
    """Self-attention over the target, then a transformer block over the memory."""

    def __init__(self, d_model: int, n_heads: int, d_hidden: int, dropout: float) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.cross_block = TransformerBlock(d_model, n_heads, d_hidden, dropout)

    def forward(
        self,
        x: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        memory_mask: torch.Tensor | None,
        target_mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """The state (batch, length, d_model), and key and value (batch, source, d_model) → like the state."""
        attended = self.self_attention(x, x, x, target_mask)
        query = self.norm(x + self.dropout(attended))
        output: torch.Tensor = self.cross_block(query, key, value, memory_mask)
        return output


class Decoder(nn.Module):
    """Embeddings, a stack of decoder blocks, and scores for the next token."""

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
            [DecoderBlock(d_model, n_heads, d_hidden, dropout) for _ in range(n_layers)]
        )
        self.dropout = nn.Dropout(dropout)
        self.output_head = nn.Linear(d_model, n_tokens)

    def forward(
        self,
        tokens: torch.Tensor,
        memory: torch.Tensor,
        memory_mask: torch.Tensor | None,
        target_mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """(batch, length) tokens and (batch, source, d_model) memory → (batch, length, n_tokens)."""
        batch, length = tokens.shape
        positions = torch.arange(length, device=tokens.device).expand(batch, length)
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for block in self.blocks:
            x = block(x, memory, memory, memory_mask, target_mask)
        logits: torch.Tensor = self.output_head(x)
        return logits
