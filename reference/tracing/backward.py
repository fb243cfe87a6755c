"""Gradients of five functions, written out; `reference.tracing.gradients` compares them with two witnesses.

``grad`` is the gradient of the loss for the function's result. Formulas: chain rule with the Jacobian of
each function; for normalisation see Ba, Kiros and Hinton, Layer Normalization (2016).
"""

from __future__ import annotations

import torch
from torch import Tensor


def softmax_backward(scores: Tensor, grad: Tensor) -> Tensor:
    """For ``scores.softmax(-1)``; both (rows, n), as the result."""
    p = scores.softmax(-1)
    return p * (grad - (grad * p).sum(-1, keepdim=True))


def matmul_backward(a: Tensor, b: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """For ``a @ b``: (n, m) and (m, k), ``grad`` (n, k) → gradients for both."""
    return grad @ b.T, a.T @ grad


def cross_entropy_backward(logits: Tensor, targets: Tensor) -> Tensor:
    """For the mean of ``-log softmax(logits)[targets]``: (rows, n) and (rows,) → (rows, n)."""
    p = logits.softmax(-1)
    p[torch.arange(len(targets)), targets] -= 1
    return p / len(targets)


def layer_norm_backward(x: Tensor, gain: Tensor, bias: Tensor, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For ``gain * (x - mean) / sqrt(var + 1e-5) + bias`` of the last axis: (rows, d), (d,), (d,)."""
    del bias  # it moves the result, and no gradient
    centred = x - x.mean(-1, keepdim=True)
    scale = (centred.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt()
    normal = centred * scale
    inner = grad * gain
    mean_term = inner.mean(-1, keepdim=True)
    variance_term = normal * (inner * normal).mean(-1, keepdim=True)
    return scale * (inner - mean_term - variance_term), (grad * normal).sum(0), grad.sum(0)


def attention_backward(
    query: Tensor, key: Tensor, value: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """For ``softmax(query @ key.T / sqrt(d)) @ value``: (queries, d), (keys, d), (keys, d)."""
    scale = query.size(-1) ** -0.5
    p = (query @ key.T * scale).softmax(-1)
    d_p = grad @ value.T
    d_scores = p * (d_p - (d_p * p).sum(-1, keepdim=True))
    return d_scores @ key * scale, d_scores.T @ query * scale, p.T @ grad
