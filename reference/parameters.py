"""How many parameters a transformer has: the formulas of task 3.

The model counted: blocks of multi-head attention (query, key and value matrices per head, one output
matrix) and an MLP whose hidden layer is four times as wide as the model, all without biases. Embeddings,
layer norms and the output head are left out, as the task says. Each function is one part of the task;
tests/reference/test_parameters.py counts real modules of random sizes against every one.

A name ending in ``_with_bias`` or ``_simplified`` is another right reading of the same part.
"""

from __future__ import annotations

from sympy import Expr, Symbol, Tuple

n_layers = Symbol("n_layers", integer=True, positive=True)
n_heads = Symbol("n_heads", integer=True, positive=True)
d_model = Symbol("d_model", integer=True, positive=True)
d_head = Symbol("d_head", integer=True, positive=True)

HIDDEN_FACTOR = 4
"""The MLP's hidden layer is this many times as wide as the model."""

INPUTS = 3
"""What the modified MLP reads at each position: its own vector and the two before it."""


def attention_matrix() -> Expr:
    """(a) One matrix of one head, e.g. W_q: from the model's width to the head's."""
    return d_model * d_head


def attention_matrix_with_bias() -> Expr:
    """(a) One matrix of one head and its bias."""
    return attention_matrix() + d_head


def mlp() -> Expr:
    """(b) The MLP: one matrix up to the hidden layer and one back."""
    return d_model * (HIDDEN_FACTOR * d_model) + (HIDDEN_FACTOR * d_model) * d_model


def mlp_with_bias() -> Expr:
    """(b) The MLP with the biases of its hidden and its output layer."""
    return mlp() + HIDDEN_FACTOR * d_model + d_model


def output_projection() -> Expr:
    """(c) The matrix from the concatenated heads back to the model's width."""
    return (n_heads * d_head) * d_model


def output_projection_with_bias() -> Expr:
    """(c) The same matrix and its bias."""
    return output_projection() + d_model


def output_projection_simplified() -> Expr:
    """(c) The same matrix if the heads together are as wide as the model (the assumption of (e))."""
    return d_model**2


def layer() -> Expr:
    """(d) One layer: three matrices per head, the output matrix and the MLP; nothing assumed."""
    return 3 * n_heads * attention_matrix() + output_projection() + mlp()


def assumption() -> str:
    """(e) The relation that simplifies a layer, as text."""
    return "d_model = n_heads*d_head"


def layer_simplified() -> Expr:
    """(e) One layer under the assumption."""
    return layer().subs(d_head, d_model / n_heads)


def model() -> Expr:
    """(f) All layers under the assumption."""
    return n_layers * layer_simplified()


def mlp_three_inputs_first() -> Tuple:
    """(h) Shape of the first matrix of the modified MLP: (inputs, outputs)."""
    return Tuple(INPUTS * d_model, HIDDEN_FACTOR * d_model)


def mlp_three_inputs_second() -> Tuple:
    """(h) Shape of the second matrix of the modified MLP: (inputs, outputs)."""
    return Tuple(HIDDEN_FACTOR * d_model, d_model)


def mlp_three_inputs() -> Expr:
    """(h) The modified MLP: it reads three vectors; hidden and output width are unchanged."""
    first, second = mlp_three_inputs_first(), mlp_three_inputs_second()
    return first[0] * first[1] + second[0] * second[1]


def mlp_three_inputs_with_bias() -> Expr:
    """(h) The modified MLP with the biases of its hidden and its output layer."""
    return mlp_three_inputs() + HIDDEN_FACTOR * d_model + d_model


def modified_model() -> Expr:
    """(i) All layers with the modified MLP, under the assumption."""
    attention = layer_simplified() - mlp()
    return n_layers * (attention + mlp_three_inputs())
