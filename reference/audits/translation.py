"""A small translator with masks for padding, in the style of tutorials, and faults of such code.

Its definition knows no padding: each text is computed alone, from its own tokens at their positions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from . import attention
from .audit import SEED, Audit, Fault, NoEvidence, Outcome, executed

RIGHT = """\
class Translator(nn.Module):
    def __init__(self, n_tokens, d_model, num_heads, max_len):
        super().__init__()
        self.source_embedding = nn.Embedding(n_tokens, d_model)
        self.target_embedding = nn.Embedding(n_tokens, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.encoder_attention = MultiHeadAttention(d_model, num_heads)
        self.decoder_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder_norm = nn.LayerNorm(d_model)
        self.cross_norm = nn.LayerNorm(d_model)
        self.output_head = nn.Linear(d_model, n_tokens)

    def embed(self, tokens, embedding):
        positions = torch.arange(tokens.size(1), device=tokens.device)
        return embedding(tokens) + self.position_embedding(positions)

    def make_source_mask(self, source):
        return (source != 0)[:, None, None, :]

    def make_target_mask(self, target):
        padding = (target != 0)[:, None, None, :]
        length = target.size(1)
        causal = torch.ones(length, length, device=target.device).tril().bool()
        return padding & causal

    def encode(self, source, source_mask):
        x = self.embed(source, self.source_embedding)
        return self.encoder_norm(x + self.encoder_attention(x, x, x, source_mask))

    def decode(self, target, memory, source_mask, target_mask):
        x = self.embed(target, self.target_embedding)
        x = self.decoder_norm(x + self.decoder_attention(x, x, x, target_mask))
        return self.cross_norm(x + self.cross_attention(x, memory, memory, source_mask))

    def forward(self, source, target):
        source_mask = self.make_source_mask(source)
        memory = self.encode(source, source_mask)
        x = self.decode(target, memory, source_mask, self.make_target_mask(target))
        return self.output_head(x)
"""

CATALOGUE = (
    Fault(
        "target_padding",  # shows with padding on the left
        "Translator.make_target_mask",
        "(target != 0)[:, None, None, :]",
        "(target != 0)[:, None, :, None]",
        ("target mask", "padding mask of the target"),
    ),
    Fault(
        "cross_padding",
        "Translator.decode",
        "self.cross_attention(x, memory, memory, source_mask)",
        "self.cross_attention(x, memory, memory)",
        ("cross attention", "cross_attention", "decoder"),
    ),
    Fault(
        "source_padding",
        "Translator.encode",
        "self.encoder_attention(x, x, x, source_mask)",
        "self.encoder_attention(x, x, x)",
        ("encoder_attention", "encoder", "source mask"),
    ),
)

N_TOKENS, D_MODEL, N_HEADS, MAX_LEN = 11, 8, 2, 16
MOST_TEXTS = 16


def _weights() -> nn.Module:
    """The right translator: whose weights the definition uses, one by one."""
    return _made(executed(attention.RIGHT + RIGHT)["Translator"])


def _made(translator: Any) -> nn.Module:
    model: nn.Module = translator(N_TOKENS, D_MODEL, N_HEADS, MAX_LEN)
    random = torch.Generator().manual_seed(SEED)
    for name, parameter in sorted(model.named_parameters()):
        if not re.search("norm", name):
            scale = parameter.shape[-1] ** -0.5 if "W_" in name else 1.0
            parameter.copy_(torch.randn(parameter.shape, generator=random) * scale)
    return model.eval()


def _run(names: Mapping[str, Any], inputs: Mapping[str, Any]) -> Outcome:
    target = inputs["target"]
    output = _made(names["Translator"])(inputs["source"], target)
    return Outcome(output, (target != 0)[:, :, None].expand(output.shape).clone())


def _definition(inputs: Mapping[str, Any]) -> Outcome:
    source, target = inputs["source"], inputs["target"]
    _check(source, target)
    model = _weights()
    output = torch.zeros(*target.shape, N_TOKENS)
    for row in range(target.shape[0]):
        (read,), (written,) = (tokens[row].nonzero(as_tuple=True) for tokens in (source, target))
        memory = _layer(model, "encoder", _embedded(model, "source", source[row], read), None)
        x = _embedded(model, "target", target[row], written)
        x = _layer(model, "decoder", x, None, causal=True)
        output[row, written] = model.output_head(_layer(model, "cross", x, memory))  # type: ignore[operator]
    return Outcome(output, (target != 0)[:, :, None].expand(output.shape).clone())


def _embedded(model: Any, side: str, tokens: Tensor, places: Tensor) -> Tensor:
    """(real tokens, d_model): the embeddings of a text's real tokens."""
    table = getattr(model, f"{side}_embedding").weight
    embedded: Tensor = table[tokens[places]] + model.position_embedding.weight[places]
    return embedded


def _layer(model: Any, name: str, x: Tensor, memory: Tensor | None, *, causal: bool = False) -> Tensor:
    """One attention of one text, head by head, with the residual and the norm behind it."""
    layer, norm = getattr(model, f"{name}_attention"), getattr(model, f"{name}_norm")
    read = x if memory is None else memory
    parts = []
    for q, k, v in zip(
        *(
            (x @ part.weight.T + part.bias).chunk(N_HEADS, dim=-1)
            for x, part in ((x, layer.W_q), (read, layer.W_k), (read, layer.W_v))
        ),
        strict=True,
    ):
        scores = q @ k.T / q.shape[-1] ** 0.5
        if causal:
            scores = scores + torch.full_like(scores, float("-inf")).triu(1)
        parts.append(scores.softmax(-1) @ v)
    normed: Tensor = norm(x + torch.cat(parts, -1) @ layer.W_o.weight.T + layer.W_o.bias)
    return normed


def _check(source: Tensor, target: Tensor) -> None:
    for tokens in (source, target):
        if not 1 <= tokens.shape[1] <= MAX_LEN or not (tokens.min() >= 0 and tokens.max() < N_TOKENS):
            raise NoEvidence(
                f"Tokens are numbers from 0 (padding) to {N_TOKENS - 1}, 1 to {MAX_LEN} of them in a text.",
                f"Token sind Zahlen von 0 (Padding) bis {N_TOKENS - 1}, ein Text hat 1 bis {MAX_LEN} davon.",
            )
        if not (tokens != 0).any(1).all():
            raise NoEvidence(
                "A text that is nothing but padding has no meaning: then nothing is defined.",
                "Ein Text aus nichts als Padding hat keine Bedeutung: Dann ist nichts erklärt.",
            )
    if not source.shape[0] == target.shape[0] <= MOST_TEXTS:
        raise NoEvidence(
            f"There are as many sources as targets, and at most {MOST_TEXTS} of each.",
            f"Es gibt so viele Quelltexte wie Zieltexte, und je höchstens {MOST_TEXTS}.",
        )


def _audit(*planted: str) -> Audit:
    return Audit(RIGHT, CATALOGUE, planted, _run, _definition, above=attention.RIGHT)


handed_out = _audit("target_padding", "cross_padding")
"""The listing with two faults in it."""
proposal = _audit("source_padding")
"""The right listing with a proposed change, which is wrong."""
