"""What a class makes of the decoder that is to be repaired: edits of the listing in the release.

A repair is a text of the listing and what a student writes there. Nothing here knows the right listing
as a whole: students start from what they were given, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.demo.answers import Sample, table
from autograder.errors import NotebookError

_STUB = re.compile(r"\n*# Repair the classes above[^\n]*\n# YOUR CODE HERE\nraise NotImplementedError\(\)\n?")


class Repair(Struct, frozen=True):
    """One fault of the listing, and the ways in which students put it right."""

    given: str
    written: tuple[str, ...]


_STATED = table("dl4nlp-exam")["repair"]
REPAIRS: Mapping[str, Repair] = {
    fault: Repair(one["given"], tuple(one["written"])) for fault, one in _STATED.items()
}
"""By fault, which is also the rubric's item."""
MISCONCEPTIONS: Mapping[str, tuple[str, str]] = {
    fault: (one["misconception"]["portrait"], one["misconception"]["written"])
    for fault, one in _STATED.items()
    if "misconception" in one
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


def repaired(listing: str, faults: Collection[str], way: int = 0, misconception: str = "") -> Sample:
    """A student's decoder.

    Args:
        listing: what `given_listing` gave.
        faults: the ones that are put right.
        way: which of the ways to write a repair is taken, counted round.
        misconception: a fault that is changed into another wrong text; none when empty.
    """
    for fault in faults:
        written = REPAIRS[fault].written
        listing = listing.replace(REPAIRS[fault].given, written[way % len(written)])
    portrait = ""
    if misconception:
        portrait, wrong = MISCONCEPTIONS[misconception]
        listing = listing.replace(REPAIRS[misconception].given, wrong)
    elif len(faults) < len(REPAIRS):
        portrait = f"repaired {len(faults)} of {len(REPAIRS)} faults"
    return Sample(listing, {fault: Decimal(int(fault in faults)) for fault in REPAIRS}, portrait)
