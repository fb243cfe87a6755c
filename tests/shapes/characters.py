"""A model of characters that is trained in the notebook: its loss, its logits and its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import nbformat

from autograder.course import Course
from tests.shapes.classes import Handed, Marks, write
from tests.support.small_course import answer, cell, check

NAME = "characters"

RUBRIC = """\
version = 1

[assignment]
name = "characters"
points = 14
preload = ["torch", "safetensors.torch"]

[assignment.limits]
cell_seconds = 30
call_seconds = 10

[[assignment.notebooks]]
name = "characters"
data = ["rhymes.txt"]

[[assignment.notebooks.result]]
path = "model.safetensors"
most_mb = 1
optional = true

[[question]]
id = "loss"
kind = "behaviour"
points = 3
answer = "loss_of"
reference = "characters:loss_of"
trials = "characters:loss_trials"

[[question.case]]
args = [{ draw = "normal", shape = [4, 5, 7] }, { draw = "integers", shape = [4, 5], low = 0, high = 7 }]

[[question.item]]
id = "mean"
points = 3
text = { en = "The mean loss of all characters" }

[[question]]
id = "training"
kind = "score"
points = 7
answer = "model"
reference = "characters:trained"
trials = "characters:training_trials"
mode = "eval"
batch = 100
shape = [8, 12]
reported = "loss_history"

[[question.item]]
id = "loss"
points = 7
text = { en = "The loss on a text that you do not have" }
tier = [{ at = 2.2, points = 2 }, { at = 1.7, points = 4 }, { at = 1.15, points = 7 }]

[[question]]
id = "checkpoint"
kind = "score"
points = 4
answer = "checkpoint"
reference = "characters:saved"
asks = "file"
reads = "model.safetensors"

[[question.item]]
id = "loss"
points = 4
text = { en = "The loss of the model that you saved" }
tier = [{ at = 2.2, points = 1 }, { at = 1.15, points = 4 }]
"""

GIVEN = '''\
import torch
from safetensors.torch import load_file, save_file
from coursecheck import check

LETTERS = "abcdefghijkl"


class Characters(torch.nn.Module):
    """Logits (batch, length, 12) of the next character after each of (batch, length)."""

    def __init__(self, width=24):
        super().__init__()
        self.table = torch.nn.Embedding(12, width)
        self.network = torch.nn.GRU(width, width, batch_first=True)
        self.last = torch.nn.Linear(width, 12)

    def forward(self, numbers):
        return self.last(self.network(self.table(numbers))[0])


with open("rhymes.txt") as file:
    TEXT = torch.tensor([LETTERS.index(letter) for letter in file.read()])


def batch_of(size=32, length=8):
    """Inputs and targets, (size, length) each."""
    places = torch.randint(len(TEXT) - length, (size, 1)) + torch.arange(length + 1)
    return TEXT[places[:, :-1]], TEXT[places[:, 1:]]
'''
LOSS = """\
def loss_of(logits, targets):
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
"""
TRAINING = """\
torch.manual_seed(1)
model = Characters()
optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
loss_history = []
for _ in range(60):
    inputs, targets = batch_of()
    loss = torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    loss_history.append(loss.item())
print("final loss:", loss_history[-1])
"""
SAVED = 'save_file(model.state_dict(), "model.safetensors")\n'

REFERENCE = f'''\
import inspect

import numpy
import torch

LENGTH, EXAMPLES = 8, 300


def text(seed, length):
    """Each character is mostly the one before, five further; now and then any."""
    generator, letters = numpy.random.default_rng(seed), [0]
    for chance in generator.random(length):
        letters.append((5 * letters[-1] + 1) % 12 if chance < 0.8 else int(generator.integers(12)))
    return numpy.array(letters)


{LOSS}

class Characters(torch.nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.table = torch.nn.Embedding(12, width)
        self.network = torch.nn.GRU(width, width, batch_first=True)
        self.last = torch.nn.Linear(width, 12)

    def forward(self, numbers):
        return self.last(self.network(self.table(numbers))[0])


def examples(seed):
    rows = text(seed, EXAMPLES * (LENGTH + 1))[: EXAMPLES * (LENGTH + 1)].reshape(EXAMPLES, LENGTH + 1)
    return torch.tensor(rows[:, :-1]), torch.tensor(rows[:, 1:])


def losses(logits, targets):
    """Of each example, averaged over its characters."""
    found = torch.nn.functional.cross_entropy(logits.double().movedim(-1, 1), targets, reduction="none")
    return found.mean(dim=1).numpy()


FLOOR = float(numpy.log(12))


class Trained:
    def hidden(self, seed):
        return {{"args": [examples(seed)[0]], "floor": FLOOR}}

    def measure(self, seed, outputs, weights):
        return weights @ losses(torch.tensor(outputs), examples(seed)[1]) / weights.sum(axis=1)


class Saved:
    def hidden(self, seed):
        shapes = {{name: list(one.shape) for name, one in Characters().state_dict().items()}}
        return {{"count": EXAMPLES, "tensors": shapes, "floor": FLOOR}}

    def measure(self, seed, tensors, weights):
        model = Characters()
        model.load_state_dict({{name: torch.tensor(one) for name, one in tensors.items()}})
        inputs, targets = examples(seed)
        with torch.no_grad():
            return weights @ losses(model(inputs), targets) / weights.sum(axis=1)


trained, saved = Trained(), Saved()


def loss_trials():
    right = inspect.getsource(loss_of)
    summed = right.replace("targets.flatten())", "targets.flatten(), reduction='sum')")
    return [
        {{"name": "summed", "source": summed, "loses": ["mean"], "code": "summed", "points": {{"mean": 1}},
          "text": {{"en": "{{what}}: this is the sum; divide by the number of characters."}}}},
    ]


UNTRAINED = "import torch\\ntorch.manual_seed(1)\\nmodel = Characters()\\n"


def training_trials():
    return [
        {{"name": "losses that were typed in", "source": UNTRAINED + "loss_history = [0.0] * 5\\n",
          "loses": ["loss"], "points": {{"loss": 0}}}},
    ]
'''


def course(root: Path) -> Course:
    """The assignment as its teacher writes it."""
    found: dict[str, object] = {}
    made = REFERENCE[REFERENCE.index("def text") : REFERENCE.index("def loss_of")]
    exec(f"import numpy\n\n\n{made}", found)
    letters = "".join("abcdefghijkl"[number] for number in found["text"](9, 4000))  # type: ignore[operator]
    write(
        root,
        {
            f"rubrics/{NAME}.toml": RUBRIC,
            f"reference/{NAME}.py": REFERENCE,
            f"assignments/{NAME}/rhymes.txt": letters,
        },
    )
    nbformat.write(_notebook(), root / f"assignments/{NAME}/{NAME}.ipynb")
    return Course.at(root)


def _notebook() -> nbformat.NotebookNode:
    cells = [
        cell("setup", GIVEN),
        answer("loss-answer", "# def loss_of(logits, targets): ...", LOSS),
        check("loss", 3),
        answer("training-answer", "# model = Characters() ...", TRAINING),
        check("training", 7),
        answer("checkpoint-answer", '# save_file(model.state_dict(), "model.safetensors")', SAVED),
        check("checkpoint", 4),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


FULL: Mapping[str, float] = {"loss.mean": 3, "training.loss": 7, "checkpoint.loss": 4}
RIGHT: Mapping[str, str] = {"loss-answer": LOSS, "training-answer": TRAINING, "checkpoint-answer": SAVED}
UNTRAINED = "torch.manual_seed(1)\nmodel = Characters()\n"


def _works() -> Iterator[tuple[Handed, Marks]]:
    """What stands in the cells (those of `RIGHT` else), files, and the marks that differ from full ones."""

    def work(
        loss: str = LOSS,
        training: str = TRAINING,
        saved: str = SAVED,
        file: bytes | None = None,
        **lost: float,
    ) -> tuple[Handed, Marks]:
        cells = {"loss-answer": loss, "training-answer": training, "checkpoint-answer": saved}
        files = {} if file is None else {"model.safetensors": file}
        written = {name: source for name, source in cells.items() if source}
        marks = {name.replace("__", "."): points for name, points in lost.items()}
        return Handed(written, files), {**FULL, **marks}

    def training(old: str, new: str) -> str:
        assert old in TRAINING, old
        return TRAINING.replace(old, new)

    nothing = {"training__loss": 0.0, "checkpoint__loss": 0.0}
    yield work()
    yield work(training=training("Adam", "AdamW"))
    yield work(loss="import torch.nn.functional as F\n" + LOSS.replace("torch.nn.functional", "F"))
    # Losses that nobody measured earn nothing, and cost nothing beside a model that is good.
    yield work(training=f"{UNTRAINED}loss_history = [0.0] * 5\nprint('final loss:', 0.0)\n", **nothing)
    yield work(training=f"{TRAINING}loss_history = [0.0] * 5\n")
    yield work(training=training("range(60)", "range(5)"), training__loss=4, checkpoint__loss=1)
    yield work(training=training("    optimiser.step()\n", ""), **nothing)
    yield work(training=training("model = Characters()", "model = Characters(width=32)"), checkpoint__loss=0)
    yield work(training="model = lambda inputs: torch.zeros(*inputs.shape, 12)\n", **nothing)
    yield work(training="raise RuntimeError('out of patience')\n", **nothing)
    yield work(LOSS.replace("targets.flatten())", "targets.flatten(), reduction='sum')"), loss__mean=1)
    yield work(LOSS.replace("return ", "return -"), loss__mean=0)
    # Checkpoints: none, a pickle, one that is cut off, and one that was not trained.
    yield work(saved="", checkpoint__loss=0)
    yield work(saved='torch.save(model.state_dict(), "model.safetensors")\n', checkpoint__loss=0)
    yield work(saved="", file=b"\x10\0\0\0\0\0\0\0{", checkpoint__loss=0)
    yield work(saved='save_file(Characters().state_dict(), "model.safetensors")\n', checkpoint__loss=0)
    yield Handed({}, {}), dict.fromkeys(FULL, 0.0)
    yield Handed(dict.fromkeys(RIGHT, ""), {}), dict.fromkeys(FULL, 0.0)


WORKS = tuple(_works())
