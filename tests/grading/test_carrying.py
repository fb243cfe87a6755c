"""A wrong function costs its own points alone: later ones are judged with right results in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest

from autograder import assignment as assignments
from autograder.checks.base import Observations
from autograder.grading import carrying
from autograder.grading.pipeline import Grader
from autograder.messages import render
from autograder.records import Graded, Status
from autograder.sandbox.pool import Pool
from tests.support.calling_course import (
    ATTEND,
    COLUMNS,
    NAME,
    ONCE,
    RIGHT,
    TWICE,
    UNSCALED,
    WEIGHTS,
    calling_course,
    results,
    sat,
    told,
)

pytestmark = pytest.mark.sandbox
SECRET_OF_THE_REFERENCE = "only the reference says this"
"""Students' code below seeks it, and writes it backwards: it would find itself."""


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """The course of functions, ready to grade."""
    course = calling_course(tmp_path_factory.mktemp("course"))
    path = course.reference / "calling.py"
    path.write_text(f"{path.read_text()}\n\n# {SECRET_OF_THE_REFERENCE}\n", encoding="utf-8")
    with Pool() as pool:
        yield Grader(assignments.load(course, NAME), pool)


def total(graded: Graded) -> Decimal:
    """All points."""
    return graded.score.points


def test_a_mistake_costs_once(grader: Grader) -> None:
    """What calls the wrong function, and what calls that, keeps its points; the page says so."""
    graded = sat(grader, weights=COLUMNS)
    assert {
        "weights.rows": ("0.5", "columns"),
        "attend.few": ("2", "carried.right"),
        "attend.many": ("2", "carried.right"),
        "twice.rows": ("2", "carried.right"),
    } == told(graded)
    found = results(graded)
    assert Status.PASSED is found["attend.few"].status
    assert "results of weights in the place of yours" in render(found["attend.few"].student, "en")
    assert "weights, attend" in render(found["twice.rows"].student, "de")
    assert "with the student's own: attend [few]" in found["attend.few"].staff


@pytest.mark.parametrize(
    "weights",
    [
        "",
        "def weights(scores):\n    raise NotImplementedError",
        "def weights(scores, axis):\n    return scores",
        "weights = 3",
        "def weights(scores):\n    return weights(scores)",
        "import os\ndef weights(scores):\n    os._exit(1)",
    ],
)
def test_whatever_the_earlier_function_is(grader: Grader, weights: str) -> None:
    """Missing, not written yet, with other parameters, no function, or one that ends its box."""
    found = told(sat(grader, weights=weights))
    assert ["2", "2", "2"] == [found[one][0] for one in ("attend.few", "attend.many", "twice.rows")]


def test_a_mistake_of_ones_own_is_told_beside_it(grader: Grader) -> None:
    """With right results the answer's own mistake shows, and is worth what it is worth."""
    graded = sat(grader, weights=COLUMNS, attend=UNSCALED)
    assert ("1", "unscaled") == told(graded)["attend.few"]
    said = render(results(graded)["attend.few"].student, "en")
    assert "With right results of weights in the place of yours: The scale is missing." == said
    assert ("2", "carried.right") == told(graded)["twice.rows"]
    found = told(sat(grader, weights=COLUMNS, twice=ONCE))
    assert ("0", "value.differs") == found["twice.rows"]


def test_nothing_is_carried_where_nothing_was_wrong(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """A right function stays in its place, and nothing is asked again of a right answer."""
    asked: list[Any] = []
    monkeypatch.setattr(carrying, "standing_in", lambda *arguments: asked.append(arguments) or ())
    assert ("0", "value.differs") == told(sat(grader, twice=ONCE))["twice.rows"]
    right_by_itself = f"{WEIGHTS.replace('weights', 'mine')}\n{ATTEND.replace('weights', 'mine')}"
    found = told(sat(grader, weights=COLUMNS, attend=right_by_itself))
    assert [("2", ""), ("2", ""), ("2", "")] == [
        found[one] for one in ("attend.few", "attend.many", "twice.rows")
    ]
    assert [] == asked


def test_points_never_go_down(grader: Grader) -> None:
    """A mistake that makes up for another one keeps what it earns by itself."""
    shifted = WEIGHTS.replace("return powers", "return 2 * powers")
    halved = ATTEND.replace("@ value", "/ 2 @ value")
    found = told(sat(grader, weights=shifted, attend=halved))
    assert [("0", "value.differs"), ("2", ""), ("2", "")] == [
        found[one] for one in ("weights.rows", "attend.few", "attend.many")
    ]


def test_results_that_follow_from_results(grader: Grader) -> None:
    """A chain of calls is asked link by link."""
    chain = """
def twice(rows):
    for _ in range(2):
        rows = attend(rows, key=rows, value=rows)
    return rows
"""
    assert ("2", "carried.right") == told(sat(grader, weights=COLUMNS, twice=chain))["twice.rows"]


def watched(
    grader: Grader, monkeypatch: pytest.MonkeyPatch, **answers: str
) -> tuple[Graded, Sequence[Observations]]:
    """A submission graded, and what came out of the boxes apart."""
    came: list[Observations] = []
    original = carrying.seen

    def seen(observed: Sequence[Observations], names: Sequence[str]) -> Any:
        came.extend(observed)
        return original(observed, names)

    monkeypatch.setattr(carrying, "seen", seen)
    return sat(grader, **answers), came


SNOOPING = """
import gc, inspect, os, sys
BACKWARDS = "syas ecnerefer eht ylno"
def looked():
    for one in gc.get_objects():
        parts = list(one.values()) if type(one) is dict else one if type(one) in (list, tuple) else ()
        yield from [part for part in parts if type(part) is str and len(part) > 100]
    for cell in weights.__closure__ or ():
        yield repr(cell.cell_contents)
        yield from map(repr, getattr(cell.cell_contents, "__dict__", {}).values())
    for folder, _, files in os.walk("."):
        for name in files:
            yield open(os.path.join(folder, name), "rb").read().decode("latin-1")
    for place in [*sys.path, *{os.path.dirname(path) for path in sys.path}]:
        try:
            yield open(os.path.join(place, "reference", "calling.py")).read()
        except OSError:
            continue
    try:
        yield inspect.getsource(weights)
    except (OSError, TypeError):
        pass
    try:
        import reference.calling
        yield BACKWARDS[::-1]
    except ImportError:
        pass
def attend(query, key, value):
    weights(query)
    found = [one for one in looked() if BACKWARDS[::-1] in one]
    return found or "nothing was found"
"""


def test_no_code_of_the_reference_comes_into_the_box(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever student code looks at there: results of the calls it made, and nothing else."""
    graded, came = watched(grader, monkeypatch, weights=COLUMNS, attend=SNOOPING)
    answers = [one[-1].value for one in came[::2] if one and one[-1].ok]
    ended = [(one.error, one.message, one.ending) for some in came for one in some if not one.ok]
    assert {"nothing was found"} == {one for one in answers if isinstance(one, str)}, ended
    assert [] == [one for one in answers if isinstance(one, list)]
    assert SECRET_OF_THE_REFERENCE not in repr(came)
    assert total(graded) == Decimal("2.5")  # half a point for the columns; twice is right with both


def test_calls_without_end_are_given_up(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """The student's own function stands, and staff reads why; the reference is not kept busy."""
    monkeypatch.setattr(carrying, "MOST_CALLS", 20)
    many = "def attend(query, key, value):\n    return [weights(query + n) for n in range(30)] and value"
    graded = sat(grader, weights=COLUMNS, attend=many, twice=TWICE.replace("attend", "numpy.dot and attend"))
    assert "0" == told(graded)["attend.few"][0]
    assert ["attend", "twice"] >= [one.place for one in graded.score.notes if one.code == "not-carried"]
    assert "attend" in [one.place for one in graded.score.notes if one.code == "not-carried"]


def test_arguments_that_the_reference_refuses(grader: Grader) -> None:
    """That is no fault of the course: the call fails like one of the student's own."""
    wrong = 'def attend(query, key, value):\n    return weights("no scores") @ value'
    found = sat(grader, weights=COLUMNS, attend=wrong)
    assert {Status.FAILED} == {results(found)[one].status for one in ("attend.few", "attend.many")}
    assert [] == [one for one in found.score.notes if one.code in ("our-fault", "sandbox-fault")]


def test_the_key_of_the_course_is_what_it_says(grader: Grader) -> None:
    """All points, none of them carried forward."""
    assert Decimal(8) == total(sat(grader, **RIGHT))
