"""The parameters of decoder-only transformers, component by component: GPT-2, Llama, Qwen, Mixtral.

Every count is a whole number from a `Decoder`, the sizes that decide it. A weight matrix from ``a`` to ``b``
features has ``a*b`` entries; biases are counted apart from the matrices, normalisation layers with theirs.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

Counts = dict[str, int]
"""Component → number of parameters, in the order of the model."""


@dataclass(frozen=True)
class Decoder:
    """The sizes of a decoder-only transformer.

    Attributes:
        n_voc: entries of the vocabulary.
        d_model: width of a token's vector.
        n_layers: number of layers.
        n_heads: query heads of one layer.
        d_head: width of one head.
        d_ff: width of the MLP's hidden layer; of one expert where there are experts.
        n_kv_heads: heads of keys and values; 0: as many as query heads (multi-head attention).
        n_positions: rows of a learned position table; 0: none (rotary positions have no parameters).
        gated: the MLP has a third matrix, the gate (SwiGLU).
        tied: the output head is the token table itself and has no parameters of its own.
        qkv_bias: queries, keys and values have biases.
        output_bias: the attention's output projection has one.
        mlp_bias: the matrices of the MLP have one each.
        norm_bias: LayerNorm (weight and bias); otherwise RMSNorm (weight only).
        qk_norm: one further RMSNorm each over the heads' queries and keys, shared by all heads.
        n_experts: MLPs in one layer, chosen by a router; 0: one MLP without a router.
        n_active_experts: how many of them a token passes through.
    """

    n_voc: int
    d_model: int
    n_layers: int
    n_heads: int
    d_head: int
    d_ff: int
    n_kv_heads: int = 0
    n_positions: int = 0
    gated: bool = False
    tied: bool = False
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    norm_bias: bool = False
    qk_norm: bool = False
    n_experts: int = 0
    n_active_experts: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            size = getattr(self, field.name)
            if isinstance(size, bool) != (field.type == "bool") or not isinstance(size, int) or size < 0:
                raise ValueError(f"{field.name}: expected {field.type}, not negative; got {size!r}")
        if self.n_active_experts > self.n_experts:
            raise ValueError(f"n_active_experts: {self.n_active_experts} of {self.n_experts} experts")

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Decoder:
        """From the dictionary that a question shows.

        Raises:
            ValueError: a size is unknown (with a suggestion), missing or negative.
        """
        names = [field.name for field in fields(cls)]
        for name in config:
            if name not in names:
                close = difflib.get_close_matches(name, names, n=1)
                raise ValueError(f"no size {name!r}; did you mean {(close or names)[0]!r}?")
        try:
            return cls(**config)
        except TypeError as error:
            raise ValueError(f"a size is missing: {error}") from error

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        return self.n_kv_heads or self.n_heads

    def matrices(self) -> dict[str, tuple[int, int]]:
        """The weight matrices of one layer, as (inputs, outputs); of its experts, those of one."""
        query, kept = self.n_heads * self.d_head, self.kv_heads * self.d_head
        shapes = {
            "attention_q": (self.d_model, query),
            "attention_k": (self.d_model, kept),
            "attention_v": (self.d_model, kept),
            "attention_o": (query, self.d_model),
            "mlp_up": (self.d_model, self.d_ff),
            "mlp_gate": (self.d_model, self.d_ff),
            "mlp_down": (self.d_ff, self.d_model),
        }
        if not self.gated:
            del shapes["mlp_gate"]
        return shapes


def parameters(model: Decoder) -> Counts:
    """The parameters of the whole model by component; a component that a model lacks counts 0."""
    return _count(model, model.n_experts or 1)


def active_parameters(model: Decoder) -> Counts:
    """The parameters that take part in computing one token: of the experts only the chosen ones.

    Everything else is counted in full, the router and both embedding tables included, as model cards do.
    """
    return _count(model, model.n_active_experts if model.n_experts else 1)


def total(counts: Mapping[str, int]) -> int:
    """The sum over all components."""
    return sum(counts.values())


def _count(model: Decoder, experts: int) -> Counts:
    matrices = {name: rows * columns for name, (rows, columns) in model.matrices().items()}
    layer = {
        name: number * experts if name.startswith("mlp") else number for name, number in matrices.items()
    }
    layer.setdefault("mlp_gate", 0)
    layer["router"] = model.d_model * model.n_experts
    norm = model.d_model * (2 if model.norm_bias else 1)
    return {
        "token_embeddings": model.n_voc * model.d_model,
        "position_embeddings": model.n_positions * model.d_model,
        **{name: model.n_layers * number for name, number in layer.items()},
        "norms": model.n_layers * (2 * norm + (2 * model.d_head if model.qk_norm else 0)) + norm,
        "biases": model.n_layers * _biases(model, experts),
        "head": 0 if model.tied else model.n_voc * model.d_model,
    }


def _biases(model: Decoder, experts: int) -> int:
    """Of one layer: one number for each output of a matrix that has a bias."""
    number = 0
    for name, (_, outputs) in model.matrices().items():
        if name.startswith("mlp"):
            number += experts * outputs if model.mlp_bias else 0
        elif name == "attention_o":
            number += outputs if model.output_bias else 0
        else:
            number += outputs if model.qkv_bias else 0
    return number
