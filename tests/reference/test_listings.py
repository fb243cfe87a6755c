"""The exam's listings are one text with eight planted faults."""

from __future__ import annotations

import ast
from itertools import combinations

import pytest
import torch

from reference import decoder
from reference.listings import FAULT_IDS, FAULTS, GIVEN, RIGHT, Fault, listing
from tests.support.local_box import LocalBox

SIZES = (13, 8, 2, 2, 12, 0.25, 9)
SUBSETS = [frozenset(some) for count in range(9) for some in combinations(FAULT_IDS, count)]


def test_the_faults_are_the_eight_of_the_exam() -> None:
    """Ids and order are those of the rubric."""
    expected = (
        "self_mask",
        "residual",
        "cross_mask",
        "position_table",
        "shape_order",
        "embedding_dropout",
        "cross_value",
        "output_head",
    )
    assert expected == FAULT_IDS


def test_all_subsets_are_different_programs() -> None:
    """The 256 subsets give 256 syntax trees, and nothing repaired differs from the key in eight places."""
    assert len({ast.dump(ast.parse(listing(repaired))) for repaired in SUBSETS}) == 256
    changed = [old for old, new in zip(RIGHT.splitlines(), listing().splitlines(), strict=True) if old != new]
    assert len(changed) == 8


def test_everything_repaired_is_the_key() -> None:
    """With all faults repaired the listing is the right text, letter for letter."""
    assert listing(FAULT_IDS) == RIGHT


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_each_fault_stands_where_it_says(fault: Fault) -> None:
    """The faulty text stands in the method the fault names, and only there."""
    source = listing(set(FAULT_IDS) - {fault.id})
    class_name, method_name = fault.site.split(".")
    classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    methods = {node.name: node for node in classes[class_name].body if isinstance(node, ast.FunctionDef)}
    assert fault.faulty in (ast.get_source_segment(source, methods[method_name]) or "")


def test_an_unknown_fault_is_refused() -> None:
    """A misspelt id is an error that names it."""
    with pytest.raises(ValueError, match=r"unknown faults \['residuals'\]"):
        listing({"residuals"})


def test_a_fault_that_has_no_place_is_refused() -> None:
    """Planting a fault twice finds no right line any more."""
    with pytest.raises(ValueError, match="found 0"):
        FAULTS[0].plant(FAULTS[0].plant(RIGHT))


@pytest.mark.parametrize("training", [False, True])
def test_the_repaired_listing_is_the_reference_decoder(training: bool) -> None:
    """With the same weights and the same seed, every bit agrees, dropout included."""
    box = LocalBox(GIVEN, listing(FAULT_IDS))
    ours, exam = decoder.Decoder(*SIZES).double(), box.namespace["Decoder"](*SIZES).double()
    exam.load_state_dict(ours.state_dict())
    tokens, memory = torch.randint(13, (3, 5)), torch.randn(3, 4, 8, dtype=torch.float64)
    memory_mask = torch.tensor([True, True, False, True])[None, None, None]
    target_mask = torch.ones(1, 1, 5, 5).tril().bool()
    outputs = []
    for model in (ours, exam):
        model.train(training)
        torch.manual_seed(1)
        outputs.append(model(tokens, memory, memory_mask, target_mask))
    torch.testing.assert_close(*outputs, rtol=0, atol=0)


def test_the_given_classes_are_the_reference_ones() -> None:
    """The locked cell's classes give what the reference's give, with the same weights."""
    given = LocalBox(GIVEN).namespace["TransformerBlock"](8, 2, 12, 0.0).double()
    ours = decoder.TransformerBlock(8, 2, 12, 0.0).double()
    given.load_state_dict(ours.state_dict())
    query, memory = (torch.randn(2, length, 8, dtype=torch.float64) for length in (3, 5))
    mask = torch.tensor([1, 0, 1, 1, 0])
    expected = ours(query, memory, memory, mask)
    torch.testing.assert_close(given(query, memory, memory, mask), expected, rtol=0, atol=0)


def test_the_untouched_listing_runs_where_its_faults_do_not_raise() -> None:
    """Students can run what they receive: with equal sizes and a short target nothing raises."""
    model = LocalBox(GIVEN, listing()).namespace["Decoder"](*SIZES)
    mask = torch.ones(1, 1, 4, 4)
    output = model(torch.zeros(4, 4, dtype=torch.int64), torch.randn(4, 4, 8), mask, mask)
    assert tuple(output.shape) == (4, 4, 8)
