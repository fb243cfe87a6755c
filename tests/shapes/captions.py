"""A captioning network: a package of helpers, a data file, layers in a module, a sampler in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import nbformat
import numpy as np

from autograder.course import Course
from tests.shapes.classes import Handed, Marks, write
from tests.support.small_course import answer, cell, check

NAME = "captions"
RNN = "captioning/rnn.py"

RUBRIC = """\
version = 1

[assignment]
name = "captions"
points = 16
preload = ["numpy"]

[assignment.limits]
cell_seconds = 10
call_seconds = 5

[assignment.symbols]
batch = { aliases = ["N"] }
time = { aliases = ["T"] }
vocabulary = { aliases = ["V"] }
hidden = { aliases = ["H"] }

[[assignment.notebooks]]
name = "captions"
data = ["captioning", "captions.npz"]
starter = ["captioning/rnn.py"]

[[question]]
id = "texts"
kind = "behaviour"
points = 2
answer = "texts"
library = "numpy"
reference = "captions:texts"
trials = "captions:texts_trials"

[[question.case]]
args = [{ draw = "integers", shape = [6], low = 0, high = 80 }]

[[question.item]]
id = "words"
points = 2
text = { en = "The captions of some pictures as texts" }

[[question]]
id = "step"
kind = "behaviour"
points = 3
file = "captioning/rnn.py"
answer = "step"
library = "numpy"
reference = "captions:step"
trials = "captions:step_trials"
sizes = { inputs = [5, 6], hidden = [4, 7] }

[[question.case]]
[question.case.kwargs]
inputs = { draw = "normal", shape = [3, "inputs"] }
state = { draw = "normal", shape = [3, "hidden"] }
from_inputs = { draw = "normal", shape = ["inputs", "hidden"], scale = 0.4 }
from_state = { draw = "normal", shape = ["hidden", "hidden"], scale = 0.4 }
bias = { draw = "normal", shape = ["hidden"] }

[[question.item]]
id = "state"
points = 3
text = { en = "The next state" }

[[question]]
id = "loss"
kind = "behaviour"
points = 4
file = "captioning/rnn.py"
answer = "temporal_loss"
library = "numpy"
reference = "captions:temporal_loss"
trials = "captions:loss_trials"

[[question.case]]
name = "all words count"
args = [
  { draw = "normal", shape = [3, 4, 9] },
  { draw = "integers", shape = [3, 4], low = 0, high = 9 },
  { array = [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]], dtype = "bool" },
]

[[question.case]]
name = "padded"
args = [
  { draw = "normal", shape = [5, 7, 9] },
  { draw = "integers", shape = [5, 7], low = 0, high = 9 },
  { draw = "padding_mask", shape = [5, 7] },
]

[[question.item]]
id = "loss"
points = 2
text = { en = "The loss where every word counts" }
cases = ["all words count"]

[[question.item]]
id = "padding"
points = 2
text = { en = "What is padded does not count" }
cases = ["padded"]

[[question]]
id = "scores"
kind = "shape"
points = 1
answer = "scores_shape"

[[question.item]]
id = "shape"
points = 1
text = { en = "The shape of the scores" }
value = ["batch", "time", "vocabulary"]

[[question]]
id = "parameters"
kind = "count"
points = 2
answer = "parameters"

[[question.item]]
id = "recurrent"
points = 1
key = "recurrent"
text = { en = "Parameters of the recurrent layer" }
value = 1056

[[question.item.mistake]]
code = "no-bias"
when = 1024
points = 0.5
text = { en = "The bias is missing." }

[[question.item]]
id = "output"
points = 1
key = "output"
text = { en = "Parameters of the last layer" }
value = 396

[[question]]
id = "sample"
kind = "behaviour"
points = 4
answer = "sample"
library = "numpy"
reference = "captions:sample"
trials = "captions:sample_trials"
carry_forward = ["step"]
sizes = { hidden = [6, 8] }

[[question.case]]
[question.case.kwargs]
pictures = { draw = "integers", shape = [10], low = 0, high = 80 }
project = { draw = "normal", shape = [8, "hidden"] }
embed = { draw = "normal", shape = [12, 5] }
from_inputs = { draw = "normal", shape = [5, "hidden"] }
from_state = { draw = "normal", shape = ["hidden", "hidden"] }
bias = { draw = "normal", shape = ["hidden"] }
output = { draw = "normal", shape = ["hidden", 12] }
length = 5

[[question.item]]
id = "words"
points = 4
text = { en = "The words that are sampled for some pictures" }
"""

DATA = '''\
"""Pictures and their captions."""

import numpy

PADDING, START, END = 0, 1, 2


def load(path="captions.npz"):
    """Features of shape (pictures, 8), captions of shape (pictures, 6), and the words by number."""
    with numpy.load(path) as found:
        return found["features"], found["captions"], found["words"].tolist()
'''

LAYERS = '''\
"""Layers that are given."""

import numpy


def log_softmax(scores):
    """Over the last axis."""
    scores = scores - scores.max(axis=-1, keepdims=True)
    return scores - numpy.log(numpy.exp(scores).sum(axis=-1, keepdims=True))
'''

STEP = "    return numpy.tanh(inputs @ from_inputs + state @ from_state + bias)\n"
LOSS = """\
    found = numpy.take_along_axis(log_softmax(scores), captions[:, :, None], axis=2)[:, :, 0]
    return -(found * mask).sum() / len(scores)
"""
STARTER = f'''\
"""The layers of the network that are yours to write."""

import numpy

from captioning.layers import log_softmax


def step(inputs, state, from_inputs, from_state, bias):
    """The next state, (batch, hidden), of inputs (batch, inputs) and a state (batch, hidden)."""
    ### BEGIN SOLUTION
{STEP}    ### END SOLUTION


def temporal_loss(scores, captions, mask):
    """The loss of scores (batch, time, vocabulary): summed where mask is true, averaged over the batch."""
    ### BEGIN SOLUTION
{LOSS}    ### END SOLUTION
'''
WRITTEN = STARTER.replace("    ### BEGIN SOLUTION\n", "").replace("    ### END SOLUTION\n", "")
"""The module as a student completes it."""

TEXTS = """\
def texts(pictures):
    features, captions, words = load()
    return [" ".join(words[word] for word in captions[one] if word > END) for one in pictures]
"""
SAMPLE = """\
def sample(pictures, project, embed, from_inputs, from_state, bias, output, length):
    features, captions, words = load()
    state = features[pictures] @ project
    word = numpy.full(len(pictures), START)
    found = []
    for _ in range(length):
        state = step(embed[word], state, from_inputs, from_state, bias)
        word = (state @ output).argmax(axis=1)
        found.append(word)
    return numpy.stack(found, axis=1)
"""

REFERENCE = f"""\
import inspect

import numpy

from captioning import rnn
from captioning.data import END, START, load
from captioning.rnn import step, temporal_loss


{TEXTS}

{SAMPLE}

def changed(source, old, new):
    assert old in source, old
    return source.replace(old, new)


def in_file(name, old, new, loses, **more):
    return {{"name": name, "source": changed(inspect.getsource(rnn), old, new), "loses": loses, **more}}


def in_cell(name, function, old, new, loses, **more):
    return {{"name": name, "source": changed(inspect.getsource(function), old, new), "loses": loses, **more}}


def texts_trials():
    return [
        in_cell("with the marks", texts, " if word > END", "", ["words"]),
        in_cell("other names", texts, "for one in", "for  one in", []),
    ]


def step_trials():
    return [
        in_file("no bias", " + bias", "", ["state"], code="no-bias", points={{"state": 1}},
                text={{"en": "{{what}}: the bias is not added."}}),
        in_file("not squashed", "numpy.tanh", "", ["state"]),
    ]


def loss_trials():
    return [
        in_file("padding counted", " * mask", "", ["padding"],
                code="padding-counted", points={{"padding": 0}},
                text={{"en": "{{what}}: padded places count as well."}}),
        in_file("averaged over words", " / len(scores)", " / mask.sum()", ["loss", "padding"],
                code="per-word", points={{"loss": 1, "padding": 1}},
                text={{"en": "{{what}}: divide by the captions, not by their words."}}),
    ]


def sample_trials():
    right = inspect.getsource(sample)
    return [
        in_cell("from the end", sample, "START", "END", ["words"]),
        in_cell("never fed", sample, "        word = (", "        new = (", ["words"]),
        {{"name": "on a step without a bias", "source": right, "loses": [],
          "earlier": {{"step": changed(inspect.getsource(rnn), " + bias", "")}}}},
    ]
"""


def course(root: Path) -> Course:
    """The assignment as its teacher writes it."""
    sources = f"assignments/{NAME}"
    write(
        root,
        {
            f"rubrics/{NAME}.toml": RUBRIC,
            f"reference/{NAME}.py": REFERENCE,
            f"{sources}/captioning/__init__.py": "",
            f"{sources}/captioning/data.py": DATA,
            f"{sources}/captioning/layers.py": LAYERS,
            f"{sources}/{RNN}": STARTER,
        },
    )
    draw = np.random.default_rng(5)
    captions = draw.integers(3, 12, (80, 6))
    captions[:, 0] = 1
    for row, end in zip(captions, draw.integers(2, 6, 80), strict=True):
        row[end], row[end + 1 :] = 2, 0
    words = np.array(WORDS)
    np.savez(
        root / sources / "captions.npz", features=draw.normal(size=(80, 8)), captions=captions, words=words
    )
    nbformat.write(_notebook(), root / sources / f"{NAME}.ipynb")
    return Course.at(root)


WORDS = ("<pad>", "<start>", "<end>", "a", "dog", "cat", "runs", "sleeps", "red", "small", "on", "grass")
SHAPE = 'scores_shape = "(N, T, V)"'
COUNTS = 'parameters = {"recurrent": 1056, "output": 396}'


def _notebook() -> nbformat.NotebookNode:
    given = (
        "import numpy\n\nfrom captioning.data import END, START, load\n"
        "from captioning.rnn import step, temporal_loss\nfrom coursecheck import check"
    )
    cells = [
        cell("setup", given),
        answer("texts-answer", "# def texts(pictures): ...", TEXTS),
        check("texts", 2),
        check("step", 3),
        check("loss", 4),
        answer("scores-answer", '# scores_shape = "..."', SHAPE),
        check("scores", 1),
        answer("parameters-answer", "# parameters = {...}", COUNTS),
        check("parameters", 2),
        answer("sample-answer", "# def sample(...): ...", SAMPLE),
        check("sample", 4),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


FULL: Mapping[str, float] = {
    "texts.words": 2,
    "step.state": 3,
    "loss.loss": 2,
    "loss.padding": 2,
    "scores.shape": 1,
    "parameters.recurrent": 1,
    "parameters.output": 1,
    "sample.words": 4,
}
RIGHT: Mapping[str, str] = {
    "texts-answer": TEXTS,
    "scores-answer": SHAPE,
    "parameters-answer": COUNTS,
    "sample-answer": SAMPLE,
}


def _works() -> Iterator[tuple[Handed, Marks]]:
    """What stands in the cells (those of `RIGHT` else), the files, and the marks that are not full."""

    def work(
        cells: Mapping[str, str] | None = None, rnn: str | None = WRITTEN, **lost: float
    ) -> tuple[Handed, Marks]:
        files = {} if rnn is None else {RNN: rnn.encode()}
        marks = {name.replace("__", "."): points for name, points in lost.items()}
        return Handed({**RIGHT, **(cells or {})}, files), {**FULL, **marks}

    def rnn(old: str, new: str) -> str:
        assert old in WRITTEN, old
        return WRITTEN.replace(old, new)

    nothing = dict.fromkeys(FULL, 0.0)
    crashing = "def sample(*args, **named):\n    raise ValueError('not yet')\n"
    yield work()
    yield work(rnn=rnn("numpy.tanh(inputs", "numpy.tanh(bias + inputs").replace(" + bias)", ")"))
    yield work({"scores-answer": "scores_shape = ('batch', 'time', 'vocabulary')"})
    yield work({"sample-answer": SAMPLE.replace("found", "chosen")})
    # The mistake costs its own question alone: the sampler is asked again with the right step.
    yield work(rnn=rnn(" + bias)", ")"), step__state=1)
    yield work(rnn=rnn("numpy.tanh", ""), step__state=0)
    yield work(rnn=rnn(" * mask", ""), loss__padding=0)
    yield work(rnn=rnn(" / len(scores)", " / mask.sum()"), loss__loss=1, loss__padding=1)
    yield work({"scores-answer": 'scores_shape = "(N, V, T)"'}, scores__shape=0)
    yield work({"parameters-answer": COUNTS.replace("1056", "1024")}, parameters__recurrent=0.5)
    yield work({"parameters-answer": COUNTS.replace("396", "384")}, parameters__output=0)
    yield work({"sample-answer": SAMPLE.replace("START", "END")}, sample__words=0)
    yield work({"sample-answer": crashing}, sample__words=0)
    yield work({"texts-answer": TEXTS.replace(" if word > END", "")}, texts__words=0)
    yield work({"texts-answer": "def texts(pictures) return"}, texts__words=0)
    # Without the module, as it was given out, or with one that does not compile, what needs it is lost,
    # and the sampler is right by the reference's step.
    without = {"step__state": 0, "loss__loss": 0, "loss__padding": 0}
    yield work(rnn=None, **without)
    yield Handed(None, {}), nothing
    yield Handed({}, {}), nothing


WORKS = tuple(_works())
