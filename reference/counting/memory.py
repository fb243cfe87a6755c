"""Memory of decoder-only transformers in bytes: key-value cache, training state, activations."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from reference.counting.decoder import Decoder

BYTES: Mapping[str, int] = MappingProxyType({"float32": 4, "bfloat16": 2, "float16": 2, "int8": 1})
"""dtype → bytes of one number."""

TRAINING_BYTES: Mapping[str, Mapping[str, int]] = MappingProxyType({
    "sgd": {"weights": 4, "gradients": 4},
    "sgd-momentum": {"weights": 4, "gradients": 4, "momentum": 4},
    "adamw": {"weights": 4, "gradients": 4, "first_moment": 4, "second_moment": 4},
    "adamw-bfloat16": {"weights": 2, "gradients": 2, "first_moment": 2, "second_moment": 2},
    "adamw-mixed": {"weights": 2, "gradients": 2, "master_weights": 4, "first_moment": 4, "second_moment": 4},
})  # fmt: skip
"""Way of training → what is kept for each parameter, in bytes.

``adamw-mixed``: weights and gradients in two bytes, and in the optimizer a copy of the weights and both
moments in float32: 16 bytes together (Rajbhandari et al., 2020, section 3.1). The others keep everything
in one dtype.
"""


def key_value_cache(model: Decoder, length: int, batch: int = 1, dtype: str = "bfloat16") -> int:
    """Keys and values of every layer, key-value head and position, in bytes."""
    return 2 * model.n_layers * model.kv_heads * model.d_head * length * batch * BYTES[dtype]


def training_state(n_parameters: int, way: str) -> dict[str, int]:
    """What training keeps besides activations, in bytes, by the keys of `TRAINING_BYTES`."""
    return {name: n_parameters * size for name, size in TRAINING_BYTES[way].items()}


def layer_activations(model: Decoder, length: int, batch: int = 1, *, flash: bool = False) -> int:
    """What one layer keeps for its backward pass, in bytes: two for a number, one for an entry of a mask.

    Korthikanti et al. (2022), section 4.1, term by term, for layers as in GPT-2: norms before attention and
    MLP, dropout on the attention weights and after both parts, GELU, multi-head attention, no gate. With
    d_ff = 4·d_model and n_heads·d_head = d_model the sum is s·b·d·(34 + 5·n_heads·s/d). The norms' means and
    variances (8 bytes for each token) are left out, as in the paper.

    Args:
        model: the sizes; gated MLPs, experts and grouped keys are refused.
        length: tokens of a sequence.
        batch: sequences.
        flash: scores are not kept but computed again from queries and keys (Dao et al., 2022).

    Raises:
        ValueError: the layer is of another kind.
    """
    if model.gated or model.n_experts or model.kv_heads != model.n_heads:
        raise ValueError("the formula is for multi-head attention and an MLP of two matrices")
    tokens, heads = length * batch, model.n_heads * model.d_head
    kept = {
        "norm_inputs": 2 * 2 * model.d_model,
        "attention_input": 2 * model.d_model,
        "queries_keys_values": 2 * 3 * heads,
        "output_projection_input": 2 * heads,
        "attention_dropout_mask": model.d_model,
        "mlp_input": 2 * model.d_model,
        "gelu_input": 2 * model.d_ff,
        "down_projection_input": 2 * model.d_ff,
        "mlp_dropout_mask": model.d_model,
    }
    scores = 0 if flash else (2 + 1 + 2) * model.n_heads * length  # softmax, its dropout mask, what is left
    return tokens * (sum(kept.values()) + scores)


def activations(
    model: Decoder, length: int, batch: int = 1, *, flash: bool = False, checkpointing: bool = False
) -> int:
    """What all layers keep, in bytes; embeddings, last norm and head are left out.

    With ``checkpointing`` every layer keeps only its input, 2·s·b·d bytes, and one layer at a time is
    computed again in full (Chen et al., 2016; Korthikanti et al., 2022, section 5).
    """
    layer = layer_activations(model, length, batch, flash=flash)
    if not checkpointing:
        return model.n_layers * layer
    inputs = 2 * length * batch * model.d_model
    return model.n_layers * inputs + layer - inputs
