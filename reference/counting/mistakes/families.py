"""Known mistakes of counting the parameters of transformers that are not decoder-only."""

from __future__ import annotations

from dataclasses import replace

from reference.counting import families
from reference.counting.mistakes.miscounts import Mistake, Task, less, other, without
from reference.counting.setting import Numbers

_NO_NORMS = Mistake("no-norms", "less", without("norms"))
_NO_CROSS_ATTENTION = "no-cross-attention"


def _relative_positions_of_each_layer(task: Task, model: families.T5) -> Numbers:
    right = task(model)
    tables = right["relative_positions"]
    return {
        "relative_positions": model.n_layers * tables,
        "total": right["total"] + (model.n_layers - 1) * tables,
    }


def _self_attention_only(task: Task, model: families.EncoderDecoder) -> Numbers:
    """Attention of the decoder counted once in a layer, its matrices and their biases."""
    right = task(model)
    matrices, biases = (model.n_layers * 4 * size for size in (model.d_model**2, model.d_model))
    return {
        "attention": right["attention"] - matrices,
        "biases": right["biases"] - biases,
        "total": right["total"] - matrices - biases,
    }


BERT = (
    Mistake("no-positions", "less", other(n_positions=0)),
    Mistake("no-segments", "less", other(n_segments=0)),
    Mistake("no-pooler", "less", other(pooler=False)),
    Mistake("no-biases", "less", without("biases")),
    _NO_NORMS,
    Mistake("last-norm", "less", less("norms", "total", by=lambda model: 2 * model.d_model)),
    Mistake("one-layer", "factors", other(n_layers=1)),
)

ENCODER_DECODER = (
    Mistake(_NO_CROSS_ATTENTION, "less", _self_attention_only),
    Mistake("no-biases", "less", without("biases")),
    _NO_NORMS,
    Mistake("last-norm", "less", less("norms", "total", by=lambda model: 4 * model.d_model)),
    Mistake("one-layer", "factors", other(n_layers=1)),
)

T5 = (
    Mistake(_NO_CROSS_ATTENTION, "less", without("cross_attention")),
    Mistake("no-relative-positions", "less", without("relative_positions")),
    Mistake("relative-positions-each-layer", "more", _relative_positions_of_each_layer),
    Mistake(
        "full-width",
        "heads",
        lambda task, model: task(replace(model, d_head=model.d_model // model.n_heads)),
    ),
    Mistake("no-gate", "less", other(gated=False)),
    Mistake("tied-head-twice", "more", other(tied=False)),
    Mistake("norm-biases", "more", lambda task, model: _twice_the_norms(task(model))),
    _NO_NORMS,
    Mistake("last-norm", "less", less("norms", "total", by=lambda model: 2 * model.d_model)),
    Mistake("one-layer", "factors", other(n_layers=1)),
)


def _twice_the_norms(right: Numbers) -> Numbers:
    return {"norms": 2 * right["norms"], "total": right["total"] + right["norms"]}
