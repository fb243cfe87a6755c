"""Hostile answers to decoding questions, graded by checks in Python in the real sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.core.records import Status
from autograder.grading.pipeline import Grader
from tests.support.code_course import grade, open_grader

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

REFERENCE = Path(__file__).parents[3] / "reference"
HELPERS = ("checks/arrays.py", "checks/logits.py", "decoding.py")
TOP_K = (
    "import torch\ndef top_k(x, k):\n"
    "    return x.masked_fill(x < x.sort(-1).values[:, -min(k, x.size(-1)), None], -torch.inf)\n"
)
SAMPLE = "import torch\ndef sample(x, t): return torch.multinomial((x / t).softmax(-1), 1)[:, 0]\n"
PASSED, FAILED, REVIEW = Status.PASSED, Status.FAILED, Status.NEEDS_REVIEW
ANSWERS = {
    "right": (TOP_K, {"exact": PASSED}),
    "returns too much": ("def top_k(x, k): return x.repeat(1, 10**6)", {"exact": REVIEW}),
    "lies about its shape": (
        "import torch\nclass Lie(torch.Tensor):\n    shape = property(lambda self: (3, 12))\n"
        "def top_k(x, k): return torch.ones(1).as_subclass(Lie)",
        {"exact": FAILED},
    ),
    "numbers that equal everything": (
        "class Lie(float):\n    __eq__ = __lt__ = __gt__ = lambda self, other: True\n"
        "def top_k(x, k): return [[Lie(v) for v in row] for row in x.tolist()]",
        {"exact": FAILED},
    ),
    "a list that contains itself": (
        "def top_k(x, k):\n    y = []\n    y.append(y)\n    return y",
        {"exact": REVIEW},
    ),
    "right draws": (SAMPLE, {"support": PASSED, "distribution": PASSED}),
    "multinomial replaced": (
        SAMPLE + "torch.multinomial = lambda w, n: w.argmax(-1, keepdim=True)\n",
        {"support": FAILED, "distribution": FAILED},
    ),
    "softmax replaced": (
        SAMPLE + "torch.Tensor.softmax = lambda self, axis: self.isfinite().double()\n",
        {"support": PASSED, "distribution": FAILED},
    ),
}


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    def read(path: str) -> str:
        return (REFERENCE / path).read_text("utf-8")

    files = {"top_k": (2, read("checks/top_k.py")), "sample": (4, read("checks/sample.py"))}
    reference = {path: read(path) for path in HELPERS}
    root = tmp_path_factory.mktemp("decoding")
    with open_grader(root, files, preload='"torch"', reference=reference) as opened:
        yield opened


@pytest.mark.parametrize(("source", "outcomes"), ANSWERS.values(), ids=ANSWERS)
def test_hostile_answers_are_judged(source: str, outcomes: dict[str, Status], grader: Grader) -> None:
    """Hostile answers never pass; values that cannot be transferred need manual review."""
    question = "top_k" if "def top_k" in source else "sample"
    results = grade(grader, {question: source}).score.items
    assert outcomes == {result.item: result.status for result in results if result.question == question}, (
        results
    )
