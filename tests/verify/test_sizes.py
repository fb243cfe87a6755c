"""Sizes that may coincide are told when an assignment is verified, and are drawn apart."""

from __future__ import annotations

import pytest

from autograder.checks.base import Draw
from autograder.checks.options import CallOptions
from autograder.checks.planning.drawing import Inputs, can_differ
from autograder.rubric import parse
from autograder.verify.questions import size_warnings
from tests.checks.asking import rubric_text

QUESTION = """
[[question]]
id = "q"
kind = "shape"
points = 1
answer = "f"
reference = "a:b"
sizes = { n_heads = [2, 3], d_head = [3, 4] }
[[question.case]]
name = "short"
args = [{ draw = "normal", shape = [5, 1, "n_heads", "d_head"] }]
[[question.item]]
id = "i"
points = 1
text = { en = "I" }
"""


def told(*change: str) -> list[str]:
    """What is worth a look in the question with one text replaced."""
    text = QUESTION.replace(*change) if change else QUESTION
    assert text != QUESTION or not change
    return [one.got for one in size_warnings(parse(rubric_text(text)))]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ((), []),
        (("sizes = {", "equal_sizes = true\nsizes = {"), ["d_head and n_heads may come out equal"]),
        (
            ("[2, 3], d_head = [3, 4]", "[2], d_head = [2]"),
            ["n_heads, d_head always have two that are equal"],
        ),
        (("[5, 1,", "[4, 1,"), ["d_head can be drawn as 4, and case 'short' states a size of 4 as well"]),
    ],
)
def test_what_may_coincide_is_told(change: tuple[str, ...], expected: list[str]) -> None:
    """Drawn sizes with one another, where that cannot be avoided or is wanted, and with stated ones."""
    assert expected == told(*change)


def test_sizes_of_one_question_are_drawn_apart() -> None:
    """In no draw are two of them equal, and every pair that is not equal still occurs."""
    options = CallOptions(sizes={"a": (2, 3), "b": (3, 4), "c": (4, 2)})
    drawn = [tuple(Inputs(options, Draw(bytes([n]))).sizes.values()) for n in range(200)]
    assert all(len(set(one)) == 3 for one in drawn)
    assert {(2, 3, 4), (3, 4, 2)} == set(drawn)


def test_a_rubric_may_want_them_as_they_come() -> None:
    """With ``equal_sizes`` they may be equal; so they are where no others can be."""
    wanted = CallOptions(sizes={"a": (2, 3), "b": (2, 3)}, equal_sizes=True)
    drawn = {tuple(Inputs(wanted, Draw(bytes([n]))).sizes.values()) for n in range(100)}
    assert {(2, 2), (2, 3), (3, 2), (3, 3)} == drawn
    assert {"a": 2, "b": 2} == Inputs(CallOptions(sizes={"a": (2,), "b": (2,)}), Draw(b"")).sizes


def test_what_can_differ_is_known() -> None:
    """Also where the lists overlap so that the first choice is not the right one."""
    assert can_differ({"a": [1, 2], "b": [1], "c": [2, 3]})
    assert not can_differ({"a": [1, 2], "b": [1], "c": [2]})
    assert can_differ({})
