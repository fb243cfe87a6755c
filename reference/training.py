"""Fine-tuning with checkpoints: the answer key of the training question.

The contract is stated so far that two right answers compute the same losses: the loss, the optimizer, its
schedule, and where batches and random numbers come from. `Batches` stands in a locked cell.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

State = dict[str, Any]


class Batches:
    """Endless batches of texts, each epoch in another random order.

    Args:
        tokens: (texts, length) int64, padded on the right.
        mask: (texts, length); 0 = padding.
        batch_size: a divisor of the number of texts.
        seed: of the orders; a generator of its own, so nothing else moves them.
    """

    def __init__(self, tokens: Tensor, mask: Tensor, batch_size: int, seed: int) -> None:
        self.tokens, self.mask, self.batch_size = tokens, mask, batch_size
        self.generator = torch.Generator().manual_seed(seed)
        self.order: list[int] = []

    def next(self) -> tuple[Tensor, Tensor]:
        """The next batch: tokens and mask, (batch_size, length) each."""
        if not self.order:
            self.order = torch.randperm(len(self.tokens), generator=self.generator).tolist()
        rows, self.order = self.order[: self.batch_size], self.order[self.batch_size :]
        return self.tokens[rows], self.mask[rows]

    def state_dict(self) -> State:
        """Where we are: what is left of this epoch, and the generator's state."""
        return {"order": list(self.order), "generator": self.generator.get_state()}

    def load_state_dict(self, state: State) -> None:
        """Go on from there."""
        self.order = list(state["order"])
        self.generator.set_state(state["generator"])


class Trainer:
    """Fine-tunes a language model, and can stop and go on as if it had never stopped.

    Each step: one batch; the mean cross-entropy of predicting every token that is not padding from those
    before it; ``AdamW`` with the learning rate lr and torch's other defaults; then the schedule, which lowers
    the learning rate in equal parts from lr to 0 after total_steps (``LinearLR`` from 1 to 0). The model is
    in training mode.

    Args:
        model: called as ``model(tokens, attention_mask)``; gives logits (batch, length, n_vocab).
        batches: see `Batches`.
        lr: learning rate of the first step.
        total_steps: length of the schedule.
    """

    def __init__(self, model: nn.Module, batches: Batches, lr: float, total_steps: int) -> None:
        self.model, self.batches = model, batches
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.LinearLR(self.optimizer, 1.0, 0.0, total_steps)

    def loss(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The loss of one batch.

        Args:
            tokens: (batch, length) int64.
            mask: (batch, length); 0 = padding.

        Returns:
            A single number, with its graph.
        """
        logits = self.model(tokens, mask)[:, :-1]  # (batch, length - 1, n_vocab)
        targets = tokens[:, 1:].masked_fill(mask[:, 1:] == 0, -100)  # (batch, length - 1)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)

    def train(self, steps: int) -> list[float]:
        """Take so many steps, from where the last call stopped.

        Args:
            steps: at least 1.

        Returns:
            The loss of every step, before its update.
        """
        self.model.train()
        losses = []
        for _ in range(steps):
            loss = self.loss(*self.batches.next())
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            self.scheduler.step()
            losses.append(loss.item())
        return losses

    def checkpoint(self) -> State:
        """Everything that is needed to go on: a copy, which later training does not change."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "batches": self.batches.state_dict(),
            "random": torch.get_rng_state(),
        }
        return copy.deepcopy(state)

    def restore(self, state: State) -> None:
        """Go on from a checkpoint of another trainer.

        Args:
            state: from `checkpoint`.
        """
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.batches.load_state_dict(state["batches"])
        torch.set_rng_state(state["random"])
