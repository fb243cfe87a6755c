"""Source becomes a tree in many threads at a time, and nothing of it is run."""

from __future__ import annotations

import ast
import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.core.syntax import UNREADABLE, extract_definition, is_defined, parse_module

SOURCE = "x = f(a, b)[1] + 3\n" * 300 + "y = " + "(" * 30 + "1" + "+1)" * 30


class Litter:
    """Garbage whose collection runs Python code, in which another thread may take its turn."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        sum(range(50))


def littering(source: str) -> ast.Module:
    """The tree, and work for the garbage collector while it is built."""
    Litter()
    return parse_module(source)


@pytest.mark.slow
def test_many_threads_at_a_time() -> None:
    """CPython's own parser fails in one of twenty cases here; ours in none."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    try:
        with ThreadPoolExecutor(4) as threads:
            trees = list(threads.map(littering, [SOURCE] * 200))
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
    assert {301} == {len(tree.body) for tree in trees}


@pytest.mark.parametrize("source", ["x = (", "x = \0", "(" * 5000, "-" * 100_000 + "1"])
def test_what_is_no_python_is_foreseen(source: str) -> None:
    """Broken and far too deep source raise what callers expect."""
    with pytest.raises(UNREADABLE):
        parse_module(source)


def test_an_invalid_escape_is_silent() -> None:
    """LaTeX in an ordinary string warns nobody: warnings are errors in these tests."""
    assert 1 == len(parse_module(r'x = "\frac"').body)


def test_what_a_name_needs_leaves_out_what_is_found_elsewhere() -> None:
    """Imports stand once; a name that is left out brings nothing it needs."""
    imports = "import math\nimport math\nfrom a import *\n"
    module = f"{imports}T = 1\ndef g():\n    return T\ndef f():\n    return math.pi + g()\n"
    assert "import math\nfrom a import *\n\n\ndef f():\n    return math.pi + g()\n" == extract_definition(
        module, "f", {"g"}
    )
    assert is_defined(module, "f")
    assert is_defined(module, "T")
    assert not is_defined(module, "math.pi")
    assert not is_defined("def", "f")


def test_what_is_local_to_a_function_is_not_needed() -> None:
    """A variable that is called as something of the module does not bring it along; a closure's does."""
    module = (
        "x = 1\ny = 2\nz = 3\nrows = 4\nlimit = 5\n"
        "def f(x, n=limit):\n"
        "    rows = [x for x in n]\n"
        "    def g():\n"
        "        global z\n"
        "        z = 1\n"
        "        return y + len(rows)\n"
        "    return lambda x: x, z, g\n"
    )
    found = extract_definition(module, "f")
    assert "y = 2\n\n\nz = 3\n\n\nlimit = 5\n\n\ndef f" in found
    assert "rows = 4" not in found
    assert "x = 1" not in found


@pytest.mark.parametrize("odd", ["\u2028", "\x0c", "\x85", "\x1c"])
def test_lines_are_those_of_python(odd: str) -> None:
    """What else ends a line of a text ends none of a module."""
    source = f"# a{odd}b\nx = 1\n\ndef f():\n    y = x\n    return y\n"
    assert "x = 1\n\n\ndef f():\n    y = x\n    return y\n" == extract_definition(source, "f")
    assert "x = 1\n" == extract_definition("y = 2\r\nx = 1\r\n", "x")
