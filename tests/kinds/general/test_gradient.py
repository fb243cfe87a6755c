"""The kind ``gradient``: right ones pass in any form, misconceptions are named, doubt goes to a person."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from autograder.checks.base import Check
from autograder.checks.judging.oracle import matching_mistakes
from autograder.errors import RubricError
from autograder.messages import languages, render
from autograder.records import ItemResult, Status, Tensor
from reference.tracing import gradients
from tests.checks.asking import DRAW, answer, check_of, judge, value
from tests.support.local_box import LocalBox

MATMUL = """
[[question]]
id = "q"
kind = "gradient"
points = 2
answer = "matmul"
reference = "tracing.gradients:matmul"
gradients = ["a", "b"]
[[question.case]]
name = "square"
args = [
  { draw = "normal", shape = [4, 4] },
  { draw = "normal", shape = [4, 4] },
  { draw = "normal", shape = [4, 4] },
]
[[question.item]]
id = "a"
points = 1
text = { en = "x" }
gradients = ["a"]
[[question.item]]
id = "b"
points = 1
text = { en = "x" }
gradients = ["b"]
"""
SOFTMAX = """
[[question]]
id = "q"
kind = "gradient"
points = 2
answer = "softmax"
reference = "tracing.gradients:softmax"
gradients = ["scores"]
[[question.case]]
args = [{ draw = "normal", shape = [4, 6] }, { draw = "normal", shape = [4, 6] }]
[[question.item]]
id = "scores"
points = 2
text = { en = "x" }
[[question.item.mistake]]
code = "diagonal-only"
points = 0.5
"""


def judged(check: Check, source: str) -> tuple[ItemResult, ...]:
    """The results of code of ours, run here."""
    name = check.question.answer  # type: ignore[attr-defined]
    expected = LocalBox(f"from reference.tracing.gradients import {name}").ask(check.reference_plan(DRAW))
    observed = LocalBox(source).ask(check.plan(answer(source), DRAW))
    return judge(check, source, observed, expected)


@pytest.mark.parametrize(
    "returned",
    [
        "g @ b.T, a.T @ g",
        "[g @ b.T, (a.T @ g).float()]",
        "{'b': a.T @ g, 'a': (g @ b.T).tolist()}",
        "(g @ b.T).numpy(), a.T @ g",
    ],
)
def test_right_ones_pass_in_every_form(returned: str) -> None:
    """Tuples, lists, dictionaries; tensors, arrays, lists; single precision is precise enough."""
    results = judged(check_of(MATMUL), f"def matmul(a, b, g): return {returned}")
    assert [Status.PASSED] * 2 == [one.status for one in results], results


@pytest.mark.parametrize(
    ("returned", "codes"),
    [
        ("g.T @ b.T, a.T @ g", ("value.differs", "passed")),
        ("(g @ b.T).T, a.T @ g", ("gradient.transposed", "passed")),
        ("-(g @ b.T), 2 * a.T @ g", ("gradient.sign", "gradient.factor")),
        ("a.T @ g, g @ b.T", ("gradient.operands-swapped", "gradient.operands-swapped")),
        ("g @ b.T", ("value.form", "value.form")),
        ("g @ b.T, a.T @ g, 0", ("value.length", "value.length")),
        ("{'a': g @ b.T}", ("value.entry", "value.entry")),
        ("'x', a.T @ g", ("value.form", "passed")),
        ("(g @ b.T)[:3], a.T @ g", ("value.shape", "passed")),
        ("(g @ b.T) * float('nan'), a.T @ g", ("value.nan", "passed")),
        ("(g @ b.T) * 1e300 * 1e300, a.T @ g", ("value.differs", "passed")),
        ("0 * g, 0 * g", ("value.differs", "value.differs")),
        ("None", ("value.none", "value.none")),
        ("(g @ b.T).to(complex) * 1j, a.T @ g", ("value.differs", "passed")),
    ],
)
def test_wrong_ones_are_named_gradient_by_gradient(returned: str, codes: tuple[str, str]) -> None:
    """Each item is about its own gradient, and says what is wrong with that one."""
    results = judged(check_of(MATMUL), f"def matmul(a, b, g): return {returned}")
    assert codes == tuple(one.student.code for one in results), results
    for one in results:
        assert all(render(one.student, language) for language in languages())


def test_every_misconception_is_named_and_worth_what_the_rubric_says() -> None:
    """Each misconception of the softmax has its own sentence; one earns part of the points."""
    for trial in gradients.softmax_trials():
        source = "import torch\nfrom torch import Tensor\n" + trial["source"].replace(
            "softmax_backward", "softmax"
        )
        (result,) = judged(check_of(SOFTMAX), source)
        if not trial["loses"]:
            assert Status.PASSED is result.status
        elif trial["name"] == "the other sign":
            assert "gradient.sign" == result.code
        else:
            assert f"gradient.{trial['name']}" == result.code
            assert Decimal("0.5") * (trial["name"] == "diagonal-only") == result.points


NORM = """
import torch
def layer_norm(x, w, bias, g):
    d = x.shape[-1]
    c = x - x.sum(-1, keepdim=True) / d
    s = 1 / torch.sqrt((c * c).sum(-1, keepdim=True) / d + 1e-5)
    n, i = c * s, g * w
    mean, variance = i.sum(-1, keepdim=True) / d, n * (i * n).sum(-1, keepdim=True) / d
    return {}
"""
HEADS = """
import torch
def attention(q, k, v, g):
    root = q.shape[-1] ** 0.5
    e = torch.exp(q @ k.mT / root)
    p = e / e.sum(-1, keepdim=True)
    i = torch.einsum("qd,kd->qk", g, v)
    t = p * i - p * (p * i).sum(-1, keepdim=True)
    return {}
"""
ENTROPY = """
import torch
def cross_entropy(z, y):
    p, hot = torch.exp(z) / torch.exp(z).sum(-1, keepdim=True), torch.eye(z.shape[-1])[y]
    return {}
"""


@pytest.mark.parametrize(
    ("name", "source", "returned", "code"),
    [
        ("layer_norm", NORM, "s * (i - mean - variance), (g * n).sum(0), g.sum(0)", "passed"),
        ("layer_norm", NORM, "s * (i - variance), (g * n).sum(0), g.sum(0)", "gradient.mean-missing"),
        ("layer_norm", NORM, "s * (i - mean), (g * n).sum(0), g.sum(0)", "gradient.variance-missing"),
        ("layer_norm", NORM, "s * i, (g * n).sum(0), g.sum(0)", "gradient.statistics-constant"),
        (
            "layer_norm",
            NORM.replace("i = c * s, g * w", "i = c * s, g"),
            "s * (i - mean - variance), (g * n).sum(0), g.sum(0)",
            "gradient.gain-missing",
        ),
        (
            "layer_norm",
            NORM,
            "s * (i - mean - variance), (g * x).sum(0), g.sum(0)",
            "gradient.not-normalised",
        ),
        (
            "layer_norm",
            NORM,
            "s * (i - mean - variance), (g * n).mean(0), g.mean(0)",
            "gradient.batch-averaged",
        ),
        ("attention", HEADS, "t @ k / root, t.mT @ q / root, p.mT @ g", "passed"),
        ("attention", HEADS, "t @ k, t.mT @ q, p.mT @ g", "gradient.scale-missing"),
        ("attention", HEADS, "t.mT @ q / root, t @ k / root, p.mT @ g", "gradient.operands-swapped"),
        ("attention", HEADS, "t @ k / root, t.mT @ q / root, p @ g", "gradient.not-transposed"),
        (
            "attention",
            HEADS,
            "t @ k / root, t.mT @ q / root, (q @ k.mT / root).mT @ g",
            "gradient.scores-for-weights",
        ),
        (
            "attention",
            HEADS,
            "(p - p * p) * i @ k / root, ((p - p * p) * i).mT @ q / root, p.mT @ g",
            "gradient.diagonal-only",
        ),
        ("attention", HEADS, "p * i @ k / root, (p * i).mT @ q / root, p.mT @ g", "gradient.sum-missing"),
        ("attention", HEADS, "i @ k / root, i.mT @ q / root, p.mT @ g", "gradient.softmax-missing"),
        ("cross_entropy", ENTROPY, "(p - hot) / len(y)", "passed"),
        ("cross_entropy", ENTROPY, "p - hot", "gradient.not-averaged"),
        ("cross_entropy", ENTROPY, "(p - hot) / z.numel()", "gradient.classes-averaged"),
        ("cross_entropy", ENTROPY, "p / len(y)", "gradient.target-missing"),
        ("cross_entropy", ENTROPY, "(z - hot) / len(y)", "gradient.softmax-missing"),
    ],
)
def test_misconceptions_written_otherwise_are_named(name: str, source: str, returned: str, code: str) -> None:
    """Each misconception, written here from its formula alone, is recognised by what it computes."""
    sizes = {
        "layer_norm": ([4, 6], [6], [6], [4, 6]),
        "attention": ([5, 4],) * 4,
        "cross_entropy": ([5, 7],),
    }[name]
    drawn = [f'{{ draw = "normal", shape = {size} }}' for size in sizes]
    if name == "cross_entropy":
        drawn.append('{ draw = "integers", shape = [5], low = 0, high = 7 }')
    names = {"cross_entropy": '["z"]', "layer_norm": '["x", "w", "b"]', "attention": '["q", "k", "v"]'}[name]
    check = check_of(
        f'[[question]]\nid = "q"\nkind = "gradient"\npoints = 1\nanswer = "{name}"\n'
        f'reference = "tracing.gradients:{name}"\ngradients = {names}\n[[question.case]]\n'
        f'args = [{", ".join(drawn)}]\n[[question.item]]\nid = "i"\npoints = 1\ntext = {{ en = "x" }}\n'
    )
    (result,) = judged(check, source.format(returned))
    assert code == result.student.code, result.staff


def test_autograd_can_be_forbidden() -> None:
    """A gradient that torch computed loses all points where the question forbids it."""
    names = '["scores"]\nforbidden = ["autograd", "enable_grad", "backward"]'
    check = check_of(SOFTMAX.replace('["scores"]', names, 1))
    source = (
        "import torch\ndef softmax(s, g):\n    with torch.enable_grad():\n"
        "        s = s.clone().requires_grad_()\n"
        "        (s.softmax(-1) * g).sum().backward()\n    return s.grad\n"
    )
    (result,) = judged(check, source)
    assert Status.PASSED is not result.status
    assert Decimal(0) == result.points
    assert Status.PASSED is judged(check_of(SOFTMAX), source)[0].status  # it would be right


def told(**changes: Any) -> dict[str, Any]:
    """What an oracle says, with changes."""
    right = [np.ones((2, 2))]
    return {"right": right, "numeric": right, "bounds": [1e-9], "mistakes": [], **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"numeric": [np.ones((2, 2)) + 1e-6]},
        {"numeric": [np.ones(4)]},
        {"numeric": [np.full((2, 2), np.inf)], "right": [np.full((2, 2), np.inf)]},
        {"right": [np.array("x")]},
        {"right": []},
        {"bounds": []},
        {"bounds": [float("nan")]},
        {"bounds": "x"},
    ],
)
def test_witnesses_that_disagree_cost_nothing(changes: dict[str, Any]) -> None:
    """Where autograd and differences of the reference are too far apart, a person decides."""
    check, source = check_of(SOFTMAX), "def softmax(s, g): return s"
    observed = [value(*[Tensor(np.zeros((2, 2)), "float64")] * 2)]
    (result,) = judge(check, source, observed, [value(told(**changes))])
    assert Status.NEEDS_REVIEW is result.status
    (result,) = judge(check, source, observed, [value(told())])
    assert Status.FAILED is result.status


def test_mistakes_are_read_strictly() -> None:
    """Tables of a code and gradients count; everything else an oracle may say does not."""
    right = {"code": "a", "values": [np.zeros((2, 2))]}
    odd = [right, {"code": "b"}, 3, {"code": 3, "values": []}, ["c", [1]]]
    assert ["a"] == matching_mistakes(told(mistakes=odd), lambda _: True)
    for nothing in (None, 3, "x", {"a": 1}):
        assert [] == matching_mistakes(told(mistakes=nothing), lambda _: True)


@pytest.mark.parametrize(
    ("before", "after", "match"),
    [
        ('gradients = ["a"]', 'gradients = ["c"]', "no 'c'"),
        ('gradients = ["a", "b"]', 'gradients = ["a", "a"]', "a name of its own"),
        ('gradients = ["a", "b"]', 'gradients = ["a", "b"]\ntolerance = 0.5', "tolerance"),
        (
            'gradients = ["a", "b"]',
            'gradients = ["a", "b"]\nlibrary = "numpy"\nforbidden = ["x"]',
            "forbidden",
        ),
        ('reference = "tracing.gradients:matmul"', "", "oracle"),
    ],
)
def test_errors_in_a_rubric_are_named(before: str, after: str, match: str) -> None:
    """Names that are none, a tolerance that hides everything, and what cannot be seen are refused."""
    with pytest.raises(RubricError, match=match):
        check_of(MATMUL.replace(before, after, 1))
