"""Test that adapters have the parameters of real adapter modules in real models."""

from __future__ import annotations

import pytest
from torch import nn

from reference.counting.adapters import lora
from reference.counting.catalogue import DECODERS
from reference.counting.decoder import Decoder
from tests.reference.counting import real

NAMES = {
    "attention_q": "q_proj",
    "attention_k": "k_proj",
    "attention_v": "v_proj",
    "attention_o": "o_proj",
    "mlp_up": "up_proj",
    "mlp_gate": "gate_proj",
    "mlp_down": "down_proj",
    "attention_qkv": "c_attn",
}


def adapted(model: Decoder, rank: int, targets: tuple[str, ...]) -> int:
    """Return the trainable parameters of a frozen real model with two low-rank matrices per target."""
    from transformers.pytorch_utils import Conv1D

    built = real.build(model)
    built.requires_grad_(requires_grad=False)
    wanted = {NAMES[target] for target in targets}
    for name, module in list(built.named_modules()):
        if name.rpartition(".")[2] in wanted:
            outputs, inputs = module.weight.shape[::-1] if isinstance(module, Conv1D) else module.weight.shape
            module.down = nn.Linear(inputs, rank, bias=False, device="meta")
            module.up = nn.Linear(rank, outputs, bias=False, device="meta")
    return real.size(one for one in built.parameters() if one.requires_grad)


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("Llama-3-8B", ("attention_q", "attention_v")),
        ("Llama-3.2-1B", ("attention_q", "attention_k", "attention_v", "attention_o")),
        ("Llama-3.2-1B", ("mlp_up", "mlp_gate", "mlp_down")),
        ("Qwen3-8B", tuple(name for name in NAMES if name != "attention_qkv")),
        ("GPT-2", ("attention_qkv",)),
    ],
)
@pytest.mark.parametrize("rank", [1, 8])
def test_adapters_are_counted_right(name: str, targets: tuple[str, ...], rank: int) -> None:
    """Each target has two matrices, also in grouped and fused projections."""
    model = Decoder.of(DECODERS[name])
    assert adapted(model, rank, targets) == sum(lora(model, rank, targets).values())


def test_known_counts() -> None:
    """Rank 8 on queries and values of Llama-3-8B, and on c_attn of GPT-2, has the known counts."""
    assert 3_407_872 == sum(
        lora(Decoder.of(DECODERS["Llama-3-8B"]), 8, ("attention_q", "attention_v")).values()
    )
    assert {"attention_qkv": 294_912} == lora(Decoder.of(DECODERS["GPT-2"]), 8, ("attention_qkv",))


def test_every_expert_has_its_own() -> None:
    """The MLPs of Mixtral have eight adapters in each layer."""
    dense = {key: value for key, value in DECODERS["Mixtral-8x7B"].items() if "experts" not in key}
    (one,) = lora(Decoder.of(dense), 4, ("mlp_up",)).values()
    (eight,) = lora(Decoder.of(DECODERS["Mixtral-8x7B"]), 4, ("mlp_up",)).values()
    assert 8 * one == eight


def test_a_matrix_that_is_not_there_is_named() -> None:
    """GPT-2 has no gate, and the error says so."""
    with pytest.raises(ValueError, match="no matrix 'mlp_gate'"):
        lora(Decoder.of(DECODERS["GPT-2"]), 4, ("mlp_gate",))
