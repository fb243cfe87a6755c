"""Floating-point operations of decoder-only transformers.

Conventions: a multiplication and an addition are two operations (FLOPs). Counted are the matrix products,
those with weights (each weight once for each token) and those between activations (scores, and the weighted
sum of values), and nothing else: softmax, norms, activations, rotary positions and table look-ups are left
out, as torch's flop counter leaves them out. The output head is applied to every position. A token passes
through the router and its chosen experts only. The backward pass costs twice the forward pass: one product
for the gradient of the weights, one for that of the inputs (Kaplan et al., 2020, section 2.1).
"""

from __future__ import annotations

from reference.counting.decoder import Decoder, active_parameters, total


def matrix_weights(model: Decoder) -> int:
    """The weights that a token is multiplied with, the output head included even when it is tied."""
    counts = active_parameters(model)
    left_out = ("token_embeddings", "position_embeddings", "norms", "biases", "head")
    return (
        sum(number for name, number in counts.items() if name not in left_out) + model.n_voc * model.d_model
    )


def attention_products(model: Decoder, length: int, *, causal: bool = False) -> int:
    """Scores and weighted sums of one sequence, in FLOPs.

    Each pair of a query and a key costs 2*d_head for the score and 2*d_head for its part of the sum, in each
    head and layer. ``causal``: only the length*(length + 1)/2 pairs that a causal mask leaves are counted;
    otherwise all length², as an implementation computes that masks afterwards.
    """
    pairs = length * (length + 1) // 2 if causal else length * length
    return 4 * model.n_layers * model.n_heads * model.d_head * pairs


def forward(model: Decoder, length: int, batch: int = 1, *, causal: bool = False) -> int:
    """One forward pass over ``batch`` sequences of ``length`` tokens, in FLOPs."""
    products = attention_products(model, length, causal=causal)
    return batch * (2 * length * matrix_weights(model) + products)


def training(
    model: Decoder, length: int, batch: int = 1, *, causal: bool = False, checkpointing: bool = False
) -> int:
    """One training step: forward and backward; with checkpointing the forward pass is computed twice.

    With ``checkpointing`` the output head, which lies outside of the checkpointed layers, is computed once.
    """
    once = forward(model, length, batch, causal=causal)
    again = once - 2 * batch * length * model.n_voc * model.d_model if checkpointing else 0
    return 3 * once + again


def training_approximately(model: Decoder, tokens: int) -> int:
    """The rule of thumb 6·N·D for D tokens; N are all active parameters (Kaplan et al., 2020)."""
    return 6 * total(active_parameters(model)) * tokens
