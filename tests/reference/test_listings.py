"""Test that the listings of the repair question are right and do not reveal solutions."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest
import torch
from torch import Tensor, nn

from reference import attention, decoder
from reference.listings import GIVEN, RIGHT
from tests.support.local_box import LocalBox
from tests.support.repair_variants import CHECKS, EXAM

SIZES = (13, 8, 2, 2, 12, 0.25, 9)
TOLERANCE = {"rtol": 0.0, "atol": 1e-12}
"""Tolerance for rounding in float64, because torch adds in another order than the reference."""


def _packed(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the reference's weights under torch's names, with stacked query, key and value maps."""
    packed = {}
    for name, tensor in state.items():
        if "q_proj" in name:
            parts = [state[name.replace("q_proj", part)] for part in ("q_proj", "k_proj", "v_proj")]
            packed[name.replace("q_proj.", "in_proj_")] = torch.cat(parts)
        elif "k_proj" not in name and "v_proj" not in name:
            packed[name] = tensor
    return packed


def _double(module: type[nn.Module], *sizes: float) -> nn.Module:
    """Return a module in float64 with nonzero biases, unlike torch's initial attention."""
    made = module(*sizes).double()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.5)
    return made


def _dropout(x: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """Apply dropout in the order of features; torch uses memory order, which attention leaves undefined."""
    return x * (torch.rand(x.shape) >= p) / (1 - p) if training else x


@pytest.mark.parametrize("training", [False, True])
def test_the_repaired_listing_is_the_reference_decoder(
    monkeypatch: pytest.MonkeyPatch, training: bool
) -> None:
    """With the same weights and seed, the outputs agree, including dropout."""
    monkeypatch.setattr(nn.functional, "dropout", _dropout)
    box = LocalBox(GIVEN, RIGHT)
    ours, exam = _double(decoder.Decoder, *SIZES), _double(box.namespace["Decoder"], *SIZES)
    exam.load_state_dict(_packed(ours.state_dict()))
    tokens, memory = torch.randint(13, (3, 5)), torch.randn(3, 4, 8, dtype=torch.float64)
    memory_mask = torch.tensor([True, True, False, True])[None, None, None]
    target_mask = torch.ones(1, 1, 5, 5).tril().bool()
    outputs = []
    for model in (ours, exam):
        model.train(training)
        torch.manual_seed(1)
        outputs.append(model(tokens, memory, memory_mask, target_mask))
    torch.testing.assert_close(*outputs, **TOLERANCE)


def test_the_given_block_is_the_reference_one() -> None:
    """The block in the locked cell equals the reference's block with the same weights."""
    given = _double(LocalBox(GIVEN).namespace["TransformerBlock"], 8, 2, 12, 0.0)
    ours = _double(decoder.TransformerBlock, 8, 2, 12, 0.0)
    given.load_state_dict(_packed(ours.state_dict()))
    query, memory = (torch.randn(2, length, 8, dtype=torch.float64) for length in (3, 5))
    mask = torch.tensor([1, 0, 1, 1, 0])
    expected = ours(query, memory, memory, mask)
    torch.testing.assert_close(given(query, memory, memory, mask), expected, **TOLERANCE)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [None, (5,), (5, 5), (3, 1, 1, 5), (1, 4, 5, 5), (3, 4, 5, 5)])
def test_the_given_attention_keeps_the_contract(
    shape: tuple[int, ...] | None, dtype: torch.dtype, training: bool, grad: bool
) -> None:
    """The given attention equals the reference's for any shape of mask, mode and type.

    The masks of two and four dimensions block every key for some or all queries.
    """
    given = _double(LocalBox(GIVEN).namespace["MultiHeadAttention"], 8, 4).train(training)
    ours = _double(attention.MultiHeadAttention, 8, 4).train(training)
    given.load_state_dict(_packed(ours.state_dict()))
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    mask = None if shape is None else (torch.rand(shape) < 0.6).index_fill(0, torch.tensor(0), False)
    expected = ours(x, x, x, mask).to(dtype)
    with torch.set_grad_enabled(grad):
        found = given.to(dtype)(*[x.to(dtype)] * 3, mask)
    assert bool(found.isfinite().all())
    tolerance = TOLERANCE if dtype is torch.float64 else {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(found, expected, **tolerance)


def test_the_given_attention_refuses_heads_that_do_not_share_the_width() -> None:
    """Like the reference, it raises a ValueError and not torch's AssertionError."""
    with pytest.raises(ValueError, match="multiple of n_heads"):
        LocalBox(GIVEN).namespace["MultiHeadAttention"](10, 4)


def test_the_given_cell_does_not_answer_the_task_on_attention() -> None:
    """The cell contains no projection into heads, no scores and no softmax, which another task requires."""
    names = {
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(ast.parse(GIVEN))
        if isinstance(node, ast.Name | ast.Attribute)
    }
    products = [node for node in ast.walk(ast.parse(GIVEN)) if isinstance(node, ast.MatMult)]
    told = {"softmax", "masked_fill", "einsum", "matmul", "bmm", "transpose", "view", "sqrt", "q_proj"}
    assert (set(), []) == (told & names, products)


def test_the_untouched_listing_runs_where_its_faults_do_not_raise() -> None:
    """The released listing runs without exceptions for equal sizes and a short target."""
    model = LocalBox(GIVEN, CHECKS.make_listing(EXAM)).namespace["Decoder"](*SIZES)
    mask = torch.ones(1, 1, 4, 4)
    output = model(torch.zeros(4, 4, dtype=torch.int64), torch.randn(4, 4, 8), mask, mask)
    assert tuple(output.shape) == (4, 4, 8)
