"""Test that the reference decoder agrees with torch's decoder layers and keeps its contract."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from reference.attention import MultiHeadAttention
from reference.decoder import Decoder

TOLERANCE = {"rtol": 0.0, "atol": 1e-11}
SIZES = {
    "n_tokens": 11,
    "d_model": 8,
    "n_layers": 2,
    "n_heads": 2,
    "d_hidden": 10,
    "dropout": 0.0,
    "max_len": 9,
}


def _decoder(seed: int, **sizes: float) -> Decoder:
    torch.manual_seed(seed)
    return Decoder(**{**SIZES, **sizes}).double().eval()


def _copy_attention(peer: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    projections = (ours.q_proj, ours.k_proj, ours.v_proj)
    peer.in_proj_weight.copy_(torch.cat([linear.weight for linear in projections]))
    peer.in_proj_bias.copy_(torch.cat([linear.bias for linear in projections]))
    peer.out_proj.load_state_dict(ours.out_proj.state_dict())


@torch.no_grad()
def _torch_layers(decoder: Decoder, n_heads: int) -> list[nn.TransformerDecoderLayer]:
    """Return torch's decoder layers with the weights of ours."""
    layers = []
    for block in decoder.blocks:
        cross = block.cross_block
        first, _, second = cross.feed_forward
        peer = nn.TransformerDecoderLayer(
            first.in_features, n_heads, first.out_features, dropout=0.0, batch_first=True, dtype=torch.float64
        )
        _copy_attention(peer.self_attn, block.self_attention)
        _copy_attention(peer.multihead_attn, cross.attention)
        for theirs, ours in (
            (peer.norm1, block.norm),
            (peer.norm2, cross.attention_norm),
            (peer.norm3, cross.feed_forward_norm),
            (peer.linear1, first),
            (peer.linear2, second),
        ):
            theirs.load_state_dict(ours.state_dict())
        layers.append(peer.eval())
    return layers


def _inputs(batch: int, length: int, source: int, d_model: int, n_tokens: int) -> tuple[Tensor, ...]:
    tokens = torch.randint(n_tokens, (batch, length))
    memory = torch.randn(batch, source, d_model, dtype=torch.float64)
    memory_mask = torch.rand(batch, 1, 1, source) < 0.7
    memory_mask[..., 0] = True
    target_mask = torch.ones(1, 1, length, length).tril().bool()
    return tokens, memory, memory_mask, target_mask


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    batch=st.integers(1, 4),
    length=st.integers(1, 6),
    source=st.integers(1, 6),
    n_heads=st.integers(1, 3),
    d_head=st.integers(1, 5),
    n_layers=st.integers(0, 3),
)
def test_equals_torch_decoder_layers(
    *, seed: int, batch: int, length: int, source: int, n_heads: int, d_head: int, n_layers: int
) -> None:
    """All logits agree with nn.TransformerDecoderLayer with the same weights."""
    d_model = n_heads * d_head
    decoder = _decoder(seed, d_model=d_model, n_heads=n_heads, n_layers=n_layers)
    tokens, memory, memory_mask, target_mask = _inputs(batch, length, source, d_model, 11)
    x = decoder.token_embedding(tokens) + decoder.position_embedding.weight[:length]
    for layer in _torch_layers(decoder, n_heads):
        x = layer(
            x,
            memory,
            tgt_mask=~target_mask[0, 0],
            memory_key_padding_mask=~memory_mask[:, 0, 0],
        )
    expected = decoder.output_head(x)
    actual = decoder(tokens, memory, memory_mask, target_mask)
    torch.testing.assert_close(actual, expected, **TOLERANCE)


def test_dropout_acts_in_training_alone() -> None:
    """Two passes differ in training and are equal in evaluation."""
    decoder = _decoder(2, dropout=0.5)
    inputs = _inputs(2, 5, 3, 8, 11)
    torch.testing.assert_close(decoder(*inputs), decoder(*inputs), rtol=0, atol=0)
    decoder.train()
    assert torch.equal(decoder(*inputs), decoder(*inputs)) is False


def test_a_target_longer_than_the_table_is_refused() -> None:
    """A target longer than max_len raises an exception."""
    with pytest.raises(IndexError):
        _decoder(3)(*_inputs(1, 10, 2, 8, 11))
