"""The parameters of transformers that are not decoder-only: BERT, T5, and torch's own ``nn.Transformer``."""

from __future__ import annotations

from dataclasses import dataclass

from reference.counting.decoder import Counts


@dataclass(frozen=True)
class Bert:
    """Sizes of a BERT encoder; the defaults are those of BERT-base (Devlin et al., 2019)."""

    n_voc: int = 30522
    n_positions: int = 512
    n_segments: int = 2
    d_model: int = 768
    n_layers: int = 12
    d_ff: int = 3072
    pooler: bool = True


@dataclass(frozen=True)
class T5:
    """Sizes of a T5 encoder-decoder; the defaults are those of T5-small (Raffel et al., 2020).

    The heads together may be wider or narrower than the model. ``gated``: as in T5 version 1.1.
    """

    n_voc: int = 32128
    d_model: int = 512
    n_heads: int = 8
    d_head: int = 64
    d_ff: int = 2048
    n_layers: int = 6
    n_buckets: int = 32
    gated: bool = False
    tied: bool = True


@dataclass(frozen=True)
class EncoderDecoder:
    """Sizes of ``nn.Transformer``; the defaults are those of the base model of Vaswani et al. (2017)."""

    d_model: int = 512
    n_layers: int = 6
    d_ff: int = 2048


def bert(model: Bert) -> Counts:
    """An encoder with learned positions and segments, biases, and a pooler over the first token."""
    d, layers = model.d_model, model.n_layers
    return {
        "token_embeddings": model.n_voc * d,
        "position_embeddings": model.n_positions * d,
        "segment_embeddings": model.n_segments * d,
        "attention": layers * 4 * d * d,
        "mlp": layers * 2 * d * model.d_ff,
        "norms": (1 + 2 * layers) * 2 * d,
        "biases": layers * (4 * d + model.d_ff + d),
        "pooler": d * d + d if model.pooler else 0,
    }


def t5(model: T5) -> Counts:
    """Encoder and decoder without biases; one table of relative positions for each of the two stacks."""
    d, layers = model.d_model, model.n_layers
    attention = layers * 4 * d * model.n_heads * model.d_head
    return {
        "token_embeddings": model.n_voc * d,
        "relative_positions": 2 * model.n_buckets * model.n_heads,
        "encoder_attention": attention,
        "decoder_attention": attention,
        "cross_attention": attention,
        "mlp": 2 * layers * (3 if model.gated else 2) * d * model.d_ff,
        "norms": (layers * (2 + 3) + 2) * d,
        "head": 0 if model.tied else model.n_voc * d,
    }


def encoder_decoder(model: EncoderDecoder) -> Counts:
    """Encoder and decoder stacks of equal depth with biases and a last norm each; no embeddings, no head."""
    d, layers = model.d_model, model.n_layers
    return {
        "attention": layers * (1 + 2) * 4 * d * d,
        "mlp": layers * 2 * 2 * d * model.d_ff,
        "norms": (layers * (2 + 3) + 2) * 2 * d,
        "biases": layers * (3 * 4 * d + 2 * (model.d_ff + d)),
    }
