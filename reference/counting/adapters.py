"""Trainable parameters of low-rank adapters (LoRA; Hu et al., 2022)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from reference.counting.decoder import Decoder

FUSED: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "attention_qkv": ("attention_q", "attention_k", "attention_v"),
})  # fmt: skip
"""Matrices that some models store as one, such as c_attn in GPT-2: one adapter for all of it."""


def lora(model: Decoder, rank: int, targets: Iterable[str]) -> dict[str, int]:
    """Target → trainable parameters in all layers.

    For a matrix from ``a`` to ``b`` features the adapter has a rank×a and a b×rank matrix: rank·(a + b)
    numbers, without biases. Where there are experts, every expert has an adapter of its own.

    Args:
        model: the sizes.
        rank: of the adapters.
        targets: names of `Decoder.matrices`, or of `FUSED`.

    Raises:
        ValueError: a layer has no such matrix.
    """
    shapes = model.matrices()
    counts = {}
    for target in targets:
        parts = [shapes[part] for part in FUSED.get(target, (target,)) if part in shapes]
        if not parts:
            raise ValueError(f"no matrix {target!r}; known are: {', '.join((*shapes, *FUSED))}")
        inputs, outputs = parts[0][0], sum(columns for _, columns in parts)
        copies = (model.n_experts or 1) if target.startswith("mlp") else 1
        counts[target] = model.n_layers * copies * rank * (inputs + outputs)
    return counts
