"""The golden set keeps its verdicts as long as `GRADING_VERSION` is unchanged."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autograder.grading.version import GRADING_VERSION, list_versions
from autograder.questions import list_registered
from tests.golden import golden_set
from tests.golden.golden_set import KEY, CourseVerdicts, GoldenVerdicts

WRITE = "python -m tests.golden --write"
MOST_SHOWN = 40


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.long
def test_verdicts_stay_while_the_grading_version_does() -> None:
    """Stored results of this version must equal the present results."""
    recorded, found = golden_set.load_verdicts(), golden_set.grade_all()
    changes = golden_set.list_changes(recorded, found)
    lines = [line for name in changes for line in changes[name]]
    reason = f"{len(lines)} verdicts changed with the assignments or with GRADING_VERSION: run {WRITE}"
    if unexplained := golden_set.find_unexplained(recorded, found):
        reason = (
            f"{len(lines)} verdicts changed ({', '.join(unexplained)}), and GRADING_VERSION is still "
            f"{GRADING_VERSION}: raise it in autograder/grading/version.py and run {WRITE}, or undo the "
            f"change. They were recorded with {recorded.versions}, and graded with {found.versions}"
        )
    assert not changes, "\n".join((reason, *lines[:MOST_SHOWN]))


def test_verdicts_are_of_the_current_grading_version() -> None:
    """The verdicts must be recorded again for a new version."""
    recorded = golden_set.load_verdicts().grading_version
    assert GRADING_VERSION == recorded, f"GRADING_VERSION is {GRADING_VERSION}, not {recorded}: run {WRITE}"


def test_every_kind_of_question_is_answered_with_planted_answers() -> None:
    """A kind without an answer in the set could change its verdicts unnoticed."""
    answers = golden_set.load_answers()["templates"]
    assert len(list_registered()) == len(answers)
    assert all(answers.values())


def make_verdicts(verdict: str, *, inputs: str = "same", version: int = 1) -> GoldenVerdicts:
    """Make a set of one verdict."""
    course = CourseVerdicts(inputs, {KEY: {"q.item": verdict}})
    return GoldenVerdicts(version, list_versions(), {"exam": course})


@pytest.mark.parametrize("verdict", ["FAILED 0 value.wrong", "PASSED 0.5", "PASSED 1 value.other"])
def test_find_unexplained_names_the_course_when_a_verdict_changed(verdict: str) -> None:
    """A change of status, points or code with the same version and inputs is unexplained."""
    recorded, found = make_verdicts("PASSED 1"), make_verdicts(verdict)
    assert ["exam"] == golden_set.find_unexplained(recorded, found)
    assert {"exam": [f"exam, {KEY}, q.item: PASSED 1 → {verdict}"]} == golden_set.list_changes(
        recorded, found
    )


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(make_verdicts("PASSED 1"), id="same verdict"),
        pytest.param(make_verdicts("PASSED 1", inputs="other"), id="other rubric, same verdict"),
        pytest.param(make_verdicts("FAILED 0", inputs="other"), id="other rubric"),
        pytest.param(make_verdicts("FAILED 0", version=2), id="raised version"),
    ],
)
def test_find_unexplained_is_empty_when_the_change_has_a_reason(found: GoldenVerdicts) -> None:
    """Explained changes only need new recorded verdicts."""
    assert [] == golden_set.find_unexplained(make_verdicts("PASSED 1"), found)


def test_list_changes_tells_verdicts_that_are_gone() -> None:
    """A submission or course that is no longer graded is a change."""
    recorded = make_verdicts("PASSED 1")
    assert golden_set.list_changes(recorded, replace(recorded, courses={}))
