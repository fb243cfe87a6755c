"""Results stand in for functions: what is known is returned, what is not is written down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from autograder.sandbox.inside import stand_in
from autograder.sandbox.inside.guest import stand_ins

SOURCE = """
import numpy, torch
calls = []
def own(x, factor=1):
    calls.append("own")
    return x * factor
def calling(x):
    return own(x) + own(x, factor=2)
def itself(n):
    return 0 if n == 0 else 1 + itself(n - 1)
def changing(x):
    result = own(x)
    x += 1
    result += 1
    return result
"""


def namespace() -> dict[str, Any]:
    """A notebook's."""
    names: dict[str, Any] = {}
    exec(SOURCE, names)
    return names


def test_what_is_not_known_is_asked_of_the_own_function_and_told_once() -> None:
    """The arguments are told as they came, by keyword or place."""
    names = namespace()
    made = stand_ins(names)
    made.put({"own": []})
    assert 9.0 == names["calling"](3.0)
    first, second = made.unknown()
    assert ["own", [3.0], {}] == [first[0], *first[2:]]
    assert ["own", [3.0], {"factor": 2}] == [second[0], *second[2:]]
    assert first[1] != second[1]
    assert [] == made.unknown()


def test_what_is_known_stands_in() -> None:
    """By the same arguments alone; the own function is not called for it any more."""
    names = namespace()
    made = stand_ins(names)
    made.put({"own": []})
    names["calling"](3.0)
    first, _ = made.unknown()
    names["calls"].clear()
    made.put({"own": [[first[1], False, 100.0]]})
    assert 106.0 == names["calling"](3.0)
    assert ["own"] == names["calls"]
    assert [{"factor": 2}] == [one[3] for one in made.unknown()]


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype="int32").reshape(2, 3),
        np.array(2.5),
        torch.ones(2, 2),
        torch.tensor([True, False]),
        [1, (2.0, None), {"a": "b"}],
    ],
)
def test_arguments_of_every_plain_form_are_known_again(value: Any) -> None:
    """Arrays by their numbers, sizes and dtypes, and nests by their parts."""
    names = namespace()
    names["own"] = lambda x: x
    made = stand_ins(names)
    made.put({"own": []})
    names["own"](value)
    ((_, key, args, _),) = made.unknown()
    assert repr(value) == repr(args[0])
    made.put({"own": [[key, False, 7]]})
    assert 7 == names["own"](value)


def test_other_numbers_are_other_arguments() -> None:
    """Nearly equal ones, another dtype and another shape as well."""
    names = namespace()
    made = stand_ins(names)
    made.put({"own": []})
    for one in (torch.ones(2), torch.ones(2) + 1e-7, torch.ones(2).double(), torch.ones(1, 2), np.ones(2)):
        names["own"](one)
    assert 5 == len({key for _, key, _, _ in made.unknown()})


def test_what_is_changed_afterwards_changes_nothing() -> None:
    """Arguments are told as they were, and each result is a fresh one."""
    names = namespace()
    made = stand_ins(names)
    made.put({"own": []})
    names["changing"](np.zeros(2))
    ((_, key, args, _),) = made.unknown()
    assert [0.0, 0.0] == args[0].tolist()
    made.put({"own": [[key, False, np.full(2, 5.0)]]})
    assert [[6.0, 6.0]] * 2 == [names["changing"](np.zeros(2)).tolist() for _ in range(2)]


def test_the_own_function_may_be_left_alone() -> None:
    """It may be what ends the box: then the call is told, and fails."""
    names = namespace()
    made = stand_ins(names)
    made.put({"own": []}, own=False)
    with pytest.raises(NameError, match="name 'own' is not defined"):
        names["own"](1)
    assert [[1]] == [args for _, _, args, _ in made.unknown()]
    assert [] == names["calls"]


def test_a_function_that_calls_itself_is_told_once() -> None:
    """Its own calls are its own affair."""
    names = namespace()
    made = stand_ins(names)
    made.put({"itself": []})
    assert 4 == names["itself"](4)
    assert [[4]] == [args for _, _, args, _ in made.unknown()]


def test_where_there_is_no_function_the_call_is_told_and_fails() -> None:
    """As the notebook itself would have failed."""
    names = namespace()
    made = stand_ins(names)
    made.put({"absent": []})
    with pytest.raises(NameError, match="name 'absent' is not defined"):
        names["absent"](1)
    ((_, key, _, _),) = made.unknown()
    made.put({"absent": [[key, True, None]]})
    with pytest.raises(ValueError, match="absent cannot be called like this"):
        names["absent"](1)


def test_so_many_calls_are_written_down_and_no_more() -> None:
    """A loop without end fills no memory."""
    names = namespace()
    made = stand_ins(names)
    made.put({"own": []})
    for number in range(stand_in.MOST_UNKNOWN + 5):
        names["own"](number)
    assert stand_in.MOST_UNKNOWN == len(made.unknown())
