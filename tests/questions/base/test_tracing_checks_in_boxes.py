"""Hostile answers to the questions about gradients and dependence, in the real sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from autograder.grading.pipeline import Grader
from tests.questions.base.test_tracing_checks import AMONG_EXAMPLES, KEPT, REMEMBERS, RIGHT
from tests.support.code_course import grade, open_grader

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
REFERENCE = Path(__file__).parents[3] / "reference"
QUESTIONS = {"softmax": 2, "prefix_attention": 3, "decoder": 1}
SOFTMAX = """def softmax_backward(s, g):
    p = s.softmax(-1)
    {}
    return p * (g - (g * p).sum(-1, keepdim=True))
"""
LIE = "import torch\nclass Lie(torch.Tensor):\n    shape = property(lambda self: (4, 6))\n"
FILE = """
import pathlib

def prefix_attention(x, p):
    path = pathlib.Path("/tmp/kept.pt")
    kept = [torch.load(path)] if path.exists() else []
    rows = remembering(x, p, kept)
    torch.save((x, rows), path)
    return rows
"""
IN_A_FILE = (
    REMEMBERS.replace("def prefix_attention(x, prefix)", "def remembering(x, prefix, kept)").replace(
        "    kept.append((x.clone(), rows))\n", ""
    )
    + FILE
)
ANSWERS: dict[str, tuple[str, str, Mapping[str, str]]] = {
    "right": ("softmax", SOFTMAX.format("pass"), {"scores": "2 passed"}),
    "autograd": (
        "softmax",
        "import torch\ndef softmax_backward(s, g):\n    with torch.enable_grad():\n"
        "        s.requires_grad_()\n        (s.softmax(-1) * g).sum().backward()\n    return s.grad",
        {"scores": "0 forbidden"},
    ),
    "a tensor too large": (
        "softmax",
        "def softmax_backward(s, g): return s.repeat(2000, 1000)",
        {"scores": "0 "},
    ),
    "a tensor that lies about its shape": (
        "softmax",
        f"{LIE}def softmax_backward(s, g): return torch.ones(1).as_subclass(Lie)",
        {"scores": "0 "},
    ),
    "numbers that equal everything": (
        "softmax",
        "class Lie(float):\n    __sub__ = __rsub__ = lambda a, b: 0.0\n    __abs__ = lambda a: 0.0\n"
        "def softmax_backward(s, g): return [[Lie(v) for v in row] for row in s.tolist()]",
        {"scores": "0 "},
    ),
    "a dictionary of its own": (
        "softmax",
        "class D(dict):\n    __contains__ = lambda d, key: True\n    __getitem__ = lambda d, key: 0\n"
        "def softmax_backward(s, g): return D()",
        {"scores": "0 "},
    ),
    "attention": (
        "prefix_attention",
        f"{RIGHT}\nprefix_attention = f",
        {"prefix": "2 passed", "causal": "1 passed"},
    ),
    "attention with a result too large": (
        "prefix_attention",
        "def prefix_attention(x, p): return x.new_zeros(*x.shape[:2], 10**6 + 10**5 * 3)",
        {"prefix": "0 ", "causal": "0 "},
    ),
    "attention that lies about its shape": (
        "prefix_attention",
        f"{LIE}def prefix_attention(x, p): return x.as_subclass(Lie)[0, 0, 0]",
        {"prefix": "0 ", "causal": "0 "},
    ),
    "one argument more": (
        "prefix_attention",
        "def prefix_attention(x, p, q): return x",
        {"prefix": "0 raised", "causal": "0 raised"},
    ),
    "its first result again": ("prefix_attention", KEPT, {"prefix": "0 code", "causal": "0 code"}),
    "compares with earlier calls": ("prefix_attention", REMEMBERS, {"prefix": "0 code", "causal": "0 code"}),
    "compares with earlier calls, in a file": (
        "prefix_attention",
        IN_A_FILE,
        {"prefix": "0 code", "causal": "0 code"},
    ),
    "compares with other examples": (
        "prefix_attention",
        AMONG_EXAMPLES,
        {"prefix": "0 code", "causal": "0 code"},
    ),
    "a set": (
        "decoder",
        "decoder = {(t, s) for t in range(5) for s in range(t + 1)}",
        {"matrix": "1 passed"},
    ),
    "a set of its own class": ("decoder", "class S(set): pass\ndecoder = S([(0, 0)])", {"matrix": "0 code"}),
    "a list that holds itself": (
        "decoder",
        "decoder = []\ndecoder.append(decoder)",
        {"matrix": "0 code.review"},
    ),
    "a huge number": ("decoder", "decoder = {(10**4000, 0)}", {"matrix": "0 code.review"}),
    "numbers that equal all others": (
        "decoder",
        "class Lie(int):\n    __eq__ = lambda a, b: True\n    __hash__ = int.__hash__\n"
        "decoder = [[Lie(0)] * 5] * 5",
        {"matrix": "0 code"},
    ),
    "another builtin": (
        "decoder",
        "import builtins\nbuiltins.sorted = lambda x: [(t, s) for t in range(5) for s in range(t + 1)]\n"
        "decoder = {(0, 0)}",
        {"matrix": "0 code"},
    ),
}


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    checks = {
        name: (points, (REFERENCE / "checks" / f"tracing_{name}.py").read_text("utf-8"))
        for name, points in QUESTIONS.items()
    }
    modules = ("derivatives", "dependence", "tables")
    reference = {f"checks/{name}.py": (REFERENCE / "checks" / f"{name}.py").read_text() for name in modules}
    root = tmp_path_factory.mktemp("tracing")
    with open_grader(root, checks, preload='"numpy", "torch"', reference=reference) as opened:
        yield opened


@pytest.mark.parametrize(("question", "source", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_hostile_answers_earn_nothing(
    question: str, source: str, expected: Mapping[str, str], grader: Grader
) -> None:
    """Each result starts with the expected points and code; hostile answers earn nothing."""
    results = {
        result.item: result
        for result in grade(grader, {question: source}).score.items
        if result.question == question
    }
    found = {
        item: f"{result.points.normalize():f} {result.code or result.status.value}"
        for item, result in results.items()
    }
    assert expected.keys() == found.keys()
    for item, start in expected.items():
        assert found[item].startswith(start), (found, results[item].staff)
