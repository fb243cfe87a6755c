"""Multi-head attention as a listing, and the misconceptions that are made when it is written.

The operators are bugs found in public code and in issue reports, and a few of the same sort; see
`attention_scores` (scaling, softmax, mask), `attention_projections` and `attention_heads` (and dropout).
Some of them change nothing that counts: these have to be accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .attention_heads import HEADS
from .attention_projections import PROJECTIONS
from .attention_scores import SCORES
from .fault import Fault, by_id, plant

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


def catalogue() -> tuple[Fault, ...]:
    """Every operator, equivalents included; the ids are unique."""
    return (*SCORES, *PROJECTIONS, *HEADS)


def listing(faults: Iterable[str] = ()) -> str:
    """The listing with the faults of these ids in it.

    Raises:
        ValueError: an id is not in the catalogue, or two of the faults cannot stand side by side.
    """
    return plant(RIGHT, by_id(catalogue(), faults))


# ---------------------------------------------------------------- planted answers to the exam's question

_CLASS = "MyMultiHeadAttention"
_UNMASKED = ("self", "cross")
"""What a misconception costs that has nothing to do with masks."""
_NUMBERS = (*_UNMASKED, "padding", "causal")
_MASKED = ("padding", "causal", "blocked")
_NEVER_ASKED = (
    *("mask_value_ten_thousand", "mask_minus_infinity", "dropout_before_softmax", "dropout_never"),
    "float32_inside",
)
"""What the exam does not ask for: extreme scores, empty rows, dropout, double precision."""
_LOST: Mapping[tuple[str, ...], tuple[str, ...]] = {
    _MASKED: (
        *("mask_after_softmax", "mask_value_high", "mask_value_one", "mask_multiplied", "mask_inverted"),
        *("mask_ignored", "mask_not_assigned", "mask_transposed", "mask_of_first_sequence"),
    ),
    (*_NUMBERS, "blocked"): (
        *("softmax_over_queries", "softmax_over_heads", "softmax_over_batch", "softmax_missing"),
        *("split_without_transpose", "key_not_transposed", "always_causal", "first_sequence_for_all"),
    ),
    _NUMBERS: ("dropout_always", "state_leak"),
    ("parameters", *_NUMBERS): ("heads_share_projections",),
    ("parameters", "construct", *_NUMBERS, "blocked"): ("sdpa_call",),
    ("parameters", *_NUMBERS, "blocked"): ("hard_coded_length",),
    ("parameters", *_UNMASKED): (
        *("key_weights_for_query", "key_weights_for_value", "value_not_projected", "projections_unused"),
    ),
    (*_UNMASKED, "causal"): ("heads_averaged", "heads_ignored"),
    ("parameters",): ("output_bias_missing", "keys_detached"),
    ("padding", "causal"): ("mask_kept",),
    ("cross",): ("key_value_swapped", "value_from_key", "key_length_from_query"),
    ("cross", "blocked"): ("query_from_value", "query_key_swapped"),
    ("construct",): ("divisibility_unchecked",),
}
"""Items that are lost → the faults that lose them; all others lose the numbers without a mask."""

_IN_PART: Mapping[str, Mapping[str, float]] = {
    "key_length_from_query": {"cross": 0.5},
    "first_sequence_for_all": {"cross": 0.5},
    "output_bias_missing": {"parameters": 0.5},
    "hard_coded_length": {"parameters": 0.5},
}


def trials() -> list[dict[str, Any]]:
    """The operators as answers to the exam's question about attention, with the items it must lose."""
    lost = {fault: items for items, faults in _LOST.items() for fault in faults}
    planted = []
    for fault in catalogue():
        accepted = fault.id in _NEVER_ASKED or (fault.equivalent and fault.id not in lost)
        planted.append(
            {
                "name": fault.id.replace("_", " "),
                "source": listing([fault.id]).replace("MultiHeadAttention", _CLASS),
                "loses": [] if accepted else list(lost.get(fault.id, _UNMASKED)),
                "points": _IN_PART.get(fault.id, {}),
                # Which call of a property is made twice is drawn; a state shows in most of them.
                "unstated": ["blocked"] if fault.id == "state_leak" else [],
            }
        )
    return planted
