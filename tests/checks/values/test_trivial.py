"""Results that take no work, which a tolerance must not take for right."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks.options import Rules
from autograder.checks.values.trivial import accepted_results
from autograder.records import Tensor

WIDE = np.full((2, 5000), 1 / 5000)


@pytest.mark.parametrize(
    ("right", "rules", "accepted"),
    [
        pytest.param(WIDE, Rules(rtol=0, atol=1e-2), ["zeros"], id="wide rows"),
        pytest.param(Tensor(WIDE, "float32"), Rules(rtol=0, atol=1e-2), ["zeros"], id="a tensor"),
        pytest.param((WIDE, [WIDE[0]]), Rules(rtol=0, atol=1e-2), ["zeros"], id="several arrays"),
        pytest.param(WIDE, Rules(rtol=0, atol=1e-6), [], id="small tolerance"),
        pytest.param(0.99, Rules(rtol=0.05, atol=0), ["ones"], id="a number near one"),
        pytest.param({"mean": 0.001, "rows": [0.002]}, Rules(atol=0.1), ["zeros"], id="nested"),
        pytest.param(np.zeros(3), Rules(), [], id="zeros are right"),
        pytest.param(np.array([True, False]), Rules(), [], id="truth values"),
        pytest.param("a text", Rules(), [], id="no numbers"),
        pytest.param(3, Rules(rtol=9.0), [], id="whole numbers are compared exactly"),
    ],
)
def test_accepted_results_names_what_takes_no_work(right: object, rules: Rules, accepted: list[str]) -> None:
    """Zeros and ones count if they are wrong and accepted."""
    assert accepted == list(accepted_results(right, rules))
