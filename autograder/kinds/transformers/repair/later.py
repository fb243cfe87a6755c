"""What is asked in a second round, because of what the first one gave."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from autograder.checks.base import Draw
from autograder.kinds.transformers.repair.experiment import (
    D_MODEL,
    MODEL,
    Access,
    Ask,
    Change,
    Count,
    Experiment,
    Model,
)
from autograder.kinds.transformers.repair.plan import (
    FEW_POSITIONS,
    FEW_TOKENS,
    MANY_POSITIONS,
    MANY_TOKENS,
    MORE_POSITIONS,
    MOST_POSITIONS,
    Drawn,
    all_open,
    table,
)
from autograder.records import Call

VERY_LONG = 6000
"""Longer than tables of positions that were made without a thought of max_len."""
LONG = 600
"""The same where attention has to be computed."""
SILENT = {
    "self alone": "blocks.0.cross_block.attention.out_proj.weight.zero_",
    "cross alone": "blocks.0.self_attention.out_proj.weight.zero_",
}
"""What makes the other attention's output constant, where the listing's names were kept."""


def asked_later(access: Access, draw: Draw) -> tuple[Experiment, ...]:
    """The experiments that single questions call for.

    self alone, cross alone   the other attention is silent, where it is found by name
    masks                     each mask exchanged
    very long, long           targets longer than a table that forgets max_len, without layers and with one
    no positions              a model that can read nothing
    single                    float32: whether it works there alone
    """
    drawn = Drawn(draw)
    one = Model(access, drawn.seed)
    tokens = np.full((1, VERY_LONG), drawn.token)
    masks = np.ones((1, 1, 1, 1), bool), np.ones((1, 1, 1, VERY_LONG), bool)
    very_long = Ask("long", tokens, drawn.memory[:1, :1], *masks)
    memory = np.resize(drawn.memory[0], (1, LONG, D_MODEL))
    long = Ask("long", tokens[:, :LONG], memory, *all_open(1, LONG))
    few = Model(access, drawn.seed, n_tokens=FEW_TOKENS, max_len=VERY_LONG)
    made = Count("made", Call(MODEL, "training.__int__"))
    return (
        *(
            one.experiment(name, [Call(MODEL, silence, keep="silent"), *drawn.silenced()])
            for name, silence in SILENT.items()
        ),
        one.experiment("masks", drawn.other_masks()),
        replace(few, n_layers=0).experiment("very long", [very_long]),
        replace(few, max_len=LONG).experiment("long", [long]),
        replace(one, max_len=0, change=Change.NONE).experiment("no positions", [made]),
        replace(one, change=Change.NONE, dtype="float32").experiment("single", [drawn.usual("single")]),
    )


def without_layers(access: Access, draw: Draw) -> tuple[Experiment, ...]:
    """Experiments of the first round on models without layers, for decoders whose layers do not work."""
    drawn = Drawn(draw)
    none = Model(access, drawn.seed, n_layers=0)
    even = replace(none, n_tokens=D_MODEL, max_len=D_MODEL, d_hidden=D_MODEL)
    made = (
        none.experiment("attention", [*drawn.plain(), *table()]),
        none.experiment("unequal", [*drawn.unequal(), drawn.longer_source()]),
        replace(none, n_tokens=FEW_TOKENS, max_len=MOST_POSITIONS).experiment(
            "positions", [drawn.positions(MANY_POSITIONS)]
        ),
        even.experiment("longest", [drawn.positions(D_MODEL)]),
        replace(none, max_len=MORE_POSITIONS).experiment("larger table", table()),
        replace(none, n_tokens=MANY_TOKENS, max_len=FEW_POSITIONS).experiment(
            "vocabulary", [drawn.vocabulary()]
        ),
        none.experiment("weights", [*drawn.features(first=True), *drawn.places()]),
        none.experiment("dropped", drawn.rate(), ("train",)),
    )
    return tuple(
        replace(one, scenario=replace(one.scenario, name=f"{one.scenario.name}, no layers")) for one in made
    )
