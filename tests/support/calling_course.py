"""A course with three functions, each calling the previous one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autograder.core.records import GradingResult, ItemResult
from autograder.course import Course
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.grading.verify.papers import with_sources
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
kind = "code"
points = 2
title = { en = "Weights", de = "Gewichte" }

[[question]]
id = "attend"
kind = "code"
points = 4
title = { en = "Sum", de = "Summe" }

[[question]]
id = "twice"
kind = "code"
points = 2
title = { en = "Twice", de = "Zweimal" }
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

HEAD = """\
from autograder.checking import assert_close, check, mutant, planted, solution
"""

CHECKS: Mapping[str, str] = {
    "weights": f'''\
{HEAD}
solution(given="import numpy", source="""
{WEIGHTS}""")


@check(points=2, title={{"en": "Rows add up to one", "de": "Zeilen ergeben eins"}})
def rows(student, reference, draw):
    scores = draw.normal(3, 5)
    assert_close(student.weights(scores), reference.weights(scores))


mutant("columns", old="axis=-1", new="axis=0", points={{"rows": 0.5}})
mutant("not divided", old=" / powers.sum(axis=-1, keepdims=True)", new="")
planted("nothing", source="def weights(scores):\\n    return scores\\n", loses="rows")
''',
    "attend": f'''\
{HEAD}
solution(given="""
import numpy

{WEIGHTS}""", source="""
{ATTEND}""")


def compare(student, draw, queries, keys, width):
    """Compare with the student's own weights, so that a mistake there costs nothing here."""
    query, key, value = draw.normal(queries, width), draw.normal(keys, width), draw.normal(keys, 3)
    right = student.weights(query @ key.T / width**0.5) @ value
    assert_close(student.attend(query, key, value), right)


@check(points=2, title={{"en": "Few", "de": "Wenige"}})
def few(student, reference, draw):
    compare(student, draw, 2, 5, 1)


@check(points=2, title={{"en": "Many", "de": "Viele"}})
def many(student, reference, draw):
    compare(student, draw, 6, 7, 3)


mutant("not scaled", old=" / key.shape[1] ** 0.5", new="", loses="many")
planted("nothing", source="def attend(query, key, value):\\n    return query\\n", loses=["few", "many"])
''',
    "twice": f'''\
{HEAD}
solution(given="""
import numpy

{WEIGHTS}

{ATTEND}""", source="""
{TWICE}""")


@check(points=2, title={{"en": "Applied twice", "de": "Zweimal angewandt"}})
def rows(student, reference, draw):
    """Compare with the student's own function, so that a mistake there costs nothing here."""
    given = draw.normal(4, 4) / 10  # undivided weights grow with each call
    once = student.attend(given, given, given)
    assert_close(student.twice(given), student.attend(once, once, once))


mutant("once", old="    rows = attend(rows, rows, rows)\\n", new="")
''',
}

RIGHT: Mapping[str, str] = {"weights": WEIGHTS, "attend": ATTEND, "twice": TWICE}
POINTS = {"weights": 2, "attend": 4, "twice": 2}


def calling_course(root: Path) -> Course:
    """Write the course into a folder, which may contain other assignments, and release it."""
    cells = [cell("setup", "import numpy\nfrom coursecheck import check")]
    for one, source in RIGHT.items():
        cells += [answer(f"{one}-answer", f"# def {one}(...): ...", source), check(one, POINTS[one])]
    course = write_course(root, NAME, RUBRIC, {NAME: cells}, "", checks=CHECKS)
    generate_release(course, NAME)
    return course


def sat(grader: Grader, key: Mapping[str, str] = RIGHT, **answers: str) -> GradingResult:
    """Grade the right answers with some replaced; an empty one leaves the release's stub."""
    sources = {f"{name}-answer": source for name, source in {**key, **answers}.items() if source}
    name = grader.assignment.name
    paper = with_sources(grader.assignment.release_bytes[name], sources)
    return grader.grade(SubmittedFiles("ada", {name: paper}))


def results(graded: GradingResult) -> dict[str, ItemResult]:
    """Return the results by ``question.item``."""
    return {f"{one.question}.{one.item}": one for one in graded.score.items}
