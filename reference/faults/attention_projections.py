"""Misconceptions in what attention projects, and with which weights."""

from __future__ import annotations

from .attention_sites import KEY, QUERY, VALUE, forward, init, split
from .fault import Fault

INPUTS = (
    Fault(
        "query_from_value",
        (forward(QUERY, "self.q_proj(value)"),),
        {"en": "Queries are made of the query", "de": "Queries entstehen aus der Query"},
        probe="cross",
    ),
    Fault(
        "query_key_swapped",
        (forward(QUERY, "self.q_proj(key)"), forward(KEY, "self.k_proj(query)")),
        {
            "en": "Query and key are not taken for one another",
            "de": "Query und Key werden nicht verwechselt",
        },
        probe="cross",
    ),
    Fault(
        "key_value_swapped",
        (forward(KEY, "self.k_proj(value)"), forward(VALUE, "self.v_proj(key)")),
        {
            "en": "Key and value are not taken for one another",
            "de": "Key und Value werden nicht verwechselt",
        },
        probe="cross",
    ),
    Fault(
        "value_from_key",
        (forward(VALUE, "self.v_proj(key)"),),
        {"en": "Values are made of the value", "de": "Values entstehen aus dem Value"},
        probe="cross",
    ),
    Fault(
        "key_length_from_query",
        (
            forward(
                f"self.split({KEY})",
                f"{KEY}.reshape(*query.shape[:2], self.n_heads, self.d_head).transpose(1, 2)",
            ),
        ),
        {
            "en": "There may be more keys than queries",
            "de": "Es darf mehr Keys als Queries geben",
        },
        probe="cross",
    ),
    Fault(
        "hard_coded_length",
        (split("batch, length, _ = x.shape", "batch, length = x.shape[0], 10"),),
        {"en": "Any length is accepted", "de": "Jede Länge wird angenommen"},
        probe="values",
        difficulty=1,
    ),
    Fault(
        "first_sequence_for_all",
        (forward(KEY, "self.k_proj(key[:1])"),),
        {
            "en": "Each sequence of the batch attends to its own keys",
            "de": "Jede Sequenz des Batches achtet auf ihre eigenen Keys",
        },
        probe="batch_independence",
    ),
)

WEIGHTS = (
    Fault(
        "key_weights_for_query",
        (forward(QUERY, "self.k_proj(query)"),),
        {"en": "The query has a projection of its own", "de": "Die Query hat eine eigene Projektion"},
        probe="gradients",
        difficulty=1,
    ),
    Fault(
        "key_weights_for_value",
        (forward(VALUE, "self.k_proj(value)"),),
        {"en": "The value has a projection of its own", "de": "Der Value hat eine eigene Projektion"},
        probe="gradients",
        difficulty=1,
    ),
    Fault(
        "value_not_projected",
        (forward(VALUE, "value"),),
        {"en": "The value is projected", "de": "Der Value wird projiziert"},
        probe="gradients",
        difficulty=1,
    ),
    Fault(
        "projections_unused",
        (forward(QUERY, "query"), forward(KEY, "key"), forward(VALUE, "value")),
        {
            "en": "Query, key and value are projected before they are compared",
            "de": "Query, Key und Value werden projiziert, bevor sie verglichen werden",
        },
        probe="gradients",
        difficulty=1,
    ),
    Fault(
        "relu_on_projections",
        tuple(forward(one, f"F.relu({one})") for one in (QUERY, KEY, VALUE)),
        {
            "en": "The projections are linear, without an activation",
            "de": "Die Projektionen sind linear, ohne Aktivierung",
        },
        probe="values",
    ),
    Fault(
        "output_projection_missing",
        (forward("self.out_proj(self.merge(context))", "self.merge(context)"),),
        {
            "en": "The heads' results go through the output projection",
            "de": "Die Ergebnisse der Köpfe gehen durch die Ausgabeprojektion",
        },
        probe="gradients",
        difficulty=1,
    ),
    Fault(
        "output_bias_missing",
        (
            init(
                "self.out_proj = nn.Linear(d_model, d_model)",
                "self.out_proj = nn.Linear(d_model, d_model, bias=False)",
            ),
        ),
        {"en": "The output projection has a bias", "de": "Die Ausgabeprojektion hat einen Bias"},
        probe="contract",
        difficulty=1,
    ),
    Fault(
        "heads_share_projections",
        (
            *(
                init(
                    f"self.{one}_proj = nn.Linear(d_model, d_model)",
                    f"self.{one}_proj = nn.Linear(self.d_head, self.d_head)",
                )
                for one in "qkv"
            ),
            forward("self.split(self.q_proj(query))", "self.q_proj(self.split(query))"),
            forward("self.split(self.k_proj(key))", "self.k_proj(self.split(key))"),
            forward("self.split(self.v_proj(value))", "self.v_proj(self.split(value))"),
        ),
        {
            "en": "Each head has projections of its own, from the whole width",
            "de": "Jeder Kopf hat eigene Projektionen, aus der ganzen Breite",
        },
        probe="contract",
    ),
    Fault(
        "keys_detached",
        (forward(KEY, f"{KEY}.detach()"),),
        {
            "en": "The projection of the keys learns as well",
            "de": "Auch die Projektion der Keys lernt",
        },
        probe="gradients",
    ),
    Fault(
        "residual_inside",
        (forward("self.out_proj(self.merge(context))", "query + self.out_proj(self.merge(context))"),),
        {
            "en": "Attention itself does not add its input to its result",
            "de": "Attention selbst addiert ihre Eingabe nicht zum Ergebnis",
        },
        probe="values",
    ),
)

PROJECTIONS = (*INPUTS, *WEIGHTS)
"""All misconceptions in the projections."""
