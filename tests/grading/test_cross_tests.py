"""What a test may ask of a solution's box: what the solution does, and nothing of how it is written."""

from __future__ import annotations

from autograder.grading.cross_tests import refused
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
    ]
    assert [""] * len(allowed) == [refused((*one, {}), names) for one in allowed]
    assert all(refused((*one, {}), names) for one in denied)
