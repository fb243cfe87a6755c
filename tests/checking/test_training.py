"""Test the checks of the trainer on answers that cheat, fail, or are right in another way."""

from __future__ import annotations

import pytest

from tests.support.checked import CheckedAnswer, open_program, read_file, run_checks

SOURCE = read_file("trainer").solution


def run(source: str) -> CheckedAnswer:
    with open_program("trainer") as program:
        return run_checks(program, source)


def change(old: str, new: str, *more: tuple[str, str]) -> str:
    """Return the solution with texts replaced."""
    source = str(SOURCE)
    for before, after in ((old, new), *more):
        assert before in source
        source = source.replace(before, after)
    return source


ALL = {"loss", "updates", "learns", "resume"}
LOSSES = ALL - {"learns"}
"""Items that need the losses returned by `train`; the model itself has learned."""
REPLAY = """
    def train(self, steps):
        if MEMORY:
            losses, weights = MEMORY[-1]
            self.model.load_state_dict(weights)
            return losses[-steps:]
        losses = self._train(steps)
        MEMORY.append((losses, copy.deepcopy(self.model.state_dict())))
        return losses

    def _train(self, steps"""
ANSWERS = {
    "losses as a tensor": (change("return losses", "return torch.tensor(losses)"), set()),
    "a schedule by hand": (
        change(
            "LinearLR(self.optimizer, 1.0, 0.0, total_steps)",
            "LambdaLR(self.optimizer, lambda step: 1 - step / total_steps)",
        ),
        set(),
    ),
    "gradients removed after the step": (
        change(
            "            self.optimizer.zero_grad()\n            loss.backward()",
            "            loss.backward()",
            (
                "            self.scheduler.step()",
                "            self.scheduler.step()\n            self.model.zero_grad()",
            ),
        ),
        set(),
    ),
    "losses as a column": (change("return losses", "return torch.tensor(losses)[:, None]"), set()),
    "a checkpoint in an object of its own": (
        change("return copy.deepcopy(state)", "return {'it': State2(copy.deepcopy(state))}").replace(
            "def restore(self, state: State) -> None:",
            "def restore(self, state):\n        state = state['it'].it",
        )
        + "\n\nclass State2:\n    def __init__(self, it):\n        self.it = it\n",
        set(),
    ),
    "two mistakes": (
        change(
            "masked_fill(mask[:, 1:] == 0, -100)",
            "clone()",
            ('        self.optimizer.load_state_dict(state["optimizer"])\n', ""),
        ),
        {"loss", "resume"},
    ),
    "too few losses": (change("return losses", "return losses[:1]"), LOSSES),
    "the losses as a sum": (change("return losses", "return sum(losses)"), LOSSES),
    "losses that are NaN": (
        change("return losses", "return [loss * float('nan') for loss in losses]"),
        LOSSES,
    ),
    "huge losses": (change("return losses", "return [10 ** 400] * steps"), LOSSES),
    "a text": (change("return losses", "return 'all of them'"), LOSSES),
    "no training": (change("return losses", "raise RuntimeError('tired')"), ALL),
    "nothing at all": ("x = 1", ALL),
    "no class": ("Trainer = 3", ALL),
    "another class": ("def Trainer(*_): return str", ALL),
    "a module": ("import torch\nTrainer = torch", ALL),
    "losses that are made up": (
        "class Trainer:\n"
        "    def __init__(self, model, batches, lr, total): pass\n"
        "    def train(self, steps): return [1.0 / (step + 1) for step in range(steps)]\n"
        "    def checkpoint(self): return {}\n"
        "    def restore(self, state): pass\n",
        ALL,
    ),
    "a model that ends up broken": (
        change("return losses", "self.model.norm.weight.data.fill_(float('nan'))\n        return losses"),
        {"learns", "resume"},
    ),
    "replays an earlier run": (
        change("class Trainer:", "MEMORY = []\n\n\nclass Trainer:", ("\n    def train(self, steps", REPLAY)),
        LOSSES,
    ),
    "keeps the checkpoint outside of it": (
        change("return copy.deepcopy(state)", "KEPT.update(state)\n        return {}", ('state["', 'KEPT["'))
        + "\n\nKEPT = {}\n",
        {"resume"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("source", "loses"), ANSWERS.values(), ids=ANSWERS)
def test_trainers_lose_what_they_lack(source: str, loses: set[str]) -> None:
    checked = run(source)
    assert checked.lost == loses, checked.outcomes
    assert not checked.unclear
