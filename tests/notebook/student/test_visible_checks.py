"""Visible checks call a student's function and report the result, whatever the function does."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from autograder.core.errors import RubricError
from autograder.core.tables import convert_table
from autograder.notebook.student.visible_checks import (
    MOST_SHOWN,
    VisibleCheckResult,
    run_visible_checks,
)
from autograder.rubric import VisibleCheck

SUM = {"args": [{"array": [[1.0, 2.0]]}, 3], "type": "ndarray", "shape": [1, 2], "value": [[4.0, 5.0]]}


def tried(function: Any, **visible: Any) -> VisibleCheckResult:
    """Return the outcome of a visible check."""
    (one,) = run_visible_checks("add", function, {"library": "numpy", "visible": [visible]}, "en")
    return one


def test_a_right_function_passes() -> None:
    """Type, shape and value are as expected; the call is shown in a form that can be copied."""
    expected = VisibleCheckResult(
        good=True, text="add(numpy.array([[1.0, 2.0]]), 3) gives the expected result"
    )
    assert expected == tried(lambda x, y: x + y, **SUM)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x, y: x * y, "gives [[3.0, 6.0]]; expected [[4.0, 5.0]]"),
        (lambda x, y: (x + y)[0], "has the shape (2,); expected (1, 2)"),
        (lambda x, y: [[4.0, 5.0]], "gives a value of type list; expected ndarray"),
        (lambda x: x, "raises TypeError: "),
        (lambda x, y: 1 / 0, "raises ZeroDivisionError: division by zero"),
        (lambda x, y: sys.exit("enough"), "raises SystemExit: enough"),
        (lambda x, y: (x + y) * np.nan, "gives [[nan, nan]]; expected"),
    ],
)
def test_a_wrong_function_is_told_what_came(function: Any, said: str) -> None:
    """One sentence states the difference, the actual value and the expected one."""
    outcome = tried(function, **SUM)
    assert outcome.good is False
    assert said in outcome.text


def test_a_form_alone_is_not_called_right() -> None:
    """Without an expected value, the message is about the form only."""
    visible = {key: value for key, value in SUM.items() if key != "value"}
    assert "runs and gives a value of the expected form" in tried(lambda x, y: x * y, **visible).text


class Hostile:
    """A result with a false type that raises on every access."""

    __class__ = np.ndarray  # type: ignore[assignment]

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")

    def __repr__(self) -> str:
        raise RuntimeError


class Endless(Exception):
    """An error that cannot be converted to text."""

    def __str__(self) -> str:
        raise RuntimeError


def _raise_endless(*_: Any) -> None:
    raise Endless


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: Hostile(),
        _raise_endless,
        lambda x, y: "x" * 10**6,
        lambda x, y: 10**5000,
        lambda x, y: float("nan"),
        lambda x, y: {"a": Hostile()},
        len,
        7,
    ],
)
@pytest.mark.parametrize("visible", [SUM, {"args": [1, 2], "value": 3}, {"parameters": ["x", "y", "z"]}])
def test_nothing_a_function_does_gets_through(function: Any, visible: dict[str, Any]) -> None:
    """Any result gives one short sentence that says what is not as expected."""
    outcome = tried(function, **visible)
    assert outcome.good is False
    assert len(outcome.text) < 2 * MOST_SHOWN


@pytest.mark.parametrize(
    ("function", "good"),
    [
        (lambda logits, k: 0, True),
        (lambda logits, k, temperature=1.0: 0, True),
        (lambda logits, k, *rest, **more: 0, True),
        (lambda k, logits: 0, False),
        (lambda logits: 0, False),
        (lambda logits, k, further: 0, False),
    ],
)
def test_parameters_are_compared_by_name_and_order(function: Any, good: bool) -> None:
    """Parameters are compared by name and order; further ones need defaults."""
    assert good is tried(function, parameters=["logits", "k"]).good


def test_a_class_is_constructed_and_its_method_called() -> None:
    """``construct`` has the arguments of the class; ``method`` names the method to call."""

    class Adder:
        def __init__(self, first: int) -> None:
            self.first = first

        def add(self, second: int) -> int:
            return self.first + second

    visible = {"construct": {"args": [2]}, "method": "add", "kwargs": {"second": 3}, "value": 5}
    assert VisibleCheckResult(good=True, text="add(2).add(second=3) gives the expected result") == tried(
        Adder, **visible
    )


def test_a_library_is_never_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array needs a library that the notebook has imported; otherwise the check is not run."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    entry = {"library": "torch", "visible": [{"args": [{"array": [1.0]}], "shape": [1]}]}
    (outcome,) = run_visible_checks("f", len, entry, "en")
    assert (
        VisibleCheckResult(
            good=None, text="f(torch.tensor([1.0])) is checked as soon as your notebook has imported torch"
        )
        == outcome
    )
    assert "torch" not in sys.modules


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"args": [1]}, "nothing is checked"),
        ({"args": [{"draw": "normal", "shape": [2]}], "shape": [2]}, "nothing that students see is drawn"),
        (
            {"construct": {"kwargs": {"x": {"size": "d"}}}, "type": "int"},
            "nothing that students see is drawn",
        ),
    ],
)
def test_a_visible_check_without_sense_is_refused(table: dict[str, Any], said: str) -> None:
    """A visible check that checks nothing, or uses random inputs, is refused in a rubric."""
    with pytest.raises(RubricError, match=said):
        convert_table(table, VisibleCheck, "here").check("here")
