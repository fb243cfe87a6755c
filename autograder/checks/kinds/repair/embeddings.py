"""Embeddings and output head: what a decoder computes without any layers.

Every probe returns when what it looks for is right, and raises `MissingError` with the finding if not.
"""

from __future__ import annotations

import numpy as np

from autograder.checks.judging.results import failed
from autograder.checks.kinds.repair.experiment import D_MODEL, N_TOKENS
from autograder.checks.kinds.repair.plan import MANY_POSITIONS, UNEQUAL, N, at_sizes
from autograder.checks.kinds.repair.runs import MissingError, Runs, unjudged

TIES = 0.1
"""Share of equal neighbours among a position's sorted scores, above which scores were dropped."""


def position_table(runs: Runs) -> None:
    """More positions than the model has of anything else can be read, and each is its own."""
    runs.lively("positions", "positions", "positions again", "positions, other token")
    different = _positions(runs, "positions")
    if different < MANY_POSITIONS:
        raise MissingError(
            failed("repair.position_table", f"{different} of {MANY_POSITIONS} positions differ")
        )


def position_offset(runs: Runs) -> None:
    """A target of the greatest length can be read, and each of its positions is its own."""
    runs.lively("plain", "plain", "plain again", "plain, other tokens")
    different = _positions(runs, "longest")
    if different < D_MODEL:
        raise MissingError(failed("repair.position_offset", f"{different} of {D_MODEL} positions differ"))


def position_missing(runs: Runs) -> None:
    """One token is not the same at every position."""
    runs.lively("plain", "plain", "plain again", "plain, other tokens")
    different = runs.different(runs.output("plain", "plain, one token")[0])
    if not noisy(runs) and different < N:
        raise MissingError(failed("repair.position_missing", f"{different} of {N} positions differ"))


def token_table(runs: Runs) -> None:
    """More tokens than the model has of anything else can be read, and each is its own."""
    runs.lively("plain", "plain", "plain again", "plain, other tokens")
    output = runs.output("vocabulary", "vocabulary")
    different = min(runs.different(output[:, column]) for column in range(N))
    if not noisy(runs) and different < N:
        raise MissingError(failed("repair.token_table", f"{different} of {N} tokens differ"))


def shape_order(runs: Runs) -> None:
    """Whatever the sizes, every row of a batch is treated alike, and positions count along the sequence."""
    runs.lively("plain", "plain", "plain again", "plain, other tokens")
    outputs = {sizes: runs.output("plain", at_sizes(*sizes)) for sizes in UNEQUAL}
    if noisy(runs):
        return
    longest = max(outputs.values(), key=lambda output: output.shape[1])
    for (batch, length), output in outputs.items():
        what = at_sizes(batch, length)
        if runs.differ(output[:1], output[-1:]):
            raise MissingError(failed("repair.shape_order.rows", what, batch=str(batch), length=str(length)))
        if length > 1 and not runs.differ(output[:, :1], output[:, 1:2]):
            raise MissingError(failed("repair.shape_order", what, batch=str(batch), length=str(length)))
        if runs.differ(output[:1], longest[:1, :length]):
            raise MissingError(failed("repair.shape_order.sizes", what, batch=str(batch), length=str(length)))


def embedding_dropout(runs: Runs) -> None:
    """Without layers, training draws features to drop; and it is not the scores that are dropped."""
    runs.lively("plain", "plain", "plain again", "plain, other tokens")
    if not runs.changed("dropout", "train seed 1", "train seed 2"):
        raise MissingError(failed("repair.embedding_dropout"))
    if noisy(runs):
        raise unjudged("outputs vary in evaluation mode with dropout 0: a random step takes no rate")
    dropped = runs.output("dropout", "train seed 1")
    if dropped.shape[2] == N_TOKENS and _ties(dropped) > TIES:
        raise MissingError(failed("repair.embedding_dropout.scores", f"{_ties(dropped):.0%} ties"))
    if _drops_last_state(runs):
        raise unjudged("what leaves the layers is dropped; whether the embeddings are too cannot be seen")


def dropout_always(runs: Runs) -> None:
    """Dropout acts on the embeddings, and in evaluation mode the seed has no effect."""
    embedding_dropout(runs)
    if runs.changed("dropout", "eval seed 1", "eval seed 2"):
        raise MissingError(failed("repair.dropout_always", "dropout acts in evaluation mode too"))


def output_head(runs: Runs) -> None:
    """Without layers, there is one score for each token of the vocabulary."""
    runs.lively("plain", "plain", "plain again", "plain, other tokens")
    width = runs.output("plain", "plain").shape[2]
    if width != N_TOKENS:
        numbers = {"width": str(width), "n_tokens": str(N_TOKENS), "d_model": str(D_MODEL)}
        raise MissingError(failed("repair.output_head", f"width {width}", **numbers))


def noisy(runs: Runs) -> bool:
    """Whether the seed matters in evaluation mode with dropout 0."""
    return runs.changed("plain", "plain", "plain, other seed")


def _positions(runs: Runs, experiment: str) -> int:
    """How many positions a model reads as different ones; all of them where that cannot be seen for noise."""
    output = runs.output(experiment, "positions")
    if noisy(runs):
        return int(output.shape[1])
    return max(runs.different(output[0]), runs.different(output[:, 0]))  # or counted along the batch


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
