"""Whatever one student hands in, the grader stays small and in time, and keeps little of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autograder.core.limits import Budgets
from autograder.core.records import Status
from autograder.grading import pipeline
from autograder.messages import load_sentences
from autograder.sandbox.pool import Pool
from tests.conftest import start_sandbox
from tests.grading import worst

pytestmark = [pytest.mark.long, pytest.mark.sandbox, pytest.mark.apart]

MOST_MB = 600
"""Of the grader's own memory."""
HARMLESS = ("an honest one", "cells of", "outputs of", "as many values", "an irregular", "output that")
"""Beginnings of the names of those whose answers are right."""


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Any]]:
    """What each worst submission cost, in a process of its own, by name."""
    command = [sys.executable, "-m", "tests.grading.worst"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["name"]: line for line in lines}


def test_all_of_them_were_graded(found: dict[str, dict[str, Any]]) -> None:
    """Every submission of the list has its line, and the list is as long as it was."""
    assert set(worst.SUBMISSIONS) < set(found)
    assert 23 == len(found)


def test_the_grader_stays_small(found: dict[str, dict[str, Any]]) -> None:
    """Its memory stays below a bound for each of them."""
    assert {} == {name: one["memory"] for name, one in found.items() if one["memory"] > MOST_MB}


def test_the_grader_works_little(found: dict[str, dict[str, Any]]) -> None:
    """Reading and judging takes no more than the budget says, pages included."""
    most = Budgets().judging_seconds
    assert {} == {name: one["processor"] for name, one in found.items() if one["processor"] > most / 4}


def test_little_is_kept(found: dict[str, dict[str, Any]]) -> None:
    """The database and the page take what their budgets say, however much was handed in."""
    usual = Budgets()
    assert {} == {name: one["stored"] for name, one in found.items() if one["stored"] > usual.stored_mb << 20}
    assert {} == {name: one["page"] for name, one in found.items() if one["page"] > 2 * usual.page_kb << 10}


def test_only_what_was_wrong_costs_points(found: dict[str, dict[str, Any]]) -> None:
    """Right answers keep their points beside any junk, and an attack on a question costs this one."""
    honest = found["an honest one"]["points"]
    for name, one in found.items():
        if name.startswith(HARMLESS):
            assert honest == one["points"], name
        else:
            assert any(one["points"][item] < points for item, points in honest.items() if points), name


def test_none_of_it_is_taken_for_a_fault_of_ours(found: dict[str, dict[str, Any]]) -> None:
    """What waits for a person waits in an honest submission, or names no option; nothing went wrong here."""
    for name, one in found.items():
        waiting = {item for item, code in one["codes"].items() if code.startswith("review")}
        assert waiting <= {"formula.why", "choice.choice"}, name
        assert not {"our-fault", "sandbox-fault", "judging-time"} & set(one["notes"]), name


def test_what_takes_too_long_to_judge_waits_for_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the time for judging is used up, nothing is judged; nobody loses a point, and it is said why."""
    assignment = worst.load(tmp_path)
    monkeypatch.setattr(pipeline, "compute_budgets", lambda _: Budgets(judging_seconds=-1))
    with Pool(start_sandbox) as pool:
        graded = pipeline.Grader(assignment, pool).grade(
            pipeline.SubmittedFiles("ada", {worst.NAME: assignment.release_bytes[worst.NAME]})
        )
    assert {Status.NEEDS_REVIEW} == {item.status for item in graded.score.items}
    assert {"review.judging"} == {item.code for item in graded.score.items}
    assert {pipeline.JUDGING_TIME} == {note.code for note in graded.score.notes}
    assert "review.judging" in load_sentences()
