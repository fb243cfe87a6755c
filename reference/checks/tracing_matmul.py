"""Checks of the gradients of a product of matrices, written by hand; autograd says what is right."""

from __future__ import annotations

from autograder.checking import check, forbid, mutant, planted, solution
from reference.checks.derivatives import assert_gradients, draw_doubles

forbid("autograd", "enable_grad", "backward", "vjp", "jacobian", "jacrev")
solution(
    source="""
def matmul_backward(a, b, grad):
    return grad @ b.T, a.T @ grad
"""
)
SIZES = ((4, 4, 4), (3, 4, 5))
"""(rows, inner, columns): in square matrices a transposed gradient has the right shape."""


def compare(student, draw, wanted):
    for rows, inner, columns in SIZES:
        first, second, grad = draw_doubles(draw, (rows, inner), (inner, columns), (rows, columns))
        returned = student.matmul_backward(first, second, grad)
        assert_gradients(returned, [wanted], lambda a, b, grad=grad: (a @ b * grad).sum(), a=first, b=second)


@check(
    points=1,
    title={"en": "The gradient for the first matrix", "de": "Der Gradient für die erste Matrix"},
)
def a(student, reference, draw):
    compare(student, draw, "a")


@check(
    points=1,
    title={"en": "The gradient for the second matrix", "de": "Der Gradient für die zweite Matrix"},
)
def b(student, reference, draw):
    compare(student, draw, "b")


TRANSPOSED = {
    "en": "It is transposed. A gradient has the shape of what it is taken for.",
    "de": "Er ist transponiert. Ein Gradient hat die Form dessen, wonach abgeleitet wird.",
}
mutant(
    "operands swapped",
    "grad @ b.T, a.T @ grad",
    "a.T @ grad, grad @ b.T",
    title={"en": "Two of the gradients have changed places.", "de": "Zwei der Gradienten sind vertauscht."},
    loses=["a", "b"],
)
mutant("the first one transposed", "grad @ b.T", "(grad @ b.T).T", title=TRANSPOSED, loses="a")
mutant("the second one transposed", "a.T @ grad", "grad.T @ a", title=TRANSPOSED, loses="b")
mutant(
    "other sign",
    "grad @ b.T, a.T @ grad",
    "-grad @ b.T, -a.T @ grad",
    title={"en": "Every number has the wrong sign.", "de": "Jede Zahl hat das falsche Vorzeichen."},
    loses=["a", "b"],
)
planted(
    "by names",
    """
import torch

def matmul_backward(a, b, grad):
    return {"a": torch.einsum("nk,mk->nm", grad, b), "b": a.T @ grad}
""",
)
