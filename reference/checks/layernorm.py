"""Layer normalisation with a backward pass of its own and eight planted faults.

Most properties use rows that have mean 0 and cancel each other, so that it does not matter over which axis
the mean is taken.
"""

from __future__ import annotations

import torch

from autograder.checking import Unclear, Wrong, assert_close, fault, planted, probe, solution

solution("repair/layernorm.py")

WIDTH = 8
TINY = 1e-12
FACTORS = torch.tensor([[1.0], [2.0], [-3.0]])
SIGNS = torch.tensor([[1.0], [1.0], [-1.0], [-1.0]])


def make_layer(student, gain=None, shift=None, eps=TINY):
    """Return a layer and its weight, which is told from the bias by its first values, whatever its name."""
    layer = student.LayerNorm(WIDTH, eps=eps)
    state = layer.state_dict()
    if sorted((value.numel(), value.mean().item()) for value in state.values()) != [(WIDTH, 0), (WIDTH, 1)]:
        raise Unclear(f"not one weight of ones and one bias of zeros: {state}")
    gain = torch.ones(WIDTH) if gain is None else gain
    shift = torch.zeros(WIDTH) if shift is None else shift
    layer.load_state_dict(
        {name: (gain if value.all() else shift).view_as(value) for name, value in state.items()}
    )
    return layer, next(name for name, value in state.items() if value.all())


def draw_rows(draw, factors=FACTORS):
    """Return a row of mean 0 times each factor; as their sum is 0, the means of the columns are 0, too."""
    row = draw.normal(WIDTH)
    return factors * (row - row.mean())


def find_gradients(student, x, gradient, gain=None):
    """Return the output, its gradient for x, and that for the weight."""
    layer, name = make_layer(student, gain)
    x = x.clone().requires_grad_()
    y = layer(x)
    y.backward(gradient)
    return y.detach(), x.grad, dict(layer.named_parameters())[name].grad.flatten()


@fault(
    old="x.mean(dim=-1, keepdim=True)",
    new="x.mean(dim=0, keepdim=True)",
    points=1,
    title={"en": "Every row has a mean of its own", "de": "Jede Zeile hat ihren eigenen Mittelwert"},
)
def axis(student, reference, draw):
    """Check that every row has mean 0 afterwards."""
    layer, _ = make_layer(student)
    y = layer(draw.normal(3, 4, WIDTH) + draw.normal(3, 4, 1))
    assert_close(y.mean(-1), torch.zeros(3, 4))


@fault(
    old="unbiased=False",
    new="unbiased=True",
    points=1,
    title={"en": "The variance is divided by the width", "de": "Die Varianz wird durch die Breite geteilt"},
)
def variance(student, reference, draw):
    """Check that the squares of a row have mean 1 afterwards."""
    layer, _ = make_layer(student)
    assert_close(layer(draw_rows(draw)).square().mean(-1), torch.ones(3))


@fault(
    old="torch.sqrt(variance + eps)",
    new="(torch.sqrt(variance) + eps)",
    points=1,
    title={"en": "Epsilon is added to the variance", "de": "Epsilon wird zur Varianz addiert"},
)
def epsilon(student, reference, draw):
    """Check with an epsilon beside which the variance is nothing."""
    x = draw_rows(draw)
    layer, _ = make_layer(student, eps=1e8)
    assert_close(1e4 * layer(x), x)


@fault(
    old="normal * weight + bias",
    new="(normal + bias) * weight",
    points=1,
    title={"en": "The bias is added last", "de": "Der Bias wird zuletzt addiert"},
)
def shift(student, reference, draw):
    """Check that an output with a bias is by this bias larger than one without."""
    x, gain, bias = draw.normal(2, WIDTH), draw.normal(WIDTH), draw.normal(WIDTH)
    (plain, _), (shifted, _) = make_layer(student, gain), make_layer(student, gain, bias)
    assert_close(shifted(x) - plain(x), bias.expand(2, -1))


@fault(
    old="inner = gradient * weight",
    new="inner = gradient",
    points=1,
    title={
        "en": "The gradient passes the weight on its way back",
        "de": "Der Gradient geht auf dem Rückweg durch das Gewicht",
    },
)
def inner(student, reference, draw):
    """Check that a weight does the same as a gradient that is larger by it."""
    x, gain, gradient = draw.normal(2, WIDTH), draw.normal(WIDTH), draw.normal(2, WIDTH)
    _, weighted, _ = find_gradients(student, x, gradient, gain)
    _, expected, _ = find_gradients(student, x, gradient * gain)
    assert_close(weighted, expected)


@fault(
    old="inner - mean",
    new="inner",
    points=1,
    title={"en": "The gradient flows through the mean", "de": "Der Gradient fließt durch den Mittelwert"},
)
def through_mean(student, reference, draw):
    """Check that a row's sum has no gradient: it is 0, whatever the row.

    Longer rows have more weight: then even means over the columns give 0, if torch differentiates them.
    """
    _, to_x, _ = find_gradients(student, draw_rows(draw), FACTORS.abs().expand(-1, WIDTH))
    assert_close(to_x, torch.zeros(3, WIDTH))


@fault(
    old="normal * along",
    new="along",
    points=1,
    title={
        "en": "The gradient flows through the variance",
        "de": "Der Gradient fließt durch die Varianz",
    },
)
def through_variance(student, reference, draw):
    """Check that a row that gets longer changes next to nothing; with a wrong variance, a width's part."""
    x, weights = draw_rows(draw, SIGNS), torch.tensor([[1.0], [9.0], [1.0], [9.0]])
    y, to_x, _ = find_gradients(student, x, weights * x)
    found, usual = to_x.norm(dim=-1), (weights * y).norm(dim=-1)
    if not (found < usual / 2).all():
        raise Wrong(f"the gradients for x are {found} long; without a way through the variance: {usual}")


@fault(
    old="(gradient * normal).sum(dim=rows)",
    new="(gradient * normal).mean(dim=rows)",
    points=1,
    title={
        "en": "The gradient of the weight is a sum over the rows",
        "de": "Der Gradient des Gewichts ist eine Summe über die Zeilen",
    },
)
def to_weight(student, reference, draw):
    """Check by the rows that the answer itself has normalised."""
    gradient = draw.normal(2, 3, WIDTH)
    y, _, to_gain = find_gradients(student, draw.normal(2, 3, WIDTH), gradient)
    assert_close(to_gain, (gradient * y).sum((0, 1)))


@probe
def same_numbers(student, reference, draw):
    """Compare outputs and gradients with the solution's."""
    x, gain, gradient = draw.normal(2, 3, WIDTH), draw.normal(WIDTH), draw.normal(2, 3, WIDTH)
    actual, expected = (find_gradients(names, x, gradient, gain) for names in (student, reference))
    assert_close(actual, expected, rtol=1e-3, atol=1e-4)


planted(
    "torch's own",
    source="""
import torch

class LayerNorm(torch.nn.LayerNorm):
    def __init__(self, width, eps=1e-5):
        super().__init__([width], eps=eps)
""",
)
planted(
    "without a backward pass, parameters in other names and order",
    source="""
import torch

class LayerNorm(torch.nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.beta = torch.nn.Parameter(torch.zeros(width))
        self.gamma = torch.nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        centred = x - x.sum(-1, keepdim=True) / x.shape[-1]
        return self.gamma * centred * (centred.square().mean(-1, keepdim=True) + self.eps).rsqrt() + self.beta
""",
)
planted(
    "the backward pass as a matrix",
    source="""
import torch
from torch import nn

class Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        std = (x.var(-1, correction=0) + eps).sqrt()
        z = (x - x.mean(-1)[..., None]) / std[..., None]
        ctx.save_for_backward(z, std)
        return z

    @staticmethod
    def backward(ctx, grad):
        z, std = ctx.saved_tensors
        n = z.shape[-1]
        jacobian = torch.eye(n) - 1 / n - z[..., :, None] * z[..., None, :] / n
        return torch.einsum("...ij,...j->...i", jacobian, grad) / std[..., None], None

class LayerNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return torch.addcmul(self.bias, Normalise.apply(x, self.eps), self.weight)
""",
)
planted(
    "without a backward pass, and forward faults left",
    source="""
import torch

class LayerNorm(torch.nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        normal = (x - x.mean(0, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps)
        return (normal + self.bias) * self.weight
""",
    loses=["axis", "variance", "epsilon", "shift"],
)
