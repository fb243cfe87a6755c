"""Test the answers without work that `verify` derives from the solution."""

from __future__ import annotations

from typing import Any

from autograder.checking.trivial_answers import list_trivial

SOLUTION = '''
import math

SCALE = 2

class Model:
    """A model."""

    def __init__(self, width):
        self.width = width

    def forward(self, x, mask=None):
        """Compute."""
        h = x * self.width
        h = h + SCALE
        return h

def attend(q, k):
    return q @ k

def _helper(x):
    return x
'''


def test_trivial_answers_keep_all_but_the_work() -> None:
    sources = dict(list_trivial(SOLUTION, ("Model", "attend")))
    assert [
        "returns nothing",
        "returns its first argument",
        "returns zeros",
        "returns ones",
        "stops after its first step",
    ] == list(sources)
    values = {}
    for name, source in sources.items():
        defined: dict[str, Any] = {}
        exec(source, defined)
        values[name] = (
            defined["Model"](3).forward(5),
            defined["attend"](7, 1 if "step" not in name else _Right()),
        )
    assert {
        "returns nothing": (None, None),
        "returns its first argument": (5, 7),
        "returns zeros": (0, None),
        "returns ones": (1, None),
        "stops after its first step": (15, "computed"),
    } == values


class _Right:
    def __rmatmul__(self, _: object) -> str:
        return "computed"


RESULTS = """
def split(x):
    def halve(y):
        return y / 2
    if x < 0:
        raise ValueError
    return halve(x), x
"""


def test_trivial_answers_keep_the_form_of_results() -> None:
    """Each of several results is replaced, without exceptions; results of inner functions are not."""
    sources = dict(list_trivial(RESULTS, ("split",)))
    values = {}
    for name in ("returns zeros", "returns ones"):
        defined: dict[str, Any] = {}
        exec(sources[name], defined)
        values[name] = (defined["split"](3), defined["split"](-1))
    assert {"returns zeros": ((0, 0), None), "returns ones": ((1, 1), None)} == values


def test_trivial_answers_of_nothing_are_none() -> None:
    assert [] == list(list_trivial("", ("run",)))
    assert [] == list(list_trivial("LIMIT = 3\ndef run(): return LIMIT", ("run",)))
    assert [] == list(list_trivial(SOLUTION, ("another",)))
