"""Known mistakes of counting parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reference.counting import tasks
from reference.counting.decoder import active_parameters, parameters, total
from reference.counting.mistakes.miscounts import Miscount, Mistake, formula, less, sized, without
from reference.counting.setting import Numbers, Setting

MULTI_HEAD = Mistake("multi-head", "heads", sized(n_kv_heads=0))
SINGLE_KEY_HEAD = Mistake("single-key-head", "heads", sized(n_kv_heads=1))
NO_GATE = Mistake("no-gate", "less", sized(gated=False))
ONE_LAYER = Mistake("one-layer", "factors", sized(n_layers=1))
NO_HEAD = Mistake("no-head", "less", sized(tied=True))
TIED_TWICE = Mistake("tied-head-twice", "more", sized(tied=False))
NO_POSITIONS = Mistake("no-positions", "less", sized(n_positions=0))
NO_BIASES = Mistake("no-biases", "less", sized(qkv_bias=False, output_bias=False, mlp_bias=False))
BIASES_ADDED = Mistake("biases-added", "more", sized(qkv_bias=True, output_bias=True, mlp_bias=True))


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

TENSORS = (NO_POSITIONS, NO_BIASES, TIED_TWICE, Mistake("norm-biases", "less", sized(norm_bias=False)))

PARTS = (
    MULTI_HEAD,
    SINGLE_KEY_HEAD,
    NO_GATE,
    TIED_TWICE,
    NO_HEAD,
    ONE_LAYER,
    BIASES_ADDED,
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
    MULTI_HEAD,
    NO_GATE,
    NO_HEAD,
    TIED_TWICE,
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


def _adapter(size: Callable[[int, int, int], int]) -> Miscount:
    """Another size of one adapter, from rank, inputs and outputs."""

    def numbers(setting: Setting) -> Numbers:
        shapes, layers = setting.model.matrices(), setting.model.n_layers
        counts = {target: layers * size(setting.rank, *shapes[target]) for target in setting.targets}
        return {**counts, "total": total(counts)}

    return formula(numbers)


ADAPTERS = (
    MULTI_HEAD,
    ONE_LAYER,
    Mistake("one-adapter-matrix", "factors", _adapter(lambda rank, inputs, _: rank * inputs)),
    Mistake("full-matrix", "more", _adapter(lambda _, inputs, outputs: inputs * outputs)),
    Mistake("square-adapter", "heads", _adapter(lambda rank, inputs, _: 2 * rank * inputs)),
)
