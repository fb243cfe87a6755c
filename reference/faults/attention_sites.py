"""Where in the listing of attention something can be rewritten."""

from __future__ import annotations

from .rewrite import Edit

QUERY, KEY, VALUE = "self.q_proj(query)", "self.k_proj(key)", "self.v_proj(value)"
SCALING_STEP = "scores = scores / math.sqrt(self.d_head)"
SOFTMAX = "scores.softmax(dim=-1)"
DROPPING = "weights = self.dropout(weights)"
CONTEXT = "context = weights @ v"


def init(right: str, faulty: str) -> Edit:
    """An edit of the constructor."""
    return Edit("MultiHeadAttention.__init__", right, faulty)


def split(right: str, faulty: str) -> Edit:
    """An edit of how the width is split into heads."""
    return Edit("MultiHeadAttention.split", right, faulty)


def merge(right: str, faulty: str) -> Edit:
    """An edit of how the heads are put together."""
    return Edit("MultiHeadAttention.merge", right, faulty)


def forward(right: str, faulty: str) -> Edit:
    """An edit of the forward pass."""
    return Edit("MultiHeadAttention.forward", right, faulty)
