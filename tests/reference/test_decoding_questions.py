"""Every oracle tells each of its misconceptions from what is right, on some input at least."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from autograder.kinds.transformers.decoding.contracts import Filters
from reference import decoding, decoding_questions
from reference.faults.decoding import MISCONCEPTIONS
from reference.faults.misconception import compiled, planted
from tests.support.local_box import _outside

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "top_k": (4,),
    "top_p": (0.6,),
    "min_p": (0.3,),
    "repetition_penalty": (torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7]] * 3), 1.4),
    "no_repeat_ngram": (torch.tensor([[0, 1, 2, 0, 1, 3, 5, 0, 1], [4, 5, 4, 5, 4, 5, 4, 4, 5], [1] * 9]), 3),
    "next_token_probabilities": (0.6, 8, 0.8),
}
JUDGE = Filters("either")
CASES = [(name, misconception) for name in ARGUMENTS for misconception in MISCONCEPTIONS[name]]


@pytest.mark.parametrize(
    ("name", "misconception"), CASES, ids=[f"{name}-{misconception.name}" for name, misconception in CASES]
)
def test_a_misconception_is_told_from_what_is_right(name: str, misconception: Any) -> None:
    """Over some draws a mistake gives something else at least once, and what is right as well never does."""
    oracle = getattr(decoding_questions, name)
    function = compiled(planted(oracle.source, misconception), name, vars(decoding))
    wrong = 0
    for seed in range(8):
        generator = torch.Generator().manual_seed(seed)
        logits = torch.randn(3, 12, generator=generator, dtype=torch.float64) * 2
        told = _outside(oracle.expected(logits, *ARGUMENTS[name]))
        right = JUDGE.right(told["right"])
        assert right is not None
        given, difference = JUDGE.read([_outside(function(logits, *ARGUMENTS[name]))], right)
        if difference is None:
            difference = JUDGE.differs(given, right, 1)
        if difference is not None:
            wrong += 1
            same = {one["code"] for one in told["mistakes"] if JUDGE.same(given, one["values"], 1)}
            assert misconception.code in same
    assert (wrong > 0) == bool(misconception.code)
