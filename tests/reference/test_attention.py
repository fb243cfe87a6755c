"""Test that the reference attention agrees with torch's two implementations."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from reference.attention import MultiHeadAttention

TOLERANCE = {"rtol": 0.0, "atol": 1e-12}

cases = {
    "seed": st.integers(0, 2**16),
    "batch": st.integers(1, 4),
    "n_heads": st.integers(1, 4),
    "d_head": st.integers(1, 6),
    "queries": st.integers(1, 7),
    "keys": st.integers(1, 7),
    "mask_shape": st.sampled_from(["none", "keys", "queries", "batch", "heads"]),
}


def _mask(kind: str, batch: int, n_heads: int, queries: int, keys: int) -> Tensor | None:
    """Return a random mask of each broadcastable form; each query keeps at least one key."""
    shapes = {
        "keys": (batch, 1, 1, keys),
        "queries": (1, 1, queries, keys),
        "batch": (batch, 1, queries, keys),
        "heads": (batch, n_heads, queries, keys),
    }
    if kind == "none":
        return None
    mask = torch.rand(shapes[kind]) < 0.6
    mask[..., 0] = True
    return mask


def _attention(seed: int, d_model: int, n_heads: int) -> MultiHeadAttention:
    torch.manual_seed(seed)
    return MultiHeadAttention(d_model, n_heads).double()


def _inputs(batch: int, queries: int, keys: int, d_model: int) -> tuple[Tensor, Tensor, Tensor]:
    query = torch.randn(batch, queries, d_model, dtype=torch.float64)
    key = torch.randn(batch, keys, d_model, dtype=torch.float64)
    value = torch.randn(batch, keys, d_model, dtype=torch.float64)
    return query, key, value


@settings(max_examples=40, deadline=None)
@given(**cases)
def test_equals_scaled_dot_product_attention(
    *, seed: int, batch: int, n_heads: int, d_head: int, queries: int, keys: int, mask_shape: str
) -> None:
    """All numbers agree with torch's fused attention between the same projections."""
    d_model = n_heads * d_head
    attention = _attention(seed, d_model, n_heads)
    query, key, value = _inputs(batch, queries, keys, d_model)
    mask = _mask(mask_shape, batch, n_heads, queries, keys)

    def split(x: Tensor) -> Tensor:
        return x.unflatten(-1, (n_heads, d_head)).transpose(1, 2)

    heads = nn.functional.scaled_dot_product_attention(
        split(attention.q_proj(query)),
        split(attention.k_proj(key)),
        split(attention.v_proj(value)),
        attn_mask=mask,
    )
    expected = attention.out_proj(heads.transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(query, key, value, mask), expected, **TOLERANCE)


@settings(max_examples=40, deadline=None)
@given(**cases)
def test_equals_torch_multihead_attention(
    *, seed: int, batch: int, n_heads: int, d_head: int, queries: int, keys: int, mask_shape: str
) -> None:
    """All numbers agree with nn.MultiheadAttention with the same weights."""
    d_model = n_heads * d_head
    attention = _attention(seed, d_model, n_heads)
    query, key, value = _inputs(batch, queries, keys, d_model)
    mask = _mask(mask_shape, batch, n_heads, queries, keys)
    peer = nn.MultiheadAttention(d_model, n_heads, batch_first=True, dtype=torch.float64)
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    with torch.no_grad():
        peer.in_proj_weight.copy_(torch.cat([linear.weight for linear in projections]))
        peer.in_proj_bias.copy_(torch.cat([linear.bias for linear in projections]))
        peer.out_proj.load_state_dict(attention.out_proj.state_dict())
    blocked = None
    if mask is not None:  # torch expects True for blocked, and one matrix for each head of each sequence
        blocked = ~mask.expand(batch, n_heads, queries, keys).flatten(0, 1)
    expected, _ = peer(query, key, value, attn_mask=blocked, need_weights=False)
    torch.testing.assert_close(attention(query, key, value, mask), expected, **TOLERANCE)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float64])
def test_zero_and_false_both_mean_blocked(dtype: torch.dtype) -> None:
    """A mask may be boolean or a number of any type."""
    attention = _attention(0, 6, 2)
    query, key, value = _inputs(2, 4, 4, 6)
    causal = torch.ones(4, 4).tril()[None, None]
    expected = attention(query, key, value, causal.bool())
    torch.testing.assert_close(attention(query, key, value, causal.to(dtype)), expected, rtol=0, atol=0)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_a_blocked_key_has_no_influence(scale: float) -> None:
    """Changing a blocked key and its value changes no bit of the output, also at extreme scores."""
    attention = _attention(1, 8, 2)
    query, key, value = _inputs(2, 5, 5, 8)
    mask = torch.ones(1, 1, 1, 5)
    mask[..., 3] = 0
    moved_key, moved_value = key.clone(), value.clone()
    moved_key[:, 3] += 5 * scale
    moved_value[:, 3] -= 2 * scale
    before = attention(query * scale, key, value, mask)
    after = attention(query * scale, moved_key, moved_value, mask)
    torch.testing.assert_close(after, before, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_fully_blocked_query_attends_evenly(dtype: torch.dtype) -> None:
    """If nothing is visible, the output is the projected mean value, and finite in every precision."""
    attention = _attention(2, 6, 3).to(dtype)
    query, key, value = (x.to(dtype) for x in _inputs(1, 2, 4, 6))
    mask = torch.ones(1, 1, 2, 4)
    mask[..., 0, :] = 0
    output = attention(query, key, value, mask)
    expected = attention.out_proj(attention.v_proj(value).mean(dim=1))
    tolerance = 10 * torch.finfo(dtype).eps
    torch.testing.assert_close(output[:, 0], expected, rtol=tolerance, atol=tolerance)
    assert torch.isfinite(output).all().item() is True


def test_gradients_are_finite_with_a_fully_blocked_query() -> None:
    """A query that sees nothing causes no NaN in the gradients."""
    attention = _attention(3, 4, 2)
    query, key, value = _inputs(1, 3, 3, 4)
    mask = torch.ones(3, 3).tril(-1)[None, None]
    attention(query, key, value, mask).sum().backward()
    finite = [bool(torch.isfinite(parameter.grad).all()) for parameter in attention.parameters()]
    assert finite == [True] * 8


def test_the_width_must_be_a_multiple_of_the_heads() -> None:
    """A width that is not divisible is rejected when the module is made, with both numbers."""
    with pytest.raises(ValueError, match=r"multiple of n_heads = 3, got 8"):
        MultiHeadAttention(8, 3)


def test_the_names_of_the_weights_are_the_stated_ones() -> None:
    """The names are part of the contract, because weights are set by them."""
    projections = ("q_proj", "k_proj", "v_proj", "out_proj")
    expected = [f"{name}.{part}" for name in projections for part in ("weight", "bias")]
    assert list(MultiHeadAttention(4, 2).state_dict()) == expected
