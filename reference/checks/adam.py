"""Adam with decoupled weight decay and seven planted faults.

A decay rate of 0 switches a moment's memory and its correction off, so that each property sees one thing.
"""

from __future__ import annotations

import numpy as np

from autograder.checking import (
    Unclear,
    Wrong,
    assert_close,
    assert_equal,
    fault,
    holds,
    planted,
    probe,
    solution,
)
from autograder.checking.comparing import allow_changes

solution("repair/adam.py")

BETA = 0.1


def take_steps(student, gradients, start=None, **options):
    """Return how far a parameter moves in each step, and the optimizer."""
    start = np.zeros_like(gradients[0]) if start is None else start
    given, before, moves = allow_changes(start.copy()), start, []
    options = {"lr": 0.5, "betas": (0.0, 0.0), "eps": 1e-12, **options}
    optimizer = student.Adam([given], **options)
    for gradient in gradients:
        optimizer.step([gradient.copy()])
        after = given if (given != start).any() else get_attribute(optimizer, "parameters")[0]
        moves.append(after - before)
        before = after.copy()
    return moves, optimizer


def get_attribute(optimizer, name):
    """Return an attribute of the listing's, which an answer in other words may not have."""
    value = getattr(optimizer, name, None)
    if value is None:
        raise Unclear(f"the optimizer has no {name!r}, and nothing else shows what it computes")
    return value


def measure_moment(student, gradient):
    """Return the part of the first gradient that the first moment takes up: 1 - beta1.

    If steps are counted, the same gradient again and again shows it: the correction is gone by then.
    Otherwise this fault beside a missing correction computes the same as neither, and only the moment itself
    tells.
    """
    if holds(step_count):
        (*_, last), _ = take_steps(student, [gradient] * 8, betas=(BETA, 0.0))
        (plain,), _ = take_steps(student, [gradient])
        return (1 - BETA) * (last / plain).mean()
    _, optimizer = take_steps(student, [gradient], betas=(BETA, 0.0))
    return (get_attribute(optimizer, "m")[0] / gradient).mean()


@fault(
    old="+ (1 - self.beta1) * gradient",
    new="+ gradient",
    points=1,
    title={"en": "The first moment is a running mean", "de": "Das erste Moment ist ein gleitendes Mittel"},
)
def first_moment(student, reference, draw):
    """Check that the running mean of equal gradients is this gradient."""
    assert_close(measure_moment(student, draw.normal(3)), 1 - BETA)


@fault(
    old="gradient**2",
    new="abs(gradient)",
    points=1,
    title={"en": "The second moment is one of squares", "de": "Das zweite Moment ist eines von Quadraten"},
)
def second_moment(student, reference, draw):
    """Check that without memory every step is as long as the learning rate, for any gradient."""
    gradient = draw.normal(3) * [0.1, 1, 10]
    (move,), _ = take_steps(student, [gradient])
    assert_close(move, -0.5 * np.sign(gradient))


@fault(
    old="self.m[index] / (1 - self.beta1**self.steps)",
    new="self.m[index]",
    points=1,
    title={
        "en": "The first moment is corrected for its beginning at zero",
        "de": "Das erste Moment wird um seinen Anfang bei null berichtigt",
    },
)
def first_bias(student, reference, draw):
    """Check the length of the first step, given what the moment has taken up."""
    gradient = draw.normal(3)
    (move,), _ = take_steps(student, [gradient], betas=(BETA, 0.0))
    (plain,), _ = take_steps(student, [gradient])
    found, moment = (move / plain).mean(), measure_moment(student, gradient)
    if np.isclose(found, moment):
        raise Wrong("nothing is corrected")
    if not np.isclose(found, moment / (1 - BETA)):
        raise Unclear(f"corrected from {moment} to {found}, perhaps because steps are counted otherwise")


@fault(
    old="self.steps += 1",
    new="self.steps = 1",
    points=1,
    title={"en": "Every step is counted", "de": "Jeder Schritt wird gezählt"},
)
def step_count(student, reference, draw):
    """Check that equal gradients make equal steps: the second moment is corrected by the right number."""
    (first, *others), _ = take_steps(student, [draw.normal(3)] * 3, betas=(0.0, 0.8))
    assert_close(others, [first, first])


@fault(
    old="(np.sqrt(v_hat) + self.eps)",
    new="np.sqrt(v_hat + self.eps)",
    points=1,
    title={"en": "Epsilon is added to the root", "de": "Epsilon wird zur Wurzel addiert"},
)
def epsilon(student, reference, draw):
    """Check with gradients whose squares are 1, as their absolute values are."""
    gradient, eps = np.array([1.0, -1.0, 1.0]), draw.uniform(low=0.5, high=2.0)
    (move,), _ = take_steps(student, [gradient], eps=eps)
    assert_close(move, -0.5 * gradient / (1 + eps))


@fault(
    old="parameter -= self.lr * self.weight_decay",
    new="parameter += self.lr * self.weight_decay",
    points=1,
    title={"en": "Weight decay makes weights smaller", "de": "Weight Decay macht Gewichte kleiner"},
)
def decay(student, reference, draw):
    """Check how much smaller weights get by a step with decay than by the same one without.

    Weights may decay before or after the rest of the step.
    """
    gradient, start, rate = draw.normal(3), draw.uniform(3, low=2, high=5), draw.uniform(low=0.1, high=0.5)
    (plain,), _ = take_steps(student, [gradient], start)
    (decayed,), _ = take_steps(student, [gradient], start, weight_decay=rate)
    smaller = plain - decayed
    if (smaller < 1e-6).any():
        raise Wrong("not all weights get smaller")
    if not any(np.allclose(smaller, 0.5 * rate * weights) for weights in (start, start + plain)):
        raise Unclear(f"weights get smaller, but by {smaller} instead of {0.5 * rate * start}")


@fault(
    old="self.parameters = parameters",
    new="self.parameters = [one.copy() for one in parameters]",
    points=1,
    title={"en": "The parameters themselves are changed", "de": "Die Parameter selbst werden geändert"},
)
def in_place(student, reference, draw):
    """Check that a step changes every number of the arrays that were handed over."""
    start = [draw.normal(3), draw.normal(2, 2)]
    given = allow_changes([array.copy() for array in start])
    student.Adam(given, lr=0.5).step([draw.normal(3), draw.normal(2, 2)])
    for array, old in zip(given, start, strict=True):
        if (array == old).any():
            raise Wrong("numbers that were handed over are as before")


@probe
def same_numbers(student, reference, draw):
    """Compare with the solution after several steps."""
    start = [draw.normal(3), draw.normal(2, 2)]
    gradients = [[draw.normal(3), draw.normal(2, 2)] for _ in range(3)]
    given, expected = ([array.copy() for array in start] for _ in range(2))
    allow_changes(given)
    for kind, parameters in ((student.Adam, given), (reference.Adam, expected)):
        optimizer = kind(parameters, lr=0.1, betas=(0.8, 0.95), eps=0.1, weight_decay=0.3)
        for gradient in gradients:
            optimizer.step([array.copy() for array in gradient])
    assert_close(given, expected)
    assert_equal([array.shape for array in given], [array.shape for array in expected])


planted(
    "corrections in the learning rate, other attributes",
    source="""
import numpy as np

class Adam:
    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        self._state = [(one, np.zeros_like(one), np.zeros_like(one)) for one in parameters]
        self._options = lr, betas, eps, weight_decay
        self._powers = [1.0, 1.0]

    def step(self, gradients):
        lr, betas, eps, weight_decay = self._options
        self._powers = [power * beta for power, beta in zip(self._powers, betas)]
        first, second = (1 - power for power in self._powers)
        for (weight, mean, square), gradient in zip(self._state, gradients):
            mean += (1 - betas[0]) * (gradient - mean)
            square += (1 - betas[1]) * (gradient * gradient - square)
            weight *= 1 - lr * weight_decay
            weight -= lr / first * mean / (np.sqrt(square / second) + eps)
""",
)
planted(
    "written into the arrays at the end",
    source="""
import math
import numpy as np

class Adam:
    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        self.parameters, self.lr, self.betas, self.eps, self.decay = parameters, lr, betas, eps, weight_decay
        self.history = []

    def step(self, gradients):
        self.history.append([np.array(gradient) for gradient in gradients])
        b1, b2 = self.betas
        t = len(self.history)
        for i, p in enumerate(self.parameters):
            m = sum((1 - b1) * b1 ** (t - 1 - s) * past[i] for s, past in enumerate(self.history))
            v = sum((1 - b2) * b2 ** (t - 1 - s) * past[i] ** 2 for s, past in enumerate(self.history))
            update = m / (1 - b1 ** t) / (np.sqrt(v / (1 - b2 ** t)) + self.eps) + self.decay * p
            p[...] = p - self.lr * update
""",
)
planted(
    "uncounted, and parameters in other names",
    source="""
import numpy as np

class Adam:
    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        self.weights, self.lr, self.betas, self.eps, self.decay = parameters, lr, betas, eps, weight_decay
        self.m = [0 * one for one in parameters]
        self.v = [0 * one for one in parameters]

    def step(self, gradients):
        b1, b2 = self.betas
        for i, gradient in enumerate(gradients):
            self.m[i] = b1 * self.m[i] + (1 - b1) * gradient
            self.v[i] = b2 * self.v[i] + (1 - b2) * gradient**2
            self.weights[i] *= 1 - self.lr * self.decay
            root = np.sqrt(self.v[i] / (1 - b2)) + self.eps
            self.weights[i] -= self.lr * self.m[i] / (1 - b1) / root
""",
    loses=["step_count"],
)
