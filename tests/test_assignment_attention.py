"""The shipped assignment about multi-head attention: notebook, rubric and reference say the same."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import nbformat
import pytest

from autograder.grading.scoring import score
from autograder.messages import render
from autograder.notebook.build import build_release
from autograder.records import Status
from reference.faults import attention
from tests.demo.marking import ROOT, marks, shipped
from tests.support.attention_samples import ITEMS, RIGHT, WRONG, Sample
from tests.support.solution_lines import leaked, solution_fragments
from tests.support.thorough import sample

NAME = "attention"
SOURCE = ROOT / "assignments" / NAME / f"{NAME}.ipynb"
NOTEBOOK = nbformat.reads(SOURCE.read_text("utf-8"), as_version=4)
CELLS = {cell.metadata.nbgrader.grade_id: cell.source for cell in NOTEBOOK.cells}
SOLVED = "\n".join(line for line in CELLS["mha-answer"].splitlines() if " SOLUTION" not in line)


def test_the_source_is_a_valid_notebook_without_outputs() -> None:
    """The source is nbformat 4.5 and holds nothing that was run."""
    nbformat.validate(NOTEBOOK)
    assert (4, 5) == (NOTEBOOK.nbformat, NOTEBOOK.nbformat_minor)
    assert all(not cell.get("outputs") for cell in NOTEBOOK.cells)


@pytest.mark.parametrize("language", ["", "en", "de"])
def test_the_release_holds_no_solution(language: str) -> None:
    """No line of the solution can be found in the release, whatever its language."""
    fragments = solution_fragments(SOURCE.read_bytes())
    release = build_release(SOURCE.read_bytes(), shipped(NAME), NAME, language)
    assert len(fragments) > 10
    assert () == leaked(fragments, release)
    headings = {"": 2, "en": 1, "de": 1}[language]
    cells = {cell.metadata.nbgrader.grade_id: cell.source for cell in nbformat.reads(release, 4).cells}
    assert {headings} == {cells[name].count("\n#") + 1 for name in ("title", "mha-prompt")}


def test_the_answer_key_earns_everything() -> None:
    """The source notebook's own class earns all points."""
    results = marks("mha", SOLVED, assignment=NAME)
    assert dict(ITEMS) == {item: result.points for item, result in results.items()}


@pytest.mark.slow
@pytest.mark.parametrize("sample", [*RIGHT, *WRONG], ids=lambda sample: sample.portrait or "right")
def test_every_sample_earns_what_it_says(sample: Sample) -> None:
    """Each style and each misconception gets exactly the points stated beside it; only mistakes lose any."""
    results = marks("mha", sample.source, assignment=NAME)
    assert dict(sample.points) == {item: result.points for item, result in results.items()}
    assert bool(sample.portrait) == (sample.earned < sum(ITEMS.values()))


@pytest.mark.parametrize(
    "answer",
    [
        "class MyMultiHeadAttention(nn.MultiheadAttention):\n"
        "    def __init__(self, d_model, n_heads):\n"
        "        super().__init__(d_model, n_heads, batch_first=True)\n"
        "    def forward(self, query, key, value, mask=None):\n"
        "        return super().forward(query, key, value)[0]",
        "class MyMultiHeadAttention(nn.Module):\n"
        "    def __init__(self, d_model, n_heads):\n"
        "        super().__init__()\n"
        "        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)\n"
        "    def forward(self, query, key, value, mask=None):\n"
        "        return self.attention(query, key, value)[0]",
    ],
    ids=["derived", "wrapped"],
)
def test_the_librarys_class_is_no_answer(answer: str) -> None:
    """It earns nothing: it is seen to call what the question forbids, and the student reads so."""
    results = marks("mha", f"from torch import nn\n{answer}", assignment=NAME)
    assert {"forbidden.used"} == {result.code for result in results.values()}
    scored = score("copyist", shipped(NAME), {"mha": tuple(results.values())}).items
    assert {(Status.FAILED, 0)} == {(item.status, item.points) for item in scored}
    for result in results.values():
        for language in ("en", "de"):
            assert "MultiheadAttention" in render(result.student, language)


@functools.cache
def trials() -> Mapping[str, Mapping[str, Any]]:
    """The catalogue's planted answers by fault: each is a source rewritten."""
    return dict(zip((fault.id for fault in attention.catalogue()), attention.trials(), strict=True))


@pytest.mark.parametrize("fault", sample([fault.id for fault in attention.catalogue()], 20))
def test_each_misconception_loses_exactly_its_items(fault: str) -> None:
    """Every operator of the catalogue costs what is stated beside it, and a right rewriting nothing.

    Items that are stated to depend on what is drawn may be lost or kept.
    """
    trial = trials()[fault]
    results = marks("mha", trial["source"], assignment=NAME)
    lost = {item for item, result in results.items() if result.points < result.possible}
    lost |= {item.id for item in shipped(NAME).question("mha").items if lost & set(item.needs)}
    assert set(trial["loses"]) == lost - set(trial["unstated"])
    assert trial["points"] == {item: results[item].points for item in trial["points"]}


def test_names_of_ones_own_cost_only_the_item_about_them() -> None:
    """Other names of the projections lose what is said of them; the numbers are found all the same."""
    source = SOLVED.replace("q_proj", "queries").replace("out_proj", "output")
    results = marks("mha", source, assignment=NAME)
    lost = {item: result.code for item, result in results.items() if result.points < result.possible}
    assert {"parameters": "weights.missing"} == lost
    names = "q_proj.weight, q_proj.bias, out_proj.weight, out_proj.bias"
    assert names in render(results["parameters"].student, "en")
