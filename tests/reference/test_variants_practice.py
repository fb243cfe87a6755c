"""Test the reference of the practice sheet."""

from __future__ import annotations

import json

import pytest
import torch

from autograder.rubric import load_rubric
from reference.variants_practice import cached_numbers, position_parameters
from tests.rubric.variants.test_draws import ROOT

NOTEBOOK = ROOT / "assignments" / "variants-practice" / "variants-practice.ipynb"
RUBRIC = load_rubric(ROOT / "rubrics" / "variants-practice.toml")


def test_a_table_of_positions_is_counted() -> None:
    """The table has one vector for each token."""
    assert 2048 * 768 == position_parameters(2048, 768)
    assert torch.nn.Embedding(7, 5).weight.numel() == position_parameters(7, 5)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (12, 1024, 768), (3, 5, 7)])
def test_what_is_cached_is_what_keys_and_values_hold(sizes: tuple[int, int, int]) -> None:
    """The formula counts the numbers in real keys and values."""
    n_layers, length, d_model = sizes
    kept = [torch.empty(length, d_model, device="meta") for _ in range(n_layers) for _ in ("key", "value")]
    assert sum(one.numel() for one in kept) == cached_numbers(*sizes)


def test_the_sheet_hands_out_the_faults_of_the_common_variant() -> None:
    """The source notebook has the listing with the faults that are the rubric's items."""
    items = [item.id for item in RUBRIC.get_question("repair").items]
    assert 4 == len(items)
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    handed_out = ["".join(cell["source"]) for cell in notebook["cells"] if cell["id"] == "repair-answer"]
    assert 1 == handed_out[0].count(RUBRIC.checks["repair"].make_listing(items).strip())
