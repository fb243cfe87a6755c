"""Calls that markers type, read from their source."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks.base import Draw
from autograder.checks.options import CallOptions
from autograder.checks.planning.drawing import Inputs, Stated
from autograder.marking.cases import MOST_SOURCE, CallMade, as_call

READ = (
    ("double(3)", CallMade("double", (3,))),
    (" double( -2.5 )\n", CallMade("double", (-2.5,))),
    ("f()", CallMade("f")),
    ("f(+1, True, None, 'a', \"b\")", CallMade("f", (1, True, None, "a", "b"))),
    ("f([1, (2, 3)], k={'a': 1})", CallMade("f", ([1, (2, 3)],), {"k": {"a": 1}})),
    ("model.forward(1)", CallMade("model.forward", (1,))),
    ("f(torch.tensor([1, 2]))", CallMade("f", (Stated([1, 2], "int64"),), {}, "torch")),
    ("f(torch.tensor([[1.0, 2]]))", CallMade("f", (Stated([[1.0, 2]]),), {}, "torch")),
    ("f(x=np.array((1.0, 2)))", CallMade("f", (), {"x": Stated([1.0, 2], "float64")}, "numpy")),
    ("f(numpy.array([True]))", CallMade("f", (Stated([True], "bool"),), {}, "numpy")),
    ("f(torch.tensor(3))", CallMade("f", (Stated(3, "int64"),), {}, "torch")),
    ("f(torch.tensor([]))", CallMade("f", (Stated([]),), {}, "torch")),
    (
        "f(torch.tensor([1], dtype=torch.float64))",
        CallMade("f", (Stated([1], "float64"),), {}, "torch"),
    ),
    ("f(np.array([1], dtype='int32'))", CallMade("f", (Stated([1], "int32"),), {}, "numpy")),
    ("f([torch.tensor([1])])", CallMade("f", ([Stated([1], "int64")],), {}, "torch")),
)

NOT_READ = (
    "",
    "3",
    "x",
    "f",
    "f(3).shape",
    "f(3)[0]",
    "f(g(3))",
    "f(x)",
    "f(1 + 1)",
    "f(*[1])",
    "f(**{'a': 1})",
    "f(a=1, a=2)",
    "f(1); g(2)",
    "y = f(1)",
    "f(1) if True else 0",
    "(lambda: 1)()",
    "f()()",
    "f[0](1)",
    "'a'.join(['b'])",
    "await f(1)",
    "f(1e999)",
    "f(b'a')",
    "f({1, 2})",
    "f(1j)",
    "f(...)",
    "f(-True)",
    "f(f'{x}')",
    "f({**{}})",
    "f({[1]: 2})",
    f"f({10**1300})",
    "f(" + "[" * 50 + "]" * 50 + ")",
    "f(" + "(" * 400 + ")" * 400 + ")",
    "!ls",
    "f(",
    "f(\x00)",
    "torch.tensor([1])",
    "f(torch.tensor([1], [2]))",
    "f(torch.tensor())",
    "f(torch.tensor([1], device='cuda'))",
    "f(torch.tensor([1], **x))",
    "f(torch.tensor([1], dtype=object))",
    "f(torch.tensor([1], dtype='O'))",
    "f(torch.tensor([1], dtype=[1]))",
    "f(torch.tensor([[1], [2, 3]]))",
    "f(torch.tensor([1, [2]]))",
    "f(torch.tensor(['a']))",
    "f(torch.tensor([None]))",
    "f(torch.tensor([True, 2]))",
    "f(torch.tensor([1.5], dtype=torch.int64))",
    "f(torch.tensor([2], dtype=torch.bool))",
    "f(torch.tensor([300], dtype=torch.uint8))",
    "f(torch.tensor([1e300]))",
    f"f(np.array([{2**63}]))",
    "f(torch.tensor([1]), np.array([1]))",
    "f(torch.ones(3))",
    "f(torch.load('x'))",
    "f(np.tensor([1]))",
    "__import__('os').system('ls')",
    "f(" + "1," * MOST_SOURCE + ")",
)


@pytest.mark.parametrize(("source", "wanted"), READ)
def test_plain_calls_are_read(source: str, wanted: CallMade) -> None:
    """Target, arguments and arrays are those that stand there."""
    assert wanted == as_call(source)


@pytest.mark.parametrize("source", NOT_READ)
def test_what_would_have_to_be_run_is_no_call(source: str) -> None:
    """Nothing is evaluated, and nothing is lost on the way."""
    assert as_call(source) is None


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("f(np.array([[1, 2], [3, 4]]))", np.array([[1, 2], [3, 4]])),
        ("f(np.array([1, 2.5]))", np.array([1, 2.5])),
        ("f(np.array([1], dtype=np.float32))", np.array([1], dtype=np.float32)),
        ("f(np.array([True, False]))", np.array([True, False])),
        ("f(np.array([]))", np.array([])),
    ],
)
def test_a_rubric_makes_the_same_array(source: str, wanted: np.ndarray) -> None:
    """As the case of a question its array is the one that was typed, with its dtype."""
    call = as_call(source)
    assert call is not None
    stated = {"array": call.args[0].array, "dtype": call.args[0].dtype}
    (made,), _ = Inputs(CallOptions(library="numpy"), Draw(b"x")).arguments("case", [stated], {})
    assert wanted.dtype == made.dtype
    np.testing.assert_array_equal(wanted, made)
