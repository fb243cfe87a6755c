"""Both rounds of an audit are judged whatever comes back."""

from __future__ import annotations

import functools
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from autograder.checks.base import Evidence, HasSecondRound
from autograder.messages import languages, render
from autograder.records import Observation
from tests.kinds.transformers.audit_questions import asked, check_of
from tests.support import anything

FULL = {
    "translator": "def left(): return torch.tensor([[3, 4]]), torch.tensor([[0, 7]])\n"
    "translator_verdict = 'faulty'\ntranslator_findings = [(23, left)] * 3\n",
    "test": "def audit(cls): return True\n",
}


@functools.cache
def full(question: str) -> Evidence:
    """Everything that is seen of an answer."""
    return asked(question, FULL[question])


@pytest.mark.parametrize("question", FULL)
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**64 - 1))
def test_any_second_round_is_judged(question: str, seed: int) -> None:
    """Values of any form in either round give results that can be said, and no exception."""
    check, evidence = check_of(question), full(question)
    assert isinstance(check, HasSecondRound)
    numbers = random.Random(seed)
    some = [
        numbers.choice((Observation(ok=True, value=anything.value(numbers)), anything.observation(numbers)))
        for _ in range(numbers.randint(1, 9))
    ]

    def spoilt(rows: Any) -> Any:
        return [
            tuple(numbers.choice((one, *some)) if number < 12 else one for one in row)
            for number, row in enumerate(rows)
        ]

    changed: Evidence = replace(
        evidence,
        observed=spoilt(evidence.observed),
        tried=spoilt(evidence.tried),
        again=spoilt(evidence.again),
    )
    check.second_round(changed)
    for result in check.judge(changed):
        assert Decimal(0) <= result.points <= result.possible
        assert all(render(result.student, language) for language in languages())
