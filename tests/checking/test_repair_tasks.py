"""The repair tasks: no property is misled by other faults, nor by right code in other words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from autograder.checking.objects import Objects, install_objects
from autograder.checking.reading import load_check_file
from autograder.checking.repairing import describe_misled, find_misled
from autograder.checking.running import CheckOutcome, CheckProgram

REFERENCE = Path(__file__).parents[2] / "reference"
TASKS = ["adam", "bleu", "bpe", "collate", "layernorm"]


@pytest.fixture(scope="module", params=TASKS)
def program(request: pytest.FixtureRequest) -> Iterator[CheckProgram]:
    """Return the checks of a task."""
    found = CheckProgram(load_check_file(REFERENCE, f"{request.param}.py"), str(REFERENCE.parent))
    yield found
    found.close()


def run_all(program: CheckProgram, source: str, seed: str) -> Mapping[str, CheckOutcome]:
    """Run all properties and probes on an answer, with the inputs that a grading run would draw."""
    file = program.file
    undo = install_objects(Objects(["<answer>"]))
    try:
        student = program.load_answer(source, "<answer>")
        return {
            check.id: program.run(check.id, "", student, file.derive_seed(seed.encode(), check, ""))
            for check in (*file.checks, *file.probes)
        }
    finally:
        undo()


def test_every_set_of_faults_is_told_exactly(program: CheckProgram) -> None:
    """Each property fails exactly where its fault is left, and the solution passes the probes."""
    misled = find_misled(program.file, lambda source, seed: run_all(program, source, seed), ("one",))
    assert describe_misled(misled) == []
    right = run_all(program, program.file.solution, "one")
    assert {name: outcome.status for name, outcome in right.items()} == dict.fromkeys(right, "passed")


def test_stated_answer_loses_what_is_stated(program: CheckProgram) -> None:
    """Right answers in other words earn everything; nothing needs manual review."""
    file = program.file
    assert len([planted for planted in file.planted if not planted.loses]) >= 2
    for planted in file.planted:
        outcomes = run_all(program, planted.source, "one")
        statuses = {check.id: outcomes[check.id].status for check in file.checks}
        assert statuses == {
            check.id: "wrong" if check.id in planted.loses else "passed" for check in file.checks
        }, planted.name
