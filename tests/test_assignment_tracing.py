"""The practice assignment about tracing: notebook, rubric and reference are consistent."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from autograder.questions import list_registered
from autograder.rubric import load_rubric
from reference.tracing import trials
from reference.tracing.listings import LISTINGS

ROOT = Path(__file__).parents[1]
RUBRIC = load_rubric(ROOT / "rubrics" / "tracing.toml")
CELLS: Mapping[str, str] = {
    cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"])
    for cell in json.loads((ROOT / "assignments" / "tracing" / "tracing.ipynb").read_text("utf-8"))["cells"]
}


def plain(value: Any) -> Any:
    """Return a configuration of the rubric with integers."""
    return json.loads(json.dumps(value, default=int))


def test_the_questions_are_code_and_tables_of_shapes() -> None:
    kinds = {question.kind for question in RUBRIC.questions}
    assert {"code", "table"} == kinds <= set(list_registered())


@pytest.mark.parametrize("answer", trials.CONFIGS)
def test_planted_answers_are_about_the_question(answer: str) -> None:
    """The reference uses the configurations of the rubric."""
    (question,) = (one for one in RUBRIC.questions if one.answer == answer)
    assert trials.CONFIGS[answer] == plain(question.options["config"])


@pytest.mark.parametrize("name", LISTINGS)
def test_the_locked_cell_is_what_is_run(name: str) -> None:
    """The listing in the notebook equals the reference exactly."""
    assert inspect.getsource(LISTINGS[name].function).rstrip() == CELLS[f"{name}-listing"]


def test_every_line_of_the_listings_that_is_asked_exists() -> None:
    """All rows of a question are lines of its listing."""
    for question in RUBRIC.questions:
        if question.kind == "table":
            lines = trials.traced(plain(question.options["config"]))["right"]
            assert {row["id"] for row in question.options["row"]} <= set(lines)


def test_every_width_may_be_written_with_or_without_the_width_of_a_head() -> None:
    """The head width equals d_model/n_heads by the line that creates the heads, so both are accepted."""
    (question,) = (one for one in RUBRIC.questions if one.id == "attention-shapes")
    lines = trials.traced(plain(question.options["config"]))["right"]
    for row in question.options["row"]:
        shape = lines[row["id"]]["shape"]
        granted = row.get("cells", {}).get("shape", {}).get("assume", [])
        assert (["heads"] if "d_head" in shape or "d_model" in shape else []) == list(granted), row["id"]


def test_the_numbers_of_the_classifier_are_primes_that_differ() -> None:
    """Different primes prevent an axis from being right by accident."""
    sizes = [*trials.CONFIGS["classifier_shapes"]["sizes"].values()]
    assert len(set(sizes)) == len(sizes)
    assert all(size % factor for size in sizes for factor in range(2, size))
