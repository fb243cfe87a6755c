"""The two attentions of a layer: what they read, what hides it from them, and what is done with it.

Every probe returns when what it looks for is right, and raises `MissingError` with the finding if not.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from autograder.checks.judging.results import failed
from autograder.checks.kinds.repair.plan import FIRST_SWAPPED, MOVED, ORDINARY, N
from autograder.checks.kinds.repair.runs import MissingError, Runs, largest_change, unjudged

LATER = slice(MOVED + 1, None)
"""The positions after the exchanged one."""
LAST = slice(N - 1, None)
OWN_SHARE = 100.0
"""A token moves its own position this much more than any other only by a residual."""
ROUNDING = 1e-13
"""Smaller differences are nothing, also of the small outputs that small weights give."""
INSENSITIVE = 1e-3
"""Beside what is a million times as large as usual, smaller changes show that it was not normalised."""
NOT_NORMALISED = "what enters the cross block is not normalised: no norm, norm before the sum, or pre-norm"


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
    runs.steady("attention", "memory open, target open", "again")
    gates = _gates(runs)
    opens = _leaks(runs, "memory blocked, target open")
    closes = not _leaks(runs, "memory blocked, target blocked")
    repaired = opens and closes
    if gates.by_target and not gates.by_memory:
        repaired = repaired and not _leaks(runs, "memory open, target blocked")
    if not closes and not (gates.by_memory or gates.by_target):
        # The cross-attention reads the target unmasked, so that everything leaks: ask what each mask moves.
        both, target = "memory open, target open", "memory open, target blocked"
        repaired = runs.changed("attention", both, target, LATER) and not runs.changed(
            "attention", target, "memory blocked, target blocked", LATER
        )
    if not repaired:
        raise MissingError(failed("repair.self_mask" if opens else "repair.self_mask.closed"))


def residual(runs: Runs) -> None:
    """With small weights, a token moves its own position far more than attention lets it move others.

    Attention alone gives a position no special way to itself: it then shares the change with all that
    see it. Measured over initialisations and masks: at most twice as much without a residual, and at
    least 3,000 times as much with one. That others move at all shows that there is an attention.
    """
    runs.steady("small", "small", "small again")
    before, after = runs.output("small", "small"), runs.output("small", "small, token")
    own = largest_change(before, after, slice(MOVED, MOVED + 1))
    others = max(largest_change(before, after, slice(MOVED)), largest_change(before, after, LATER))
    if not ROUNDING < others < own / OWN_SHARE:
        raise MissingError(failed("repair.residual", f"own {own:.3g}, others {others:.3g}"))


def norm(runs: Runs) -> None:
    """What enters the cross-attention's sum has the same size, however large the embeddings are.

    Without a norm, a huge state drowns what the cross-attention adds to it. The state is huge by its own
    token, where there is a residual, or by what the self-attention reads. Where the state is made of the
    same tokens that the cross-attention reads, and nothing else, it cannot drown it; but then the direction
    of what the cross-attention adds is all that the later norm leaves of the sum, at every position.
    """
    runs.steady("attention", "memory open, target open", "again")
    effects = [_effect(runs, "last huge", "last huge, others", LAST)]
    reads_memory = holds(cross_value, runs)
    if reads_memory:
        effects.append(_effect(runs, "all huge", "all huge, moved"))
    if min(effects) < INSENSITIVE:
        raise MissingError(failed("repair.norm", f"{NOT_NORMALISED}: effect {min(effects):.3g}"))
    if not reads_memory and not holds(residual, runs):
        output = runs.output("memory", "first huge")[:, 1:, :ORDINARY]
        spread = largest_change(output[:, :1].repeat(output.shape[1], axis=1), output)
        if spread > INSENSITIVE:
            raise MissingError(failed("repair.norm", f"{NOT_NORMALISED}: positions differ by {spread:.3g}"))


def cross_mask(runs: Runs) -> None:
    """A blocked position of the memory is hidden by the memory mask, and not by the target mask."""
    runs.steady("attention", "memory open, target open", "again")
    gates = _gates(runs)
    if not gates.seen:
        raise MissingError(failed("repair.cross_mask.unused"))
    if not gates.by_memory:
        raise MissingError(failed("repair.cross_mask"))
    if gates.by_target:
        raise MissingError(failed("repair.cross_mask.both"))


def cross_key(runs: Runs) -> None:
    """Exchanging two positions of the memory changes nothing: weight and content move together."""
    runs.steady("attention", "memory open, target open", "again")
    if not _sees_memory(runs, "memory open, target open"):
        raise MissingError(failed("repair.cross_key.unused"))
    swapped = runs.changed("attention", "memory open, target open", "swapped", slice(FIRST_SWAPPED, None))
    if swapped and holds(cross_value, runs):
        raise MissingError(failed("repair.cross_key"))


def cross_value(runs: Runs) -> None:
    """With one token and one memory position, the memory still moves the output."""
    runs.lively("memory", "one", "one again", "one, other token")
    if not runs.changed("memory", "one", "one, memory moved"):
        raise MissingError(failed("repair.cross_value"))


def holds(probe: Callable[[Runs], None], runs: Runs) -> bool:
    """Whether a probe finds nothing."""
    try:
        probe(runs)
    except MissingError:
        return False
    return True


def _effect(runs: Runs, before: str, after: str, rows: slice = slice(None)) -> float:
    """The largest change of the scores of ordinary tokens."""
    first, second = (runs.output("memory", label)[:, :, :ORDINARY] for label in (before, after))
    return largest_change(first, second, rows)


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
