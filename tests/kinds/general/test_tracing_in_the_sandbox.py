"""Hostile answers to questions about gradients and about who sees whom, through the real sandbox."""

from __future__ import annotations

import pytest

from autograder.checks.base import Evidence
from autograder.records import Limits, Status
from autograder.sandbox.base import Sandbox
from tests.checks.asking import DRAW, answer, check_of
from tests.support.local_box import LocalBox

pytestmark = pytest.mark.sandbox
ITEM = '[[question.item]]\nid = "i"\npoints = 1\ntext = { en = "x" }\n'
GRADIENT = (
    '[[question]]\nid = "q"\nkind = "gradient"\npoints = 1\nanswer = "softmax"\n'
    'reference = "tracing.gradients:softmax"\ngradients = ["s"]\nforbidden = ["autograd", "backward"]\n'
    '[[question.case]]\nargs = [{ draw = "normal", shape = [2, 3] }, { draw = "normal", shape = [2, 3] }]\n'
    + ITEM
)
CAUSAL = (
    '[[question]]\nid = "q"\nkind = "causality"\npoints = 1\nanswer = "prefix_attention"\n'
    'reference = "tracing.visibility:prefix_attention"\n'
    '[[question.case]]\nargs = [{ draw = "normal", shape = [2, 4, 3] }, 2]\n' + ITEM
)
SEEN = (
    '[[question]]\nid = "q"\nkind = "visibility"\npoints = 1\nanswer = "written"\n'
    'reference = "tracing.visibility:written"\nconfig = { pattern = "decoder", length = 3 }\n' + ITEM
)
REFERENCES = {
    GRADIENT: "from reference.tracing.gradients import softmax",
    CAUSAL: "from reference.tracing.visibility import prefix_attention",
    SEEN: "from reference.tracing.visibility import written",
}
LIE = "import torch\nclass Lie(torch.Tensor):\n    shape = property(lambda self: (2, 3))\n"
RIGHT = "def softmax(s, g):\n    p = s.softmax(-1)\n    return p * (g - (g * p).sum(-1, keepdim=True))\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "source", "code"),
    [
        (GRADIENT, RIGHT, "passed"),
        (
            GRADIENT,
            "import torch\ndef softmax(s, g):\n    with torch.enable_grad():\n        s.requires_grad_()\n"
            "        (s.softmax(-1) * g).sum().backward()\n    return s.grad",
            "forbidden.used",
        ),
        (GRADIENT, "def softmax(s, g):\n    while True: pass", "ending.call-time"),
        (GRADIENT, "def softmax(s, g): return s.repeat(2000, 1000)", "limit.reply-size"),
        (GRADIENT, f"{LIE}def softmax(s, g): return torch.ones(1).as_subclass(Lie)", "value.dimensions"),
        (GRADIENT, "import os\ndef softmax(s, g): os._exit(0)", "ending.exited"),
        (
            GRADIENT,
            "class Lie(float):\n    __sub__ = __rsub__ = lambda a, b: 0.0\n    __abs__ = lambda a: 0.0\n"
            "def softmax(s, g): return [[Lie(v) for v in row] for row in s.tolist()]",
            "value.differs",
        ),
        (CAUSAL, "def prefix_attention(x, p):\n    while True: pass", "ending.call-time"),
        (CAUSAL, "def prefix_attention(x, p): return x.fill_(0)", "causality.nothing"),
        (
            CAUSAL,
            "def prefix_attention(x, p): return x.new_zeros(2, 4, 10**6 + 10**5 * 3)",
            "limit.reply-size",
        ),
        (CAUSAL, f"{LIE}def prefix_attention(x, p): return x.as_subclass(Lie)[0, 0, 0]", "causality.axes"),
        (CAUSAL, "def prefix_attention(x, p): raise SystemExit", "raised"),
        (SEEN, "written = {(t, s) for t in range(3) for s in range(t + 1)}", "passed"),
        (SEEN, "written = frozenset((t, s) for t in range(3) for s in range(3))", "visibility.both-sides"),
        (SEEN, "class All(set):\n    pass\nwritten = All()", "visibility.form"),
        (SEEN, "written = {'a', 3}", "visibility.form"),
        (SEEN, "written = {(10**4000, 0)}", "visibility.form"),
        (SEEN, "written = []\nwritten.append(written)", "raised"),
        (
            SEEN,
            "class Lie(int):\n    __eq__ = lambda a, b: True\n    __hash__ = int.__hash__\n"
            "written = [[Lie(0)] * 3] * 3",
            "visibility.nothing",
        ),
        (
            SEEN,
            "import builtins\nbuiltins.sorted = lambda x: [(t, s) for t in range(3) for s in range(t + 1)]\n"
            "written = {(0, 0)}",
            "passed",
        ),
    ],
)
def test_hostile_answers_end_clearly(torch_sandbox: Sandbox, question: str, source: str, code: str) -> None:
    """The item says what happened; nothing but right values passes, and nothing is a fault of ours."""
    check, given = check_of(question), answer(source)
    box = torch_sandbox.open(Limits())
    box.run_cell(source, seconds=20)
    observed = box.ask(check.plan(given, DRAW), seconds=5)
    box.close()
    expected = LocalBox(REFERENCES[question]).ask(check.reference_plan(DRAW))
    (result,) = check.judge(Evidence(given, observed, expected, draw=DRAW))
    assert code == result.student.code, result.staff
    assert Status.NEEDS_REVIEW is not result.status
