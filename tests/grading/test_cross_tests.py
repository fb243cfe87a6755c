"""What a test may ask of a solution's box: what the solution does, and nothing of how it is written."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.grading.cross_tests import _Watch, refused
from autograder.records import Ref, Structured


def test_only_behaviour_may_be_asked_for() -> None:
    """What the judge's box asks for is looked at where no student's code is."""
    names, solution = frozenset({"f"}), Ref("1", "function")
    numpy_load = Structured("named", ["numpy", "load"])
    allowed = [("name", ["f"]), ("call", [solution, 1]), ("get", [solution, "weight"]), ("len", [solution])]
    allowed += [("call", [solution, Structured("named", ["torch", "relu"])])]
    allowed += [("library", ["dataclasses", "asdict", solution]), ("get", [solution, "__name__"])]
    denied = [
        ("name", ["In"]),
        ("test", ["print(In)", False]),
        ("get", [solution, "__globals__"]),
        ("get", [solution, "gi_frame"]),
        ("set", [solution, "__code__", solution]),
        ("call", [Structured("named", ["builtins", "eval"]), "In"]),
        ("call", [solution, numpy_load]),
        ("call", [solution, Structured("named", ["torch", "os"])]),
        ("call", [solution, Structured("named", ["torch", "nn.functional.os.system"])]),
        ("call", [solution, Structured("module", ["torch"])]),
        ("set", [solution, "layer", Structured("named", ["numpy", "lib.inspect.getsource"])]),
        ("get", [solution, "inspect"]),
        ("get", [solution, "_forward_source"]),
        ("library", ["dataclasses", "inspect.getsource", solution]),
        ("module", ["inspect"]),
        ("what is new", [solution]),
        ("call", [solution, [Structured("named", ["builtins", "eval"])]]),
        ("getitem", [[Structured("named", ["torch", "relu"])], 0]),
        ("add", [[Structured("named", ["torch", "relu"])], [solution]]),
        ("call", [solution, Structured("named", ["numpy.testing", "runstring"])]),
        ("call", [solution, Structured("named", ["torch.utils.collect_env", "run"])]),
        ("getitem", [solution, 0], {}, {"changes": [["j1", [Structured("named", ["builtins", "exec"])]]]}),
    ]
    allowed += [("mul", [2, solution]), ("eq", [solution, Structured("named", ["builtins", "int"])])]
    allowed += [("call", [solution, Structured("named", ["numpy", "tanh"])])]
    assert [""] * len(allowed) == [refused((*one, {}), names) for one in allowed]
    assert not [one for one in denied if not refused((*one, {}), names)]


@pytest.mark.parametrize("asked", [[], [["x"], [], {}], ["call", 5, {}], ["watch", [([1],)], {}], ["call"]])
def test_a_form_that_nobody_knows_is_refused(asked: list[Any]) -> None:
    """A judge's box that was taken over stops nothing but its own test."""
    assert _Watch(frozenset({"f"})).refused(asked)
