"""The probes of the layers: what each fault of an attention changes in what a decoder computes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autograder.checks.judging.results import failed
from autograder.kinds.transformers.repair.plan import (
    FIRST_SWAPPED,
    MEMORY_BLOCKED,
    MOVED,
    ORDINARY,
    TARGET_BLOCKED,
    N,
)
from autograder.kinds.transformers.repair.runs import MissingError, Runs, largest_change, unjudged

EARLIER = slice(MOVED)
LATER = slice(MOVED + 1, None)
"""The positions before and after the exchanged one."""
THERE = slice(MOVED, MOVED + 1)
LAST = slice(N - 1, None)
VERY_LAST = slice(-1, None)
OWN_SHARE = 100.0
"""A token moves its own position this much more than any other only by a residual."""
ROUNDING = 1e-13
"""Smaller differences are nothing, also of the small outputs that small weights give."""
INSENSITIVE = 1e-3
"""Beside what is a million times as large as usual, smaller changes show that it was not normalised."""
NOT_NORMALISED = "what enters the cross block is not normalised: no norm, norm before the sum, or pre-norm"
UNSEEN = "which of a second layer's attentions reads what it must not cannot be seen: the names are new"
PAST = "positions reach each other past the attentions"
HALF = 0.5
"""Of a layer's weights: a few have no part in the output by chance."""
_BOTH = MEMORY_BLOCKED & TARGET_BLOCKED
_MEMORY = MEMORY_BLOCKED & ~TARGET_BLOCKED
_TARGET = ~MEMORY_BLOCKED & TARGET_BLOCKED


def self_mask(runs: Runs) -> None:
    """A token reaches later positions by the self-attention if, and only if, the target mask lets it.

    It never reaches earlier ones. Where the cross-attention reads the memory alone, all that a token moves at
    other positions it moves by the self-attention; otherwise the cross-attention has to be told from it.
    """
    runs.steady("attention", "usual", "again")
    if holds(exchanged, runs):
        raise unjudged("the cross-attention's query is the memory: what enters it cannot be seen")
    leaks, back = runs.moved("attention", "usual", "token", LATER), _back(runs, "attention")
    if holds(_reads_memory_alone, runs):
        if leaks_deeper(runs) and _leaks(runs, "deeper self", "usual", "token"):
            raise MissingError(failed("repair.self_mask.layers"))
        try:
            _follows_target_mask(leaks, back)
        except MissingError as missing:
            if _past_the_attentions(runs):
                raise unjudged(PAST) from missing
            raise
    elif runs.gave("self alone", "usual", "token"):
        alone = runs.moved("self alone", "usual", "token", LATER)
        _follows_target_mask(alone, _back(runs, "self alone"))
    else:
        _beside_the_state(runs, leaks, back)


def leaks_deeper(runs: Runs) -> bool:
    """Whether a token reaches positions that must not see it in a model of two layers, and not in one of one.

    The second layer's self-attention is given another mask then, or its cross-attention the state as value.
    """
    return (
        runs.gave("stack", "stack", "stack, token")
        and holds(_reads_memory_alone, runs)
        and not _leaks(runs, "attention", "usual", "token")
        and _leaks(runs, "stack", "stack", "stack, token")
    )


def _leaks(runs: Runs, experiment: str, before: str, after: str) -> bool:
    """Whether exchanging a token that the target mask shows to itself alone moves another position."""
    if not runs.gave(experiment, before, after):
        raise unjudged(UNSEEN)
    others = (runs.moved(experiment, before, after, rows) for rows in (EARLIER, LATER))
    return any((moved & TARGET_BLOCKED).any() for moved in others)


def _keeps(runs: Runs) -> None:
    """The target mask is followed, whatever the way."""
    _follows_target_mask(runs.moved("attention", "usual", "token", LATER), _back(runs, "attention"))


def _follows_target_mask(leaks: np.ndarray, back: np.ndarray) -> None:
    if (leaks & TARGET_BLOCKED).any():
        raise MissingError(failed("repair.self_mask"))
    if back.any():
        raise MissingError(failed("repair.self_mask.future"))
    if not leaks[~TARGET_BLOCKED].all():
        raise MissingError(failed("repair.self_mask.closed"))


def _past_the_attentions(runs: Runs) -> bool:
    """Whether positions reach each other in another way, as where scores are made to add up along the text.

    Asked only where the target mask is not followed: the self-attention keeps to it all the same.
    """
    return not holds(_own_way, runs) and holds(cross_mask, runs) and holds(_gated_by_target, runs)


def _gated_by_target(runs: Runs) -> None:
    """The target mask moves the output at later positions, and the memory mask does not hide a token."""
    masks = runs.moved("masks", "usual", "other target mask", LATER)
    tokens = runs.moved("masks", "other memory mask", "other memory mask, token", LATER)
    if not masks.all() or not (tokens == runs.moved("attention", "usual", "token", LATER)).all():
        raise unjudged("the masks do not act so")


def _beside_the_state(runs: Runs, leaks: np.ndarray, back: np.ndarray) -> None:
    """The same where the cross-attention reads the state, too, under a mask that was found before."""
    sees = _cross_sees(runs)
    by_memory, by_target = not sees[_MEMORY].any(), not sees[_TARGET].any()
    opens, closes = bool(leaks[_MEMORY].all()), not leaks[_BOTH].any()
    repaired = opens and closes
    if by_target and not by_memory:
        repaired = repaired and not leaks[_TARGET].any()
    if not closes and not (by_memory or by_target):
        # The cross-attention reads the target unmasked, so that everything leaks: ask what each mask moves.
        repaired = bool(runs.moved("masks", "usual", "other target mask", LATER).all()) and not bool(
            runs.moved("masks", "usual", "other memory mask", LATER).any()
        )
    if not repaired:
        raise MissingError(failed("repair.self_mask" if opens else "repair.self_mask.closed"))
    if (by_memory and back[MEMORY_BLOCKED].any()) or (by_target and back.any()):
        raise MissingError(failed("repair.self_mask.future"))


def residual(runs: Runs) -> None:
    """With small weights, a token moves its own position far more than attention lets it move others.

    Attention alone gives a position no special way to itself: it then shares the change with all that
    see it. Measured over initialisations and masks: at most twice as much without a residual, and at
    least 3,000 times as much with one. That others move at all shows that there is an attention.
    """
    try:
        _own_way(runs)
    except MissingError as missing:
        if holds(exchanged, runs):
            raise unjudged(
                "the cross-attention's query is the memory: what enters it cannot be seen"
            ) from missing
        if holds(_reads_memory_alone, runs) and not holds(_keeps, runs) and _past_the_attentions(runs):
            raise unjudged(PAST) from missing
        raise
    _added(runs)
    _in_every_layer(runs)


def _own_way(runs: Runs) -> None:
    runs.steady("attention", "usual", "again")
    _own_way_in(runs, "small")


def _own_way_in(runs: Runs, experiment: str) -> None:
    before, after = runs.output(experiment, "small"), runs.output(experiment, "small, token")
    own = largest_change(before, after, THERE)
    others = max(largest_change(before, after, EARLIER), largest_change(before, after, LATER))
    if not ROUNDING < others < own / OWN_SHARE:
        raise MissingError(failed("repair.residual", f"own {own:.3g}, others {others:.3g}"))


def _added(runs: Runs) -> None:
    """The state and what attention brings are added: neither is nothing without the other, or hides it."""
    arrives = runs.moved("weights", "nothing", "nothing, others", VERY_LAST).any()
    if not arrives and holds(self_mask, runs):  # otherwise a wrong mask may hide the others
        raise MissingError(failed("repair.residual.gate", "a state of zeros hides what attention brings"))
    for size in ("below", "above"):
        if not runs.moved("weights", size, f"{size}, last", VERY_LAST).any():
            raise MissingError(failed("repair.residual.choice", f"{size}: the state is not read"))


def _in_every_layer(runs: Runs) -> None:
    """The sum begins at what the layer is given, not at the embeddings: a huge one drowns no later layer.

    Nor is it left out in one of two layers. The first can be seen where each layer is normalised, and
    where positions see each other as they should.
    """
    if runs.gave("small stack", "small", "small, token") and _both_layers_used(runs):
        _own_way_in(runs, "small stack")
    sure = all(holds(probe, runs) for probe in (self_mask, cross_value, norm))
    if not sure or not runs.gave("stack", "deep", "deep, others") or not _both_layers_used(runs):
        return
    before, after = (runs.output("stack", label)[:, :, :ORDINARY] for label in ("deep", "deep, others"))
    effect = largest_change(before, after, LAST)
    if effect < INSENSITIVE:
        raise MissingError(
            failed("repair.residual.layers", f"others' effect in a second layer: {effect:.3g}")
        )


def _both_layers_used(runs: Runs) -> bool:
    """Whether most of the weights that a second layer brings have a part in the output.

    Where it brings none, nobody can tell: the same layer may stand for both, or one be left out.
    """
    try:
        grown = runs.count("stack", "weights") - runs.count("weights", "weights")
        return 0 < HALF * grown <= runs.count("stack", "used") - runs.count("weights", "used")
    except MissingError:
        return False


def norm(runs: Runs) -> None:
    """What enters the cross-attention's sum has the same size, however large the embeddings are.

    Without a norm, a huge state drowns what the cross-attention adds to it. The state is huge by its own
    token, where there is a residual, or by what the self-attention reads. Where the state is made of the
    same tokens that the cross-attention reads, and nothing else, it cannot drown it; but then the direction
    of what the cross-attention adds is all that the later norm leaves of the sum, at every position.
    """
    runs.steady("attention", "usual", "again")
    effects = [_effect(runs, "last huge", "last huge, others", LAST)]
    reads_memory = holds(_arrives, runs)
    if reads_memory:
        effects.append(_effect(runs, "all huge", "all huge, moved"))
    if min(effects) < INSENSITIVE:
        raise MissingError(failed("repair.norm", f"{NOT_NORMALISED}: effect {min(effects):.3g}"))
    if not reads_memory and not holds(residual, runs):
        output = runs.output("weights", "first huge")[:, 1:, :ORDINARY]
        spread = largest_change(output[:, :1].repeat(output.shape[1], axis=1), output)
        if spread > INSENSITIVE:
            raise MissingError(failed("repair.norm", f"{NOT_NORMALISED}: positions differ by {spread:.3g}"))


def cross_mask(runs: Runs) -> None:
    """A position of the memory is hidden from the cross-attention just where the memory mask blocks it."""
    runs.steady("attention", "usual", "again")
    if holds(_pooled, runs):
        raise unjudged("every position of the memory counts alike: no mask can be seen to act")
    sees = _cross_sees(runs)
    if not sees.any():
        raise MissingError(failed("repair.cross_mask.unused"))
    if (sees & MEMORY_BLOCKED).any():
        raise MissingError(failed("repair.cross_mask"))
    if not sees[~MEMORY_BLOCKED].all():
        raise MissingError(failed("repair.cross_mask.both"))
    earlier = runs.moved("attention", "usual", "moved", EARLIER)
    if _sees_memory(runs).any() and not earlier[~MEMORY_BLOCKED].all():
        raise MissingError(failed("repair.cross_mask.causal"))
    if runs.gave("stack", "stack", "stack, moved"):
        deeper = runs.moved("stack", "stack", "stack, moved", LATER)
        # Where one layer lets it in, as by a wrong residual, that is told elsewhere.
        if (deeper & MEMORY_BLOCKED).any() and not runs.moved("attention", "usual", "moved")[
            MEMORY_BLOCKED
        ].any():
            raise MissingError(failed("repair.cross_mask.layers"))


def cross_key(runs: Runs) -> None:
    """Exchanging two positions of the memory changes nothing: weight and content move together."""
    runs.steady("attention", "usual", "again")
    if not _sees_memory(runs).any():
        raise MissingError(failed("repair.cross_key.unused"))
    if holds(_arrives, runs):
        _moves_together(runs)


def cross_value(runs: Runs) -> None:
    """The memory moves the output, by what attention fetches from its positions."""
    _arrives(runs)
    if not runs.gave("attention", "moved", "moved, first", "open, swapped"):
        return
    if holds(exchanged, runs):
        raise MissingError(failed("repair.cross_value.exchanged"))
    if holds(_pooled, runs):
        raise MissingError(failed("repair.cross_value.pooled"))
    if _sees_memory(runs).any():
        _moves_together(runs)
    if leaks_deeper(runs):
        if not runs.gave("deeper cross", "one", "one, memory moved"):
            raise unjudged(UNSEEN)
        if not runs.changed("deeper cross", "one", "one, memory moved"):
            raise MissingError(failed("repair.cross_value.layers"))


def holds(probe: Callable[[Runs], None], runs: Runs) -> bool:
    """Whether a probe finds nothing."""
    try:
        probe(runs)
    except MissingError:
        return False
    return True


def reads_memory(runs: Runs) -> None:
    """The memory moves the output at all."""
    if not runs.changed("attention", "usual", "moved"):
        raise unjudged("the memory is not read: what is dropped of it cannot be seen")


def _arrives(runs: Runs) -> None:
    """With one token and one memory position, the memory still moves the output."""
    runs.lively("attention", "one", "one again", "one, other token")
    if not runs.changed("attention", "one", "one, memory moved"):
        raise MissingError(failed("repair.cross_value"))


def _moves_together(runs: Runs) -> None:
    if runs.changed("attention", "open", "open, swapped", slice(FIRST_SWAPPED, None)):
        raise MissingError(failed("repair.cross_key"))


def _reads_memory_alone(runs: Runs) -> None:
    _arrives(runs)
    if not _sees_memory(runs).any():
        raise MissingError(failed("repair.cross_key.unused"))
    _moves_together(runs)


def exchanged(runs: Runs) -> None:
    """A position of the memory moves the output there, and nowhere later: it asks, and is not looked at."""
    there = runs.moved("attention", "usual", "moved", THERE)
    if not there.any() or _sees_memory(runs).any():
        raise unjudged("the memory is looked at")


def _pooled(runs: Runs) -> None:
    """It makes no difference at which position the memory is moved, blocked or not."""
    if not _sees_memory(runs).any() or runs.changed("attention", "moved", "moved, first", LATER):
        raise unjudged("positions of the memory differ")


def _effect(runs: Runs, before: str, after: str, rows: slice = slice(None)) -> float:
    """The largest change of the scores of ordinary tokens."""
    first, second = (runs.output("weights", label)[:, :, :ORDINARY] for label in (before, after))
    return largest_change(first, second, rows)


def _back(runs: Runs, experiment: str) -> np.ndarray:
    """In which texts exchanging a token moves earlier positions."""
    return runs.moved(experiment, "usual", "token", EARLIER)


def _sees_memory(runs: Runs) -> np.ndarray:
    """In which texts moving a position of the memory moves later positions."""
    return runs.moved("attention", "usual", "moved", LATER)


def _cross_sees(runs: Runs) -> np.ndarray:
    """In which texts the cross-attention sees the moved position of what it reads.

    Where the memory does not move the output, it may read the target's state alone. By the masks' effects
    alone the two attentions are then the same, so they have to be found by name.
    """
    sees = _sees_memory(runs)
    if sees.any():
        return sees
    if runs.gave("cross alone", "usual", "token"):
        return runs.moved("cross alone", "usual", "token", LATER)
    if runs.moved("attention", "usual", "token", LATER)[_BOTH].any():
        return sees
    raise unjudged("the cross-attention does not read the memory, and the layers' names are new")


ATTENTIONS = (self_mask, residual, cross_mask, cross_value)
"""Only where these find nothing, a memory longer than the target must give an output."""
