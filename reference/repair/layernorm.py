"""Layer normalisation with a backward pass of its own."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Normalisation(torch.autograd.Function):
    """Brings every row to mean 0 and variance 1, then scales and shifts it."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float
    ) -> torch.Tensor:
        """The normalised rows; what the way back needs is kept."""
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)
        scale = 1 / torch.sqrt(variance + eps)
        normal = (x - mean) * scale
        ctx.save_for_backward(normal, scale, weight)
        return normal * weight + bias

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, None]:
        """The gradients of ``x``, weight and bias, by that of the result."""
        normal, scale, weight = ctx.saved_tensors
        rows = tuple(range(gradient.dim() - 1))
        inner = gradient * weight
        mean = inner.mean(dim=-1, keepdim=True)
        along = (inner * normal).mean(dim=-1, keepdim=True)
        to_x = (inner - mean - normal * along) * scale
        to_weight = (gradient * normal).sum(dim=rows)
        return to_x, to_weight, gradient.sum(dim=rows), None


class LayerNorm(nn.Module):
    """Normalises the last axis."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…, width) → the same shape."""
        normalise: Callable[..., torch.Tensor] = Normalisation.apply
        return normalise(x, self.weight, self.bias, self.eps)
