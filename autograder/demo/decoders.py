"""What a class makes of the decoder that is to be repaired: edits of the listing in the release.

A repair is a text of the listing and what a student writes there. Nothing here knows the right listing
as a whole: students start from what they were given, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.demo.formulas import Sample
from autograder.errors import NotebookError

_STUB = re.compile(r"\n*# Repair the classes above[^\n]*\n# YOUR CODE HERE\nraise NotImplementedError\(\)\n?")


class Repair(Struct, frozen=True):
    """One fault of the listing, and the ways in which students put it right."""

    given: str
    written: tuple[str, ...]


REPAIRS: Mapping[str, Repair] = {
    "self_mask": Repair(
        "self.self_attention(x, x, x, memory_mask)",
        (
            "self.self_attention(x, x, x, target_mask)",
            "self.self_attention(query=x, key=x, value=x, mask=target_mask)",
        ),
    ),
    "residual": Repair(
        "self.norm(self.dropout(attended))",
        (
            "self.norm(x + self.dropout(attended))",
            "self.norm(self.dropout(attended) + x)",
            "self.norm(x + attended)",
        ),
    ),
    "cross_mask": Repair(
        "self.cross_block(query, key, value, target_mask)",
        (
            "self.cross_block(query, key, value, memory_mask)",
            "self.cross_block(query, key, value, mask=memory_mask)",
        ),
    ),
    "position_table": Repair(
        "self.position_embedding = nn.Embedding(n_tokens, d_model)",
        (
            "self.position_embedding = nn.Embedding(max_len, d_model)",
            "self.position_embedding = nn.Embedding(num_embeddings=max_len, embedding_dim=d_model)",
        ),
    ),
    "shape_order": Repair(
        "length, batch = tokens.shape",
        (
            "batch, length = tokens.shape",
            "batch, length = tokens.size()",
            "batch, length = tokens.size(0), tokens.size(1)",
        ),
    ),
    "embedding_dropout": Repair(
        "x = self.token_embedding(tokens) + self.position_embedding(positions)",
        (
            "x = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))",
            "embedded = self.token_embedding(tokens) + self.position_embedding(positions)\n"
            "        x = self.dropout(embedded)",
        ),
    ),
    "cross_value": Repair(
        "x = block(x, memory, x, memory_mask, target_mask)",
        (
            "x = block(x, memory, memory, memory_mask, target_mask)",
            "x = block(x, key=memory, value=memory, memory_mask=memory_mask, target_mask=target_mask)",
        ),
    ),
    "output_head": Repair(
        "return x\n",
        ("return self.output_head(x)\n", "logits = self.output_head(x)\n        return logits\n"),
    ),
}
"""By fault, which is also the rubric's item."""

SLIPS: Mapping[str, tuple[str, str]] = {
    "self_mask": ("left the self-attention unmasked", "self.self_attention(x, x, x)"),
    "residual": ("took the residual from the wrong tensor", "self.norm(attended + self.dropout(attended))"),
    "cross_mask": ("left the memory unmasked", "self.cross_block(query, key, value, None)"),
    "position_table": (
        "made the position table as long as the width",
        "self.position_embedding = nn.Embedding(d_model, d_model)",
    ),
}
"""By fault: a portrait, and a change at the right place that does not repair it."""


def given_listing(answer_cell: str) -> str:
    """The listing that the release's answer cell holds, without the stub below it.

    Raises:
        NotebookError: the cell has no stub, or a fault does not stand in it exactly once.
    """
    listing, found = _STUB.subn("\n", answer_cell)
    if found != 1:
        raise NotebookError("demo-listing", "the decoder's answer cell has no stub to remove")
    for fault, repair in REPAIRS.items():
        if listing.count(repair.given) != 1:
            raise NotebookError(
                "demo-listing", f"fault {fault!r}: {repair.given!r} should stand once in the decoder's cell"
            )
    return listing


def repaired(listing: str, faults: Collection[str], way: int = 0, slip: str = "") -> Sample:
    """A student's decoder.

    Args:
        listing: what `given_listing` gave.
        faults: the ones that are put right.
        way: which of the ways to write a repair is taken, counted round.
        slip: a fault that is changed into another wrong text; none when empty.
    """
    for fault in faults:
        written = REPAIRS[fault].written
        listing = listing.replace(REPAIRS[fault].given, written[way % len(written)])
    portrait = ""
    if slip:
        portrait, wrong = SLIPS[slip]
        listing = listing.replace(REPAIRS[slip].given, wrong)
    elif len(faults) < len(REPAIRS):
        portrait = f"repaired {len(faults)} of {len(REPAIRS)} faults"
    return Sample(listing, {fault: Decimal(int(fault in faults)) for fault in REPAIRS}, portrait)
