"""The JSON schema for editors accepts all shipped rubrics and rejects errors."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autograder.authoring.schema import build_schema
from autograder.questions import list_registered
from tests.test_docs_rubric import EXAMPLES, HEAD

ROOT = Path(__file__).parents[2]
RUBRICS = sorted((ROOT / "rubrics").glob("*.toml"))


@functools.cache
def made() -> dict[str, Any]:
    """Return the schema."""
    return build_schema()


@functools.cache
def validator() -> Draft202012Validator:
    """Return a validator for the schema."""
    return Draft202012Validator(made())


Table = dict[str, Any]


def test_it_is_a_schema() -> None:
    """The schema is valid and contains every kind."""
    Draft202012Validator.check_schema(made())
    kinds = {
        one["$ref"].rpartition("question-")[2] for one in made()["properties"]["question"]["items"]["oneOf"]
    }
    assert set(list_registered()) == kinds


@pytest.mark.parametrize("path", RUBRICS, ids=lambda path: path.stem)
def test_shipped_rubrics_are_accepted(path: Path) -> None:
    """Every key of the shipped rubrics is in the schema."""
    assert [] == [error.message for error in validator().iter_errors(tomllib.loads(path.read_text("utf-8")))]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_of_the_docs_are_accepted(number: int) -> None:
    """Every example of docs/rubric.md is valid, with an added head if it has none."""
    example = EXAMPLES[number]
    text = example if "[assignment]" in example else HEAD.format(points=1) + example
    table = tomllib.loads(text)
    table.setdefault("version", 1)
    assert [] == [error.message for error in validator().iter_errors(table)]


def question(kind: str = "formula", **more: Any) -> Table:
    """Return a rubric with one question."""
    item = {"id": "i", "points": 1, "text": {"en": "T"}}
    one = {"id": "q", "kind": kind, "points": 1, "answer": "x", "item": [item], **more}
    return {"version": 1, "assignment": {"name": "a", "points": 1}, "question": [one]}


def changed(change: Callable[[Table], Any]) -> Table:
    """Return the rubric with an error."""
    table = question()
    change(table)
    return table


@pytest.mark.parametrize(
    "error",
    [
        lambda table: table.update(versoin=1),
        lambda table: table.pop("version"),
        lambda table: table["assignment"].update(pionts=1),
        lambda table: table["assignment"].update(points="many"),
        lambda table: table["assignment"].update(limits={"cell_second": 1}),
        lambda table: table["question"][0].update(anwser="x"),
        lambda table: table["question"][0].update(kind="symbolc"),
        lambda table: table["question"][0].pop("item"),
        lambda table: table["question"][0].update(sizes={"d": [1]}),
        lambda table: table["question"][0].update(visible=[{"shpae": [1]}]),
        lambda table: table["question"][0]["item"][0].update(acept=["1"]),
        lambda table: table["question"][0]["item"][0].update(form="formulae"),
        lambda table: table["question"][0]["item"][0].update(accept="1"),
        lambda table: table["question"][0]["item"][0].update(mistake=[{"code": "c", "wen": "1", "text": {}}]),
        lambda table: table["assignment"].update(grading={"scael": "german"}),
        lambda table: table["assignment"].update(grading={"scale": "latter"}),
        lambda table: table["assignment"].update(grading={"scale": [{"grade": "A", "form": 0}]}),
        lambda table: table["assignment"].update(grading={"name": "own", "possible": 1}),
        lambda table: table["question"][0]["item"][0].update(manual=True, giude="Order."),
        lambda table: table["question"][0]["item"][0].update(manual=True, examples={"full": "Order."}),
        lambda table: table["question"][0]["item"][0].update(guide="of no use to a program"),
        lambda table: table.update(variant={"draw": {"n": {"integer": [1, 2], "common": 1}}}),
    ],
)
def test_errors_are_refused(error: Callable[[Table], Any]) -> None:
    """A misspelt key, a missing key and a value of the wrong type are rejected."""
    assert validator().is_valid(question())
    assert not validator().is_valid(changed(error))


@pytest.mark.parametrize("kind", list_registered())
def test_what_graders_read_is_known_in_every_kind(kind: str) -> None:
    """Manual items of every kind may have a guide, examples and a closed list."""
    item = {"id": "i", "points": 1, "text": {"en": "T"}, "manual": True, "guide": "G", "suggest": ["order"]}
    item["examples"] = {"full": "F", "none": "N"}
    keys = made()["$defs"][f"question-{kind}"]["properties"]["item"]["items"]["anyOf"][-1]["properties"]
    assert {"guide", "examples", "suggest"} <= set(keys)
    assert validator().is_valid(question(item=[item]))


def test_a_drawn_number_may_stand_in_its_place() -> None:
    """A placeholder of a variant is accepted instead of a number; other text is not."""
    for value, valid in ((3, True), ("⟦n + 1⟧", True), ("n + 1", False)):
        item = {"id": "i", "points": 1, "text": {"en": "T"}, "right": ["a"], "pick": value}
        assert valid is validator().is_valid(question("choice", item=[item]))


def test_keys_are_described() -> None:
    """Keys have the descriptions of the record's source."""
    properties = made()["$defs"]["question-formula"]["properties"]
    assert (
        "The name the student assigns or defines; empty for written answers."
        == properties["answer"]["description"]
    )
    described = [
        "description" in one
        for name in list_registered()
        for one in made()["$defs"][f"question-{name}"]["properties"].values()
    ]
    assert sum(described) > len(described) / 2


def test_the_program_prints_it() -> None:
    """``python -m autograder.authoring.schema`` prints the schema as JSON."""
    command = [sys.executable, "-m", "autograder.authoring.schema"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    assert json.loads(json.dumps(made())) == json.loads(done.stdout)
