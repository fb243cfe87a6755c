"""Both rounds of an audit are judged whatever comes back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from autograder.checks.base import AsksAgain, Evidence
from autograder.messages import LANGUAGES, render
from autograder.records import Observation
from tests.checks.kinds.audit_questions import asked, check_of
from tests.checks.test_every_kind import OBSERVATIONS, VALUES

FULL = {
    "translator": asked(
        "translator",
        "def left(): return torch.tensor([[3, 4]]), torch.tensor([[0, 7]])\n"
        "translator_verdict = 'faulty'\ntranslator_findings = [(23, left)] * 3\n",
    ),
    "test": asked("test", "def audit(cls): return True\n"),
}


@pytest.mark.parametrize("question", FULL)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data())
def test_any_second_round_is_judged(question: str, data: st.DataObject) -> None:
    """Values of any form in either round give results that can be said, and no exception."""
    check, evidence = check_of(question), FULL[question]
    assert isinstance(check, AsksAgain)
    some = data.draw(
        st.lists(st.one_of(VALUES.map(lambda one: Observation(True, one)), OBSERVATIONS), min_size=1)
    )

    def spoilt(rows: Any) -> Any:
        return [
            tuple(data.draw(st.sampled_from((one, *some))) if number < 12 else one for one in row)
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
        assert all(render(result.student, language) for language in LANGUAGES)
