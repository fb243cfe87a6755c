"""Source is parsed in several threads concurrently, and never run."""

from __future__ import annotations

import ast
import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.core.syntax import UNREADABLE, parse_module

SOURCE = "x = f(a, b)[1] + 3\n" * 300 + "y = " + "(" * 30 + "1" + "+1)" * 30


class Litter:
    """Garbage whose finaliser runs Python code, so that another thread may be scheduled."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        sum(range(50))


def littering(source: str) -> ast.Module:
    """Parse a source while the garbage collector has work."""
    Litter()
    return parse_module(source)


@pytest.mark.slow
def test_many_threads_at_a_time() -> None:
    """CPython's own parser fails in one of twenty cases here; ours never fails."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    try:
        with ThreadPoolExecutor(4) as threads:
            trees = list(threads.map(littering, [SOURCE] * 100))
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
    assert {301} == {len(tree.body) for tree in trees}


@pytest.mark.parametrize("source", ["x = (", "x = \0", "(" * 5000, "-" * 100_000 + "1"])
def test_what_is_no_python_is_foreseen(source: str) -> None:
    """Invalid and too deeply nested source raises an expected error."""
    with pytest.raises(UNREADABLE):
        parse_module(source)


def test_an_invalid_escape_is_silent() -> None:
    """LaTeX in an ordinary string causes no warning."""
    assert 1 == len(parse_module(r'x = "\frac"').body)
