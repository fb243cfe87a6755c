"""A right class for attention in the style of tutorials, which lacks one check that would be good to have.

Definition: Vaswani et al., Attention Is All You Need (2017), section 3.2, by torch's own function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from .audit import SEED, Audit, NoEvidence, Outcome, Remark

RIGHT = """\
import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split_heads(self, x):
        batch, length, d_model = x.shape
        return x.view(batch, length, self.num_heads, self.d_k).transpose(1, 2)

    def combine_heads(self, x):
        batch, heads, length, d_k = x.shape
        return x.transpose(1, 2).contiguous().view(batch, length, heads * d_k)

    def attend(self, q, k, v, mask):
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return torch.matmul(torch.softmax(scores, dim=-1), v)

    def forward(self, query, key, value, mask=None):
        q = self.split_heads(self.W_q(query))
        k = self.split_heads(self.W_k(key))
        v = self.split_heads(self.W_v(value))
        return self.W_o(self.combine_heads(self.attend(q, k, v, mask)))
"""

_N_HEADS = 2
_WIDEST = 64
_REMARK = Remark(
    "divisibility",
    (
        "def __init__(self, d_model, num_heads):",
        "self.num_heads = num_heads",
        "self.d_k = d_model // num_heads",
    ),
    ("__init__", "MultiHeadAttention.__init__", "d_k", "divisibility", "num_heads"),
)


def _heads(inputs: Mapping[str, Any]) -> int:
    given = inputs.get("num_heads")
    return _N_HEADS if given is None else int(given)


def _layer(made: nn.Module) -> nn.Module:
    """Draw all weights, by name, so that every variant has the same."""
    random = torch.Generator().manual_seed(SEED)
    for _, parameter in sorted(made.named_parameters()):
        scale = parameter.shape[-1] ** -0.5 if parameter.dim() > 1 else 0.1
        parameter.copy_(torch.randn(parameter.shape, generator=random) * scale)
    return made.eval()


def _run(names: Mapping[str, Any], inputs: Mapping[str, Any]) -> Outcome:
    query = inputs["query"]
    layer = _layer(names["MultiHeadAttention"](query.shape[-1], _heads(inputs)))
    output = layer(query, inputs["key"], inputs["value"], inputs.get("mask"))
    return Outcome(output, torch.ones_like(output, dtype=torch.bool))


def _definition(inputs: Mapping[str, Any]) -> Outcome:
    query, key, value = (inputs[name] for name in ("query", "key", "value"))
    mask = inputs.get("mask")
    n_heads, width = _heads(inputs), query.shape[-1]
    _check(query, key, value, n_heads)
    allowed = None if mask is None else _allowed(mask, query, key, n_heads)
    weights = {name: nn.Linear(width, width) for name in ("W_q", "W_k", "W_v", "W_o")}
    layer = _layer(nn.ModuleDict(weights))
    q, k, v = (
        layer[name](x).unflatten(-1, (n_heads, -1)).transpose(1, 2)  # type: ignore[index]
        for name, x in (("W_q", query), ("W_k", key), ("W_v", value))
    )
    context = scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    output = layer["W_o"](context.transpose(1, 2).flatten(2))  # type: ignore[index]
    return Outcome(output, torch.ones_like(output, dtype=torch.bool))


def _check(query: Tensor, key: Tensor, value: Tensor, n_heads: int) -> None:
    width = query.shape[-1]
    if not 1 <= width <= _WIDEST or n_heads < 1 or width % n_heads:
        raise NoEvidence(
            "Attention with several heads is defined only where the width is a multiple of the number of "
            f"heads (and here at most {_WIDEST}); {width} and {n_heads} are outside the definition.",
            "Attention mit mehreren Köpfen ist nur erklärt, wenn die Breite ein Vielfaches der Kopfzahl ist "
            f"(und hier höchstens {_WIDEST}); {width} und {n_heads} liegen außerhalb der Definition.",
        )
    fits = key.shape == value.shape and key.shape[0] == query.shape[0] and key.shape[-1] == width
    if not fits or 0 in (*query.shape, *key.shape):
        raise NoEvidence(
            "Query, key and value need one width and one batch size, key and value one length; no size is 0.",
            "Query, Key und Value brauchen eine Breite und eine Batchgröße, Key und Value eine Länge, "
            "nichts davon 0.",
        )


def _allowed(mask: Tensor, query: Tensor, key: Tensor, n_heads: int) -> Tensor:
    sizes = (query.shape[0], n_heads, query.shape[1], key.shape[1])
    try:
        allowed = mask.expand(sizes)
    except RuntimeError:
        raise NoEvidence(
            f"The mask does not broadcast to {sizes}.", f"Die Maske lässt sich nicht auf {sizes} erweitern."
        ) from None
    if not allowed.any(-1).all():
        raise NoEvidence(
            "The mask blocks every key of a query: then nothing is defined.",
            "Die Maske sperrt für eine Query alle Keys: Dann ist nichts erklärt.",
        )
    return allowed


right = Audit(RIGHT, (), (), _run, _definition, (_REMARK,))
"""The listing as it was handed out: nothing is planted in it."""
