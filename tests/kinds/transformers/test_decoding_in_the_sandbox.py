"""Hostile answers to decoding and training questions, through the real sandbox and its wire."""

from __future__ import annotations

import pytest

from autograder.checks.base import Evidence
from autograder.records import Limits, Status
from autograder.sandbox.base import Sandbox
from tests.checks.asking import DRAW, answer, check_of
from tests.kinds.transformers.test_decoding import SAMPLE, TOP_K
from tests.support.local_box import LocalBox

pytestmark = pytest.mark.sandbox
RIGHT = (
    "import torch\ndef top_k(x, k): return x.masked_fill(x < x.sort(-1).values[:, -k, None], -torch.inf)\n"
)
DRAWN = "import torch\ndef sample(x, t): return torch.multinomial((x / t).softmax(-1), 1)[:, 0]\n"


@pytest.mark.parametrize(
    ("question", "source", "code"),
    [
        (TOP_K, RIGHT, "passed"),
        (TOP_K, RIGHT.replace("return", "print('x' * 10); return"), "passed"),
        (TOP_K, "def top_k(x, k):\n    while True: pass", "ending.call-time"),
        (TOP_K, "import os\ndef top_k(x, k): os._exit(0)", "ending.exited"),
        (TOP_K, "def top_k(x, k): raise SystemExit", "raised"),
        (TOP_K, "def top_k(x, k): return x.repeat(1, 10**6)", "limit.reply-size"),
        (
            TOP_K,
            "import torch\nclass Lie(torch.Tensor):\n    shape = property(lambda self: (3, 9))\n"
            "def top_k(x, k): return torch.ones(1).as_subclass(Lie)",
            "value.dimensions",
        ),
        (
            TOP_K,
            "class Lie(float):\n    __eq__ = __lt__ = __gt__ = lambda self, other: True\n"
            "def top_k(x, k): return [[Lie(v) for v in row] for row in x.tolist()]",
            "decoding.kept-too-many",
        ),
        (TOP_K, "def top_k(x, k):\n    y = []\n    y.append(y)\n    return y", "raised"),
        (SAMPLE, DRAWN, "passed"),
        (
            SAMPLE,
            DRAWN + "torch.multinomial = lambda w, n: w.argmax(-1, keepdim=True)\n",
            "decoding.not-drawn",
        ),
        (SAMPLE, DRAWN + "torch.Tensor.softmax = lambda self, axis: self.isfinite().double()\n", "passed"),
    ],
)
def test_hostile_answers_end_clearly(torch_sandbox: Sandbox, question: str, source: str, code: str) -> None:
    """The first item says what happened; nothing hostile passes, and nothing is a fault of ours."""
    check, given = check_of(question), answer(source)
    box = torch_sandbox.open(Limits())
    box.run_cell(source, seconds=20)
    observed = box.ask(check.plan(given, DRAW), seconds=2)
    box.close()
    name = "sample" if question is SAMPLE else "top_k"
    expected = LocalBox(f"from reference.decoding_questions import {name}").ask(check.reference_plan(DRAW))
    results = check.judge(Evidence(given, observed, expected, draw=DRAW))
    assert code == results[0].student.code, results[0].staff
    assert Status.NEEDS_REVIEW is not results[0].status
    if "Tensor.softmax" in source:  # what is possible is drawn, but not as often as it should be
        assert ["passed", "decoding.uniform"] == [one.student.code for one in results]
