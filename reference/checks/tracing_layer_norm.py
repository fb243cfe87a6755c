"""Checks of the gradients of layer normalisation, written by hand; autograd says what is right.

Formula: Ba, Kiros and Hinton, Layer Normalization (2016), and the chain rule.
"""

from __future__ import annotations

from torch.nn import functional

from autograder.checking import check, forbid, mutant, planted, solution
from reference.checks.derivatives import assert_gradients, draw_doubles

forbid("autograd", "enable_grad", "backward", "vjp", "jacobian", "jacrev")
solution(
    source="""
def layer_norm_backward(x, gain, bias, grad):
    centred = x - x.mean(-1, keepdim=True)
    scale = (centred.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt()
    normal = centred * scale
    inner = grad * gain
    mean_term = inner.mean(-1, keepdim=True)
    variance_term = normal * (inner * normal).mean(-1, keepdim=True)
    return scale * (inner - mean_term - variance_term), (grad * normal).sum(0), grad.sum(0)
"""
)


def compare(student, draw, *wanted):
    inputs, gain, bias, grad = draw_doubles(draw, (4, 6), (6,), (6,), (4, 6))
    returned = student.layer_norm_backward(inputs, gain, bias, grad)

    def loss(x, gain, bias):
        return (functional.layer_norm(x, x.shape[-1:], gain, bias) * grad).sum()

    assert_gradients(returned, wanted, loss, x=inputs, gain=gain, bias=bias)


@check(points=2, title={"en": "The gradient for the input", "de": "Der Gradient für die Eingabe"})
def x(student, reference, draw):
    compare(student, draw, "x")


@check(
    points=2,
    title={"en": "The gradients for gain and bias", "de": "Die Gradienten für gain und bias"},
)
def parameters(student, reference, draw):
    compare(student, draw, "gain", "bias")


mutant(
    "mean missing",
    "inner - mean_term - variance_term",
    "inner - variance_term",
    title={
        "en": "The mean depends on the input as well; the term that comes from it is missing.",
        "de": "Auch der Mittelwert hängt von der Eingabe ab; der Term, der daraus kommt, fehlt.",
    },
    points={"x": 1},
    loses="x",
)
mutant(
    "variance missing",
    "inner - mean_term - variance_term",
    "inner - mean_term",
    title={
        "en": "The variance depends on the input as well; the term that comes from it is missing.",
        "de": "Auch die Varianz hängt von der Eingabe ab; der Term, der daraus kommt, fehlt.",
    },
    loses="x",
)
mutant(
    "statistics constant",
    "inner - mean_term - variance_term",
    "inner",
    title={
        "en": "Mean and variance are treated as constants; both depend on the input.",
        "de": "Mittelwert und Varianz werden wie Konstanten behandelt; beide hängen von der Eingabe ab.",
    },
    loses="x",
)
mutant(
    "gain missing",
    "inner = grad * gain",
    "inner = grad",
    title={
        "en": "The gain is left out of the chain rule.",
        "de": "Der Faktor gain fehlt in der Kettenregel.",
    },
    loses="x",
)
mutant(
    "not normalised",
    "(grad * normal).sum(0)",
    "(grad * x).sum(0)",
    title={
        "en": "The gain is multiplied with the normalised input, not with the input itself.",
        "de": "gain wird mit der normierten Eingabe multipliziert, nicht mit der Eingabe selbst.",
    },
    loses="parameters",
)
mutant(
    "batch averaged",
    edits=[("(grad * normal).sum(0)", "(grad * normal).mean(0)"), ("grad.sum(0)", "grad.mean(0)")],
    title={
        "en": "Parameters that all rows share collect the sum over the rows, not the mean.",
        "de": "Parameter, die alle Zeilen teilen, sammeln die Summe über die Zeilen, nicht das Mittel.",
    },
    loses="parameters",
)
planted(
    "sums divided at the end",
    """
import torch

def layer_norm_backward(x, gain, bias, grad):
    d = x.shape[-1]
    centred = x - x.sum(-1, keepdim=True) / d
    scale = 1 / torch.sqrt((centred * centred).sum(-1, keepdim=True) / d + 1e-5)
    n, i = centred * scale, grad * gain
    mean, variance = i.sum(-1, keepdim=True) / d, n * (i * n).sum(-1, keepdim=True) / d
    return scale * (i - mean - variance), (grad * n).sum(0), grad.sum(0)
""",
)
