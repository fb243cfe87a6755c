"""Planted answers to the practice questions about visibility, causality and shapes.

`CONFIGS` are the configurations of the rubric's questions; a test compares the two.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from reference.faults import misconception
from reference.faults.misconception import Misconception
from reference.faults.rewrite import Edit
from reference.tracing import visibility
from reference.tracing.shapes import traced

Trial = dict[str, Any]

CONFIGS: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "padded": {"pattern": "encoder", "length": 6, "padding": [4, 5]},
    "prefixed": {"pattern": "prefix", "length": 6, "prefix": 3, "layers": 2},
    "windowed": {"pattern": "window", "length": 7, "window": 3, "layers": 2},
    "dilated": {"pattern": "window", "length": 8, "window": 3, "dilation": 2},
    "crossed": {"pattern": "cross", "length": 3, "keys": 5, "padding": [3, 4]},
    "attention_shapes": {"listing": "attention"},
    "classifier_shapes": {
        "listing": "classifier",
        "sizes": {"batch": 3, "seq": 29, "n_classes": 5, "d_model": 11},
    },
})  # fmt: skip
"""By the variable that the student assigns."""


def padding() -> list[Trial]:
    """Of the encoder with padding."""
    return _matrices("padded")


def prefix() -> list[Trial]:
    """Of the prefix language model."""
    return _matrices("prefixed")


def window() -> list[Trial]:
    """Of the stack with a window."""
    return _matrices("windowed")


def dilated() -> list[Trial]:
    """Of the dilated window."""
    return _matrices("dilated")


def cross() -> list[Trial]:
    """Of cross-attention."""
    return _matrices("crossed")


def window_mask() -> list[Trial]:
    """Of the function that makes a mask."""
    mask = "(back >= 0) & (back < window)"
    edits = {
        "one too wide": (mask, "(back >= 0) & (back <= window)"),
        "without itself": (mask, "(back > 0) & (back < window)"),
        "both sides": (mask, "back.abs() < window"),
        "the future": (mask, "(back <= 0) & (back > -window)"),
        "what is blocked": (mask, "~((back >= 0) & (back < window))"),
        "no window": (mask, "back >= 0"),
    }
    accepted = {
        "as numbers": (mask, "((back >= 0) & (back < window)).double()"),
        "as pairs": (mask, "[(t, s) for t in range(length) for s in range(max(0, t - window + 1), t + 1)]"),
    }
    return _edited(visibility.window_mask, edits, ("mask",)) + _edited(visibility.window_mask, accepted, ())


def prefix_attention() -> list[Trial]:
    """Of attention with a prefix."""
    mask = "(position[None] <= position[:, None]) | (position[None] < prefix)"
    weights = "scores.masked_fill(~mask, -torch.inf).softmax(-1)"
    both = {
        "no mask": (weights, "scores.softmax(-1)"),
        "the mask transposed": (mask, f"({mask}).T"),
        "softmax along the queries": (weights, "scores.masked_fill(~mask, -1e9).softmax(-2)"),
        "masked after the softmax, and normalised again": (
            weights,
            "scores.softmax(-1).masked_fill(~mask, 0)",
        ),
        "nothing but the position itself": (weights, "torch.eye(length).expand(len(x), -1, -1)"),
        "constant": (weights, "torch.zeros_like(scores)"),
        "the first example's values for all": ("weights @ x", "weights @ x[:1]"),
    }
    only_prefix = {
        "the prefix forgotten": (mask, "position[None] <= position[:, None]"),
        "the prefix one too long": (mask, mask.replace("< prefix", "<= prefix")),
    }
    accepted = {
        "a large negative number": (weights, "(scores + torch.where(mask, 0.0, -1e9)).softmax(-1)"),
    }
    function = visibility.prefix_attention
    return [
        *_edited(function, both, ("prefix", "causal")),
        *_edited(function, only_prefix, ("prefix",)),
        *_edited(function, accepted, ()),
    ]


def attention_shapes() -> list[Trial]:
    """Of the shapes in symbols: a mistake whose consequences are right costs once, however far it reaches."""
    short = "(batch, n_heads, seq, seq)"
    own = {"all_keys": "(batch, n_heads, seq, d_head)", "scores": short, "weights": short}
    return [
        _shapes("attention_shapes", "earlier keys forgotten, consistently", own, "5.5"),
        _shapes(
            "attention_shapes",
            "earlier keys forgotten, then remembered",
            {"all_keys": own["all_keys"]},
            "5.5",
        ),
        _shapes("attention_shapes", "scores of the new keys only", {"scores": short}, "5.5"),
        _shapes("attention_shapes", "as they are", {}, ""),
        _shapes("attention_shapes", "the width as a product", {"return": "(batch, seq, n_heads*d_head)"}, ""),
    ]


def classifier_shapes() -> list[Trial]:
    """Of the shapes in numbers: what follows from a misconception is told, and lost as well."""
    own = {"features": [3, 24, 29], "halved": [3, 24, 14]}
    return [
        _shapes("classifier_shapes", "the convolution keeps the length", own, "5"),
        _shapes("classifier_shapes", "the loss of each example", {"return": [3]}, "6"),
        _shapes("classifier_shapes", "as they are", {}, ""),
    ]


def _matrices(answer: str) -> list[Trial]:
    told = visibility.written(CONFIGS[answer])
    right = [{"name": "the right matrix", "source": f"{answer} = {told['right']!r}\n", "loses": []}]
    wrong = [
        {"name": one["code"], "source": f"{answer} = {one['values']!r}\n", "loses": ["matrix"]}
        for one in told["mistakes"]
    ]
    return right + wrong


def _shapes(answer: str, name: str, own: Mapping[str, Any], points: str) -> Trial:
    """The right table with some rows replaced."""
    right = {row: cells["shape"] for row, cells in traced(CONFIGS[answer])["right"].items()}
    rows = [
        (row, shape if isinstance(shape, str) else tuple(shape)) for row, shape in {**right, **own}.items()
    ]
    trial: Trial = {"name": name, "source": f"{answer} = {rows!r}\n", "loses": []}
    return {**trial, "loses": ["shapes"], "points": {"shapes": points}} if points else trial


def _edited(function: Any, edits: Mapping[str, tuple[str, str]], loses: tuple[str, ...]) -> list[Trial]:
    misconceptions = [
        Misconception(name, (Edit(function.__name__, *edit),), loses) for name, edit in edits.items()
    ]
    source = inspect.getsource(function)
    return [dict(trial) for trial in misconception.trials(source, misconceptions)]
