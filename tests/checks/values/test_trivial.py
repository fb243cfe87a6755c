"""Results that take no work, which a tolerance must not take for right."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks.options import Rules
from autograder.checks.values.trivial import accepted_results
from autograder.records import Tensor

WIDE = np.full((2, 5000), 1 / 5000)
SCORES = np.linspace(-1, 1, 10).reshape(2, 5)


@pytest.mark.parametrize(
    ("cases", "rules", "accepted"),
    [
        pytest.param(
            [(WIDE, (WIDE * 3,))], Rules(rtol=0, atol=1e-2), ["zeros", "an input unchanged"], id="wide rows"
        ),
        pytest.param([(Tensor(WIDE, "float32"), ())], Rules(rtol=0, atol=1e-2), ["zeros"], id="a tensor"),
        pytest.param(
            [((WIDE, [WIDE[0]]), (WIDE,))], Rules(rtol=0, atol=1e-2), ["zeros"], id="several arrays"
        ),
        pytest.param([("a text", ("a text",))], Rules(), [], id="a text unchanged"),
        pytest.param([(WIDE, ())], Rules(rtol=0, atol=1e-6), [], id="small tolerance"),
        pytest.param([(WIDE, ()), (SCORES, ())], Rules(rtol=0, atol=1e-2), [], id="another case tells"),
        pytest.param([(0.99, ())], Rules(rtol=0.05, atol=0), ["ones"], id="a number near one"),
        pytest.param([({"mean": 0.001, "rows": [0.002]}, ())], Rules(atol=0.1), ["zeros"], id="nested"),
        pytest.param(
            [(SCORES * 1.001, (SCORES,))], Rules(rtol=0.01, atol=0), ["an input unchanged"], id="input"
        ),
        pytest.param([(np.zeros(3), (np.zeros(3),))], Rules(), [], id="zeros are right"),
        pytest.param([(SCORES, (SCORES,))], Rules(), [], id="the input is right"),
        pytest.param([(np.array([True, False]), ())], Rules(), [], id="truth values"),
        pytest.param([("a text", ())], Rules(), [], id="no numbers"),
        pytest.param([(3, ())], Rules(rtol=9.0), [], id="whole numbers are compared exactly"),
        pytest.param([], Rules(), [], id="no case"),
    ],
)
def test_accepted_results_names_what_takes_no_work(
    cases: list[tuple[object, tuple[object, ...]]], rules: Rules, accepted: list[str]
) -> None:
    """Zeros, ones and an input count if they are wrong and every case accepts them."""
    assert accepted == list(accepted_results(cases, rules))
