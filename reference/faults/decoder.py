"""Questions on the decoder: which faults there are, and the listing with any of them in it.

That each is told by its probe, whatever other faults are left beside it, is proven in the tests. `catalogue`,
`listing` and `trials` are what a sandbox is asked for: plain functions of plain values.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from reference.listings import RIGHT

from .decoder_faults import BLOCK, DECODER, FAULTS, MAKE_DECODER
from .fault import by_id, exclusive, plant
from .rewrite import Edit, rewritten

EXAM = (
    "self_mask",
    "residual",
    "cross_mask",
    "position_table",
    "shape_order",
    "embedding_dropout",
    "cross_value",
    "output_head",
)
"""The eight faults of the exam's common variant."""


ACCEPTED: tuple[tuple[str, tuple[Edit, ...]], ...] = (
    ("as in the key", ()),
    (
        "masks exchanged in three places",
        (
            Edit(
                BLOCK,
                "self.self_attention(..., ..., ..., target_mask)",
                "self.self_attention(..., ..., ..., memory_mask)",
            ),
            Edit(
                BLOCK,
                "self.cross_block(..., ..., ..., memory_mask)",
                "self.cross_block(..., ..., ..., target_mask)",
            ),
            Edit(
                DECODER,
                "block(..., ..., ..., memory_mask, target_mask)",
                "block(..., ..., ..., target_mask, memory_mask)",
            ),
        ),
    ),
    ("dropout around the sum", (Edit(BLOCK, "x + self.dropout(attended)", "self.dropout(x + attended)"),)),
    ("a norm without weights", (Edit(BLOCK, "self.norm(...)", "F.layer_norm(..., x.shape[-1:])"),)),
    (
        "sizes by index",
        (Edit(DECODER, "batch, length = tokens.shape", "batch = tokens.size(0)\nlength = tokens.size(1)"),),
    ),
    (
        "rows of the table",
        (Edit(DECODER, "self.position_embedding(positions)", "self.position_embedding.weight[:length]"),),
    ),
    ("a longer table", (Edit(MAKE_DECODER, "nn.Embedding(max_len, ...)", "nn.Embedding(max_len + 1, ...)"),)),
    (
        "functional dropout",
        (Edit(DECODER, "self.dropout(...)", "F.dropout(..., self.dropout.p, self.training)"),),
    ),
    (
        "a head tied to the embeddings",
        (Edit(DECODER, "self.output_head(x)", "x @ self.token_embedding.weight.T"),),
    ),
    (
        "arguments by name",
        (
            Edit(
                DECODER,
                "block(..., ..., ..., ..., ...)",
                "block(..., key=..., value=..., memory_mask=..., target_mask=...)",
            ),
        ),
    ),
)
"""Right repairs in other words than the key's: each must earn everything."""


def catalogue() -> list[dict[str, Any]]:
    """Every fault as plain data: ``id``, ``difficulty``, ``text`` by language, ``probe``, and ``excludes``.

    ``excludes`` names the faults that must not be in one question with it; the relation is symmetric.
    """
    return [
        {
            "id": fault.id,
            "difficulty": fault.difficulty,
            "text": dict(fault.text),
            "probe": fault.probe,
            "excludes": [other.id for other in FAULTS if other != fault and exclusive(fault, other)],
        }
        for fault in FAULTS
    ]


def listing(faults: Sequence[str] = EXAM) -> str:
    """The answer cell with these faults in it; with none it is the answer key.

    Raises:
        ValueError: an id is unknown, or two of the faults cannot be in one question; names them.
    """
    chosen = by_id(FAULTS, faults)
    for index, one in enumerate(chosen):
        for other in chosen[index + 1 :]:
            if exclusive(one, other):
                raise ValueError(f"faults {one.id!r} and {other.id!r} cannot be in one question")
    return plant(RIGHT, chosen)


def trials(faults: Sequence[str] = EXAM) -> list[dict[str, Any]]:
    """Planted answers to the question with these faults, and the items that each must lose.

    Returns:
        ``name``, ``source`` of the answer cell, and ``loses``, the items' ids. Every fault is left alone,
        and is the only one repaired; another fault of its probe stands in its place; and right repairs.

    Raises:
        ValueError: see `listing`.
    """
    chosen = by_id(FAULTS, faults)
    left = {fault.id: [fault.id] for fault in chosen}
    repaired = {fault.id: [other.id for other in chosen if other != fault] for fault in chosen}
    instead = {
        other.id: [fault.id]
        for fault in chosen
        for other in FAULTS
        if other.probe == fault.probe and other != fault
    }
    planted = [
        *((f"{fault} is left", [fault], loses) for fault, loses in left.items()),
        *((f"{fault} alone is repaired", loses, loses) for fault, loses in repaired.items()),
        *((f"{fault} instead", [fault], loses) for fault, loses in instead.items()),
    ]
    found = [{"name": name, "source": listing(in_it), "loses": list(loses)} for name, in_it, loses in planted]
    for name, edits in ACCEPTED:
        source = functools.reduce(rewritten, edits, RIGHT)
        found.append({"name": name, "source": source, "loses": []})
    return found
