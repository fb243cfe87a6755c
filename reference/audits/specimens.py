"""Classes on which a test is tried: right ones in several styles, and wrong ones with one slip each.

A test gets classes as objects and may look at them as it likes. Therefore all of them are one program, in
which every slip and every style is a branch: the same expressions, constants and names in each class. The
order of the branches, the numbers of the switches between them and their positions are drawn anew for every
class, and switches behind the branch that is taken stand anyhow. So neither the switches nor the text of one
class say what it is; what is left is how it behaves.

The slips have the ids of `reference.faults.attention`, and compute what the listings there compute.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NAME = "MultiHeadAttention"
RIGHT_CLASSES = 8
"""In so many drawn mixtures of styles."""
UNUSED = 10
"""Switches before the first one, so that no number of a switch is a constant of an expression as well."""


@dataclass(frozen=True)
class Site:
    """One expression of the program.

    Args:
        right: ways of writing it that mean the same.
        slips: id → what stands there instead.
    """

    right: tuple[str, ...]
    slips: Mapping[str, str] = field(default_factory=dict)


SITES: Mapping[str, Site] = {
    "split": Site(
        (
            "x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)",
            "x.reshape(x.shape[0], x.shape[1], self.n_heads, self.d_head).permute(0, 2, 1, 3)",
        ),
        {"split_without_transpose": "x.reshape(x.shape[0], self.n_heads, x.shape[1], self.d_head)"},
    ),
    "query": Site(
        ("self.q_proj(query)", "F.linear(query, self.q_proj.weight, self.q_proj.bias)"),
        {"query_from_value": "self.q_proj(value)", "key_weights_for_query": "self.k_proj(query)"},
    ),
    "key": Site(
        ("self.k_proj(key)", "F.linear(key, self.k_proj.weight, self.k_proj.bias)"),
        {"first_sequence_for_all": "self.k_proj(key[:1])"},
    ),
    "value": Site(
        ("self.v_proj(value)", "F.linear(value, self.v_proj.weight, self.v_proj.bias)"),
        {"value_from_key": "self.v_proj(key)", "value_not_projected": "value"},
    ),
    "scores": Site(
        (
            "q @ k.transpose(-2, -1) / math.sqrt(self.d_head)",
            "(q * self.d_head**-0.5) @ k.transpose(-2, -1)",
            'torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.d_head)',
        ),
        {
            "no_scaling": "q @ k.transpose(-2, -1)",
            "scale_by_width": "q @ k.transpose(-2, -1) / math.sqrt(self.n_heads * self.d_head)",
            "scale_without_root": "q @ k.transpose(-2, -1) / self.d_head",
            "scale_inverted": "q @ k.transpose(-2, -1) * math.sqrt(self.d_head)",
        },
    ),
    "blocked": Site(
        ("mask == 0", "~mask.bool()", "mask.logical_not()"),
        {
            "mask_inverted": "mask != 0",
            "mask_transposed": "(mask == 0).transpose(-2, -1)",
            "mask_of_first_sequence": "mask[:1] == 0",
        },
    ),
    "masked": Site(
        (
            "scores.masked_fill(blocked, torch.finfo(scores.dtype).min)",
            "scores + blocked * -1e9",
            "torch.where(blocked, torch.full_like(scores, -1e9), scores)",
        ),
        {
            "mask_ignored": "scores",
            "mask_value_one": "scores.masked_fill(blocked, -1.0)",
            "mask_multiplied": "scores * mask",
        },
    ),
    "weights": Site(
        (
            "scores.softmax(dim=-1)",
            "F.log_softmax(scores, dim=-1).exp()",
            "(scores - scores.logsumexp(-1, keepdim=True)).exp()",
        ),
        {
            "softmax_over_queries": "scores.softmax(dim=-2)",
            "softmax_over_heads": "scores.softmax(dim=1)",
            "softmax_missing": "scores",
        },
    ),
    "context": Site(
        ("weights @ v", 'torch.einsum("bhqk,bhkd->bhqd", weights, v)'),
        {"first_head_only": "(weights @ v)[:, :1].expand(-1, self.n_heads, -1, -1)"},
    ),
    "merged": Site(
        (
            "context.transpose(1, 2).flatten(2)",
            "context.permute(0, 2, 1, 3).reshape(context.shape[0], context.shape[2], -1)",
        ),
        {
            "merge_without_transpose": "context.reshape(context.shape[0], context.shape[2], -1)",
            "merge_swaps_batch": "context.permute(2, 1, 0, 3).transpose(1, 2)"
            ".reshape(context.shape[0], context.shape[2], -1)",
        },
    ),
    "output": Site(
        ("self.out_proj(merged)", "F.linear(merged, self.out_proj.weight, self.out_proj.bias)"),
        {"output_projection_missing": "merged"},
    ),
}

GROUPS: Mapping[str, tuple[str, ...]] = {
    "scaling": ("no_scaling", "scale_by_width", "scale_without_root", "scale_inverted"),
    "softmax": ("softmax_over_queries", "softmax_over_heads", "softmax_missing"),
    "mask": ("mask_inverted", "mask_transposed", "mask_ignored", "mask_value_one", "mask_multiplied"),
    "sources": ("query_from_value", "key_weights_for_query", "value_from_key", "value_not_projected"),
    "heads": (
        *("split_without_transpose", "first_head_only", "merge_without_transpose"),
        "output_projection_missing",
    ),
    "batch": ("first_sequence_for_all", "merge_swaps_batch", "mask_of_first_sequence"),
}
"""What a slip is about → slips."""

_PROGRAM = """\
import math
import torch
import torch.nn.functional as F
from torch import nn

switches = {switches}


class MultiHeadAttention(nn.Module):
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
        return {split}

    def forward(self, query, key, value, mask=None):
        q = self.split({query})
        k = self.split({key})
        v = self.split({value})
        scores = {scores}
        if mask is not None:
            blocked = {blocked}
            scores = {masked}
        weights = self.dropout({weights})
        context = {context}
        merged = {merged}
        return {output}
"""


def specimens(seed: int) -> list[dict[str, Any]]:
    """The classes in a drawn order: ``source``, ``name``, ``right`` and ``group``."""
    draw = random.Random(seed)  # noqa: S311 - the seed comes from the course secret
    made = [_specimen("", "", draw) for _ in range(RIGHT_CLASSES)]
    made += [_specimen(slip, group, draw) for group, slips in GROUPS.items() for slip in slips]
    draw.shuffle(made)
    return made


def program(slip: str, draw: random.Random) -> str:
    """The text of a class with one slip in it, or with none, in drawn styles."""
    most = sum(len(site.right) + len(site.slips) - 1 for site in SITES.values())
    numbers = [UNUSED + number for number in draw.sample(range(most), most)]
    switches = [draw.random() < 0.5 for _ in range(UNUSED + most)]
    parts = {}
    for name, site in SITES.items():
        style = draw.choice(site.right)  # drawn in any case: a slip must not move what is drawn after it
        taken = site.slips.get(slip, style)
        branches = [*site.right, *site.slips.values()]
        draw.shuffle(branches)
        parts[name] = _branching(branches, taken, numbers, switches, draw)
    return _PROGRAM.format(switches=tuple(map(int, switches)), **parts)


def _branching(
    branches: Sequence[str], taken: str, numbers: list[int], switches: list[bool], draw: random.Random
) -> str:
    """An expression with all branches, of which one is taken; uses up a number for each of them."""
    text, passed = "", False
    for branch in branches[:-1]:
        number, position = numbers.pop(), draw.random() < 0.5
        if branch == taken:
            switches[number], passed = position, True
        elif not passed:
            switches[number] = not position
        text += f"({branch}) if switches[{number}] == {int(position)} else "
    return f"{text}({branches[-1]})"


def _specimen(slip: str, group: str, draw: random.Random) -> dict[str, Any]:
    return {"source": program(slip, draw), "name": NAME, "right": not slip, "group": group}
