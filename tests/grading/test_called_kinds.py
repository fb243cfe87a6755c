"""Mistakes by their names, and functions carried forward: ``value``, ``count`` and ``shape``."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from autograder import assignment as assignments
from autograder.errors import RubricError
from autograder.grading.pipeline import Grader
from autograder.messages import render
from autograder.records import Status
from autograder.sandbox.pool import Pool
from autograder.verify import verify
from tests.support.calling_course import results, sat, told, written_course

pytestmark = pytest.mark.sandbox

NAME = "kinds"
RIGHT = {
    "mean": "def mean(rows):\n    return numpy.mean(rows, axis=0)\n",
    "weights": "def weights(width):\n    return 4 * width * width\n",
    "layers": "def layers(width, n):\n    return n * (weights(width) + 2 * width)\n",
    "centred": "def centred(rows):\n    return (rows - mean(rows)).T\n",
    "spread": "spread = [0.5, 1.5, 2.5]\n",
}
WRONG = {
    "mean": RIGHT["mean"].replace("axis=0", "axis=None"),
    "weights": RIGHT["weights"].replace("4 *", "3 *"),
    "layers": RIGHT["layers"].replace(" + 2 * width", ""),
    "centred": RIGHT["centred"].replace(".T", "[None]"),
    "spread": "spread = [value ** 2 for value in (0.5, 1.5, 2.5)]\n",
}
POINTS = dict.fromkeys(RIGHT, 2)


def question(name: str, kind: str, cases: str, own: str = "", item: str = "") -> str:
    """One question of two points, with one item."""
    return f"""
[[question]]
id = "{name}"
kind = "{kind}"
points = 2
title = {{ en = "{name}" }}
answer = "{name}"
reference = "kinds:{name}"
trials = "kinds:{name}_trials"
library = "numpy"
{own}
{cases}
[[question.item]]
id = "right"
points = 2
text = {{ en = "Right" }}
{item}
"""


ROWS = '[[question.case]]\nname = "rows"\nargs = [{ draw = "normal", shape = [5, 3] }]\n'
RUBRIC = "\n".join(
    [
        'version = 1\n[assignment]\nname = "kinds"\npoints = 10\npreload = ["numpy"]\n',
        'languages = ["en"]\ntitle = { en = "Kinds" }\n',
        question("mean", "value", ROWS),
        question(
            "weights",
            "count",
            '[[question.case]]\nname = "one"\nargs = [{ size = "width" }]\n',
            SIZES := "sizes = { width = [24, 40] }",
        ),
        question(
            "layers",
            "count",
            '[[question.case]]\nname = "two"\nargs = [{ size = "width" }, 12]\n',
            f'{SIZES}\ncarry_forward = ["weights"]',
        ),
        question("centred", "shape", ROWS, 'carry_forward = ["mean"]'),
        question("spread", "value", "", item="value = [0.5, 1.5, 2.5]"),
    ]
)


def trials_of(name: str) -> str:
    """A function of the reference with one named mistake."""
    text = {"en": f"{{what}}: the mistake of {name}."}
    trial = {"name": "wrong", "source": WRONG[name], "loses": ["right"], "code": f"wrong-{name}"}
    return f"def {name}_trials():\n    return [{ {**trial, 'text': text, 'points': {'right': 0.5}}!r}]\n"


REFERENCE = "import numpy\n" + "\n".join(
    [*(source if name != "spread" else "def spread():\n    return None\n" for name, source in RIGHT.items())]
    + [trials_of(name) for name in RIGHT]
)


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """The course, ready to grade."""
    course = written_course(tmp_path_factory.mktemp("course"), NAME, RUBRIC, REFERENCE, RIGHT, points=POINTS)
    with Pool() as pool:
        yield Grader(assignments.load(course, NAME), pool)


def test_every_kind_tells_a_trial_by_its_sentence(grader: Grader) -> None:
    """A wrong function or variable that gives what the trial gives earns its points."""
    for name, source in WRONG.items():
        found = results(sat(grader, RIGHT, **{name: source}))[f"{name}.right"]
        assert (f"wrong-{name}", Decimal("0.5")) == (found.code, found.points), found
        assert render(found.student, "en").endswith(f": the mistake of {name}.")
    assert {("2", "")} == {*told(sat(grader, RIGHT)).values()}


def test_another_mistake_is_told_as_before(grader: Grader) -> None:
    """What no trial gives is told by what differs."""
    other = {
        "mean": "def mean(rows):\n    return rows[0]\n",
        "weights": "def weights(width):\n    return 5 * width\n",
        "centred": "def centred(rows):\n    return rows\n",
        "spread": "spread = [1, 1, 1]\n",
    }
    for name, source in other.items():
        points, code = told(sat(grader, RIGHT, **{name: source}))[f"{name}.right"]
        assert ("0", False) == (points, code.startswith("wrong-")), (name, code)


def test_a_mistake_costs_once_in_every_kind(grader: Grader) -> None:
    """A count of a wrong count, and a shape that calls a wrong function, keep their points."""
    found = results(sat(grader, RIGHT, weights=WRONG["weights"]))["layers.right"]
    assert (Status.PASSED, "carried.right") == (found.status, found.code)
    raising = "def mean(rows):\n    raise ValueError\n"
    assert ("2", "carried.right") == told(sat(grader, RIGHT, mean=raising))["centred.right"]


def test_a_mistake_of_ones_own_is_told_on_right_results(grader: Grader) -> None:
    """Where the earlier function is wrong as well."""
    found = results(sat(grader, RIGHT, weights=WRONG["weights"], layers=WRONG["layers"]))["layers.right"]
    assert ("wrong-layers", Decimal("0.5")) == (found.code, found.points)
    assert "With right results of weights in the place of yours" in render(found.student, "en")


def test_verify_proves_them(grader: Grader) -> None:
    """Every named trial is told by its sentence; nothing is found."""
    found = verify(grader.assignment, grader.pool, workers=2)
    assert () == found.findings


@pytest.mark.parametrize(
    ("name", "earlier", "message"),
    [
        ("spread", "mean", "only calls can be made once more"),
        ("weights", "layers", "no question before this one"),
    ],
)
def test_only_functions_are_carried(tmp_path: Path, name: str, earlier: str, message: str) -> None:
    """A variable makes no calls, and time has an order."""
    at = RUBRIC.index(f'id = "{name}"')
    rest = RUBRIC[at:].replace("library", f'carry_forward = ["{earlier}"]\nlibrary', 1)
    with pytest.raises(RubricError, match=message):
        written_course(tmp_path, NAME, RUBRIC[:at] + rest, REFERENCE, RIGHT, points=POINTS)
