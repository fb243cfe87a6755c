"""The shipped exam: notebook, rubric and reference are consistent."""

from __future__ import annotations

import ast
import importlib.util
from decimal import Decimal
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.core.records import Status
from reference import listings
from tests.authoring.demo.marking import SOURCE, exam, marks, released

NOTEBOOK = nbformat.reads(SOURCE.read_text(), as_version=4)


def cells(notebook: Any = NOTEBOOK) -> dict[str, Any]:
    """Return cells by grade_id."""
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}


def test_the_given_classes_are_the_references() -> None:
    """The locked cell before the faulty listing equals the reference exactly."""
    assert listings.GIVEN.strip() == cells()["task5-a-given"].source


def test_students_receive_the_listing_with_all_eight_faults() -> None:
    """The released answer cell contains the faulty listing followed by the usual stub."""
    release = cells(nbformat.reads(released().decode(), as_version=4))
    listing, _, stub = release["task5-a-answer"].source.partition("\n# Repair")
    checks = exam().checks["task5-a"]
    assert 8 == len(checks.faults)
    assert checks.make_listing(fault.id for fault in checks.faults).strip() == listing.strip()
    assert stub.splitlines()[1:] == ["# YOUR CODE HERE", "raise NotImplementedError()"]


def test_the_solution_is_the_right_listing() -> None:
    """The marked solution in the source notebook is the listing without faults."""
    _, _, rest = cells()["task5-a-answer"].source.partition("### BEGIN SOLUTION\n")
    assert listings.RIGHT.strip() == rest.removesuffix("### END SOLUTION").strip()


@pytest.mark.parametrize(
    ("part", "formula"),
    [
        ("a", "d_model^2/n_heads"),
        ("b", "8*n_heads*d_head*d_model"),
        ("d", "12*d_model^2"),
        ("d", "4*n_heads*d_head*d_model + 8*n_heads^2*d_head^2"),
    ],
)
def test_a_relation_used_early_costs_a_fifth(part: str, formula: str) -> None:
    """An answer that assumes the choice of (e) loses the same share in every earlier part."""
    question = exam().get_question(f"task3-{part}")
    item = question.get_item("formula")
    name = item.options.get("answer", question.answer)
    result = marks(question.id, f'{name} = "{formula}"')[item.id]
    assert (Status.FAILED, item.points * Decimal("0.8")) == (result.status, result.points)
    assert "formula.early" == result.code


def test_mistakes_do_not_give_the_answer_away() -> None:
    """No sentence about a mistake quotes an accepted formula."""
    for question in exam().questions:
        for item in question.items:
            accepted = [text.replace(" ", "") for text in item.options.get("accept", ())]
            for mistake in item.options.get("mistake", ()):
                for line in mistake["text"].values():
                    assert [text for text in accepted if text in line.replace(" ", "")] == []


def test_the_trainers_arguments_are_those_of_the_library() -> None:
    """Every field of transformers.Seq2SeqTrainingArguments is accepted as a name."""
    names = set(exam().get_question("task5-b").options["names"])
    assert set() == _fields() - names


def _fields() -> set[str]:
    """Return the dataclasses' fields from their source, because importing them takes seconds."""
    package = importlib.util.find_spec("transformers")
    assert package is not None
    assert package.submodule_search_locations is not None
    folder = Path(package.submodule_search_locations[0])
    wanted = {"training_args.py": "TrainingArguments", "training_args_seq2seq.py": "Seq2SeqTrainingArguments"}
    found: set[str] = set()
    for file, name in wanted.items():
        for node in ast.parse((folder / file).read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                found |= {
                    line.target.id
                    for line in node.body
                    if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
                }
    assert len(found) > 100
    return {name for name in found if not name.startswith("_") and name not in ("framework",)}
