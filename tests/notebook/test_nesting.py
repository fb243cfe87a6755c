"""Deeply nested JSON in a notebook never causes a library to recurse into it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from autograder.notebook.document import MAX_LEVELS, parse_notebook
from autograder.notebook.release import Release
from autograder.notebook.submission_reader import read_notebook
from tests.notebook.test_submissions import CONTROL, FAULTS

Tree = dict[str, Any]
NESTED = (MAX_LEVELS + 2, 500, 900)
"""Increasing depths; at about a thousand the file itself is refused."""


def nested(levels: int, kind: str) -> Any:
    """Return nested lists, objects, or both alternately."""
    value: Any = "end"
    for level in range(levels):
        as_list = kind == "lists" or (kind == "both" and level % 2)
        value = [value] if as_list else {"a": value}
    return value


def in_metadata(tree: Tree, value: Any) -> None:
    """Plant a value in nbgrader's metadata of every cell, without a schema version."""
    for cell in tree["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"].pop("schema_version")
            cell["metadata"]["nbgrader"]["deep"] = value


def in_versions(tree: Tree, value: Any) -> None:
    """Plant a value as points in metadata of every version that nbgrader upgrades."""
    for number, cell in enumerate(tree["cells"]):
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"] |= {"schema_version": number % 3, "points": value}


def beside_metadata(tree: Tree, value: Any) -> None:
    """Plant a value in other tools' metadata, in outputs and in unknown keys."""
    for cell in tree["cells"]:
        cell["metadata"]["deep"] = value
        cell |= {"outputs": [value], "attachments": {}, "more": value}
    tree["metadata"]["deep"] = value


def in_an_old_format(tree: Tree, value: Any) -> None:
    """Plant a value in a notebook of format 3, which nbformat upgrades."""
    beside_metadata(tree, value)
    for cell in tree["cells"]:
        cell["metadata"].get("nbgrader", {})["deep"] = value
        if cell["cell_type"] == "code":
            cell |= {"input": cell.pop("source"), "language": "python"}
    tree |= {"nbformat": 3, "worksheets": [{"cells": tree.pop("cells"), "metadata": {"deep": value}}]}


@pytest.mark.parametrize("kind", ["lists", "objects", "both"])
@pytest.mark.parametrize("levels", NESTED)
@pytest.mark.parametrize("planted", [in_metadata, in_versions, beside_metadata, in_an_old_format])
def test_deep_json_costs_nobody_an_answer(
    planted: Callable[[Tree, Any], None], levels: int, kind: str, release: Release
) -> None:
    """Every answer is read as without the nested metadata."""
    data = (FAULTS / CONTROL / "submission.ipynb").read_bytes()
    honest = read_notebook(data, release, student="ada", assignment="small-exam")
    tree = json.loads(data)
    planted(tree, nested(levels, kind))
    found = read_notebook(json.dumps(tree).encode(), release, student="ada", assignment="small-exam")
    assert honest.answers == found.answers
    assert honest.cells == found.cells


def test_what_is_cut_is_noted() -> None:
    """A note to staff reports cut metadata; usual depths are not cut."""

    def notes(levels: int) -> list[str]:
        marks = {"grade_id": "a", "schema_version": 3, "deep": nested(levels, "lists")}
        cell = {"cell_type": "code", "source": "", "metadata": {"nbgrader": marks}}
        return [
            note.code for note in parse_notebook(json.dumps({"nbformat": 4, "cells": [cell]}).encode()).notes
        ]

    assert [] == notes(MAX_LEVELS - 1)
    assert ["metadata-garbage"] == notes(MAX_LEVELS)
