"""What the training question asks of the reference: losses of the right trainer, and those of mistakes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from . import training
from .faults.misconception import Misconception, compiled, planted, trials
from .faults.training import LOSS, MISCONCEPTIONS, RESUME, UPDATES
from .gpt2 import GPT2

SOURCE = inspect.getsource(training.Trainer)


def _made(kind: type[training.Trainer], task: Mapping[str, Any], dropout: float, seed: int) -> Any:
    """A new trainer with a new model and batches from the beginning."""
    torch.default_generator.manual_seed(seed)
    model = GPT2(*task["model"], **{**task["model_options"], "dropout": dropout})
    tokens, mask, batch_size = task["batches"]
    batches = training.Batches(tokens, mask, batch_size, task["order"])
    return kind(model, batches, *task["trainer"])


def _trained(trainer: Any, steps: int, seed: int | None) -> list[float]:
    if seed is not None:
        torch.default_generator.manual_seed(seed)
    losses: list[float] = trainer.train(steps)
    return losses


def _straight(kind: type[training.Trainer], task: Mapping[str, Any]) -> dict[str, list[float]]:
    """The losses without an interruption, with and without dropout."""
    return {
        name: _trained(_made(kind, task, dropout, task["weights"]), task["steps"], task["noise"])
        for name, dropout in (("plain", 0.0), ("dropout", task["dropout"]))
    }


def _resumed(kind: type[training.Trainer], task: Mapping[str, Any]) -> dict[str, list[float]]:
    """The losses after a checkpoint that another trainer restores, while the first one trained on."""
    first = _made(kind, task, task["dropout"], task["weights"])
    _trained(first, task["stop"], task["noise"])
    state = first.checkpoint()
    _trained(first, task["further"], None)
    second = _made(kind, task, task["dropout"], task["other_weights"])
    second.restore(state)
    return {"resumed": _trained(second, task["steps"] - task["stop"], None)}


class Oracle:
    """The right trainer's losses, those that follow from another loss, and those of every misconception."""

    def expected(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """All losses of one task.

        Args:
            task: see `autograder.kinds.transformers.training`.
        """
        with torch.enable_grad():
            straight = {
                misconception.code: _straight(_planted(misconception), task)
                for misconception in (*LOSS, *UPDATES)
            }
            resumed = {
                misconception.code: _resumed(_planted(misconception), task) for misconception in RESUME
            }
            right = _straight(training.Trainer, task)
        return {
            "right": right,
            "follow": [straight[misconception.code] for misconception in LOSS],
            "mistakes": [{"code": code, "values": losses} for code, losses in (straight | resumed).items()],
        }


def _planted(misconception: Misconception) -> Any:
    return compiled(planted(SOURCE, misconception), "Trainer", vars(training))


trainer = Oracle()


def trainer_trials() -> list[dict[str, Any]]:
    """For `autograder verify`."""
    return trials(SOURCE, MISCONCEPTIONS)
