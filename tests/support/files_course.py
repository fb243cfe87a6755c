"""A course with a package and data, and an assignment that consists of modules only; without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from autograder.course import Course
from tests.support.small_course import answer, cell, check, write_course

CAPTIONS = """
version = 1
[assignment]
name = "captions"
points = 6
preload = ["numpy"]
[[assignment.notebooks]]
name = "captions"
data = ["captioning", "features.npy"]
starter = ["captioning/rnn.py"]
[[assignment.notebooks.result]]
path = "predictions.npy"
most_mb = 0.01
[[question]]
id = "step"
kind = "code"
points = 3
file = "captioning/rnn.py"
answer = "step"
[[question]]
id = "mean"
kind = "number"
points = 2
answer = "mean"
reference = "captions:mean"
[[question.item]]
id = "number"
points = 2
text = { en = "The mean of the features" }
[[question]]
id = "predictions"
kind = "number"
points = 1
file = "predictions.npy"
answer = "rows"
[[question.item]]
id = "rows"
points = 1
text = { en = "A prediction for each picture" }
value = 7
"""
HELPER = "import numpy\n\n\ndef squashed(values):\n    return numpy.tanh(values)\n"
STARTER = '''"""One step of the network."""

from captioning.layers import squashed


def step(state):
    """The next state: squashed, and doubled."""
    ### BEGIN SOLUTION
    return 2 * squashed(state)
    ### END SOLUTION
'''
REFERENCE = """
import numpy


def mean():
    return float(numpy.load("features.npy").mean())
"""
MODEL = """
version = 1
[assignment]
name = "model"
points = 4
preload = ["numpy"]
[[assignment.notebooks]]
name = "model"
data = ["corpus.txt"]
starter = ["lm.py", "report.md"]
[[question]]
id = "count"
kind = "code"
points = 3
file = "lm.py"
answer = "count"
[[question]]
id = "report"
kind = "written"
points = 1
file = "report.md"
[[question.item]]
id = "said"
points = 1
manual = true
text = { en = "What was seen" }
"""
LM = """def count(word):
    ### BEGIN SOLUTION
    with open("corpus.txt") as file:
        return file.read().split().count(word)
    ### END SOLUTION
"""
STEP_CHECKS = '''
from autograder.checking import assert_close, check, mutant, planted, solution

solution(
    source="""
from captioning.layers import squashed


def step(state):
    return 2 * squashed(state)
"""
)


@check(points=3, title="One step of the network")
def value(student, reference, draw):
    state = draw.normal(4)
    assert_close(student.step(state), reference.step(state))


mutant("not doubled", old="2 * ", new="", title="It is not doubled.", points={"value": 1})
'''
COUNT_CHECKS = '''
from autograder.checking import assert_equal, check, mutant, solution

solution(
    source="""
def count(word):
    with open("corpus.txt") as file:
        return file.read().split().count(word)
"""
)


@check(points=3, title="How often a word occurs")
def of_word(student, reference, draw):
    assert_equal(student.count("the"), 2)


mutant("parts of words", old=".split()", new="")
'''


CELLS = (
    cell("setup", "import numpy\nfrom coursecheck import check"),
    cell("step", 'from captioning.rnn import step\n\ncheck("step")', grade=True, points=3),
    answer("mean-answer", "# mean = …", 'mean = float(numpy.load("features.npy").mean())'),
    check("mean", 2),
    cell("predictions", 'rows = len(numpy.load("predictions.npy"))', grade=True, points=1),
)


def written(root: Path) -> Course:
    """Write a course with both assignments."""
    write_course(root, "captions", CAPTIONS, {"captions": CELLS}, REFERENCE, checks={"step": STEP_CHECKS})
    write_course(root, "model", MODEL, {}, "", checks={"count": COUNT_CHECKS})
    texts = {
        "assignments/captions/captioning/__init__.py": "",
        "assignments/captions/captioning/layers.py": HELPER,
        "assignments/captions/captioning/rnn.py": STARTER,
        "assignments/captions/notes.txt": "for the next time",
        "assignments/model/corpus.txt": "the cat and the other one",
        "assignments/model/lm.py": LM,
        "assignments/model/report.md": "What did you see?\n### BEGIN SOLUTION\nTwo.\n### END SOLUTION\n",
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    folder = root / "assignments/captions"
    np.save(folder / "features.npy", np.arange(200_000.0))  # 1.6 MB: large enough to be mounted
    np.save(folder / "predictions.npy", np.zeros(7))
    return Course.from_folder(root)
