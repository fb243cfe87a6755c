"""The practice assignment about tracing: notebook, rubric and reference say the same."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from autograder.kinds import make_check, registered
from autograder.kinds.transformers.visibility import VisibilityCheck
from autograder.messages import sentences
from autograder.rubric import load
from reference.tracing import trials, visibility
from reference.tracing.listings import LISTINGS
from reference.tracing.misconceptions import MISCONCEPTIONS
from reference.tracing.visibility import Architecture

ROOT = Path(__file__).parents[1]
RUBRIC = load(ROOT / "rubrics" / "tracing.toml")
CELLS: Mapping[str, str] = {
    cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"])
    for cell in json.loads((ROOT / "assignments" / "tracing" / "tracing.ipynb").read_text("utf-8"))["cells"]
}


def plain(value: Any) -> Any:
    """A configuration of the rubric with whole numbers."""
    return json.loads(json.dumps(value, default=int))


def test_all_four_kinds_are_shown() -> None:
    """The sheet has questions of every kind about tracing."""
    kinds = {question.kind for question in RUBRIC.questions}
    assert {"visibility", "causality", "gradient", "tracing"} == kinds <= set(registered())


@pytest.mark.parametrize("answer", trials.CONFIGS)
def test_planted_answers_are_about_the_question(answer: str) -> None:
    """The reference's configurations are those of the rubric."""
    (question,) = (one for one in RUBRIC.questions if one.answer == answer)
    assert trials.CONFIGS[answer] == plain(question.options["config"])


@pytest.mark.parametrize("name", LISTINGS)
def test_the_locked_cell_is_what_is_run(name: str) -> None:
    """The listing of the notebook is that of the reference, word by word."""
    assert inspect.getsource(LISTINGS[name].function).rstrip() == CELLS[f"{name}-listing"]


def test_every_line_of_the_listings_that_is_asked_exists() -> None:
    """The rows of a question are lines of its listing."""
    for question in RUBRIC.questions:
        if question.kind == "tracing":
            lines = trials.traced(plain(question.options["config"]))["right"]
            assert {row["id"] for row in question.options["row"]} <= set(lines)


def test_every_width_may_be_written_with_or_without_the_width_of_a_head() -> None:
    """The width of a head is d_model/n_heads by the very line that makes the heads."""
    (question,) = (one for one in RUBRIC.questions if one.id == "attention-shapes")
    lines = trials.traced(plain(question.options["config"]))["right"]
    for row in question.options["row"]:
        shape = lines[row["id"]]["shape"]
        granted = row.get("cells", {}).get("shape", {}).get("assume", [])
        assert (["heads"] if "d_head" in shape or "d_model" in shape else []) == list(granted), row["id"]


def test_the_numbers_of_the_classifier_are_primes_that_differ() -> None:
    """So no axis can be right by mistake."""
    sizes = [*trials.CONFIGS["classifier_shapes"]["sizes"].values()]
    assert len(set(sizes)) == len(sizes)
    assert all(size % factor for size in sizes for factor in range(2, size))


def test_every_misconception_has_a_sentence() -> None:
    """What the gradients' reference recognises can be told, and so can misread architectures."""
    assert {
        misconception.code
        for misconceptions in MISCONCEPTIONS.values()
        for misconception in misconceptions
        if misconception.code
    } <= {code.removeprefix("gradient.") for code in sentences() if code.startswith("gradient.")}
    architectures = [
        Architecture("encoder", 5, padding=(4,)),
        Architecture("prefix", 5, prefix=2),
        Architecture("window", 9, window=2, dilation=2, layers=2),
    ]
    codes = {
        code for one in architectures for code, _ in visibility._mistakes(one, visibility.visibility(one))
    }
    assert {f"visibility.{code}" for code in codes} <= set(sentences())
    assert 8 == len(codes)


def test_every_diagnosis_has_a_sentence() -> None:
    """What may stand behind a diagnosis can be told."""
    for question in RUBRIC.questions:
        check = make_check(question, RUBRIC)
        if isinstance(check, VisibilityCheck):
            for code in check.diagnoses(question.items[0]):
                assert f"visibility.{code}" in sentences()


def test_keys_are_written_down() -> None:
    """The matrices of the key are literals: the kind makes trials of them by itself."""
    for question in RUBRIC.questions:
        if question.kind == "visibility" and "case" not in question.options:
            tree = ast.parse(CELLS[question.answer_cell])
            assert isinstance(tree.body[-1], ast.Assign)
            assert ast.literal_eval(tree.body[-1].value)
    assert Decimal(40) == sum(question.points for question in RUBRIC.questions)
