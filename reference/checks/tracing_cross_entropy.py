"""Checks of the gradient of cross-entropy, written by hand; autograd says what is right."""

from __future__ import annotations

from torch.nn import functional

from autograder.checking import check, forbid, mutant, planted, solution
from reference.checks.derivatives import assert_gradients, draw_doubles

forbid("autograd", "enable_grad", "backward", "vjp", "jacobian", "jacrev")
solution(
    source="""
import torch

def cross_entropy_backward(logits, targets):
    p = logits.softmax(-1)
    p[torch.arange(len(targets)), targets] -= 1
    return p / len(targets)
"""
)


@check(points=2, title={"en": "The gradient for the logits", "de": "Der Gradient für die Logits"})
def logits(student, reference, draw):
    (x,), targets = draw_doubles(draw, (5, 7)), draw.integers(0, 7, 5)
    returned = student.cross_entropy_backward(x, targets)
    assert_gradients(returned, ["logits"], lambda logits: functional.cross_entropy(logits, targets), logits=x)


mutant(
    "not averaged",
    "p / len(targets)",
    "p",
    title={
        "en": "The loss is the mean over the batch; the gradient is that of the sum.",
        "de": "Der Verlust ist der Mittelwert über den Batch; der Gradient ist der der Summe.",
    },
    points={"logits": 1},
    loses="logits",
)
mutant(
    "classes averaged",
    "p / len(targets)",
    "p / p.numel()",
    title={
        "en": "The mean goes over the batch only, not over the classes as well.",
        "de": "Gemittelt wird nur über den Batch, nicht auch über die Klassen.",
    },
    loses="logits",
)
mutant(
    "target missing",
    "p[torch.arange(len(targets)), targets] -= 1",
    "pass",
    title={
        "en": "These are the probabilities alone; the targets do not come in.",
        "de": "Das sind nur die Wahrscheinlichkeiten; die Zielklassen kommen nicht vor.",
    },
    loses="logits",
)
mutant(
    "softmax missing",
    "logits.softmax(-1)",
    "logits.clone()",
    title={
        "en": "The softmax is left out of the chain rule.",
        "de": "Der Softmax fehlt in der Kettenregel.",
    },
    loses="logits",
)
mutant(
    "other sign",
    "return p",
    "return -p",
    title={"en": "Every number has the wrong sign.", "de": "Jede Zahl hat das falsche Vorzeichen."},
    loses="logits",
)
planted(
    "with one-hot targets",
    """
import torch

def cross_entropy_backward(logits, targets):
    return (logits.softmax(-1) - torch.eye(logits.size(-1))[targets]) / len(targets)
""",
)
