"""Any bytes give a `Submission` or a `NotebookError`, and metadata never decides about marks."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.core.errors import NotebookError
from autograder.core.records import Submission
from autograder.notebook.release import Release
from autograder.notebook.submission_reader import read_notebook

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from([10**400, "\ud800"]),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
ODD: tuple[Any, ...] = (
    None, True, False, -1, 0, 3, 99, 10**30, 1.5, float("nan"), float("inf"),
    "", "x", "code", "\ud800", "\x00\x1b[2J", "double-answer", "double", "essay", "R",
    [], [[]], [None], ["a", "b"], [{"cells": [{}]}], {}, {"nbgrader": {}}, {"grade_id": "double"},
    {"nbgrader": {"grade_id": "double-answer", "solution": True, "schema_version": 3}},
)  # fmt: skip


def outcome(data: bytes, release: Release) -> Submission | str:
    """Return the submission or the error's code; any other exception fails the test."""
    try:
        result = read_notebook(data, release, student="s", assignment="a")
    except NotebookError as error:
        return error.code
    assert sound(result, release)
    return result


def sound(result: Submission, release: Release) -> bool:
    """Return whether a submission keeps the invariants: locked text, one answer per cell, printable text."""
    locked = sorted((cell.grade_id, cell.source) for cell in release.cells if cell.is_locked)
    found = [(cell.grade_id, cell.source) for cell in result.cells if cell.grade_id]
    answers = {cell.grade_id for cell in release.cells if cell.is_answer}
    ids = [grade_id for grade_id, _ in found]
    texts = [cell.source for cell in result.cells] + [f"{note.place} {note.text}" for note in result.notes]
    for text in texts:
        assert text == text.encode().decode()
        assert "\x00" not in text
        assert "\x1b" not in text
    return (
        locked == sorted((grade_id, text) for grade_id, text in found if grade_id not in answers)
        and len(ids) == len(set(ids))
        and answers == set(result.answers)
        and all(answer.changed or answer.source for answer in result.answers.values())
    )


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of a JSON tree with each of its keys or indices."""
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from places(tree[key])


@QUICK
@given(data=st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_with_a_code(data: bytes, release: Release) -> None:
    """Every short byte string raises a NotebookError."""
    assert isinstance(outcome(data, release), str)


@QUICK
@given(tree=JSON)
def test_arbitrary_json_has_an_outcome(tree: Any, release: Release) -> None:
    """Any JSON value, alone or as the list of cells, is read or refused with a code."""
    assert isinstance(outcome(json.dumps(tree).encode(), release), str | Submission)
    for notebook in ({"nbformat": 4, "cells": tree}, {"nbformat": 3, "worksheets": [{"cells": tree}]}):
        outcome(json.dumps(notebook).encode(), release)
    cell = {"cell_type": "code", "source": "x", "metadata": {"nbgrader": tree}}
    assert isinstance(outcome(json.dumps({"nbformat": 4, "cells": [cell]}).encode(), release), Submission)


@pytest.mark.parametrize("seed", range(6))
def test_mutated_notebooks_have_an_outcome(seed: int, release: Release, release_bytes: bytes) -> None:
    """Notebooks with one to eight values replaced, removed, doubled or exchanged are all read."""
    generator = random.Random(seed)
    original = json.loads(release_bytes)
    outcomes = []
    for _ in range(100):
        tree = copy.deepcopy(original)
        for _ in range(generator.randint(1, 8)):
            parent, key = generator.choice(list(places(tree)))
            action = generator.random()
            if action < 0.6:
                parent[key] = copy.deepcopy(generator.choice(ODD))
            elif action < 0.75:
                del parent[key]
            elif isinstance(parent, list):
                parent.insert(generator.randrange(len(parent) + 1), copy.deepcopy(parent[key]))
            else:
                other, other_key = generator.choice(list(places(tree)))
                parent[key] = copy.deepcopy(other[other_key])
            if not tree:
                break
        outcomes.append(outcome(json.dumps(tree).encode(), release))
    assert sum(isinstance(one, Submission) for one in outcomes) > 50


@pytest.mark.parametrize("seed", range(3))
def test_damaged_bytes_have_an_outcome(seed: int, release: Release, release_bytes: bytes) -> None:
    """Bytes flipped, removed or repeated anywhere raise no unexpected error."""
    generator = random.Random(seed)
    outcomes = []
    for _ in range(150):
        data = bytearray(release_bytes)
        for _ in range(generator.randint(1, 4)):
            at = generator.randrange(len(data))
            length = generator.randint(1, 60)
            choice = generator.random()
            if choice < 0.4:
                data[at] = generator.randrange(256)
            elif choice < 0.7:
                del data[at : at + length]
            else:
                data[at:at] = data[at : at + length]
        outcomes.append(outcome(bytes(data), release))
    assert {type(one) for one in outcomes} == {str, Submission}


@QUICK
@given(
    order=st.permutations(range(15)),
    dropped=st.sets(st.integers(0, 14), max_size=14),
    stripped=st.sets(st.integers(0, 14)),
)
def test_any_order_of_any_cells_keeps_the_exam_whole(
    order: list[int], dropped: set[int], stripped: set[int], release: Release, release_bytes: bytes
) -> None:
    """Moved, deleted and stripped cells in any combination still give every locked cell once."""
    tree = json.loads(release_bytes)
    for index in stripped:
        tree["cells"][index]["metadata"] = {}
    tree["cells"] = [tree["cells"][index] for index in order if index not in dropped]
    assert isinstance(outcome(json.dumps(tree).encode(), release), Submission)


def cells_of(release_bytes: bytes) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the release's tree, and its cells by grade_id."""
    tree = json.loads(release_bytes)
    by_id = {cell["metadata"].get("nbgrader", {}).get("grade_id", ""): cell for cell in tree["cells"]}
    return tree, by_id


def reread(tree: dict[str, Any], release: Release) -> Submission:
    """Return the submission read from a tree."""
    return read_notebook(json.dumps(tree).encode(), release, student="s", assignment="a")


def test_the_stub_is_unanswered_up_to_trailing_white_space(release: Release, release_bytes: bytes) -> None:
    """Trailing whitespace does not make an answer; any other change does."""
    tree, cells = cells_of(release_bytes)
    cells["double-answer"]["source"] = (
        "def double(x):  \n    # YOUR CODE HERE\n    raise NotImplementedError()\n\n  "
    )
    cells["essay"]["source"] = "YOUR ANSWER HERE."
    answers = reread(tree, release).answers
    assert [(answers[key].grade_id, answers[key].changed) for key in ("double-answer", "essay")] == [
        ("double-answer", False),
        ("essay", True),
    ]


def test_a_blank_answer_cell_counts_as_changed(release: Release, release_bytes: bytes) -> None:
    """A cleared answer cell counts as changed, because the answer may be in another cell."""
    tree, cells = cells_of(release_bytes)
    cells["shape-answer"]["source"] = ""
    answer = reread(tree, release).answers["shape-answer"]
    assert (answer.source, answer.changed) == ("", True)


def test_restored_cells_follow_the_cell_that_precedes_them(release: Release, release_bytes: bytes) -> None:
    """A deleted check cell is restored after its answer cell, even if that was moved."""
    tree, cells = cells_of(release_bytes)
    answer = cells["double-answer"]
    tree["cells"] = [cell for cell in tree["cells"] if cell is not answer and cell is not cells["double"]]
    tree["cells"].append(answer)
    program = [cell.grade_id for cell in reread(tree, release).cells]
    assert program[-2:] == ["double-answer", "double"]


def test_extra_cells_run_where_they_stand_and_raw_cells_do_not_run(
    release: Release, release_bytes: bytes
) -> None:
    """The student's code runs in its place; raw cells are only shown."""
    tree, _ = cells_of(release_bytes)
    tree["cells"].insert(2, {"cell_type": "code", "source": "import math", "metadata": {}})
    tree["cells"].insert(3, {"cell_type": "raw", "source": "import os", "metadata": {}})
    cells = reread(tree, release).cells
    assert [(type(cell).__name__, cell.source) for cell in cells[2:4]] == [
        ("Cell", "import math"),
        ("Markdown", "import os"),
    ]


def test_a_locked_id_on_own_code_gives_no_locked_standing(release: Release, release_bytes: bytes) -> None:
    """A second cell with a locked id is run as the student's code and is not locked."""
    tree, cells = cells_of(release_bytes)
    forged = copy.deepcopy(cells["given"])
    forged["source"] = "class Scale: pass"
    tree["cells"].append(forged)
    cells_read = reread(tree, release).cells
    assert [(cell.grade_id, cell.locked) for cell in cells_read if "class Scale" in cell.source] == [
        ("given", True),
        ("", False),
    ]


def test_a_file_in_another_encoding_is_told_so_and_not_that_given_cells_changed(
    release: Release, release_bytes: bytes
) -> None:
    """Characters of given cells damaged by another encoding are not reported as changes by the student."""
    tree = json.loads(release_bytes)
    locked = {cell.grade_id for cell in release.cells if cell.is_locked}
    for cell in tree["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") in locked:
            cell["source"] = "".join(cell["source"]).replace("e", "é")
    for encoding in ("utf-8", "latin-1"):
        data = json.dumps(tree, ensure_ascii=False).encode(encoding)
        found = read_notebook(data, release, student="ada", assignment="small-exam").remarks
        codes = {remark.message.code for remark in found}
        assert (encoding == "latin-1") == ("notebook.encoding" in codes)
        assert (encoding == "utf-8") == ("notebook.given-changed" in codes)
