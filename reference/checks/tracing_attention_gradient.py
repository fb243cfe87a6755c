"""Checks of the gradients of attention, written by hand; autograd says what is right."""

from __future__ import annotations

from torch.nn import functional

from autograder.checking import check, forbid, mutant, planted, solution
from reference.checks.derivatives import assert_gradients, draw_doubles

forbid("autograd", "enable_grad", "backward", "vjp", "jacobian", "jacrev")
solution(
    source="""
def attention_backward(query, key, value, grad):
    scale = query.size(-1) ** -0.5
    p = (query @ key.T * scale).softmax(-1)
    d_p = grad @ value.T
    d_scores = p * (d_p - (d_p * p).sum(-1, keepdim=True))
    return d_scores @ key * scale, d_scores.T @ query * scale, p.T @ grad
"""
)


def compare(student, draw, *wanted):
    *inputs, grad = draw_doubles(draw, *((5, 4),) * 4)
    returned = student.attention_backward(*inputs, grad)

    def loss(query, key, value):
        return (functional.scaled_dot_product_attention(query, key, value) * grad).sum()

    assert_gradients(returned, wanted, loss, **dict(zip(("query", "key", "value"), inputs, strict=True)))


@check(
    points=2,
    title={"en": "The gradients for queries and keys", "de": "Die Gradienten für Queries und Keys"},
)
def query_key(student, reference, draw):
    compare(student, draw, "query", "key")


@check(points=2, title={"en": "The gradient for the values", "de": "Der Gradient für die Values"})
def value(student, reference, draw):
    compare(student, draw, "value")


mutant(
    "diagonal only",
    "p * (d_p - (d_p * p).sum(-1, keepdim=True))",
    "p * (1 - p) * d_p",
    title={
        "en": "Only the diagonal of the Jacobian of the softmax is used; every probability depends on every "
        "score.",
        "de": "Von der Jacobi-Matrix des Softmax wird nur die Diagonale benutzt; jede Wahrscheinlichkeit "
        "hängt von jedem Score ab.",
    },
    loses="query_key",
)
mutant(
    "softmax missing",
    "p * (d_p - (d_p * p).sum(-1, keepdim=True))",
    "d_p",
    title={
        "en": "The softmax is left out of the chain rule.",
        "de": "Der Softmax fehlt in der Kettenregel.",
    },
    loses="query_key",
)
mutant(
    "sum missing",
    " - (d_p * p).sum(-1, keepdim=True)",
    "",
    title={
        "en": "The probabilities are multiplied with the incoming gradient, but the sum that comes from the "
        "denominator of the softmax is not subtracted.",
        "de": "Die Wahrscheinlichkeiten werden mit dem ankommenden Gradienten multipliziert, aber die Summe, "
        "die aus dem Nenner des Softmax kommt, wird nicht abgezogen.",
    },
    loses="query_key",
)
mutant(
    "scale missing",
    edits=[("@ key * scale", "@ key"), ("@ query * scale", "@ query")],
    title={
        "en": "The scores are divided by a root before the softmax; that factor is left out here.",
        "de": "Die Scores werden vor dem Softmax durch eine Wurzel geteilt; dieser Faktor fehlt hier.",
    },
    points={"query_key": 1},
    loses="query_key",
)
mutant(
    "operands swapped",
    "d_scores @ key * scale, d_scores.T @ query * scale",
    "d_scores.T @ query * scale, d_scores @ key * scale",
    title={"en": "Two of the gradients have changed places.", "de": "Zwei der Gradienten sind vertauscht."},
    loses="query_key",
)
mutant(
    "scores for weights",
    "p.T @ grad",
    "(query @ key.T * scale).T @ grad",
    title={
        "en": "The values are weighted with the result of the softmax, not with the scores.",
        "de": "Die Values werden mit dem Ergebnis des Softmax gewichtet, nicht mit den Scores.",
    },
    loses="value",
)
mutant(
    "not transposed",
    "p.T @ grad",
    "p @ grad",
    title={
        "en": "A matrix in the product has to be transposed.",
        "de": "Eine Matrix im Produkt muss transponiert werden.",
    },
    loses="value",
)
planted(
    "by sums over indices",
    """
import torch

def attention_backward(query, key, value, grad):
    root = query.shape[-1] ** 0.5
    e = torch.exp(query @ key.mT / root)
    p = e / e.sum(-1, keepdim=True)
    i = torch.einsum("qd,kd->qk", grad, value)
    t = p * i - p * (p * i).sum(-1, keepdim=True)
    return t @ key / root, t.mT @ query / root, torch.einsum("qk,qd->kd", p, grad)
""",
)
