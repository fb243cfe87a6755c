"""Planted answers to the practice questions about shapes.

`CONFIGS` are the configurations of the rubric's questions; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from reference.tracing.shapes import traced

Trial = dict[str, Any]

CONFIGS: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "attention_shapes": {"listing": "attention"},
    "classifier_shapes": {
        "listing": "classifier",
        "sizes": {"batch": 3, "seq": 29, "n_classes": 5, "d_model": 11},
    },
})  # fmt: skip
"""By the variable that the student assigns."""


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


def _shapes(answer: str, name: str, own: Mapping[str, Any], points: str) -> Trial:
    """The right table with some rows replaced."""
    right = {row: cells["shape"] for row, cells in traced(CONFIGS[answer])["right"].items()}
    rows = [
        (row, shape if isinstance(shape, str) else tuple(shape)) for row, shape in {**right, **own}.items()
    ]
    trial: Trial = {"name": name, "source": f"{answer} = {rows!r}\n", "loses": []}
    return {**trial, "loses": ["shapes"], "points": {"shapes": points}} if points else trial
