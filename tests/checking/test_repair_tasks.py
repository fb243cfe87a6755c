"""Test the repair tasks: other faults and unusual right code do not mislead a property."""

from __future__ import annotations

import functools

import pytest

from autograder.checking.fault_sets import describe_misled, find_misled
from tests.support.checked import open_program, run_properties

MODELS = ("repair_attention", "repair_beam", "cache", "lstm", "sampling")
TASKS = ("adam", "bleu", "bpe", "collate", "layernorm", *MODELS)


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=[pytest.mark.slow] if task in MODELS else []) for task in TASKS]
)
def test_every_set_of_faults_is_told_exactly(task: str) -> None:
    """Each property fails exactly if its fault is left, and the solution passes the probes."""
    with open_program(task) as program:
        misled = find_misled(program.file, functools.partial(run_properties, program), ["one"])
        right = run_properties(program, program.file.solution, "one")
    assert describe_misled(misled) == []
    assert {name: outcome.status for name, outcome in right.items()} == dict.fromkeys(right, "passed")


@pytest.mark.parametrize("seed", ["one", "two"])
@pytest.mark.parametrize("task", TASKS)
def test_stated_answer_loses_what_is_stated(task: str, seed: str) -> None:
    """Right code in other words loses nothing and needs no manual review."""
    with open_program(task) as program:
        for planted in program.file.planted:
            outcomes = run_properties(program, planted.source, seed)
            lost = {name for name, outcome in outcomes.items() if outcome.status != "passed"}
            if planted.loses or task not in MODELS:  # a probe may detect more than the task requires
                lost -= {probe.id for probe in program.file.probes}
            assert lost == set(planted.loses), planted.name
