"""Decides, fault by fault, whether a decoder was repaired, from what it computed alone.

Every verdict rests on a relation between outputs of the same weights: something must have moved and
something else must not have. Nothing is compared with a reference, so names, initialisation and style
are free; and an output that does not depend on its inputs, or does not repeat itself, shows nothing.

The eight faults are told apart in any combination: a verdict either looks where the other faults have
no effect (no layers, one position, equal sizes), or takes into account which mask gates what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from autograder.checks.base import Observations
from autograder.checks.repair.experiment import D_MODEL, N_TOKENS, Experiment
from autograder.checks.repair.plan import MANY_POSITIONS, MOVED, UNEQUAL, at_sizes
from autograder.checks.repair.remarks import remarks
from autograder.checks.repair.runs import MissingError, Runs, differ, largest_change, unjudged
from autograder.checks.results import Finding, failed

LATER = slice(MOVED + 1, None)
"""The positions after the exchanged one."""
OWN_SHARE = 100.0
"""A token moves its own position this much more than any other only by a residual."""
ROUNDING = 1e-13
"""Smaller differences are nothing, also of the small outputs that small weights give."""
TIES = 0.1
"""Share of equal neighbours among a position's sorted scores, above which scores were dropped."""


class Verdict(Struct, frozen=True):
    """The verdict on one fault."""

    finding: Finding | None
    """None when the fault is repaired."""
    notes: tuple[str, ...] = ()
    """Remarks for staff on defects outside the eight."""


class Gates(Struct, frozen=True):
    """What lets the cross-attention see a position of what it reads."""

    by_memory: bool
    """Blocked in the memory mask alone, a position is hidden."""
    by_target: bool
    """Blocked in the target mask alone, a position is hidden."""
    seen: bool
    """Blocked nowhere, it is seen."""


def self_mask(runs: Runs) -> None:
    """A token reaches later positions by the self-attention if, and only if, the target mask lets it."""
    _steady(runs, "attention", "memory open, target open", "again")
    gates = _gates(runs)
    opens = _leaks(runs, "memory blocked, target open")
    closes = not _leaks(runs, "memory blocked, target blocked")
    repaired = opens and closes
    if gates.by_target and not gates.by_memory:
        repaired = repaired and not _leaks(runs, "memory open, target blocked")
    if not closes and not (gates.by_memory or gates.by_target):
        # The cross-attention reads the target unmasked, so that everything leaks: ask what each mask moves.
        repaired = runs.changed(
            "attention", "memory open, target open", "memory open, target blocked"
        ) and not runs.changed("attention", "memory open, target blocked", "memory blocked, target blocked")
    if not repaired:
        raise MissingError(failed("repair.self_mask" if opens else "repair.self_mask.closed"))


def residual(runs: Runs) -> None:
    """With small weights, a token moves its own position far more than attention lets it move others.

    Attention alone gives a position no special way to itself: it then shares the change with all that
    see it. Measured over initialisations and masks: at most twice as much without a residual, and at
    least 3,000 times as much with one. That others move at all shows that there is an attention.
    """
    _steady(runs, "small", "small", "small again")
    before, after = runs.output("small", "small"), runs.output("small", "small, token")
    own = largest_change(before, after, slice(MOVED, MOVED + 1))
    others = max(largest_change(before, after, slice(MOVED)), largest_change(before, after, LATER))
    if not ROUNDING < others < own / OWN_SHARE:
        raise MissingError(failed("repair.residual", f"own {own:.3g}, others {others:.3g}"))


def cross_mask(runs: Runs) -> None:
    """A blocked position of the memory is hidden by the memory mask, and not by the target mask."""
    _steady(runs, "attention", "memory open, target open", "again")
    gates = _gates(runs)
    if not gates.seen:
        raise MissingError(failed("repair.cross_mask.unused"))
    if not gates.by_memory:
        raise MissingError(failed("repair.cross_mask"))
    if gates.by_target:
        raise MissingError(failed("repair.cross_mask.both"))


def position_table(runs: Runs) -> None:
    """More positions than the model has of anything else can be read, and each is its own."""
    _lively(runs, "positions", "positions", "positions again", "positions, other token")
    output = runs.output("positions", "positions")
    if _noisy(runs):
        return
    different = len(np.unique(output.reshape(-1, output.shape[2]).round(9), axis=0))
    if different < MANY_POSITIONS:
        raise MissingError(
            failed("repair.position_table", f"{different} of {MANY_POSITIONS} positions differ")
        )


def shape_order(runs: Runs) -> None:
    """Whatever the sizes, every row of a batch is treated alike, and positions count along the sequence."""
    _lively(runs, "plain", "plain", "plain again", "plain, other tokens")
    outputs = {sizes: runs.output("plain", at_sizes(*sizes)) for sizes in UNEQUAL}
    if _noisy(runs):
        return
    longest = max(outputs.values(), key=lambda output: output.shape[1])
    for (batch, length), output in outputs.items():
        what = at_sizes(batch, length)
        if differ(output[:1], output[-1:]):
            raise MissingError(failed("repair.shape_order.rows", what, batch=str(batch), length=str(length)))
        if length > 1 and not differ(output[:, :1], output[:, 1:2]):
            raise MissingError(failed("repair.shape_order", what, batch=str(batch), length=str(length)))
        if differ(output[:1], longest[:1, :length]):
            raise MissingError(failed("repair.shape_order.sizes", what, batch=str(batch), length=str(length)))


def embedding_dropout(runs: Runs) -> None:
    """Without layers, training draws features to drop; and it is not the scores that are dropped."""
    _lively(runs, "plain", "plain", "plain again", "plain, other tokens")
    if not runs.changed("dropout", "train seed 1", "train seed 2"):
        raise MissingError(failed("repair.embedding_dropout"))
    if _noisy(runs):
        raise unjudged("outputs vary in evaluation mode with dropout 0: a random step takes no rate")
    dropped = runs.output("dropout", "train seed 1")
    if dropped.shape[2] == N_TOKENS and _ties(dropped) > TIES:
        raise MissingError(failed("repair.embedding_dropout.scores", f"{_ties(dropped):.0%} ties"))
    if _drops_last_state(runs):
        raise unjudged("what leaves the layers is dropped; whether the embeddings are too cannot be seen")


def cross_value(runs: Runs) -> None:
    """With one token and one memory position, the memory still moves the output."""
    _lively(runs, "memory", "one", "one again", "one, other token")
    if not runs.changed("memory", "one", "one, memory moved"):
        raise MissingError(failed("repair.cross_value"))


def output_head(runs: Runs) -> None:
    """Without layers, there is one score for each token of the vocabulary."""
    _lively(runs, "plain", "plain", "plain again", "plain, other tokens")
    width = runs.output("plain", "plain").shape[2]
    if width != N_TOKENS:
        numbers = {"width": str(width), "n_tokens": str(N_TOKENS), "d_model": str(D_MODEL)}
        raise MissingError(failed("repair.output_head", f"width {width}", **numbers))


PROBES: Mapping[str, Callable[[Runs], None]] = {
    probe.__name__: probe
    for probe in (
        self_mask,
        residual,
        cross_mask,
        position_table,
        shape_order,
        embedding_dropout,
        cross_value,
        output_head,
    )
}
"""By fault. A probe returns when the fault is repaired and raises `MissingError` with the finding if not."""


def verdicts(entry: str, made: Sequence[Experiment], observed: Sequence[Observations]) -> dict[str, Verdict]:
    """The verdict on every fault.

    Args:
        entry: the name of the decoder class.
        made: the experiments in the order of the plan.
        observed: one entry per experiment; may be shorter, and may hold anything.
    """
    runs = Runs(entry, made, observed)
    found = {fault: _finding(probe, runs) for fault, probe in PROBES.items()}
    notes = remarks(runs, {fault for fault, finding in found.items() if finding is None})
    return {fault: Verdict(finding, notes.get(fault, ())) for fault, finding in found.items()}


def _finding(probe: Callable[[Runs], None], runs: Runs) -> Finding | None:
    try:
        probe(runs)
    except MissingError as missing:
        return missing.finding
    return None


def _steady(runs: Runs, experiment: str, first: str, again: str) -> None:
    """Equal calls with equal seeds must give equal outputs; else nothing can be concluded from a change."""
    if runs.changed(experiment, first, again):
        raise MissingError(failed("repair.unsteady", f"{experiment}: two equal calls differ"))


def _lively(runs: Runs, experiment: str, first: str, again: str, other: str) -> None:
    """Steady, and not blind to the tokens either: an output that ignores them shows nothing of a decoder."""
    _steady(runs, experiment, first, again)
    if not runs.changed(experiment, first, other):
        raise MissingError(failed("repair.constant"))


def _noisy(runs: Runs) -> bool:
    """Whether the seed matters in evaluation mode with dropout 0."""
    return runs.changed("plain", "plain", "plain, other seed")


def _leaks(runs: Runs, masks: str) -> bool:
    """Whether exchanging the first token moves later positions."""
    return runs.changed("attention", masks, f"{masks}, token", LATER)


def _sees_memory(runs: Runs, masks: str) -> bool:
    """Whether moving the first position of the memory moves later positions."""
    return runs.changed("attention", masks, f"{masks}, moved", LATER)


def _gates(runs: Runs) -> Gates:
    """Which mask gates the cross-attention."""
    if _sees_memory(runs, "memory open, target open"):
        return Gates(
            by_memory=not _sees_memory(runs, "memory blocked, target open"),
            by_target=not _sees_memory(runs, "memory open, target blocked"),
            seen=True,
        )
    return _gates_without_memory(runs)


def _gates_without_memory(runs: Runs) -> Gates:
    """The same where the cross-attention reads the target's state alone, from a silenced self-attention.

    By the masks' effects alone the two attentions are then the same, so they have to be found by name.
    """
    try:
        memory_open = runs.changed("attention", "cross, memory open", "cross, memory open, token", LATER)
        target_open = runs.changed("attention", "cross, target open", "cross, target open, token", LATER)
    except MissingError as missing:
        if _leaks(runs, "memory blocked, target blocked"):
            raise MissingError(failed("repair.cross_mask.unused")) from missing
        raise unjudged(
            "the cross-attention does not read the memory, and the layers' names are new"
        ) from missing
    return Gates(by_memory=not target_open, by_target=not memory_open, seen=memory_open or target_open)


def _ties(output: np.ndarray) -> float:
    """The share of exactly equal neighbours among each position's sorted numbers."""
    return float((np.diff(np.sort(output, axis=2), axis=2) == 0).mean())


def _drops_last_state(runs: Runs) -> bool:
    """Whether features are dropped after the last layer norm.

    A layer norm leaves the state of width d in d - 1 dimensions, and the head keeps their number;
    dropping features of it afterwards fills the last one.
    """
    try:
        trained = runs.output("layer", "train seed 1")
        evaluated = runs.output("layer", "eval seed 1")
    except MissingError:
        return False
    return _rank(trained) > _rank(evaluated)


def _rank(output: np.ndarray) -> int:
    rows = output.reshape(-1, output.shape[2])
    return int(np.linalg.matrix_rank(rows - rows.mean(axis=0), rtol=1e-9))
