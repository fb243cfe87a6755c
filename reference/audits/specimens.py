"""Classes on which a test is tried: right ones in several styles, and wrong ones with one misconception each.

A test gets classes as objects and may look at them as it likes. Therefore all of them are one program, in
which every misconception and every style is a branch: the same expressions, constants and names in each
class. The order of the branches, the numbers of the switches between them and their positions are drawn anew
for every class, and switches behind the branch that is taken stand anyhow. So neither the switches nor the
text of one class say what it is; what is left is how it behaves. Every behaviour of an expression is written
in equally many ways: who tries all branches of one class finds no behaviour that is more frequent than
others.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

NAME = "MultiHeadAttention"
RIGHT_CLASSES = 8
"""In so many drawn mixtures of styles."""
UNUSED = 10
"""Switches before the first one, so that no number of a switch is a constant of an expression as well."""


SPELLINGS = 2
"""Ways of writing each behaviour of an expression, the right one and every misconception alike."""


@dataclass(frozen=True)
class Site:
    """One expression of the program.

    Args:
        right: ways of writing it that mean the same.
        misconceptions: id → what stands there instead, in as many ways.
    """

    right: tuple[str, ...]
    misconceptions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_PRODUCT = "q @ k.transpose(-2, -1)"
_SUM = 'torch.einsum("bhqd,bhkd->bhqk", q, k)'


def _linear(projection: str, x: str) -> tuple[str, str]:
    """A projection in both spellings."""
    layer = f"self.{projection}_proj"
    return f"{layer}({x})", f"F.linear({x}, {layer}.weight, {layer}.bias)"


def _scores(more: str) -> tuple[str, str]:
    """The scores in both spellings, with something behind them."""
    return f"{_PRODUCT}{more}", f"{_SUM}{more}"


def _softmax(axis: int) -> tuple[str, str]:
    """A softmax over an axis in both spellings."""
    return f"scores.softmax(dim={axis})", f"F.softmax(scores, dim={axis})"


SITES: Mapping[str, Site] = {
    "split": Site(
        (
            "x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)",
            "x.reshape(x.shape[0], x.shape[1], self.n_heads, self.d_head).permute(0, 2, 1, 3)",
        ),
        {
            "split_without_transpose": (
                "x.reshape(x.shape[0], self.n_heads, x.shape[1], self.d_head)",
                "x.flatten().unflatten(0, (x.shape[0], self.n_heads, x.shape[1], self.d_head))",
            )
        },
    ),
    "query": Site(
        _linear("q", "query"),
        {"query_from_value": _linear("q", "value"), "key_weights_for_query": _linear("k", "query")},
    ),
    "key": Site(_linear("k", "key"), {"first_sequence_for_all": _linear("k", "key[:1]")}),
    "value": Site(
        _linear("v", "value"),
        {"value_from_key": _linear("v", "key"), "value_not_projected": ("value", "value.clone()")},
    ),
    "scores": Site(
        _scores(" / math.sqrt(self.d_head)"),
        {
            "no_scaling": _scores(""),
            "scale_by_width": _scores(" / math.sqrt(self.n_heads * self.d_head)"),
            "scale_without_root": _scores(" / self.d_head"),
            "scale_inverted": _scores(" * math.sqrt(self.d_head)"),
        },
    ),
    "blocked": Site(
        ("mask == 0", "~mask.bool()"),
        {
            "mask_inverted": ("mask != 0", "mask.bool()"),
            "mask_transposed": ("(mask == 0).transpose(-2, -1)", "~mask.bool().transpose(-2, -1)"),
            "mask_of_first_sequence": ("mask[:1] == 0", "~mask[:1].bool()"),
        },
    ),
    "masked": Site(
        (
            "scores.masked_fill(blocked, torch.finfo(scores.dtype).min)",
            "torch.where(blocked, torch.finfo(scores.dtype).min, scores)",
        ),
        {
            "mask_ignored": ("scores", "scores.clone()"),
            "mask_value_one": (
                "scores.masked_fill(blocked, -1.0)",
                "torch.where(blocked, torch.full_like(scores, -1.0), scores)",
            ),
            "mask_multiplied": ("scores * mask", "mask * scores"),
        },
    ),
    "weights": Site(
        _softmax(-1),
        {
            "softmax_over_queries": _softmax(-2),
            "softmax_over_heads": _softmax(1),
            "softmax_missing": ("scores", "scores.clone()"),
        },
    ),
    "context": Site(
        ("weights @ v", 'torch.einsum("bhqk,bhkd->bhqd", weights, v)'),
        {
            "first_head_only": (
                "(weights @ v)[:, :1].expand(-1, self.n_heads, -1, -1)",
                "(weights @ v)[:, :1].repeat(1, self.n_heads, 1, 1)",
            )
        },
    ),
    "merged": Site(
        (
            "context.transpose(1, 2).flatten(2)",
            "context.permute(0, 2, 1, 3).reshape(context.shape[0], context.shape[2], -1)",
        ),
        {
            "merge_without_transpose": (
                "context.reshape(context.shape[0], context.shape[2], -1)",
                "context.flatten(1).unflatten(1, (context.shape[2], -1))",
            ),
            "merge_swaps_batch": (
                "context.permute(2, 1, 0, 3).transpose(1, 2).reshape(context.shape[0], context.shape[2], -1)",
                "context.permute(2, 0, 1, 3).reshape(context.shape[0], context.shape[2], -1)",
            ),
        },
    ),
    "output": Site(_linear("out", "merged"), {"output_projection_missing": ("merged", "merged.clone()")}),
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
"""What a misconception is about → misconceptions."""

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


def program(misconception: str, draw: random.Random) -> str:
    """The text of a class with one misconception in it, or with none, in drawn styles."""
    most = sum(SPELLINGS * (1 + len(site.misconceptions)) - 1 for site in SITES.values())
    numbers = [UNUSED + number for number in draw.sample(range(most), most)]
    switches = [draw.random() < 0.5 for _ in range(UNUSED + most)]
    parts = {}
    for name, site in SITES.items():
        spelling = draw.randrange(
            SPELLINGS
        )  # drawn alike for all: a misconception must not move what is drawn after it
        taken = site.misconceptions.get(misconception, site.right)[spelling]
        branches = [*site.right, *(text for texts in site.misconceptions.values() for text in texts)]
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
