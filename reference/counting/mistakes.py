"""Known mistakes of counting, as data: each computes the wrong numbers it leads to.

A mistake takes the task and the setting of a question. Most count another setting, as if the model had other
sizes; some leave a part out of the total, or take another formula. Codes and families are those of the
sentences for students, which the autograder has; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reference.counting import memory, operations, tasks
from reference.counting.decoder import active_parameters, parameters, total
from reference.counting.setting import Numbers, Setting

Task = Callable[[Setting], Numbers]
Slip = Callable[[Task, Setting], Numbers]


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    Attributes:
        code: its stable name.
        family: what it is a sort of: ``less``, ``more``, ``heads`` or ``factors``.
        numbers: the numbers it leads to, by entry; entries it does not change may be left out.
    """

    code: str
    family: str
    numbers: Slip


def sized(**sizes: Any) -> Slip:
    """Counted as if the model had other sizes."""
    return lambda task, setting: task(setting.resized(**sizes))


def used(**use: Any) -> Slip:
    """Counted as if the model were used in another way."""
    return lambda task, setting: task(replace(setting, **use))


def without(*lost: str) -> Slip:
    """Parts are left out of the total."""

    def numbers(task: Task, setting: Setting) -> Numbers:
        right = task(setting)
        return {"total": right["total"] - sum(right[part] for part in lost)}

    return numbers


def formula(numbers: Callable[[Setting], Numbers]) -> Slip:
    """Another formula."""
    return lambda _, setting: numbers(setting)


def times(factor: int, divisor: int, *names: str) -> Slip:
    """Entries are off by a factor; without names all of them."""

    def numbers(task: Task, setting: Setting) -> Numbers:
        right = task(setting)
        return {name: right[name] * factor // divisor for name in names or right}

    return numbers


def less(*names: str, by: Callable[[Setting], int]) -> Slip:
    """Something is left out of entries."""

    def numbers(task: Task, setting: Setting) -> Numbers:
        right, lost = task(setting), by(setting)
        return {name: right[name] - lost for name in names}

    return numbers


_MULTI_HEAD = Mistake("multi-head", "heads", sized(n_kv_heads=0))
_SINGLE_KEY_HEAD = Mistake("single-key-head", "heads", sized(n_kv_heads=1))
_NO_GATE = Mistake("no-gate", "less", sized(gated=False))
_ONE_LAYER = Mistake("one-layer", "factors", sized(n_layers=1))
_NO_HEAD = Mistake("no-head", "less", sized(tied=True))
_TIED_TWICE = Mistake("tied-head-twice", "more", sized(tied=False))
_NO_POSITIONS = Mistake("no-positions", "less", sized(n_positions=0))
_NO_BIASES = Mistake("no-biases", "less", sized(qkv_bias=False, output_bias=False, mlp_bias=False))
_BIASES_ADDED = Mistake("biases-added", "more", sized(qkv_bias=True, output_bias=True, mlp_bias=True))


def _outputs_added(setting: Setting) -> Numbers:
    return {
        name: (rows + 1) * columns
        for name, (rows, columns) in tasks.matrices(setting).items()
        if name not in ("wte", "wpe")
    }


ENTRIES = (
    Mistake("queries-only", "less", formula(lambda setting: {"c_attn": setting.model.d_model**2})),
    Mistake(
        "old-vocabulary",
        "less",
        lambda task, setting: task(setting.resized(n_voc=setting.model.n_voc - setting.added_tokens)),
    ),
    Mistake("biases-added", "more", formula(_outputs_added)),
)

TENSORS = (_NO_POSITIONS, _NO_BIASES, _TIED_TWICE, Mistake("norm-biases", "less", sized(norm_bias=False)))

PARTS = (
    _MULTI_HEAD,
    _SINGLE_KEY_HEAD,
    _NO_GATE,
    _TIED_TWICE,
    _NO_HEAD,
    _ONE_LAYER,
    _BIASES_ADDED,
    Mistake("norm-biases", "more", sized(norm_bias=True)),
    Mistake("no-norms", "less", without("norms")),
    Mistake(
        "last-norm",
        "less",
        less("norms", "total", by=lambda setting: setting.model.d_model),
    ),
    Mistake("no-output-projection", "less", without("output")),
    Mistake("no-embeddings", "less", without("embeddings")),
)

EXPERTS = (
    _MULTI_HEAD,
    _NO_GATE,
    _NO_HEAD,
    _TIED_TWICE,
    Mistake(
        "all-experts-active", "more", formula(lambda setting: {"active": total(parameters(setting.model))})
    ),
    Mistake(
        "one-expert",
        "less",
        formula(
            lambda setting: dict.fromkeys(
                ("total", "active"), total(active_parameters(replace(setting.model, n_active_experts=1)))
            )
        ),
    ),
    Mistake(
        "no-router",
        "less",
        less("total", "active", by=lambda setting: parameters(setting.model)["router"]),
    ),
    Mistake(
        "everything-divided",
        "less",
        formula(
            lambda setting: {
                "active": total(parameters(setting.model))
                * setting.model.n_active_experts
                // setting.model.n_experts
            }
        ),
    ),
)

CACHE = (
    _MULTI_HEAD,
    _SINGLE_KEY_HEAD,
    _ONE_LAYER,
    Mistake(
        "full-width",
        "heads",
        lambda task, setting: task(setting.resized(n_kv_heads=1, d_head=setting.model.d_model)),
    ),
    Mistake("keys-only", "factors", times(1, 2)),
    Mistake("batch-forgotten", "factors", used(batch=1)),
    Mistake("four-bytes", "factors", used(dtype="float32")),
    Mistake("one-byte", "factors", used(dtype="int8")),
)


def _attention(setting: Setting) -> int:
    return setting.batch * operations.attention_products(setting.model, setting.length)


def _look_up(setting: Setting) -> int:
    model = setting.model
    return 2 * setting.batch * setting.length * (model.n_voc + model.n_positions) * model.d_model


def _work(forward: Callable[[Setting], int]) -> Slip:
    """A forward pass of another cost, and the training step that follows from it."""
    return formula(lambda setting: {"forward": forward(setting), "training": 3 * forward(setting)})


def _forward(setting: Setting) -> int:
    return tasks.work(setting)["forward"]


WORK = (
    _MULTI_HEAD,
    _NO_GATE,
    _ONE_LAYER,
    Mistake("batch-forgotten", "factors", used(batch=1)),
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
    _MULTI_HEAD,
    _TIED_TWICE,
    _NO_HEAD,
)


def _one_moment(right: Numbers) -> Numbers:
    half = right["moments"] // 2
    return {"moments": half, "total": right["total"] - half}


def _adapter(size: Callable[[int, int, int], int]) -> Slip:
    """Another size of one adapter, from rank, inputs and outputs."""

    def numbers(setting: Setting) -> Numbers:
        shapes, layers = setting.model.matrices(), setting.model.n_layers
        counts = {target: layers * size(setting.rank, *shapes[target]) for target in setting.targets}
        return {**counts, "total": total(counts)}

    return formula(numbers)


ADAPTERS = (
    _MULTI_HEAD,
    _ONE_LAYER,
    Mistake("one-adapter-matrix", "factors", _adapter(lambda rank, inputs, _: rank * inputs)),
    Mistake("full-matrix", "more", _adapter(lambda _, inputs, outputs: inputs * outputs)),
    Mistake("square-adapter", "heads", _adapter(lambda rank, inputs, _: 2 * rank * inputs)),
)


def _scores(setting: Setting) -> int:
    """Bytes of what one layer keeps for pairs of tokens."""
    with_scores = memory.layer_activations(setting.model, setting.length, setting.batch)
    return with_scores - memory.layer_activations(setting.model, setting.length, setting.batch, flash=True)


ACTIVATIONS = (
    Mistake("batch-forgotten", "factors", used(batch=1)),
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


def wrong_numbers(task: Task, setting: Setting, mistake: Mistake) -> Mapping[str, int]:
    """The entries that a mistake changes, with the numbers it leads to."""
    right = task(setting)
    return {name: number for name, number in mistake.numbers(task, setting).items() if number != right[name]}
