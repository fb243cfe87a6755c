"""What people write instead of `reference.training.Trainer`."""

from __future__ import annotations

from .rewrite import Edit
from .slip import Slip


def _slip(code: str, method: str, *edits: tuple[str, str], loses: tuple[str, ...]) -> Slip:
    return Slip(code, tuple(Edit(f"Trainer.{method}", right, faulty) for right, faulty in edits), loses, code)


def _also_right(name: str, *edits: Edit) -> Slip:
    return Slip(name, edits)


LOSS = (
    _slip(
        "not-shifted",
        "loss",
        ("self.model(tokens, mask)[:, :-1]", "self.model(tokens, mask)"),
        ("tokens[:, 1:].masked_fill(mask[:, 1:] == 0, -100)", "tokens.masked_fill(mask == 0, -100)"),
        loses=("loss", "learns"),
    ),
    _slip(
        "padding-counted",
        "loss",
        ("tokens[:, 1:].masked_fill(mask[:, 1:] == 0, -100)", "tokens[:, 1:]"),
        loses=("loss",),
    ),
    _slip(
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
    _slip("gradients-kept", "train", ("self.optimizer.zero_grad()", ""), loses=("updates", "resume")),
    _slip("evaluation-mode", "train", ("self.model.train()", "self.model.eval()"), loses=("updates",)),
    _slip("schedule-forgotten", "train", ("self.scheduler.step()", ""), loses=("updates",)),
    _slip(
        "never-updated",
        "train",
        ("self.optimizer.step()\nself.scheduler.step()", ""),
        loses=("updates", "learns", "resume"),
    ),
)

RESUME = (
    _slip("weights-lost", "restore", ('self.model.load_state_dict(state["model"])', ""), loses=("resume",)),
    _slip(
        "moments-lost",
        "restore",
        ('self.optimizer.load_state_dict(state["optimizer"])', ""),
        loses=("resume",),
    ),
    _slip(
        "schedule-lost",
        "restore",
        ('self.scheduler.load_state_dict(state["scheduler"])', ""),
        loses=("resume",),
    ),
    _slip(
        "order-restarts",
        "restore",
        ('self.batches.load_state_dict(state["batches"])', ""),
        loses=("resume",),
    ),
    _slip("random-lost", "restore", ('torch.set_rng_state(state["random"])', ""), loses=("resume",)),
    _slip("shared-memory", "checkpoint", ("copy.deepcopy(state)", "state"), loses=("resume",)),
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

SLIPS = (*LOSS, *UPDATES, *RESUME, *ALTERNATIVES)
