"""The probes: what each fault changes in what a decoder computes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autograder.checks.judging.results import failed
from autograder.kinds.transformers.repair.experiment import D_HIDDEN, D_MODEL, MAX_LEN, N_TOKENS
from autograder.kinds.transformers.repair.plan import (
    FIRST_SWAPPED,
    LONG,
    MANY_POSITIONS,
    MANY_TOKENS,
    MEMORY_BLOCKED,
    MORE_HIDDEN,
    MORE_POSITIONS,
    MOVED,
    ORDINARY,
    TARGET_BLOCKED,
    UNEQUAL,
    VERY_LONG,
    N,
    at_sizes,
)
from autograder.kinds.transformers.repair.runs import MissingError, Runs, largest_change, unjudged
from autograder.records import Status

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
        try:
            _follows_target_mask(leaks, back)
        except MissingError as missing:
            if not holds(_own_way, runs) and holds(cross_mask, runs) and holds(_gated_by_target, runs):
                raise unjudged("positions reach each other past the attentions") from missing
            raise
    elif runs.gave("self alone", "usual", "token"):
        alone = runs.moved("self alone", "usual", "token", LATER)
        _follows_target_mask(alone, _back(runs, "self alone"))
    else:
        _beside_the_state(runs, leaks, back)


def _follows_target_mask(leaks: np.ndarray, back: np.ndarray) -> None:
    if (leaks & TARGET_BLOCKED).any():
        raise MissingError(failed("repair.self_mask"))
    if back.any():
        raise MissingError(failed("repair.self_mask.future"))
    if not leaks[~TARGET_BLOCKED].all():
        raise MissingError(failed("repair.self_mask.closed"))


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
MOST_KEPT = 0.98
"""Share of the features that are kept in training; with a smaller one, some are dropped."""


def position_table(runs: Runs) -> None:
    """More positions than the model has of anything else can be read, each its own, whatever max_len is."""
    runs.lively("attention", "usual", "again", "other tokens")
    try:
        different = _positions(runs, "positions")
    except MissingError as missing:
        if table_grows(runs) and holds(token_table, runs) and not holds(shape_order, runs):
            raise unjudged(
                "the table grows with max_len, and wrong positions are looked up in it"
            ) from missing
        raise
    if different < MANY_POSITIONS:
        raise MissingError(
            failed("repair.position_table", f"{different} of {MANY_POSITIONS} positions differ")
        )
    if not table_grows(runs):
        _reads_very_long(runs)
    if not reads_longest(runs) and not _made_for_none(runs):
        raise MissingError(failed("repair.position_table.short"))


def reads_many(runs: Runs) -> bool:
    """Whether many positions can be read, each as its own."""
    try:
        return _positions(runs, "positions") >= MANY_POSITIONS
    except MissingError:
        return False


def table_grows(runs: Runs) -> bool:
    """Whether a model for more positions keeps as many more rows.

    Raises:
        MissingError: see `Runs.count`.
    """
    grown = runs.count("larger table", "rows") - runs.count("attention", "rows")
    return grown >= (MORE_POSITIONS - MAX_LEN) * D_MODEL


def reads_longest(runs: Runs) -> bool:
    """Whether a target of the greatest length can be read, each of its positions as its own."""
    try:
        return _positions(runs, "longest") >= D_MODEL
    except MissingError:
        return False


def position_offset(runs: Runs) -> None:
    """A target of the greatest length can be read, and each of its positions is its own."""
    runs.lively("attention", "usual", "again", "other tokens")
    different = _positions(runs, "longest")
    if different < D_MODEL:
        raise MissingError(failed("repair.position_offset", f"{different} of {D_MODEL} positions differ"))


def position_missing(runs: Runs) -> None:
    """One token is not the same at every position."""
    runs.lively("attention", "usual", "again", "other tokens")
    different = runs.different(runs.output("positions", "positions")[0, :N])
    if not noisy(runs) and different < N:
        raise MissingError(failed("repair.position_missing", f"{different} of {N} positions differ"))


def token_table(runs: Runs) -> None:
    """More tokens than the model has of anything else can be read, and each is its own."""
    runs.lively("attention", "usual", "again", "other tokens")
    different = runs.different(runs.output("vocabulary", "vocabulary")[:, 0])
    if not noisy(runs) and different < N:
        raise MissingError(failed("repair.token_table", f"{different} of {N} tokens differ"))


def shape_order(runs: Runs) -> None:
    """Whatever the sizes, every row of a batch is treated alike, and positions count along the sequence."""
    runs.lively("attention", "usual", "again", "other tokens")
    outputs = {sizes: runs.output("unequal", at_sizes(*sizes)) for sizes in UNEQUAL}
    attends_right = runs.layers and all(holds(probe, runs) for probe in ATTENTIONS)
    if not noisy(runs):
        _count_along(runs, outputs, across=attends_right or not runs.layers)
    if attends_right or not runs.layers:
        runs.output("unequal", "source")
    elif runs.without_layers is not None and runs.without_layers.gave("attention", "usual"):
        runs.without_layers.output("unequal", "source")


def _count_along(runs: Runs, outputs: dict[tuple[int, int], np.ndarray], *, across: bool) -> None:
    """Texts of one token, and beginnings of them where lengths may be compared, are the same everywhere."""
    longest = max(outputs.values(), key=lambda output: output.shape[1])
    for (batch, length), output in outputs.items():
        what = at_sizes(batch, length)
        if runs.differ(output[:1], output[-1:]):
            raise MissingError(failed("repair.shape_order.rows", what, batch=str(batch), length=str(length)))
        if length > 1 and not runs.differ(output[:, :1], output[:, 1:2]):
            raise MissingError(failed("repair.shape_order", what, batch=str(batch), length=str(length)))
        for other in (longest, *outputs.values()):
            part = other[:1, :length]
            comparable = part.shape[1] == length and (across or other.shape[1] == length)
            if comparable and runs.differ(output[:1], part):
                sizes = {"batch": str(batch), "length": str(length)}
                raise MissingError(failed("repair.shape_order.sizes", what, **sizes))


def embedding_dropout(runs: Runs) -> None:
    """Some features of tokens that have a part in the output in evaluation have none in training."""
    runs.lively("attention", "usual", "again", "other tokens")
    features, kept = runs.count("weights", "features"), runs.count("weights", "features kept")
    if not features:
        raise unjudged("no weights of the tokens could be found")
    if kept > MOST_KEPT * features:
        if runs.count("weights", "features balanced"):
            raise unjudged("the embeddings are normalised: what is dropped of them cannot be seen")
        raise MissingError(failed("repair.embedding_dropout", f"{kept} of {features} features are kept"))
    if reads_many(runs) and holds(shape_order, runs):
        _positions_dropped(runs)


def _positions_dropped(runs: Runs) -> None:
    """The same of positions: a text has each in one place, and others have it, too."""
    features, kept = runs.count("weights", "places"), runs.count("weights", "places kept")
    if kept > MOST_KEPT * features > 0:
        what = f"{kept} of {features} features of positions are kept"
        raise MissingError(failed("repair.embedding_dropout.tokens", what))


def dropout_always(runs: Runs) -> None:
    """Dropout acts on the embeddings, and in evaluation mode the seed has no effect."""
    embedding_dropout(runs)
    if runs.changed("weights", "eval", "eval, other seed") and not _new_head(runs):
        raise MissingError(failed("repair.dropout_always", "dropout acts in evaluation mode too"))


def output_head(runs: Runs) -> None:
    """There is one score for each token of the vocabulary, made by weights that the model keeps for it."""
    runs.lively("attention", "usual", "again", "other tokens")
    width = runs.output("attention", "usual").shape[2]
    if width != N_TOKENS:
        numbers = {"width": str(width), "n_tokens": str(N_TOKENS), "d_model": str(D_MODEL)}
        raise MissingError(failed("repair.output_head", f"width {width}", **numbers))
    if not runs.layers:
        return
    width = runs.output("stack", "stack").shape[2]
    if width != N_TOKENS:
        numbers = {"width": str(width), "n_tokens": str(N_TOKENS), "d_model": str(D_MODEL)}
        raise MissingError(failed("repair.output_head", f"width {width} with two layers", **numbers))
    grown = runs.count("vocabulary", "used") - runs.count("weights", "used")
    wanted = (MANY_TOKENS - N_TOKENS) * D_MODEL
    if grown < HALF * wanted:
        raise MissingError(failed("repair.output_head.weights", f"{grown} more weights, {wanted} wanted"))


def noisy(runs: Runs) -> bool:
    """Whether the seed matters in evaluation mode with dropout 0, and not for new weights of a head alone."""
    return runs.changed("attention", "usual", "other seed") and not _new_head(runs)


def _new_head(runs: Runs) -> bool:
    """Whether outputs of two seeds come from more features than a model has: the head is drawn each time."""
    both = np.concatenate([runs.output("attention", label) for label in ("usual", "other seed")])
    return _rank(both) > D_MODEL + 1 >= _rank(both[:N])


def _positions(runs: Runs, experiment: str) -> int:
    """How many positions a model reads as different ones; all of them where that cannot be seen for noise."""
    output = runs.output(experiment, "positions")
    if noisy(runs):
        return int(output.shape[1])
    return max(runs.different(output[0]), runs.different(output[:, 0]))  # or counted along the batch


def _reads_very_long(runs: Runs) -> None:
    """A table that does not grow must not be there at all: positions are computed, however many there are.

    Asked without layers, where attention costs nothing, and with one where there is no model without.
    """
    bare = runs.without_layers
    if bare is None:
        raise unjudged("a model for more positions is no larger, and longer targets were not read")
    name, length = ("very long", VERY_LONG) if bare.gave("attention", "usual") else ("long", LONG)
    output = runs.output(name, "long") if runs.gave(name, "long") else None
    if output is None or not runs.differ(output[:, -1:], output[:, -2:-1]):
        raise MissingError(failed("repair.position_table.constant", name, length=str(length)))


def _made_for_none(runs: Runs) -> bool:
    """Whether a model for no positions can be made: what hinders a longest target is then no missing row."""
    try:
        return runs.count("no positions", "made") == 0
    except MissingError as missing:
        if missing.finding.status is Status.FAILED:
            return False
        raise


def _rank(output: np.ndarray) -> int:
    """Of the rows about their mean."""
    rows = output.reshape(-1, output.shape[2])
    return int(np.linalg.matrix_rank(rows - rows.mean(axis=0), rtol=1e-9))


LAYER = 8 * D_MODEL**2 + 2 * D_MODEL * D_HIDDEN
"""The weights of a layer in its products: of two attentions, and of the feed-forward network."""


def hidden_width(runs: Runs) -> None:
    """A wider feed-forward network is asked for, and its weights have a part in the output.

    Each hidden feature has d_model weights on either side and a bias.
    """
    runs.lively("attention", "usual", "again", "other tokens")
    grown = runs.count("wide", "used") - runs.count("weights", "used")
    wanted = (MORE_HIDDEN - D_HIDDEN) * (2 * D_MODEL + 1)
    if grown < HALF * wanted:
        raise MissingError(failed("repair.hidden_width", f"{grown} more weights, {wanted} wanted"))


def shared_block(runs: Runs) -> None:
    """A second layer has weights of its own."""
    runs.lively("attention", "usual", "again", "other tokens")
    grown = _second_layer(runs)
    if grown <= HALF * LAYER:
        raise MissingError(failed("repair.shared_block", f"{grown} weights in a second layer"))


def stack(runs: Runs) -> None:
    """A second layer's weights have a part in the output; one without weights of its own is still passed."""
    runs.lively("attention", "usual", "again", "other tokens")
    grown = _second_layer(runs)
    if grown > HALF * LAYER:
        used = runs.count("stack", "used") - runs.count("weights", "used")
        if used < HALF * grown:
            raise MissingError(failed("repair.stack", f"{used} of {grown} weights have a part"))
    elif not runs.differ(runs.output("stack", "stack"), runs.output("attention", "usual")):
        raise MissingError(failed("repair.stack", "one layer and two give the same output"))


def dropout_rate(runs: Runs) -> None:
    """With a dropout of 0 the seed has no effect in training; with 1, nothing of the memory arrives there."""
    if noisy(runs):
        raise unjudged("outputs vary in evaluation with dropout 0: what a layer drops cannot be seen")
    reads_memory(runs)
    if runs.changed("dropped", "usual", "moved"):
        raise MissingError(failed("repair.dropout_rate", "the memory is seen with dropout 1"))
    if runs.changed("dropped", "train", "train, other seed"):
        bare = runs.without_layers
        labels = "train", "train, other seed"
        if bare and bare.gave("dropped", *labels) and bare.changed("dropped", *labels):
            raise unjudged("outputs vary in training with dropout 0 before any layer")
        raise MissingError(failed("repair.dropout_rate", "outputs vary in training with dropout 0"))


def _second_layer(runs: Runs) -> int:
    return runs.count("stack", "weights") - runs.count("weights", "weights")
