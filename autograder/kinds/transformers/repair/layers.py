"""The layers: how many weights they have, how many of those have a part in the output, and their dropout.

Every probe returns when what it looks for is right, and raises `MissingError` with the finding if not.
"""

from __future__ import annotations

from autograder.checks.judging.results import failed
from autograder.kinds.transformers.repair.attentions import reads_memory
from autograder.kinds.transformers.repair.embeddings import noisy
from autograder.kinds.transformers.repair.experiment import D_HIDDEN, D_MODEL
from autograder.kinds.transformers.repair.plan import MORE_HIDDEN
from autograder.kinds.transformers.repair.runs import MissingError, Runs, unjudged

HALF = 0.5
"""Of a layer's weights: a few of them have no part in the output by chance."""
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
