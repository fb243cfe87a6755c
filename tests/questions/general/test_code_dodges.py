"""Test answers that try to change what a check compares them with, in the real sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from autograder.grading.pipeline import Grader
from tests.support.code_course import grade, open_grader

IMPORTS = """
from autograder.checking import Wrong, assert_close, assert_equal, call, check, solution
from autograder.checking.comparing import allow_changes
"""
MERGE = (
    IMPORTS
    + '''
solution(source="""
def merge(a, b):
    return sorted([*a, *b])
""")

@check(points=1, title="Afterwards")
def afterwards(student, reference, draw):
    a, b = draw.integers(0, 50, 5).tolist(), draw.integers(0, 50, 8).tolist()
    assert_equal(student.merge(a, b), reference.merge(a, b))

@check(points=1, title="One by one")
def each(student, reference, draw):
    a, b = draw.integers(0, 50, 5).tolist(), draw.integers(0, 50, 5).tolist()
    got = student.merge(a, b)
    assert len(got) == 10
    for mine, right in zip(got, sorted(a + b)):
        assert mine == right
'''
)
PAIRS = """
@check(points=1, title="Pairs")
def pairs(student, reference, draw):
    got = student.merge([1] * 5, [2] * 5)
    if hasattr(got, "items"):
        for key, value in got.items():
            assert key == value
"""
LOADER = (
    IMPORTS
    + '''
solution(source="""
class Loader:
    def __init__(self, n):
        self.n = n
    def __len__(self):
        return self.n
    def __iter__(self):
        return iter(range(self.n))
""")

@check(points=1, title="All")
def all_of_it(student, reference, draw):
    loader = student.Loader(4)
    assert len(loader) == 4
    assert list(loader) == [0, 1, 2, 3]
    for one, right in zip(loader, range(4)):
        assert one == right
'''
)
STEP = (
    IMPORTS
    + '''
import numpy as np

solution(source="""
def step(weights, slopes):
    for one, slope in zip(weights, slopes):
        one -= slope
""")

@check(points=1, title="In place")
def changed(student, reference, draw):
    start, slope = draw.normal(3), np.ones(3)
    given = allow_changes([start.copy()])
    student.step(given, [slope])
    assert_close(given, [start - 1])
'''
)
SCALE = (
    IMPORTS
    + '''
solution(source="""
def scale(x):
    return 2 * x + 1
""")

@check(points=1, title="Of one shape")
def shape(student, reference, draw):
    for x in draw.normal(2, 3, 4):
        assert_close(student.scale(x), reference.scale(x))
'''
)
SLOPE = (
    IMPORTS
    + '''
import torch

solution(source="""
def slope(scores, grad):
    return scores * grad
""")

@check(points=1, title="Afterwards")
def afterwards(student, reference, draw):
    scores, grad = draw.normal(4, 6), draw.normal(4, 6)
    found = call(student.slope, scores=scores, grad=grad)
    assert_close(found, scores * grad)

@check(points=1, title="Its gradient")
def gradient(student, reference, draw):
    scores, grad = draw.normal(4, 6).requires_grad_(), draw.normal(4, 6)
    student.slope(scores, grad).sum().backward()
    assert_close(scores.grad, grad)

@check(points=1, title="Of a leaf, afterwards")
def leaf(student, reference, draw):
    scores, grad = draw.normal(4, 6).requires_grad_(), draw.normal(4, 6)
    found = student.slope(scores, grad)
    assert_close(found.detach(), (scores * grad).detach())
'''
)
LEARN = """
import torch
from autograder.checking import check, solution
from autograder.checking.transformers import StudentModel, assert_gradients_reach

solution(source='''
import torch

class Net(torch.nn.Linear):
    def forward(self, tokens):
        return super().forward(tokens[..., None].double())
''')

@check(points=1, title="Weights")
def weights(student, reference, draw):
    assert_gradients_reach(StudentModel(student.Net, (1, 3)), (draw.integers(1, 5, 4, 6),))
"""
CHECKS = {
    "learn": (1, LEARN),
    "merge": (3, MERGE + PAIRS),
    "loader": (1, LOADER),
    "step": (1, STEP),
    "scale": (1, SCALE),
    "slope": (3, SLOPE),
}
ANSWERS: dict[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "right": (
        {
            "merge": "def merge(a, b):\n    a += b\n    a.sort()\n    return a",
            "learn": "import torch\nclass Net(torch.nn.Linear):\n    def forward(self, tokens):\n"
            "        return super().forward(tokens[..., None].double())",
            "step": "def step(weights, slopes):\n    for w, s in zip(weights, slopes):\n        w[:] = w - s",
            "slope": "def slope(scores, grad):\n    grad = grad.mul_(1)\n    return grad * scores",
        },
        {},
    ),
    "arguments are changed": (
        {
            "merge": "def merge(a, b):\n    a[:], b[:] = [7] * len(a), [7] * len(b)\n    return a + b",
            "step": "def step(weights, slopes):\n    weights[0][:] = slopes[0][:] = 0",
            "slope": "def slope(scores, grad):\n    grad.zero_()\n    return grad * scores",
        },
        {
            "merge.afterwards": "0 failed",
            "merge.each": "0 failed",
            "step.changed": "0 failed",
            "slope.afterwards": "0 failed",
            "slope.gradient": "0 failed",
            "slope.leaf": "0 failed",
        },
    ),
    "a list that gives nothing": (
        {
            "merge": "class L(list):\n    def __iter__(self): return iter(())\n"
            "def merge(a, b):\n    return L(a + b)"
        },
        {"merge.afterwards": "0 failed", "merge.each": "0 failed"},
    ),
    "an object that gives nothing": (
        {
            "merge": "from collections import UserList\nclass L(UserList):\n"
            "    def __len__(self): return 10\n    def __iter__(self): return iter(())\n"
            "def merge(a, b):\n    return L()"
        },
        {"merge.afterwards": "0 failed", "merge.each": "0 needs-review"},
    ),
    "a dictionary that gives nothing": (
        {
            "merge": "class D(dict):\n    def items(self): return []\n"
            "def merge(a, b):\n    return D.fromkeys(range(10))"
        },
        {"merge.afterwards": "0 failed", "merge.each": "0 failed", "merge.pairs": "0 failed"},
    ),
    "objects that give what they hold": (
        {
            "merge": "class L(list):\n    pass\ndef merge(a, b):\n    return L(sorted(a + b))",
            "loader": "class Loader:\n    def __init__(self, n): self.n = n\n"
            "    def __len__(self): return self.n\n"
            "    def __iter__(self):\n        for one in range(self.n):\n            yield one",
        },
        {},
    ),
    "functions beside the model are replaced": (
        {
            "learn": "import torch\nimport autograder.checking.models as models\n"
            "models.find_slopes = lambda model, *_: torch.ones(6)\n"
            "models._run_forward = lambda net, *_: sum(p.sum() for p in net.parameters()).expand(4, 6, 3)\n"
            "class Net(torch.nn.Linear):\n"
            "    def forward(self, tokens):\n        return tokens[..., None].double().expand(-1, -1, 3)\n"
        },
        {"learn.weights": "0 failed"},
    ),
    "results are kept by the value": (
        {"scale": "kept = {}\ndef scale(x):\n    return kept.setdefault(str(x.tolist()), 2 * x + 1)"},
        {},
    ),
    "results are kept by the shape": (
        {"scale": "kept = {}\ndef scale(x):\n    return kept.setdefault(tuple(x.shape), 2 * x + 1)"},
        {"scale.shape": "0 failed"},
    ),
    "a leaf is changed": (
        {"slope": "def slope(scores, grad):\n    scores.data.zero_()\n    return scores * grad"},
        {
            "slope.afterwards": "0 failed",
            "slope.gradient": "0 needs-review",
            "slope.leaf": "0 needs-review",
        },
    ),
}


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    with open_grader(tmp_path_factory.mktemp("dodges"), CHECKS, preload='"numpy", "torch"') as opened:
        yield opened


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_does_to_a_check(grader: Grader, name: str) -> None:
    answers, lost = ANSWERS[name]
    found = {
        f"{result.question}.{result.item}": f"{float(result.points):g} {result.status}"
        for result in grade(grader, answers).score.items
        if result.question in answers
    }
    assert {key: value for key, value in found.items() if value != "1 passed"} == dict(lost)
