"""Sentences about training: losses, what was learned, and what a checkpoint lacks."""

from __future__ import annotations

from collections.abc import Mapping

_SEEN: Mapping[str, str] = {
    "training.no-losses": (
        "{what}.train returns a “{form}”; the losses of its steps are asked for, as numbers."
    ),
    "training.count": "{what}.train returned losses of the shape {shape}; the number of steps was {count}.",
    "training.not-finite": "{what}.train returns losses that are NaN or infinite.",
    "training.loss": "{what}: the very first loss, before any update, is not the right one.",
    "training.updates": "{what}: the losses are not the right ones from step {step} on.",
    "training.updates-dropout": (
        "{what}: without dropout the losses are right; with dropout they are not, from step {step} on."
    ),
    "training.learns": (
        "{what}: the model's loss on the training texts was {before} before and is {after} after training. "
        "It should fall further."
    ),
    "training.no-change": "{what}: training does not change the model at all.",
    "training.no-logits": "{what}: after training the model no longer gives finite logits.",
    "training.resume": (
        "{what}: after a checkpoint, the losses are not those of a training without interruption, from its "
        "step {step} on."
    ),
    "training.resume-model": (
        "{what}: after a checkpoint the losses are right, but the model ends up as another one."
    ),
}

_MISTAKES: Mapping[str, str] = {
    "training.not-shifted": (
        "{what}: the logits at a position are compared with the token at the same position. They predict the "
        "next one."
    ),
    "training.padding-counted": "{what}: padding is counted in the loss.",
    "training.loss-summed": "{what}: the loss is a sum over the tokens; their mean is asked for.",
    "training.gradients-kept": "{what}: gradients of earlier steps are added to those of the next one.",
    "training.evaluation-mode": (
        "{what}: the model is in evaluation mode while it is trained, so dropout does nothing."
    ),
    "training.schedule-forgotten": (
        "{what}: the learning rate stays the same; the schedule never takes a step."
    ),
    "training.never-updated": "{what}: the optimizer never takes a step.",
    "training.weights-lost": "{what}: the model's weights do not come back from the checkpoint.",
    "training.moments-lost": (
        "{what}: what the optimizer remembers (its moments and steps) does not come back from the checkpoint."
    ),
    "training.schedule-lost": "{what}: the learning rate's schedule starts again after a checkpoint.",
    "training.order-restarts": "{what}: after a checkpoint the batches start again from the beginning.",
    "training.random-lost": (
        "{what}: the state of the random numbers does not come back, so dropout drops something else."
    ),
    "training.shared-memory": (
        "{what}: the checkpoint changes when training goes on: it holds the live tensors, not copies."
    ),
}

SENTENCES: Mapping[str, str] = {**_SEEN, **_MISTAKES}
