"""Decides, fault by fault, whether a decoder was repaired, from what it computed alone.

Every verdict rests on a relation between outputs of the same weights: something must have moved and
something else must not have. Nothing is compared with a reference, so names, initialisation and style
are free; and an output that does not depend on its inputs, or does not repeat itself, shows nothing.

The faults are told apart in any combination that a question may have: a verdict either looks where the
other faults have no effect (one position, equal sizes, everything open), or takes into account which mask
gates what. Faults of one probe are different ways of breaking one relation, and never in one question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from autograder.checks.judging.results import Finding, failed, review
from autograder.kinds.transformers.repair.attentions import (
    cross_key,
    cross_mask,
    cross_value,
    exchanged,
    holds,
    norm,
    residual,
    self_mask,
)
from autograder.kinds.transformers.repair.embeddings import (
    dropout_always,
    embedding_dropout,
    output_head,
    position_missing,
    position_offset,
    position_table,
    shape_order,
    token_table,
)
from autograder.kinds.transformers.repair.layers import dropout_rate, hidden_width, shared_block, stack
from autograder.kinds.transformers.repair.observed import Observed
from autograder.kinds.transformers.repair.remarks import remarks
from autograder.kinds.transformers.repair.runs import MissingError, Runs

Probe = Callable[[Runs], None]
"""Returns when the fault is repaired, and raises `MissingError` with the finding if not."""


class Verdict(Struct, frozen=True):
    """The verdict on one fault."""

    finding: Finding | None
    """None when the fault is repaired."""
    notes: tuple[str, ...] = ()
    """Remarks for staff on defects outside the planted ones."""
    of_object: bool = False
    """The name held an object, and its class was judged."""


PROBES: Mapping[str, Probe] = {
    "self_mask": self_mask,
    "self_unmasked": self_mask,
    "residual": residual,
    "norm_missing": norm,
    "cross_mask": cross_mask,
    "memory_axis": cross_mask,
    "hidden_width": hidden_width,
    "dropout_rate": dropout_rate,
    "token_table": token_table,
    "token_width": token_table,
    "position_table": position_table,
    "position_width": position_table,
    "shared_block": shared_block,
    "shape_order": shape_order,
    "position_offset": position_offset,
    "position_missing": position_missing,
    "embedding_dropout": embedding_dropout,
    "dropout_always": dropout_always,
    "first_block": stack,
    "last_block": stack,
    "cross_key": cross_key,
    "cross_value": cross_value,
    "output_head": output_head,
}
"""By fault."""

EXCLUSIVE: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (
        frozenset({"position_missing"}),
        frozenset({"position_table", "position_width", "position_offset", "shape_order"}),
    ),
    (frozenset({"embedding_dropout"}), frozenset({"dropout_always"})),
    (frozenset({"cross_key"}), frozenset({"cross_value"})),
)
"""Faults that cannot be told apart in one question, beside those of one probe."""


def exclusive(one: str, other: str) -> bool:
    """Whether two faults must not be items of one question."""
    pair = (({one}, {other}), ({other}, {one}))
    return PROBES[one] is PROBES[other] or any(
        first <= group and second <= opposed for first, second in pair for group, opposed in EXCLUSIVE
    )


WITHOUT_LAYERS: frozenset[Probe] = frozenset(
    {
        position_table,
        position_offset,
        position_missing,
        token_table,
        shape_order,
        embedding_dropout,
        dropout_always,
        output_head,
    }
)
"""The probes that look at a model without layers where none with layers works."""


def probes(planted: Collection[str]) -> frozenset[str]:
    """The names of the probes that tell these faults."""
    return frozenset(PROBES[fault].__name__ for fault in planted)


def verdicts(observed: Observed, planted: Collection[str]) -> dict[str, Verdict]:
    """The verdict on every planted fault, with remarks on what else is not right.

    Args:
        observed: both rounds.
        planted: the faults of the question.
    """
    runs = observed.runs
    findings = {probe: _finding(probe, observed) for probe in PROBES.values()}
    found = {fault: findings[PROBES[fault]] for fault in planted}
    others = {probe.__name__: findings[probe] for probe in findings if probe not in map(PROBES.get, planted)}
    notes = remarks(runs, found, others)
    place = "output_head" if "output_head" in found else next(iter(found), "")
    notes[place] = (*observed.remarks, *notes.get(place, ()))
    return {
        fault: Verdict(finding, notes.get(fault, ()), of_object=observed.of_object)
        for fault, finding in found.items()
    }


def _finding(probe: Probe, observed: Observed) -> Finding | None:
    runs = observed.runs
    if observed.unmade is not None:
        return observed.unmade
    if observed.misread is not None:
        if probe is output_head:
            return observed.misread
        if not runs.gave("attention", "usual") or runs.misread is not None:
            return review("what is returned cannot be read", "review.person")
    bare = runs.without_layers
    fails = not runs.gave("attention", "usual") or holds(exchanged, runs)
    if bare is not None and fails and probe in WITHOUT_LAYERS and bare.gave("attention", "usual"):
        runs = bare
    for masks, its_probe in (("target", self_mask), ("memory", cross_mask)):
        if masks in observed.inverted and probe is its_probe and holds(probe, runs):
            return failed(f"repair.{probe.__name__}.inverted")
    try:
        probe(runs)
    except MissingError as missing:
        if observed.guessed and not holds(residual, runs):
            return review("what is returned cannot be read", "review.person")
        return missing.finding
    return None
