"""Test that no submission makes the grader exceed its memory, time and storage budgets."""

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
"""Limit for the memory of the grader's process."""
HARMLESS = ("an honest one", "cells of", "outputs of", "as many values", "an irregular", "output that")
"""Prefixes of the names of submissions with right answers."""


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Any]]:
    """Return the costs of each submission by name, measured in a separate process."""
    command = [sys.executable, "-m", "tests.grading.worst"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["name"]: line for line in lines}


def test_all_of_them_were_graded(found: dict[str, dict[str, Any]]) -> None:
    """Every submission in the list has a result."""
    assert set(worst.SUBMISSIONS) < set(found)
    assert 23 == len(found)


def test_the_grader_stays_small(found: dict[str, dict[str, Any]]) -> None:
    """The memory stays below a limit for each submission."""
    assert {} == {
        name: measurement["memory"] for name, measurement in found.items() if measurement["memory"] > MOST_MB
    }


def test_the_grader_works_little(found: dict[str, dict[str, Any]]) -> None:
    """Reading, judging and rendering stay within the time budget."""
    most = Budgets().judging_seconds
    assert {} == {
        name: measurement["processor"]
        for name, measurement in found.items()
        if measurement["processor"] > most / 4
    }


def test_little_is_kept(found: dict[str, dict[str, Any]]) -> None:
    """The database and the page stay within their size budgets."""
    usual = Budgets()
    assert {} == {
        name: measurement["stored"]
        for name, measurement in found.items()
        if measurement["stored"] > usual.stored_mb << 20
    }
    assert {} == {
        name: measurement["page"]
        for name, measurement in found.items()
        if measurement["page"] > 2 * usual.page_kb << 10
    }


def test_only_what_was_wrong_costs_points(found: dict[str, dict[str, Any]]) -> None:
    """Right answers keep their points next to junk, and an attack costs only its own question."""
    honest = found["an honest one"]["points"]
    for name, measurement in found.items():
        if name.startswith(HARMLESS):
            assert honest == measurement["points"], name
        else:
            assert any(measurement["points"][item] < points for item, points in honest.items() if points), (
                name
            )


def test_none_of_it_is_taken_for_a_fault_of_ours(found: dict[str, dict[str, Any]]) -> None:
    """Only expected items need manual review, and no internal errors are reported."""
    for name, measurement in found.items():
        waiting = {item for item, code in measurement["codes"].items() if code.startswith("review")}
        assert waiting <= {"formula.why", "choice.choice"}, name
        assert not {"our-fault", "sandbox-fault", "judging-time"} & set(measurement["notes"]), name


def test_what_takes_too_long_to_judge_waits_for_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time for judging is used up, all items need manual review with the reason."""
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
