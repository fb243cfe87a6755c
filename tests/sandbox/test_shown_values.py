"""The last value of a test: a number of any class is credit, other values are reported by class."""

from __future__ import annotations

import pytest
import torch

from autograder.sandbox.inside.source_runner import run_test

NUMBERS = {
    "int": "2",
    "float": "2.0",
    "numpy number": "np.float32(2)",
    "numpy array without dimensions": "np.array(2.0)",
    "tensor without dimensions": "torch.tensor(2.0)",
    "tensor with a gradient": "torch.tensor(2.0, requires_grad=True)",
    "half precision": "torch.tensor(2.0, dtype=torch.bfloat16)",
    "mean of a tensor": "2 * (torch.ones(3) == torch.ones(3)).float().mean()",
    "Decimal": "__import__('decimal').Decimal('2.00')",
    "Fraction": "__import__('fractions').Fraction(4, 2)",
}
BOOLEANS = {
    "numpy": "np.array([1, 2]).all()",
    "array without dimensions": "np.array(True)",
    "tensor": "(torch.ones(3) == torch.ones(3)).all()",
}
OTHERS = {
    "complex": ("complex(0)", "complex"),
    "text of a number": ("'0'", "str"),
    "made text": ("f'{0} points'", "str"),
    "list": ("[0]", "list"),
    "tuple": ("0,", "tuple"),
    "array of one number": ("np.array([0.0])", "ndarray"),
    "tensor of one number": ("torch.zeros(1)", "Tensor"),
    "array of objects": ("np.array('a')", "str"),
    "no number in range": ("10 ** 400", "number"),
    "signalling": ("__import__('decimal').Decimal('sNaN')", "number"),
}
NOTHING = {
    "no expression": "x = 2",
    "printed": "print(2)",
    "a remark": "'All tests passed'",
    "hidden by a semicolon": "[0];",
    "hidden, with a comment": "'ä' + 'b' ;  # shown nowhere",
}


def shown(code: str) -> object:
    """Return the reported last value of a test."""
    import numpy as np

    return run_test(code, {"np": np, "torch": torch}, doctest=False)["value"]


@pytest.mark.parametrize("code", NUMBERS.values(), ids=NUMBERS)
def test_a_number_is_told_as_a_number(code: str) -> None:
    """Numbers of every library are supported."""
    assert (2.0, float) == (shown(code), type(shown(code)))


@pytest.mark.parametrize("code", BOOLEANS.values(), ids=BOOLEANS)
def test_a_truth_is_told_as_a_truth(code: str) -> None:
    """A comparison that holds takes no points away."""
    assert shown(code) is True


@pytest.mark.parametrize(("code", "name"), OTHERS.values(), ids=OTHERS)
def test_what_is_no_number_is_told_by_its_class(code: str, name: str) -> None:
    """This allows sending it to manual review instead of giving full marks."""
    assert name == shown(code)


@pytest.mark.parametrize("code", NOTHING.values(), ids=NOTHING)
def test_what_a_notebook_does_not_show_is_nothing(code: str) -> None:
    """A test without a displayed value gives neither credit nor doubt."""
    assert shown(code) is None
