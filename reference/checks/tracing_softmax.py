"""Checks of the gradient of a softmax, written by hand; autograd says what is right."""

from __future__ import annotations

from autograder.checking import check, forbid, mutant, planted, solution
from reference.checks.derivatives import assert_gradients, draw_doubles

forbid("autograd", "enable_grad", "backward", "vjp", "jacobian", "jacrev")
solution(
    source="""
def softmax_backward(scores, grad):
    p = scores.softmax(-1)
    return p * (grad - (grad * p).sum(-1, keepdim=True))
"""
)


@check(points=2, title={"en": "The gradient for the scores", "de": "Der Gradient für die Scores"})
def scores(student, reference, draw):
    x, grad = draw_doubles(draw, (4, 6), (4, 6))
    returned = student.softmax_backward(x, grad)
    assert_gradients(returned, ["scores"], lambda scores: (scores.softmax(-1) * grad).sum(), scores=x)


mutant(
    "diagonal only",
    "p * (grad - (grad * p).sum(-1, keepdim=True))",
    "p * (1 - p) * grad",
    title={
        "en": "Only the diagonal of the Jacobian of the softmax is used; every probability depends on every "
        "score.",
        "de": "Von der Jacobi-Matrix des Softmax wird nur die Diagonale benutzt; jede Wahrscheinlichkeit "
        "hängt von jedem Score ab.",
    },
    points={"scores": 0.5},
    loses="scores",
)
mutant(
    "softmax missing",
    "p * (grad - (grad * p).sum(-1, keepdim=True))",
    "grad",
    title={
        "en": "The softmax is left out of the chain rule.",
        "de": "Der Softmax fehlt in der Kettenregel.",
    },
    loses="scores",
)
mutant(
    "sum missing",
    " - (grad * p).sum(-1, keepdim=True)",
    "",
    title={
        "en": "The probabilities are multiplied with the incoming gradient, but the sum that comes from the "
        "denominator of the softmax is not subtracted.",
        "de": "Die Wahrscheinlichkeiten werden mit dem ankommenden Gradienten multipliziert, aber die Summe, "
        "die aus dem Nenner des Softmax kommt, wird nicht abgezogen.",
    },
    loses="scores",
)
mutant(
    "whole batch",
    "sum(-1, keepdim=True)",
    "sum()",
    title={
        "en": "A sum goes over all rows; each row has a softmax of its own.",
        "de": "Eine Summe läuft über alle Zeilen; jede Zeile hat ihren eigenen Softmax.",
    },
    loses="scores",
)
mutant(
    "other axis",
    "sum(-1, keepdim=True)",
    "sum(0, keepdim=True)",
    title={
        "en": "A sum goes along the wrong axis.",
        "de": "Eine Summe läuft entlang der falschen Achse.",
    },
    loses="scores",
)
mutant(
    "other sign",
    "return p",
    "return -p",
    title={"en": "Every number has the wrong sign.", "de": "Jede Zahl hat das falsche Vorzeichen."},
    loses="scores",
)
planted(
    "the whole Jacobian",
    """
import torch

def softmax_backward(scores, grad):
    p = scores.softmax(-1)
    return torch.stack([(torch.diag(q) - torch.outer(q, q)) @ g for q, g in zip(p, grad)])
""",
)
