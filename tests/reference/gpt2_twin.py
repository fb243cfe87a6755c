"""transformers' GPT-2 with the weights of ours, for comparisons; made from a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from reference.gpt2 import GPT2

if TYPE_CHECKING:  # saves seconds if tests are only collected
    from transformers import GPT2LMHeadModel

_NAMES: Mapping[str, tuple[str, bool]] = {
    "attention_norm": ("ln_1", False),
    "query_key_value": ("attn.c_attn", True),
    "projection": ("attn.c_proj", True),
    "mlp_norm": ("ln_2", False),
    "up": ("mlp.c_fc", True),
    "down": ("mlp.c_proj", True),
}
"""Module of a layer → its name in transformers, and whether its matrix is transposed."""


def tiny(seed: int) -> GPT2:
    """Return a random model in double precision with random sizes; this seeds torch."""
    torch.manual_seed(seed)
    n_heads = 1 + seed % 3
    d_model = n_heads * (4 + 2 * (seed % 2))
    model = GPT2(5 + seed % 17, 40, d_model, 1 + seed % 2, n_heads, spread=(0.3, 0.5)[seed % 2])
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=0.5, std=0.5)
    return model.double().eval().requires_grad_(requires_grad=False)


def twin(model: GPT2) -> GPT2LMHeadModel:
    """Return transformers' model with the same weights."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=model.tokens.num_embeddings,
        n_positions=model.positions.num_embeddings,
        n_embd=model.tokens.embedding_dim,
        n_layer=len(model.layers),
        n_head=model.layers[0].n_heads,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
    made = GPT2LMHeadModel(config).double().eval()
    weights = {
        "transformer.wte.weight": model.tokens.weight,
        "transformer.wpe.weight": model.positions.weight,
        "transformer.ln_f.weight": model.norm.weight,
        "transformer.ln_f.bias": model.norm.bias,
        "lm_head.weight": model.tokens.weight,
    }
    for number, layer in enumerate(model.layers):
        for ours, (theirs, turned) in _NAMES.items():
            module = getattr(layer, ours)
            weights[f"transformer.h.{number}.{theirs}.weight"] = module.weight.T if turned else module.weight
            weights[f"transformer.h.{number}.{theirs}.bias"] = module.bias
    made.load_state_dict(weights)
    return made.requires_grad_(requires_grad=False)
