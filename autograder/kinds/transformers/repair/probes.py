"""The probes of all that is not in a layer's attentions: positions, tokens, dropout, the head, the stack."""

from __future__ import annotations

import numpy as np

from autograder.checks.judging.results import failed
from autograder.kinds.transformers.repair.attention_probes import ATTENTIONS, HALF, holds, reads_memory
from autograder.kinds.transformers.repair.experiment import D_HIDDEN, D_MODEL, MAX_LEN, N_TOKENS
from autograder.kinds.transformers.repair.plan import (
    LONG,
    MANY_POSITIONS,
    MANY_TOKENS,
    MORE_HIDDEN,
    MORE_POSITIONS,
    UNEQUAL,
    VERY_LONG,
    N,
    at_sizes,
)
from autograder.kinds.transformers.repair.runs import MissingError, Runs, unjudged
from autograder.records import Status

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
    # Twice: of 72 features a rate of 0.1 leaves 71 with one draw of two hundred, of 144 next to never 142.
    features = 2 * runs.count("weights", "features")
    kept = runs.count("weights", "features kept") + runs.count("weights", "features kept again")
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
