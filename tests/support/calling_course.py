"""A course of three functions of which each calls the one before, with mistakes that trials name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autograder.course import Course
from autograder.generate import generate
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.records import Graded, ItemResult
from autograder.verify.papers import with_sources
from tests.support.small_course import answer, cell, check, write_course

NAME = "calling"

RUBRIC = """\
version = 1

[assignment]
name = "calling"
points = 8
preload = ["numpy"]
languages = ["en", "de"]
title = { en = "Functions", de = "Funktionen" }

[assignment.limits]
cell_seconds = 10
call_seconds = 5

[[question]]
id = "weights"
kind = "value"
points = 2
title = { en = "Weights", de = "Gewichte" }
answer = "weights"
library = "numpy"
reference = "calling:weights"
trials = "calling:weights_trials"

[[question.case]]
name = "scores"
args = [{ draw = "normal", shape = [3, 5] }]

[[question.item]]
id = "rows"
points = 2
text = { en = "Rows add up to one", de = "Zeilen ergeben eins" }

[[question]]
id = "attend"
kind = "value"
points = 4
title = { en = "Sum", de = "Summe" }
answer = "attend"
library = "numpy"
reference = "calling:attend"
trials = "calling:attend_trials"
carry_forward = ["weights"]

[[question.case]]
name = "few"
[question.case.kwargs]
query = { draw = "normal", shape = [2, 4] }
key = { draw = "normal", shape = [5, 4] }
value = { draw = "normal", shape = [5, 3] }

[[question.case]]
name = "many"
[question.case.kwargs]
query = { draw = "normal", shape = [6, 3] }
key = { draw = "normal", shape = [7, 3] }
value = { draw = "normal", shape = [7, 3] }

[[question.item]]
id = "few"
points = 2
text = { en = "Few", de = "Wenige" }
cases = ["few"]

[[question.item]]
id = "many"
points = 2
text = { en = "Many", de = "Viele" }
cases = ["many"]

[[question]]
id = "twice"
kind = "value"
points = 2
title = { en = "Twice", de = "Zweimal" }
answer = "twice"
library = "numpy"
reference = "calling:twice"
trials = "calling:twice_trials"
carry_forward = ["weights", "attend"]

[[question.case]]
name = "rows"
args = [{ draw = "normal", shape = [4, 4] }]

[[question.item]]
id = "rows"
points = 2
text = { en = "Applied twice", de = "Zweimal angewandt" }
"""

WEIGHTS = """\
def weights(scores):
    powers = numpy.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)
"""
ATTEND = """\
def attend(query, key, value):
    return weights(query @ key.T / key.shape[1] ** 0.5) @ value
"""
TWICE = """\
def twice(rows):
    rows = attend(rows, rows, rows)
    return attend(rows, rows, rows)
"""
COLUMNS = WEIGHTS.replace("axis=-1", "axis=0")
UNDIVIDED = WEIGHTS.replace(" / powers.sum(axis=-1, keepdims=True)", "")
UNSCALED = ATTEND.replace(" / key.shape[1] ** 0.5", "")
ONCE = TWICE.replace("    rows = attend(rows, rows, rows)\n", "")

REFERENCE = f"""\
import numpy

{WEIGHTS}

{ATTEND}

{TWICE}

def weights_trials():
    return [
        {{
            "name": "columns",
            "source": {COLUMNS!r},
            "loses": ["rows"],
            "code": "columns",
            "text": {{"en": "{{what}}: these are columns.", "de": "{{what}}: das sind Spalten."}},
            "points": {{"rows": 0.5}},
        }},
        {{
            "name": "not divided",
            "source": {UNDIVIDED!r},
            "loses": ["rows"],
            "code": "undivided",
            "text": {{"en": "Divide by the sum.", "de": "Teilen Sie durch die Summe."}},
        }},
        {{"name": "nothing", "source": "def weights(scores):\\n    return scores\\n", "loses": ["rows"]}},
        {{"name": "other names", "source": {WEIGHTS.replace("powers", "p")!r}, "loses": []}},
    ]


UNSCALED = {{
    "source": {UNSCALED!r},
    "loses": ["few", "many"],
    "code": "unscaled",
    "text": {{"en": "The scale is missing.", "de": "Die Skalierung fehlt."}},
    "points": {{"few": 1, "many": 1}},
}}
WRONG_WEIGHTS = {{"weights": {COLUMNS!r}}}


def attend_trials():
    return [
        {{"name": "not scaled", **UNSCALED}},
        {{"name": "right, on wrong weights", "source": {ATTEND!r}, "loses": [], "earlier": WRONG_WEIGHTS}},
        {{"name": "not scaled, on wrong weights", **UNSCALED, "earlier": WRONG_WEIGHTS}},
    ]


def twice_trials():
    return [
        {{"name": "once", "source": {ONCE!r}, "loses": ["rows"]}},
        {{"name": "right, on wrong weights", "source": {TWICE!r}, "loses": [], "earlier": WRONG_WEIGHTS}},
    ]
"""

RIGHT: Mapping[str, str] = {"weights": WEIGHTS, "attend": ATTEND, "twice": TWICE}
POINTS = {"weights": 2, "attend": 4, "twice": 2}


def calling_course(root: Path) -> Course:
    """Write the course into an empty folder, or beside other assignments, and release it."""
    return written_course(root, NAME, RUBRIC, REFERENCE, RIGHT, points=POINTS)


def written_course(
    root: Path, name: str, rubric: str, reference: str, right: Mapping[str, str], *, points: Mapping[str, int]
) -> Course:
    """A released course of one notebook, whose answers are functions.

    Args:
        root: its folder.
        name: of the assignment, and of the module of the reference.
        rubric: as text.
        reference: the module.
        right: the answer key by question.
        points: of the questions.
    """
    cells = [cell("setup", "import numpy\nfrom coursecheck import check")]
    for one, source in right.items():
        cells += [answer(f"{one}-answer", f"# def {one}(...): ...", source), check(one, points[one])]
    course = write_course(root, name, rubric, {name: cells}, reference)
    generate(course, name)
    return course


def sat(grader: Grader, key: Mapping[str, str] = RIGHT, **answers: str) -> Graded:
    """The right answers with some in the place of others, graded; one that is empty was left as it was."""
    sources = {f"{name}-answer": source for name, source in {**key, **answers}.items() if source}
    name = grader.assignment.name
    paper = with_sources(grader.assignment.release_bytes[name], sources)
    return grader.grade(SubmittedFiles("ada", {name: paper}))


def results(graded: Graded) -> dict[str, ItemResult]:
    """The results by ``question.item``."""
    return {f"{one.question}.{one.item}": one for one in graded.score.items}


def told(graded: Graded) -> dict[str, tuple[str, str]]:
    """Points and code of each item."""
    return {name: (f"{one.points.normalize():f}", one.code) for name, one in results(graded).items()}
