"""What people write instead of `reference.training.Trainer`."""

from __future__ import annotations

from .misconception import Misconception
from .rewrite import Edit


def _misconception(code: str, method: str, *edits: tuple[str, str], loses: tuple[str, ...]) -> Misconception:
    return Misconception(
        code, tuple(Edit(f"Trainer.{method}", right, faulty) for right, faulty in edits), loses, code
    )


def _also_right(name: str, *edits: Edit) -> Misconception:
    return Misconception(name, edits)


LOSS = (
    _misconception(
        "not-shifted",
        "loss",
        ("self.model(tokens, mask)[:, :-1]", "self.model(tokens, mask)"),
        ("tokens[:, 1:].masked_fill(mask[:, 1:] == 0, -100)", "tokens.masked_fill(mask == 0, -100)"),
        loses=("loss", "learns"),
    ),
    _misconception(
        "padding-counted",
        "loss",
        ("tokens[:, 1:].masked_fill(mask[:, 1:] == 0, -100)", "tokens[:, 1:]"),
        loses=("loss",),
    ),
    _misconception(
        "loss-summed",
        "loss",
        (
            "functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)",
            "functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction='sum')",
        ),
        loses=("loss",),
    ),
)
"""These change the loss and nothing else: whoever follows them consistently loses nothing further on."""

UPDATES = (
    _misconception(
        "gradients-kept", "train", ("self.optimizer.zero_grad()", ""), loses=("updates", "resume")
    ),
    _misconception(
        "evaluation-mode", "train", ("self.model.train()", "self.model.eval()"), loses=("updates",)
    ),
    _misconception("schedule-forgotten", "train", ("self.scheduler.step()", ""), loses=("updates",)),
    _misconception(
        "never-updated",
        "train",
        ("self.optimizer.step()\nself.scheduler.step()", ""),
        loses=("updates", "learns", "resume"),
    ),
)

RESUME = (
    _misconception(
        "weights-lost", "restore", ('self.model.load_state_dict(state["model"])', ""), loses=("resume",)
    ),
    _misconception(
        "moments-lost",
        "restore",
        ('self.optimizer.load_state_dict(state["optimizer"])', ""),
        loses=("resume",),
    ),
    _misconception(
        "schedule-lost",
        "restore",
        ('self.scheduler.load_state_dict(state["scheduler"])', ""),
        loses=("resume",),
    ),
    _misconception(
        "order-restarts",
        "restore",
        ('self.batches.load_state_dict(state["batches"])', ""),
        loses=("resume",),
    ),
    _misconception("random-lost", "restore", ('torch.set_rng_state(state["random"])', ""), loses=("resume",)),
    _misconception("shared-memory", "checkpoint", ("copy.deepcopy(state)", "state"), loses=("resume",)),
)

ALTERNATIVES = (
    _also_right(
        "the mask is not handed on", Edit("Trainer.loss", "self.model(tokens, mask)", "self.model(tokens)")
    ),
    _also_right(
        "written to memory with torch.save",
        Edit(
            "Trainer.checkpoint",
            "return copy.deepcopy(state)",
            "import io\nfile = io.BytesIO()\ntorch.save(state, file)\nreturn {'file': file.getvalue()}",
        ),
        Edit(
            "Trainer.restore",
            'self.model.load_state_dict(state["model"])',
            "import io\nstate = torch.load(io.BytesIO(state['file']))\n"
            'self.model.load_state_dict(state["model"])',
        ),
    ),
    _also_right(
        "the loss by log-softmax",
        Edit(
            "Trainer.loss",
            "return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)",
            "chosen = logits.log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)\n"
            "return -(chosen * mask[:, 1:]).sum() / mask[:, 1:].sum()",
        ),
    ),
)

MISCONCEPTIONS = (*LOSS, *UPDATES, *RESUME, *ALTERNATIVES)
