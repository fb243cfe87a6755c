"""A language model handed in as modules and a table of predictions, without a notebook."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from autograder.course import Course
from tests.shapes.classes import Handed, Marks, write

NAME = "language"
SYMBOLS = "abcdefg "

RUBRIC = """\
version = 1

[assignment]
name = "language"
points = 14
preload = ["numpy"]

[assignment.limits]
cell_seconds = 10
call_seconds = 5

[[assignment.notebooks]]
name = "language"
data = ["train.txt", "contexts.npy"]
starter = ["lm.py", "report.md"]

[[assignment.notebooks.result]]
path = "predictions.npy"
most_mb = 1

[[question]]
id = "counts"
kind = "behaviour"
points = 3
file = "lm.py"
answer = "count"
library = "numpy"
reference = "language:count"
trials = "language:count_trials"

[[question.case]]
args = ["abcab gab", 2]

[[question.case]]
args = ["aaaabaac", 3]

[[question.item]]
id = "groups"
points = 3
text = { en = "How often groups of symbols occur" }

[[question]]
id = "model"
kind = "score"
points = 6
file = "lm.py"
answer = "predict"
reference = "language:Text"
trials = "language:model_trials"
gives = "probabilities"
shape = [8]
batch = 250

[[question.item]]
id = "perplexity"
points = 6
text = { en = "The perplexity on a text that you do not have" }
tier = [{ at = 6, points = 1 }, { at = 4.5, points = 3 }, { at = 3.5, points = 6 }]

[[question]]
id = "predictions"
kind = "score"
points = 4
file = "predictions.npy"
answer = "predictions"
reference = "language:Predicted"
trials = "language:prediction_trials"
asks = "file"
reads = "predictions.npy"
gives = "classes"
classes = 8

[[question.item]]
id = "accuracy"
points = 4
text = { en = "How many of the next symbols are predicted" }
better = "higher"
tier = [{ at = 0.4, points = 2 }, { at = 0.6, points = 4 }]

[[question]]
id = "report"
kind = "written"
points = 1
file = "report.md"

[[question.item]]
id = "said"
points = 1
manual = true
text = { en = "What the model cannot learn" }
"""

COUNT = """\
    found = Counter(text[at : at + size] for at in range(len(text) - size + 1))
    return dict(found)
"""
PREDICT = "    return TABLE[contexts[:, -2], contexts[:, -1]]\n"
TABLES = """\
with open("train.txt") as file:
    NUMBERS = numpy.array([SYMBOLS.index(letter) for letter in file.read()])
TABLE = numpy.full((8, 8, 8), 0.1)
numpy.add.at(TABLE, (NUMBERS[:-2], NUMBERS[1:-1], NUMBERS[2:]), 1)
TABLE /= TABLE.sum(axis=-1, keepdims=True)
"""
STARTER = f'''\
"""A language model over eight symbols."""

from collections import Counter

import numpy

SYMBOLS = "{SYMBOLS}"

### BEGIN SOLUTION
{TABLES}### END SOLUTION


def count(text, size):
    """How often every group of so many symbols occurs in a text: a dictionary."""
    ### BEGIN SOLUTION
{COUNT}    ### END SOLUTION


def predict(contexts):
    """Contexts (examples, 6) of symbols by number; the probabilities (examples, 8) of the next one."""
    ### BEGIN SOLUTION
{PREDICT}    ### END SOLUTION
'''
_MARKERS = (
    "    ### BEGIN SOLUTION\n",
    "    ### END SOLUTION\n",
    "### BEGIN SOLUTION\n",
    "### END SOLUTION\n",
)
WRITTEN = STARTER
for _marker in _MARKERS:
    WRITTEN = WRITTEN.replace(_marker, "")

REFERENCE = '''\
import inspect
import io

import numpy

import lm
from lm import count

EXAMPLES, CONTEXT = 1000, 6


def text(seed, length):
    """Each symbol follows from the two before it, three times out of four."""
    generator, symbols = numpy.random.default_rng(seed), [0, 1]
    for chance in generator.random(length):
        after = (3 * symbols[-1] + 5 * symbols[-2] + 1) % 8
        symbols.append(after if chance < 0.7 else int(generator.integers(8)))
    return numpy.array(symbols)


def examples(seed):
    """Contexts, and the symbol after each."""
    symbols = text(seed, EXAMPLES + CONTEXT)
    places = numpy.arange(EXAMPLES)
    return symbols[places[:, None] + numpy.arange(CONTEXT)], symbols[places + CONTEXT]


class Model:
    def hidden(self, seed):
        contexts, _ = examples(seed)
        changed = contexts.copy()
        changed[:, :3] = numpy.random.default_rng(seed).integers(8, size=(EXAMPLES, 3))
        return {"args": [contexts], "changed": [changed], "floor": 8.0}

    def measure(self, seed, outputs, weights):
        _, after = examples(seed)
        losses = -numpy.log(outputs[numpy.arange(EXAMPLES), after])
        return numpy.exp(weights @ losses / weights.sum(axis=1))


class Table:
    """What is right for the contexts that are given out."""

    def hidden(self, seed):
        _, after = examples(77)
        return {"count": EXAMPLES, "floor": float(numpy.bincount(after).max() / EXAMPLES)}

    def measure(self, seed, outputs, weights):
        _, after = examples(77)
        return weights @ (outputs == after) / weights.sum(axis=1)


Text, Predicted = Model(), Table()


def changed(name, old, new, loses, **more):
    source = inspect.getsource(lm)
    assert old in source, old
    return {"name": name, "source": source.replace(old, new), "loses": loses, **more}


def count_trials():
    return [changed("one too few", " + 1)", ")", ["groups"])]


def prediction_trials():
    def table(name, wrong, points):
        contexts, _ = examples(77)
        after = (3 * contexts[:, -1] + 5 * contexts[:, -2] + 1) % 8
        after[: int(wrong * EXAMPLES)] += 1
        file = io.BytesIO()
        numpy.save(file, after % 8)
        files = {"predictions.npy": numpy.frombuffer(file.getvalue(), "uint8")}
        return {"name": name, "files": files, "loses": ["accuracy"], "points": {"accuracy": points}}

    return [table("a quarter of another rule", 0.25, 2), table("another rule", 1, 0)]


def model_trials():
    def worth(name, old, new, points):
        return changed(name, old, new, ["perplexity"], points={"perplexity": points})

    return [
        worth("two thirds of it even", "TABLE[contexts[:, -2], contexts[:, -1]]",
              "0.35 * TABLE[contexts[:, -2], contexts[:, -1]] + 0.08125", 3),
        worth("by one symbol", "[contexts[:, -2], contexts[:, -1]]", "[contexts[:, -1], contexts[:, -1]]", 0),
    ]
'''


QUESTION = "What can the model not learn?\n### BEGIN SOLUTION\nOrder.\n### END SOLUTION\n"


def _reference() -> dict[str, Any]:
    """The functions of the reference, for the data that the teacher makes with them."""
    found: dict[str, Any] = {}
    exec(REFERENCE.replace("import lm\nfrom lm import count\n", ""), found)
    return found


def course(root: Path) -> Course:
    """The assignment as its teacher writes it."""
    sources = f"assignments/{NAME}"
    write(
        root,
        {
            f"rubrics/{NAME}.toml": RUBRIC,
            f"reference/{NAME}.py": REFERENCE,
            f"{sources}/lm.py": STARTER,
            f"{sources}/report.md": QUESTION,
            f"{sources}/train.txt": "".join(SYMBOLS[number] for number in _reference()["text"](3, 6000)),
        },
    )
    np.save(root / sources / "contexts.npy", _reference()["examples"](77)[0])
    (root / sources / "predictions.npy").write_bytes(predicted())
    return Course.at(root)


def predicted(wrong: float = 0) -> bytes:
    """The table that is handed in, of which a share is wrong on purpose."""
    contexts, _ = _reference()["examples"](77)
    after = (3 * contexts[:, -1] + 5 * contexts[:, -2] + 1) % 8
    after[: int(wrong * len(after))] += 1
    return _saved(after % 8)


def _saved(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


FULL: Mapping[str, float] = {
    "counts.groups": 3,
    "model.perplexity": 6,
    "predictions.accuracy": 4,
    "report.said": 0,  # a person gives it
}
_TWO = "TABLE[contexts[:, -2], contexts[:, -1]]"
_ONE = "TABLE.mean(axis=0)[contexts[:, -1]]"
_LOSSES = "\nloss_history = [0.0] * 5\nperplexity = 1.0\n"


def _works() -> Iterator[tuple[Handed, Marks]]:
    """What is handed in, and the marks that differ from full ones."""

    def work(
        lm: str | None = WRITTEN, predictions: bytes | None = predicted(), **lost: float
    ) -> tuple[Handed, Marks]:
        files = {"report.md": b"Nothing that lies further back than two symbols.\n"}
        if lm is not None:
            files["lm.py"] = lm.encode()
        if predictions is not None:
            files["predictions.npy"] = predictions
        marks = {name.replace("__", "."): points for name, points in lost.items()}
        return Handed(None, files), {**FULL, **marks}

    def lm(old: str, new: str) -> str:
        assert old in WRITTEN, old
        return WRITTEN.replace(old, new)

    def model(source: str) -> str:
        return lm(_TWO, source)

    yield work()
    yield work(model("numpy.stack([TABLE[one[-2], one[-1]] for one in contexts])"))
    yield work(lm("    return dict(found)", "    return {**found}"))
    # Half the points: a good model, of which two thirds are even; and less than that.
    yield work(model(f"0.35 * {_TWO} + 0.08125"), model__perplexity=3)
    yield work(model(f"0.2 * {_TWO} + 0.1"), model__perplexity=1)
    # Wrong: no better than chance, not normalised, another shape, one that changes with its company.
    yield work(model("numpy.full((len(contexts), 8), 0.125)"), model__perplexity=0)
    yield work(model(f"0.2 * {_ONE} + 0.1") + _LOSSES, model__perplexity=0)
    yield work(model(f"2 * {_TWO}"), model__perplexity=0)
    yield work(model(f"{_TWO}[:, :7]"), model__perplexity=0)
    yield work(model(f"{_TWO} * 0 + {_TWO}.mean(axis=0)"), model__perplexity=0)
    yield work(lm(" + 1)", ")"), counts__groups=0)
    # Crashing, and cut off: the table of predictions counts all the same.
    yield work(f"raise SystemExit\n{WRITTEN}", counts__groups=0, model__perplexity=0)
    yield work(WRITTEN[: len(WRITTEN) // 2], counts__groups=0, model__perplexity=0)
    yield work(model("1 / 0"), model__perplexity=0)
    # Tables: partly right, by chance, one too short, a pickle, none.
    yield work(predictions=predicted(0.3), predictions__accuracy=2)
    yield work(predictions=predicted(1), predictions__accuracy=0)
    yield work(predictions=_saved(np.zeros(1000, dtype=int)), predictions__accuracy=0)
    yield work(predictions=_saved(np.arange(999) % 8), predictions__accuracy=0)
    yield work(predictions=_saved(np.array([[1], [2, 3]], dtype=object)), predictions__accuracy=0)
    yield work(predictions=None, predictions__accuracy=0)
    nothing = {"counts__groups": 0.0, "model__perplexity": 0.0}
    yield work(lm=None, **nothing)
    yield Handed(None, {"lm.py": b"", "report.md": b""}), dict.fromkeys(FULL, 0.0)
    yield Handed({}, {}), dict.fromkeys(FULL, 0.0)


WORKS = tuple(_works())
