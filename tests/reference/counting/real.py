"""Real models from `transformers` for the sizes of a `Decoder`, on the meta device or in memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import torch
from torch import nn

from reference.counting.decoder import Decoder

if TYPE_CHECKING:  # saves half a second if tests are only collected
    import transformers


def config_of(model: Decoder) -> transformers.PretrainedConfig:
    """Return the configuration of the real architecture with these parts."""
    import transformers

    if model.n_positions:
        return transformers.GPT2Config(
            vocab_size=model.n_voc,
            n_positions=model.n_positions,
            n_embd=model.d_model,
            n_layer=model.n_layers,
            n_head=model.n_heads,
            n_inner=model.d_ff,
            tie_word_embeddings=model.tied,
        )
    sizes = {
        "vocab_size": model.n_voc,
        "hidden_size": model.d_model,
        "num_hidden_layers": model.n_layers,
        "num_attention_heads": model.n_heads,
        "num_key_value_heads": model.kv_heads,
        "intermediate_size": model.d_ff,
        "tie_word_embeddings": model.tied,
    }
    experts = {"num_experts_per_tok": model.n_active_experts}
    if model.n_experts and model.qk_norm:
        experts |= {"num_experts": model.n_experts, "moe_intermediate_size": model.d_ff}
        return transformers.Qwen3MoeConfig(**sizes, **experts, head_dim=model.d_head)
    if model.n_experts:
        return transformers.MixtralConfig(**sizes, **experts, num_local_experts=model.n_experts)
    if model.qk_norm:
        return transformers.Qwen3Config(**sizes, head_dim=model.d_head)
    if model.qkv_bias:
        return transformers.Qwen2Config(**sizes)
    return transformers.LlamaConfig(**sizes, head_dim=model.d_head)


def build(model: Decoder, device: str = "meta") -> nn.Module:
    """Return the real model; on the meta device its parameters have shapes but no memory."""
    import transformers

    with torch.device(device):
        config = config_of(model)
        if model.n_experts:  # torch's counter does not see the products of the faster implementation
            config._experts_implementation = "eager"
        built = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    built.tie_weights()
    return built.eval()


def count(module: nn.Module, patterns: Mapping[str, str]) -> dict[str, int]:
    """Return parameters by component: the first pattern that matches a parameter's name decides.

    Raises: ValueError: a parameter belongs to no component.
    """
    counts = dict.fromkeys(patterns, 0)
    for name, parameter in module.named_parameters():
        component = next((key for key, pattern in patterns.items() if re.search(pattern, name)), None)
        if component is None:
            raise ValueError(f"no component for {name}")
        counts[component] += parameter.numel()
    return counts


def size(parameters: Iterable[torch.Tensor]) -> int:
    """Return the total count of numbers."""
    return sum(parameter.numel() for parameter in parameters)
