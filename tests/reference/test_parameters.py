"""Test that every formula of task 3 equals the counts of real modules."""

from __future__ import annotations

import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from reference import parameters


class _Head(nn.Module):
    """One attention head; only its matrices matter here."""

    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(d_model, d_head, bias=False) for _ in range(3))


class _MLP(nn.Module):
    """An MLP that reads ``inputs`` neighbouring vectors and writes one."""

    def __init__(self, d_model: int, inputs: int = 1, *, bias: bool = False) -> None:
        super().__init__()
        self.up = nn.Linear(inputs * d_model, 4 * d_model, bias=bias)
        self.down = nn.Linear(4 * d_model, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(torch.relu(self.up(x)))


class _Layer(nn.Module):
    def __init__(self, d_model: int, n_heads: int, d_head: int, inputs: int = 1) -> None:
        super().__init__()
        self.heads = nn.ModuleList(_Head(d_model, d_head) for _ in range(n_heads))
        self.merge = nn.Linear(n_heads * d_head, d_model, bias=False)
        self.mlp = _MLP(d_model, inputs)


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _value(formula: sympy.Expr, **sizes: int) -> int:
    return int(formula.subs({getattr(parameters, name): size for name, size in sizes.items()}))


sizes = st.integers(1, 9)


@settings(max_examples=25, deadline=None)
@given(heads=sizes, d_head=sizes, d_model=sizes)
def test_parts_count_real_modules_without_any_assumption(heads: int, d_head: int, d_model: int) -> None:
    """(a) to (d) hold at any sizes, also if d_model differs from n_heads * d_head."""
    at = {"n_heads": heads, "d_head": d_head, "d_model": d_model}
    assert _value(parameters.attention_matrix(), **at) == _count(nn.Linear(d_model, d_head, bias=False))
    assert _value(parameters.attention_matrix_with_bias(), **at) == _count(nn.Linear(d_model, d_head))
    assert _value(parameters.mlp(), **at) == _count(_MLP(d_model))
    assert _value(parameters.mlp_with_bias(), **at) == _count(_MLP(d_model, bias=True))
    merge = nn.Linear(heads * d_head, d_model, bias=False)
    assert _value(parameters.output_projection(), **at) == _count(merge)
    merge_with_bias = nn.Linear(heads * d_head, d_model)
    assert _value(parameters.output_projection_with_bias(), **at) == _count(merge_with_bias)
    assert _value(parameters.layer(), **at) == _count(_Layer(d_model, heads, d_head))


@settings(max_examples=15, deadline=None)
@given(heads=sizes, d_head=sizes, layers=st.integers(1, 4))
def test_models_count_real_modules_under_the_assumption(heads: int, d_head: int, layers: int) -> None:
    """(c) simplified, (e), (f) and (i) hold if d_model = n_heads * d_head."""
    d_model = heads * d_head
    at = {"n_layers": layers, "n_heads": heads, "d_model": d_model}
    merge = nn.Linear(heads * d_head, d_model, bias=False)
    assert _value(parameters.output_projection_simplified(), **at) == _count(merge)
    assert _value(parameters.layer_simplified(), **at) == _count(_Layer(d_model, heads, d_head))
    plain = nn.ModuleList(_Layer(d_model, heads, d_head) for _ in range(layers))
    assert _value(parameters.model(), **at) == _count(plain)
    modified = nn.ModuleList(_Layer(d_model, heads, d_head, inputs=3) for _ in range(layers))
    assert _value(parameters.modified_model(), **at) == _count(modified)


@settings(max_examples=15, deadline=None)
@given(d_model=sizes)
def test_the_modified_mlp_has_the_stated_shapes_and_runs(d_model: int) -> None:
    """(h) The shapes are those of a module that reads three vectors and writes one."""
    module = _MLP(d_model, inputs=3)
    assert module(torch.zeros(2, 3 * d_model)).shape == (2, d_model)
    for shape, weight in (
        (parameters.mlp_three_inputs_first(), module.up.weight),
        (parameters.mlp_three_inputs_second(), module.down.weight),
    ):
        assert tuple(_value(size, d_model=d_model) for size in shape) == tuple(weight.T.shape)
    assert _value(parameters.mlp_three_inputs(), d_model=d_model) == _count(module)
    with_bias = _MLP(d_model, inputs=3, bias=True)
    assert _value(parameters.mlp_three_inputs_with_bias(), d_model=d_model) == _count(with_bias)


def test_the_assumption_is_what_the_simplification_uses() -> None:
    """Substituting the stated relation into (d) gives (e)."""
    left, right = parameters.assumption().split(" = ")
    names = {symbol: getattr(parameters, symbol) for symbol in ("n_heads", "d_head", "d_model")}
    relation = sympy.Eq(sympy.sympify(left, names), sympy.sympify(right, names))
    d_head = sympy.solve(relation, parameters.d_head)[0]
    assert sympy.expand(parameters.layer().subs(parameters.d_head, d_head)) == parameters.layer_simplified()
