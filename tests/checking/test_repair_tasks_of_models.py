"""Repair tasks about models: a fault that is left costs its item, right code in other words costs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
import torch

from autograder.checking.objects import Objects, install_objects
from autograder.checking.reading import CheckItem, load_check_file
from autograder.checking.repairing import describe_misled, find_misled
from autograder.checking.running import CheckOutcome, CheckProgram

REFERENCE = Path(__file__).parents[2] / "reference"
TASKS = ("repair_attention", "repair_beam", "cache", "lstm", "sampling")
SEEDS = ("one", "two")


@cache
def load_program(task: str) -> CheckProgram:
    """Return the checks of a task."""
    return CheckProgram(load_check_file(REFERENCE, f"{task}.py"), str(REFERENCE.parent))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Compute in one thread, as the sandbox does: matrices are tiny."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def run_all(
    program: CheckProgram, source: str, seed: str, checks: Iterable[CheckItem]
) -> Mapping[str, CheckOutcome]:
    """Run properties or probes on an answer."""
    undo = install_objects(Objects(["<answer>"]))
    try:
        student = program.load_answer(source, "<answer>")
        file = program.file
        return {
            check.id: program.run(check.id, "", student, file.derive_seed(seed.encode(), check, ""))
            for check in checks
        }
    finally:
        undo()


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_property_fails_exactly_if_its_fault_is_left(task: str) -> None:
    """Whatever other faults are left; the command tries other inputs as well."""
    program = load_program(task)
    checks = program.file.checks
    misled = find_misled(program.file, lambda source, seed: run_all(program, source, seed, checks), ["one"])
    assert describe_misled(misled) == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", TASKS)
def test_stated_answer_loses_what_it_should(task: str, seed: str) -> None:
    """Right code in other words computes the same as the solution and loses nothing, nor needs review."""
    program = load_program(task)
    file = program.file
    for planted in file.planted:
        checks = file.checks if planted.loses else (*file.checks, *file.probes)
        outcomes = run_all(program, planted.source, seed, checks)
        lost = {name for name, outcome in outcomes.items() if outcome.status != "passed"}
        assert lost == set(planted.loses), planted.name
