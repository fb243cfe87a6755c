"""Planted answers from the reference folder are validated strictly."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from autograder.core.errors import CourseError
from autograder.grading.planted_answers import MOST_TRIALS, read_trials
from autograder.questions.base.base import Trial
from autograder.rubric import Item, Question

QUESTION = Question(
    "attention",
    "value",
    Decimal(3),
    (Item("self", Decimal(1), {"en": "one"}), Item("cross", Decimal(2), {"en": "other"})),
    trials="planted:trials",
)
GOOD: dict[str, Any] = {"name": "keys for values", "source": "x = 1", "loses": ["cross"]}


def test_a_trial_is_read_with_its_points_as_exact_decimals() -> None:
    """Points may be integers, floats or texts, and become exact decimals."""
    for written in (0.5, "0.5", "0.50"):
        trials = read_trials([{**GOOD, "points": {"cross": written}}], QUESTION)
        assert (Trial("keys for values", "x = 1", ("cross",), {"cross": Decimal("0.5")}),) == trials
    assert Decimal(1) == read_trials([{**GOOD, "points": {"cross": 1}}], QUESTION)[0].points["cross"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "expected a list"),
        ([], "an empty one"),
        ({"name": "x"}, "expected a list"),
        (["x"], "entry 1"),
        ([{**GOOD, "loose": ["cross"]}], "loose"),
        ([{"name": "x", "source": "y"}], "entry 1: loses"),
        ([{"name": "x", "loses": []}], "entry 1: source"),
        ([{**GOOD, "files": {"p.npy": 3}}], "entry 1: .*files"),
        ([{**GOOD, "files": {"q.npy": "x"}}], "known: p.npy; got .'q.npy'"),
        ([{**GOOD, "name": 3}], "name"),
        ([{**GOOD, "name": " "}], "a name of its own"),
        ([GOOD, GOOD], "keys for values.*a name of its own"),
        ([{**GOOD, "loses": ["cros"]}], "known: self, cross; got .'cros'"),
        ([{**GOOD, "loses": ["self", "self"]}], "each once"),
        ([{**GOOD, "points": {"self": 0}}], "'self': 0"),
        ([{**GOOD, "points": {"cross": 2}}], "less than they are worth"),
        ([{**GOOD, "points": {"cross": -1}}], "less than they are worth"),
        ([{**GOOD, "points": {"cross": "NaN"}}], "less than they are worth"),
        ([{**GOOD, "name": str(number)} for number in range(MOST_TRIALS + 1)], "at most"),
    ],
)
def test_what_is_no_list_of_trials_is_refused(value: Any, message: str) -> None:
    """The error names the question, the function, the entry and the expected form."""
    with pytest.raises(CourseError, match=f"'attention': trials: 'planted:trials'.*{message}"):
        read_trials(value, QUESTION, {"p.npy": 1})


def test_what_is_handed_in_is_a_text_an_array_of_bytes_or_nothing() -> None:
    """Planted files may be texts, arrays of bytes or None; the key's answer is kept."""
    data = b"\x93NUMPY"
    files = {"p.npy": np.frombuffer(data, "uint8"), "lm.py": "x = 1\n", "none.csv": None}
    entry = {"name": "files", "loses": ["cross"], "files": files}
    (trial,) = read_trials([entry], QUESTION, dict.fromkeys(files, 1))
    assert {"p.npy": data, "lm.py": b"x = 1\n", "none.csv": None} == trial.files
    assert "" == trial.source
