"""Mistakes that trials name, through the real sandbox: run once, and told to whoever makes them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from autograder import assignment as assignments
from autograder.checks.base import TrialResults
from autograder.errors import CourseError
from autograder.grading import mistakes
from autograder.grading.mistakes import named_mistakes
from autograder.grading.pipeline import Grader
from autograder.messages import render
from autograder.sandbox.pool import Pool
from tests.support.calling_course import (
    COLUMNS,
    NAME,
    UNDIVIDED,
    UNSCALED,
    WEIGHTS,
    calling_course,
    results,
    sat,
    told,
)
from tests.support.small_course import changed

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """The course of functions, ready to grade."""
    course = calling_course(tmp_path_factory.mktemp("course"))
    with Pool() as pool:
        yield Grader(assignments.load(course, NAME), pool)


def test_the_right_answers_lose_nothing(grader: Grader) -> None:
    """Nobody reads of a mistake who made none."""
    assert {"2", "0"} >= {points for points, _ in told(sat(grader)).values()}
    assert {""} == {code for _, code in told(sat(grader)).values()}


def test_a_mistake_is_told_by_its_sentence_however_it_is_written(grader: Grader) -> None:
    """With the points of the trial, in both languages, with the case in the place of its placeholder."""
    written = """
def normalised(column):
    shifted = numpy.exp(column - column.max())
    return shifted / shifted.sum()

def weights(scores):
    return numpy.stack([normalised(column) for column in scores.T], 1)
"""
    for source in (COLUMNS, written):
        found = results(sat(grader, weights=source))["weights.rows"]
        assert ("columns", Decimal("0.5")) == (found.code, found.points)
        assert "weights [scores]: these are columns." == render(found.student, "en")
        assert "weights [scores: #1 (3, 5)]: das sind Spalten." == render(found.student, "de")
        assert "15 of 15 differ" in found.staff
        assert "the same results as mistake columns" in found.staff


def test_another_mistake_is_told_as_before(grader: Grader) -> None:
    """What no trial names is told by what differs; a trial without a name names nothing."""
    assert ("0", "undivided") == told(sat(grader, weights=UNDIVIDED))["weights.rows"]
    for other in (WEIGHTS.replace("axis=-1", "axis=None"), "def weights(scores):\n    return scores\n"):
        assert ("0", "value.differs") == told(sat(grader, weights=other))["weights.rows"]


def test_one_mistake_among_right_cases_and_others(grader: Grader) -> None:
    """An item is told by the mistake that fits its own cases, whatever happens in those of other items."""
    source = UNSCALED.replace("    return", "    if len(query) == 2:\n        return query * 3\n    return")
    found = told(sat(grader, attend=source))
    assert [("0", "value.shape"), ("1", "unscaled")] == [found["attend.few"], found["attend.many"]]


def test_they_are_run_once_and_kept(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time the file answers, with the same numbers; what is damaged is computed again."""
    assignment, secret = grader.assignment, grader.secret
    (path,) = (assignment.course.private / "expected").glob("*.mistakes")
    assert 0o600 == path.stat().st_mode & 0o777
    computed = []
    original = mistakes._compute

    def counted(*arguments: object) -> object:
        computed.append(1)
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(mistakes, "_compute", counted)
    before = grader.sittings.common.named
    for damage, times in ((None, 0), (path.read_bytes()[:-9], 1), (b"", 2)):
        if damage is not None:
            path.write_bytes(damage)
        (found,) = named_mistakes(assignment, secret, grader.pool, [(assignment, "")])
        assert times == len(computed)
        assert {name: [*map(plain, some)] for name, some in before.items()} == {
            name: [*map(plain, some)] for name, some in found.items()
        }


def plain(one: TrialResults) -> object:
    """A mistake in a form that can be compared."""
    came = [[repr(observation.value) for observation in some] for some in one.observed]
    return one.code, one.text, dict(one.points), came


def test_others_inputs_are_another_matter(grader: Grader) -> None:
    """Who meets inputs of their own is told by results for these."""
    assignment = grader.assignment
    asked = [(assignment, ""), (assignment, "student ada")]
    common, own = named_mistakes(assignment, grader.secret, grader.pool, asked, kept_on_disk=False)
    assert (
        ["columns", "undivided"]
        == [one.code for one in common["weights"]]
        == [one.code for one in own["weights"]]
    )
    assert plain(common["weights"][0]) != plain(own["weights"][0])


def test_a_trial_that_ends_its_box_costs_itself_alone(tmp_path: Path) -> None:
    """It gives no results, and a class is graded all the same; the others are told as ever."""
    course = calling_course(tmp_path)
    ending = "import os\ndef weights(scores):\n    os._exit(1)\n"
    changed(course.reference / "calling.py", f'"source": {UNDIVIDED!r}', f'"source": {ending!r}')
    with Pool() as pool:
        made = Grader(assignments.load(course, NAME), pool)
        assert ("0.5", "columns") == told(sat(made, weights=COLUMNS))["weights.rows"]
        assert ("0", "value.differs") == told(sat(made, weights=UNDIVIDED))["weights.rows"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"code": "undivided"', '"code": "value.differs"', "'not divided': code: expected a name of its own"),
        ('"de": "Teilen Sie durch die Summe."', '"fr": "?"', "'not divided': text: .* missing: de"),
        ("Divide by the sum.", "Divide by {sum}.", "'not divided': text.en: write braces twice"),
        ('"code": "undivided"', '"code": "columns"', "'columns' has another text, or other points"),
    ],
)
def test_names_that_cannot_be_told_are_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    """Before the first student's code runs, with question, function and trial."""
    course = calling_course(tmp_path)
    changed(course.reference / "calling.py", old, new)
    with Pool() as pool, pytest.raises(CourseError, match=f"'weights': trials: .*{said}"):
        Grader(assignments.load(course, NAME), pool)
