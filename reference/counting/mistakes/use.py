"""Known mistakes of counting memory and operations."""

from __future__ import annotations

from collections.abc import Callable

from reference.counting import memory, operations, tasks
from reference.counting.mistakes.miscounts import Miscount, Mistake, formula, less, other, times, without
from reference.counting.mistakes.parameters import (
    MULTI_HEAD,
    NO_GATE,
    NO_HEAD,
    ONE_LAYER,
    SINGLE_KEY_HEAD,
    TIED_TWICE,
)
from reference.counting.setting import Numbers, Setting

CACHE = (
    MULTI_HEAD,
    SINGLE_KEY_HEAD,
    ONE_LAYER,
    Mistake(
        "full-width",
        "heads",
        lambda task, setting: task(setting.resized(n_kv_heads=1, d_head=setting.model.d_model)),
    ),
    Mistake("keys-only", "factors", times(1, 2)),
    Mistake("batch-forgotten", "factors", other(batch=1)),
    Mistake("four-bytes", "factors", other(dtype="float32")),
    Mistake("one-byte", "factors", other(dtype="int8")),
)


def _attention(setting: Setting) -> int:
    return setting.batch * operations.attention_products(setting.model, setting.length)


def _look_up(setting: Setting) -> int:
    model = setting.model
    return 2 * setting.batch * setting.length * (model.n_voc + model.n_positions) * model.d_model


def _work(forward: Callable[[Setting], int]) -> Miscount:
    """A forward pass of another cost, and the training step that follows from it."""
    return formula(lambda setting: {"forward": forward(setting), "training": 3 * forward(setting)})


def _forward(setting: Setting) -> int:
    return tasks.work(setting)["forward"]


WORK = (
    MULTI_HEAD,
    NO_GATE,
    ONE_LAYER,
    Mistake("batch-forgotten", "factors", other(batch=1)),
    Mistake("one-operation", "factors", times(1, 2)),
    Mistake("no-attention-products", "less", _work(lambda setting: _forward(setting) - _attention(setting))),
    Mistake("scores-only", "less", _work(lambda setting: _forward(setting) - _attention(setting) // 2)),
    Mistake("look-up", "more", _work(lambda setting: _forward(setting) + _look_up(setting))),
    Mistake(
        "no-head",
        "less",
        _work(
            lambda setting: (
                _forward(setting)
                - 2 * setting.batch * setting.length * setting.model.n_voc * setting.model.d_model
            )
        ),
    ),
    Mistake(
        "causal",
        "less",
        _work(lambda setting: operations.forward(setting.model, setting.length, setting.batch, causal=True)),
    ),
    Mistake("forward-only", "less", formula(lambda setting: {"training": _forward(setting)})),
    Mistake("backward-once", "less", formula(lambda setting: {"training": 2 * _forward(setting)})),
    Mistake(
        "rule-of-thumb",
        "less",
        formula(
            lambda setting: {
                "training": operations.training_approximately(setting.model, setting.length * setting.batch)
            }
        ),
    ),
)

TRAINING_MEMORY = (
    Mistake("one-moment", "less", lambda task, setting: _one_moment(task(setting))),
    Mistake("four-bytes", "factors", times(2, 1, "weights", "gradients")),
    Mistake("two-bytes", "factors", times(1, 2, "master", "moments")),
    Mistake("one-byte", "factors", times(1, 2, "weights", "gradients")),
    Mistake("no-gradients", "less", without("gradients")),
    Mistake("no-master-weights", "less", without("master")),
    Mistake("no-optimizer", "less", without("master", "moments")),
    MULTI_HEAD,
    TIED_TWICE,
    NO_HEAD,
)


def _one_moment(right: Numbers) -> Numbers:
    half = right["moments"] // 2
    return {"moments": half, "total": right["total"] - half}


def _scores(setting: Setting) -> int:
    """Bytes of what one layer keeps for pairs of tokens."""
    with_scores = memory.layer_activations(setting.model, setting.length, setting.batch)
    return with_scores - memory.layer_activations(setting.model, setting.length, setting.batch, flash=True)


ACTIVATIONS = (
    Mistake("batch-forgotten", "factors", other(batch=1)),
    Mistake("no-scores", "less", less("layer", "checkpointed", by=_scores)),
    Mistake(
        "scores-of-one-head",
        "less",
        less(
            "layer",
            "checkpointed",
            by=lambda setting: _scores(setting) * (setting.model.n_heads - 1) // setting.model.n_heads,
        ),
    ),
    Mistake(
        "inputs-only",
        "less",
        formula(
            lambda setting: {
                "checkpointed": 2
                * setting.model.n_layers
                * setting.length
                * setting.batch
                * setting.model.d_model
            }
        ),
    ),
    Mistake(
        "not-checkpointed",
        "more",
        formula(
            lambda setting: {"checkpointed": memory.activations(setting.model, setting.length, setting.batch)}
        ),
    ),
)
