"""The practice assignment about generating text: notebook, rubric and reference say the same."""

from __future__ import annotations

import ast
import inspect
from decimal import Decimal
from pathlib import Path

import nbformat
import pytest

from autograder.notebook.build import build_release
from autograder.rubric import load
from reference import corpus, decoding, gpt2, memorisation, training

ROOT = Path(__file__).parents[1]
RUBRIC = load(ROOT / "rubrics" / "generation.toml")
SOURCE = ROOT / "assignments" / "generation" / "generation.ipynb"
NOTEBOOK = nbformat.reads(SOURCE.read_text("utf-8"), as_version=4)
CELLS = {cell.metadata.nbgrader.grade_id: cell for cell in NOTEBOOK.cells}
KEY = {
    "top-k": decoding.top_k,
    "top-p": decoding.top_p,
    "no-repeat": decoding.no_repeat_ngram,
    "chain": decoding.next_token_probabilities,
    "sample": decoding.sample,
    "greedy": decoding.greedy,
    "beam": decoding.beam_search,
    "trainer": training.Trainer,
    "memorisation": memorisation.memorisation,
}
"""Question id → the part of the reference that is its answer key."""


def meaning(source: str) -> list[str]:
    """Every class and function of a text without comments, type aliases and markers."""
    source = source.replace("State", "dict")
    return [
        ast.dump(node) for node in ast.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]


def test_the_source_is_a_valid_notebook_without_outputs() -> None:
    """The source is nbformat 4.5 and holds nothing that was run."""
    nbformat.validate(NOTEBOOK)
    assert all(not cell.get("outputs") for cell in NOTEBOOK.cells)


@pytest.mark.parametrize("question", KEY)
def test_the_answer_key_is_the_reference(question: str) -> None:
    """The tests of the reference hold for the solution in the notebook, because it is the same."""
    assert meaning(inspect.getsource(KEY[question])) == meaning(CELLS[f"{question}-answer"].source)


@pytest.mark.parametrize(
    ("cell", "given"),
    [("model", [gpt2.Layer, gpt2.GPT2]), ("batches", [training.Batches])],
    ids=["model", "batches"],
)
def test_given_classes_are_those_of_the_reference(cell: str, given: list[type]) -> None:
    """The locked classes compute what the tests prove about the reference's."""
    assert [entry for one in given for entry in meaning(inspect.getsource(one))] == meaning(
        CELLS[cell].source
    )


def test_the_given_corpus_is_the_one_that_reports_are_measured_with() -> None:
    """The locked cell has the same texts, words and ids."""
    namespace: dict[str, object] = {}
    exec(CELLS["corpus"].source, namespace)
    assert (corpus.TEXTS, corpus.WORDS, corpus.CORPUS) == tuple(
        namespace[name] for name in ("TEXTS", "WORDS", "CORPUS")
    )


def test_points_and_prompts() -> None:
    """Every question has its points in the notebook, and a prompt in both languages."""
    assert Decimal(40) == RUBRIC.assignment.points
    for question in RUBRIC.questions:
        assert question.points == Decimal(str(CELLS[question.id].metadata.nbgrader.points))
        assert "**Deutsch:**" in CELLS[f"{question.id}-prompt"].source
        for item in question.items:
            assert {"en", "de"} <= set(item.text)


def test_every_automatic_question_has_planted_answers() -> None:
    """Nothing in the assignment is judged by a check that nobody has seen fail."""
    assert [] == [one.id for one in RUBRIC.questions if one.kind != "written" and not one.trials]


def test_the_release_shows_no_solution() -> None:
    """What is handed out keeps signatures and docstrings, and none of the solutions' lines."""
    text = build_release(SOURCE.read_bytes(), RUBRIC, "generation").decode()
    assert "masked_fill(logits < smallest" not in text
    assert "Keep the nucleus" in text
