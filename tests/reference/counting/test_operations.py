"""Test that operations equal those that torch's flop counter counts on real models."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from reference.counting import operations
from reference.counting.catalogue import DECODERS
from reference.counting.decoder import Decoder, parameters, total
from tests.reference.counting import real

BATCH, LENGTH = 2, 9
SIZES: dict[str, int] = {"n_voc": 101, "d_model": 24, "n_layers": 3, "n_heads": 6, "d_head": 4, "d_ff": 40}
GPT2 = Decoder(
    **SIZES, n_positions=32, tied=True, qkv_bias=True, output_bias=True, mlp_bias=True, norm_bias=True
)
MODELS = {
    "GPT-2": GPT2,
    "Llama, grouped": Decoder(**SIZES, n_kv_heads=2, gated=True),
    "Llama, one key head, tied": Decoder(**SIZES, n_kv_heads=1, gated=True, tied=True),
    "Qwen3": Decoder(**{**SIZES, "d_head": 8}, n_kv_heads=3, gated=True, qk_norm=True),
    "Mixtral": Decoder(**SIZES, n_kv_heads=2, gated=True, n_experts=5, n_active_experts=2),
    "Qwen3-MoE": Decoder(**SIZES, n_kv_heads=2, gated=True, qk_norm=True, n_experts=7, n_active_experts=3),
}


def counted(run: Callable[[], object]) -> int:
    """Return the operations that torch counts during a call."""
    with FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())


def rotary_table(built: nn.Module, positions: int) -> int:
    """Return the operations for rotary angles in `transformers`, which the formulas exclude."""
    rotary = getattr(built.get_submodule(built.base_model_prefix), "rotary_emb", None)
    if rotary is None:
        return 0
    return counted(lambda: rotary(torch.zeros(BATCH, positions, 1), torch.arange(positions)[None]))


def tokens(model: Decoder, length: int = LENGTH) -> Tensor:
    """Return random tokens: (batch, length)."""
    return torch.randint(0, model.n_voc, (BATCH, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", MODELS)
def test_a_forward_pass_costs_what_the_counter_counts(name: str) -> None:
    """Weights and attention are counted for multi-head, grouped and single key heads, and for experts."""
    model = MODELS[name]
    built = real.build(model, "cpu")
    with torch.no_grad():
        found = counted(lambda: built(tokens(model), use_cache=False))
    assert operations.forward(model, LENGTH, BATCH) == found - rotary_table(built, LENGTH)


@pytest.mark.parametrize("name", ["GPT-2", "Llama, grouped", "Mixtral"])
def test_a_training_step_costs_three_forward_passes(name: str) -> None:
    """A training step costs the counted forward and backward passes of a real model."""
    model = MODELS[name]
    built = real.build(model, "cpu")

    def step() -> None:
        built(tokens(model), use_cache=False).logits.sum().backward()

    assert operations.training(model, LENGTH, BATCH) == counted(step) - rotary_table(built, LENGTH)


def test_checkpointing_costs_the_layers_once_more() -> None:
    """With gradient checkpointing, a real model computes its layers twice and its head once."""
    built = real.build(GPT2, "cpu").train()
    built.activation_checkpointing_enable()

    def step() -> None:
        built(tokens(GPT2), use_cache=False).logits.sum().backward()

    assert operations.training(GPT2, LENGTH, BATCH, checkpointing=True) == counted(step)


def test_causal_pairs_are_those_on_and_below_the_diagonal() -> None:
    """Causal pairs equal those found by enumeration."""
    pairs = sum(1 for query in range(LENGTH) for key in range(LENGTH) if key <= query)
    assert operations.attention_products(GPT2, LENGTH, causal=True) == 4 * 3 * 6 * 4 * pairs
    difference = operations.forward(GPT2, LENGTH) - operations.forward(GPT2, LENGTH, causal=True)
    assert difference == 4 * 3 * 6 * 4 * (LENGTH * LENGTH - pairs)


def test_the_rule_of_thumb_is_near_the_exact_cost_where_texts_are_short() -> None:
    """6·N·D is within 5 % for Llama-3-8B at 2048 tokens, and too small at 128 thousand."""
    model = Decoder.of(DECODERS["Llama-3-8B"])
    assert 6 * total(parameters(model)) * 2048 == operations.training_approximately(model, 2048)
    assert 0.95 < operations.training_approximately(model, 2048) / operations.training(model, 2048) < 1.05
    assert operations.training_approximately(model, 131_072) < 0.5 * operations.training(model, 131_072)
