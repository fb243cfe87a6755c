"""The published sizes of well-known decoder-only models, as the plain dictionaries that questions show."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

Config = Mapping[str, Any]


def _gpt2(d_model: int, n_layers: int, n_heads: int) -> Config:
    return MappingProxyType(
        {
            "n_voc": 50257,
            "n_positions": 1024,
            "d_model": d_model,
            "n_layers": n_layers,
            "n_heads": n_heads,
            "d_head": d_model // n_heads,
            "d_ff": 4 * d_model,
            "tied": True,
            "qkv_bias": True,
            "output_bias": True,
            "mlp_bias": True,
            "norm_bias": True,
        }
    )


def _gated(
    n_voc: int, d_model: int, n_layers: int, heads: tuple[int, int, int], d_ff: int, **more: Any
) -> Config:
    """Rotary positions, RMSNorm and SwiGLU; heads: of queries, of keys and values, and their width."""
    n_heads, n_kv_heads, d_head = heads
    return MappingProxyType(
        {
            "n_voc": n_voc,
            "d_model": d_model,
            "n_layers": n_layers,
            "n_heads": n_heads,
            "n_kv_heads": n_kv_heads,
            "d_head": d_head,
            "d_ff": d_ff,
            "gated": True,
            **more,
        }
    )


DECODERS: Mapping[str, Config] = MappingProxyType({
    "GPT-2": _gpt2(768, 12, 12),
    "GPT-2 XL": _gpt2(1600, 48, 25),
    "Llama-2-7B": _gated(32000, 4096, 32, (32, 32, 128), 11008),
    "Llama-3-8B": _gated(128256, 4096, 32, (32, 8, 128), 14336),
    "Llama-3-70B": _gated(128256, 8192, 80, (64, 8, 128), 28672),
    "Llama-3.2-1B": _gated(128256, 2048, 16, (32, 8, 64), 8192, tied=True),
    "Qwen2.5-0.5B": _gated(151936, 896, 24, (14, 2, 64), 4864, tied=True, qkv_bias=True),
    "Qwen2.5-7B": _gated(152064, 3584, 28, (28, 4, 128), 18944, qkv_bias=True),
    "Qwen3-8B": _gated(151936, 4096, 36, (32, 8, 128), 12288, qk_norm=True),
    "Mixtral-8x7B": _gated(32000, 4096, 32, (32, 8, 128), 14336, n_experts=8, n_active_experts=2),
    "Qwen3-30B-A3B": _gated(
        151936, 2048, 48, (32, 4, 128), 768, qk_norm=True, n_experts=128, n_active_experts=8
    ),
})  # fmt: skip
"""Name → configuration, in the names of `reference.counting.decoder.Decoder`."""
