"""Which input positions an output position depends on, measured on real layers; and known wrong matrices.

A question of kind ``visibility`` names `written` as its reference and an architecture as its ``config``. What
is right is never stated: random layers are built, and two measurements that share no code must agree, one by
changing an input position, one by the gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

NOTHING = 1e-12
"""A change or gradient from here down is none; with a score of -inf it is exactly 0."""
SURE = 1e-9
"""A change or gradient from here up is one; nothing may lie between the two."""
WIDTH = 8


@dataclass(frozen=True)
class Architecture:
    """A stack of attention layers with residual connections.

    Args:
        pattern: ``encoder`` sees everything, ``decoder`` itself and what comes before, ``prefix`` besides
            every position of the prefix, ``window`` a stretch that ends with itself, ``cross`` every position
            of another sequence.
        length: positions that see.
        keys: positions of the other sequence; only for ``cross``.
        layers: of the stack; for ``cross`` one.
        window: positions that one layer sees, itself included.
        dilation: distance between two positions of the window.
        prefix: positions of the prefix.
        padding: positions, from 0, that no other position attends to.
    """

    pattern: Literal["encoder", "decoder", "prefix", "window", "cross"]
    length: int
    keys: int = 0
    layers: int = 1
    window: int = 1
    dilation: int = 1
    prefix: int = 0
    padding: tuple[int, ...] = ()

    def allowed(self) -> Tensor:
        """(queries, keys) bool: the attention mask of one layer.

        Raises:
            ValueError: a query may attend to nothing.
        """
        crossed = self.pattern == "cross"
        query = torch.arange(self.length)[:, None]
        key = torch.arange(self.keys if crossed else self.length)[None]
        back = query - key
        mask = {
            "decoder": back >= 0,
            "prefix": (back >= 0) | (key < self.prefix),
            "window": (back >= 0) & (back < self.window * self.dilation) & (back % self.dilation == 0),
        }.get(self.pattern, torch.ones_like(back, dtype=torch.bool))
        mask[:, list(self.padding)] = False
        if not crossed:  # or a padded position would attend to nothing in some patterns
            mask |= torch.eye(self.length, dtype=torch.bool)
        if not mask.any(-1).all():
            raise ValueError(f"a position of {self} attends to nothing")
        return mask


class Attention(nn.Module):
    """One head with random weights and a residual connection."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH, dtype=torch.float64) for _ in range(3))

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """(queries, WIDTH), (keys, WIDTH), (queries, keys) → (queries, WIDTH)."""
        scores = self.query(x) @ self.key(memory).T / WIDTH**0.5
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)  # (queries, keys)
        result: Tensor = x + weights @ self.value(memory)
        return result


def output(architecture: Architecture, layers: nn.ModuleList, inputs: Tensor) -> Tensor:
    """The last layer's output.

    Args:
        architecture: of the stack.
        layers: its layers.
        inputs: the positions that may be seen: (keys, WIDTH) for ``cross``, otherwise (length, WIDTH).

    Returns:
        (length, WIDTH).
    """
    mask = architecture.allowed()
    if architecture.pattern == "cross":
        x = torch.linspace(-1, 1, architecture.length * WIDTH, dtype=torch.float64).view(-1, WIDTH)
        return layers[0](x, inputs, mask)  # type: ignore[no-any-return]  # a module's call is untyped
    x = inputs
    for layer in layers:
        x = layer(x, x, mask)
    return x


def visibility(architecture: Architecture) -> Tensor:
    """(length, seen positions) bool: whether an output depends on an input.

    Raises:
        ValueError: see `Architecture.allowed`.
        RuntimeError: change and gradient disagree, or one of them is neither nothing nor sure.
    """
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(0)
        layers = nn.ModuleList([Attention() for _ in range(architecture.layers)])
        count = architecture.keys if architecture.pattern == "cross" else architecture.length
        inputs = torch.randn(count, WIDTH, dtype=torch.float64)
        by_change = _by_change(architecture, layers, inputs)
        by_gradient = _by_gradient(architecture, layers, inputs)
    if not torch.equal(by_change, by_gradient):
        raise RuntimeError(f"changing inputs and the gradient disagree about {architecture}")
    return by_change


def _by_change(architecture: Architecture, layers: nn.ModuleList, inputs: Tensor) -> Tensor:
    with torch.no_grad():
        before = output(architecture, layers, inputs)
        columns = []
        for position in range(len(inputs)):
            changed = inputs.clone()
            changed[position] = torch.randn(WIDTH, dtype=inputs.dtype)
            columns.append((output(architecture, layers, changed) - before).abs().amax(-1))
    return _decided(torch.stack(columns, dim=1))


def _by_gradient(architecture: Architecture, layers: nn.ModuleList, inputs: Tensor) -> Tensor:
    inputs = inputs.clone().requires_grad_()
    weights = torch.randn(WIDTH, dtype=inputs.dtype)
    sums = output(architecture, layers, inputs) @ weights  # (length,)
    rows = [torch.autograd.grad(one, inputs, retain_graph=True)[0].abs().amax(-1) for one in sums]
    return _decided(torch.stack(rows))


def _decided(sizes: Tensor) -> Tensor:
    if ((sizes > NOTHING) & (sizes < SURE)).any():
        raise RuntimeError("a dependence is too small to be sure of")
    return sizes >= SURE


def written(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a question of kind ``visibility`` asks: what is right, and what known mistakes lead to.

    Args:
        config: the fields of `Architecture`.
    """
    architecture = Architecture(**{**config, "padding": tuple(config.get("padding", ()))})
    right = visibility(architecture)
    mistakes = [
        {"code": code, "family": code, "values": wrong.tolist()}
        for code, wrong in _mistakes(architecture, right)
        if not torch.equal(wrong, right)
    ]
    return {"right": right.tolist(), "mistakes": mistakes}


def _mistakes(one: Architecture, right: Tensor) -> Iterator[tuple[str, Tensor]]:
    """What comes of misreading the architecture; the matrix alone tells the other mistakes."""
    if one.padding:
        yield "padding-ignored", visibility(replace(one, padding=()))
        if one.pattern != "cross":
            rows = right.clone()
            rows[list(one.padding)] = False
            yield "padding-rows", rows
    if one.layers > 1:
        yield "one-layer", visibility(replace(one, layers=1))
    if one.pattern == "prefix":
        yield "prefix-causal", visibility(replace(one, pattern="decoder"))
    if one.pattern == "window":
        if one.layers > 1:
            yield "windows-added", visibility(replace(one, layers=1, window=one.window * one.layers))
        if one.dilation > 1:
            yield "dilation-ignored", visibility(replace(one, dilation=1))
        yield "window-too-wide", visibility(replace(one, window=one.window + 1))
        yield "window-too-narrow", visibility(replace(one, window=max(one.window - 1, 1)))


# ---------------------------------------------------------------- code that students write


def window_mask(length: int, window: int) -> Tensor:
    """(length, length) bool: True where a query may attend to a key: itself and window - 1 before it."""
    back = torch.arange(length)[:, None] - torch.arange(length)[None]
    return (back >= 0) & (back < window)


def prefix_attention(x: Tensor, prefix: int) -> Tensor:
    """Self-attention without weights, in which every position sees itself, what is before, and the prefix.

    Args:
        x: (batch, length, width).
        prefix: positions of the prefix.

    Returns:
        (batch, length, width).
    """
    length = x.size(1)
    position = torch.arange(length)
    mask = (position[None] <= position[:, None]) | (position[None] < prefix)
    scores = x @ x.transpose(1, 2) / x.size(-1) ** 0.5
    weights: Tensor = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return weights @ x
