"""Task 2 (a): fine-tuning with checkpoints."""

import numpy as np
import torch
from torch.nn import functional

from autograder.checking import Wrong, assert_close, check, mutant, planted, solution
from reference.checks.arrays import read_array
from reference.gpt2 import GPT2
from reference.training import Batches, Trainer

solution("training.py")

STEPS, STOP, FURTHER = 10, 4, 3
"""Of a run; before its checkpoint; of the first trainer after it."""


@check(
    points=3,
    title={
        "en": "The loss: every token that is not padding, predicted from those before it",
        "de": "Der Verlust: jedes Token außer Padding, vorhergesagt aus denen davor",
    },
)
def loss(student, reference, draw):
    """Compare the first loss, which no update has touched, on two sets of texts."""
    tasks = [Task(draw), Task(draw)]
    losses = [task.train(task.start(student, student.Trainer)[0], 2)[0] for task in tasks]
    right = [task.train(task.start(reference, Trainer)[0], 2)[0] for task in tasks]
    assert_close(losses, right, rtol=1e-6)


@check(
    points=3,
    title={
        "en": "Every step updates the weights, in training mode and with the schedule",
        "de": "Jeder Schritt ändert die Gewichte, im Trainingsmodus und nach dem Zeitplan",
    },
)
def updates(student, reference, draw):
    """Compare all losses, without and with dropout; those of another loss, followed consistently, count."""
    task = Task(draw)

    def train_both(names, kind):
        return [task.train(task.start(names, kind, dropout=dropout)[0]) for dropout in (0.0, 0.2)]

    losses = train_both(student, student.Trainer)
    right = train_both(reference, Trainer)
    if not np.allclose(losses, right):
        others = (train_both(reference, kind) for kind in (NotShifted, PaddingCounted, LossSummed))
        right = next((other for other in others if np.allclose(losses, other)), right)
    assert_close(losses, right, rtol=1e-5)


@check(
    points=1,
    title={"en": "The loss on the texts falls", "de": "Der Verlust auf den Texten sinkt"},
)
def learns(student, reference, draw):
    """Compute the loss from the model's logits before and after the training."""
    task = Task(draw)
    trainer, model = task.start(student, student.Trainer)
    before = task.measure_loss(model)
    trainer.train(STEPS)
    after = task.measure_loss(model)
    if not after <= 0.95 * before:  # NaN is no success
        raise Wrong(f"the loss on the texts was {before:.3f} and is {after:.3f}")


@check(
    points=5,
    title={
        "en": "Going on from a checkpoint equals never having stopped, to the last bit",
        "de": "Von einem Checkpoint weiterzumachen ist bis auf das letzte Bit, als hätte man nie aufgehört",
    },
)
def resume(student, reference, draw):
    """Compare with a run without a break in a fresh sandbox, so that no run can remember another."""
    task = Task(draw)
    first, _ = task.start(student, student.Trainer, dropout=0.2)
    task.train(first, STOP)
    saved = first.checkpoint()
    first.train(FURTHER)
    second, model = task.start(student, student.Trainer, dropout=0.2, weights=task.other_weights)
    second.restore(saved)
    losses = read_losses(second.train(STEPS - STOP), STEPS - STOP)

    fresh = student.again()
    whole, expected_model = task.start(fresh, fresh.Trainer, dropout=0.2)
    before = task.compute_logits(expected_model)
    expected = task.train(whole)[STOP:]
    after = task.compute_logits(expected_model)
    assert_close(losses, expected, rtol=0, atol=0)
    assert_close(task.compute_logits(model), after, rtol=0, atol=0)
    if torch.equal(before, after):
        raise Wrong("training does not change the model at all")


class Task:
    """Hidden texts, and the seeds of weights, batches and dropout."""

    def __init__(self, draw):
        places = torch.arange(8)
        self.mask = (places < draw.integers(2, 9, 12, 1)).long()  # (texts, length)
        self.tokens = (draw.integers(0, 10, 12, 1) + places) % 10 + 1
        self.weights, self.other_weights, self.order, self.noise = (draw.seed() for _ in range(4))

    def start(self, names, kind, *, dropout=0.0, weights=None):
        """Return a trainer with new batches, and its new model, in double precision."""
        if not callable(kind):
            raise Wrong(f"expected a class, got a {type(kind).__name__}")
        torch.manual_seed(self.weights if weights is None else weights)
        model = getattr(names, "GPT2", GPT2)(11, 12, dropout=dropout, spread=0.1).double()
        batches = getattr(names, "Batches", Batches)(self.tokens, self.mask, 4, self.order)
        trainer = kind(model, batches, 0.02, 12)
        if not callable(getattr(trainer, "train", None)):
            raise Wrong(f"expected a trainer, got a {type(trainer).__name__}")
        return trainer, model

    def train(self, trainer, steps=STEPS):
        """Return the losses of a trainer's first steps."""
        torch.manual_seed(self.noise)
        return read_losses(trainer.train(steps), steps)

    def compute_logits(self, model):
        """Return a model's logits (texts, length, n_vocab) for the texts."""
        return model.eval()(self.tokens, self.mask).detach()

    def measure_loss(self, model):
        """Return the mean cross-entropy of a model on the texts."""
        logits = self.compute_logits(model)[:, :-1]
        targets = self.tokens[:, 1:].masked_fill(self.mask[:, 1:] == 0, -100)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()


def read_losses(value, steps):
    """Return the losses of so many steps.

    Raises:
        Wrong: these are none.
    """
    losses = read_array(value)
    if losses is None or losses.shape not in ((steps,), (steps, 1)):
        raise Wrong(f"{steps} losses are asked for")
    if not np.isfinite(losses).all():
        raise Wrong(f"losses that are not finite: {losses}")
    return losses.reshape(steps).tolist()


class NotShifted(Trainer):
    """Predicts the token that is read."""

    def loss(self, tokens, mask):
        """See `Trainer.loss`."""
        logits, targets = self.model(tokens, mask), tokens.masked_fill(mask == 0, -100)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class PaddingCounted(Trainer):
    """Counts padding in the loss."""

    def loss(self, tokens, mask):
        """See `Trainer.loss`."""
        logits = self.model(tokens, mask)[:, :-1]
        return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


class LossSummed(Trainer):
    """Sums over the tokens."""

    def loss(self, tokens, mask):
        """See `Trainer.loss`."""
        return super().loss(tokens, mask) * (mask[:, 1:] != 0).sum()


LOGITS = "logits = self.model(tokens, mask)[:, :-1]  # (batch, length - 1, n_vocab)"
TARGETS = "targets = tokens[:, 1:].masked_fill(mask[:, 1:] == 0, -100)  # (batch, length - 1)"

mutant(
    "not shifted",
    edits=[
        (LOGITS, "logits = self.model(tokens, mask)"),
        (TARGETS, "targets = tokens.masked_fill(mask == 0, -100)"),
    ],
    title={
        "en": "Trainer: the logits at a position are compared with the token at the same position. They "
        "predict the next one.",
        "de": "Trainer: Die Logits einer Position werden mit dem Token derselben Position verglichen. Sie "
        "sagen das nächste voraus.",
    },
    loses=["loss", "learns"],
)
mutant(
    "padding counted",
    old=TARGETS,
    new="targets = tokens[:, 1:]",
    title={
        "en": "Trainer: padding is counted in the loss.",
        "de": "Trainer: Padding wird im Verlust mitgezählt.",
    },
    loses=["loss"],
)
mutant(
    "loss summed",
    old="targets.flatten(), ignore_index=-100)",
    new='targets.flatten(), reduction="sum")',
    title={
        "en": "Trainer: the loss is a sum over the tokens; their mean is asked for.",
        "de": "Trainer: Der Verlust ist eine Summe über die Token; gefragt ist ihr Mittelwert.",
    },
    loses=["loss"],
)
mutant(
    "gradients kept",
    old="            self.optimizer.zero_grad()\n",
    new="",
    title={
        "en": "Trainer: gradients of earlier steps are added to those of the next one.",
        "de": "Trainer: Gradienten früherer Schritte werden zu denen des nächsten addiert.",
    },
    loses=["updates", "resume"],
)
mutant(
    "evaluation mode",
    old="self.model.train()",
    new="self.model.eval()",
    title={
        "en": "Trainer: the model is in evaluation mode while it is trained, so dropout does nothing.",
        "de": "Trainer: Das Modell ist beim Training im Auswertungsmodus; Dropout bewirkt so nichts.",
    },
    loses=["updates"],
)
mutant(
    "schedule forgotten",
    old="            self.scheduler.step()\n",
    new="",
    title={
        "en": "Trainer: the learning rate stays the same; the schedule never takes a step.",
        "de": "Trainer: Die Lernrate bleibt gleich; der Zeitplan macht keinen Schritt.",
    },
    loses=["updates"],
)
mutant(
    "never updated",
    old="            self.optimizer.step()\n            self.scheduler.step()\n",
    new="",
    title={
        "en": "Trainer: the optimizer never takes a step.",
        "de": "Trainer: Der Optimierer macht keinen Schritt.",
    },
    loses=["updates", "learns", "resume"],
)
mutant(
    "random state lost",
    old='        torch.set_rng_state(state["random"])\n',
    new="",
    title={
        "en": "Trainer: the state of the random numbers does not come back, so dropout drops something else.",
        "de": "Trainer: Der Zustand der Zufallszahlen kommt nicht zurück; Dropout verwirft so anderes.",
    },
    points={"resume": 3.5},
    loses=["resume"],
)
mutant(
    "schedule lost",
    old='        self.scheduler.load_state_dict(state["scheduler"])\n',
    new="",
    title={
        "en": "Trainer: the learning rate's schedule starts again after a checkpoint.",
        "de": "Trainer: Der Zeitplan der Lernrate beginnt nach einem Checkpoint von vorn.",
    },
    points={"resume": 3.5},
    loses=["resume"],
)
mutant(
    "moments lost",
    old='        self.optimizer.load_state_dict(state["optimizer"])\n',
    new="",
    title={
        "en": "Trainer: what the optimizer remembers (its moments and steps) does not come back from the "
        "checkpoint.",
        "de": "Trainer: Was der Optimierer sich merkt (Momente und Schritte), kommt nicht aus dem Checkpoint "
        "zurück.",
    },
    points={"resume": 3},
    loses=["resume"],
)
mutant(
    "order restarts",
    old='        self.batches.load_state_dict(state["batches"])\n',
    new="",
    title={
        "en": "Trainer: after a checkpoint the batches start again from the beginning.",
        "de": "Trainer: Nach einem Checkpoint beginnen die Batches wieder von vorn.",
    },
    points={"resume": 3},
    loses=["resume"],
)
mutant(
    "weights lost",
    old='        self.model.load_state_dict(state["model"])\n',
    new="",
    title={
        "en": "Trainer: the model's weights do not come back from the checkpoint.",
        "de": "Trainer: Die Gewichte des Modells kommen nicht aus dem Checkpoint zurück.",
    },
    loses=["resume"],
)
mutant(
    "shared memory",
    old="return copy.deepcopy(state)",
    new="return state",
    title={
        "en": "Trainer: the checkpoint changes when training goes on: it holds the live tensors, not copies.",
        "de": "Trainer: Der Checkpoint ändert sich beim weiteren Training: Er enthält die lebenden Tensoren "
        "statt Kopien.",
    },
    loses=["resume"],
)
mutant("right: the mask is not handed on", old=LOGITS, new="logits = self.model(tokens)[:, :-1]", loses=[])
mutant(
    "right: written to memory with torch.save",
    edits=[
        (
            "return copy.deepcopy(state)",
            "import io\n        file = io.BytesIO()\n        torch.save(state, file)\n"
            '        return {"file": file.getvalue()}',
        ),
        (
            '        self.model.load_state_dict(state["model"])\n',
            "        import io\n"
            '        state = torch.load(io.BytesIO(state["file"]))\n'
            '        self.model.load_state_dict(state["model"])\n',
        ),
    ],
    loses=[],
)
mutant(
    "right: the loss by log-softmax",
    old="return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)",
    new="chosen = logits.log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)\n"
    "        return -(chosen * mask[:, 1:]).sum() / mask[:, 1:].sum()",
    loses=[],
)

planted(
    "losses that are made up",
    source="""
class Trainer:
    def __init__(self, model, batches, lr, total): pass
    def train(self, steps): return [1.0 / (step + 1) for step in range(steps)]
    def checkpoint(self): return {}
    def restore(self, state): pass
""",
    loses=["loss", "updates", "learns", "resume"],
)
