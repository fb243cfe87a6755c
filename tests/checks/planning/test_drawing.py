"""Hidden arrays show what they are drawn for, whatever is drawn."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.base import Draw
from autograder.checks.options import CallOptions
from autograder.checks.planning.alphabets import ALPHABETS
from autograder.checks.planning.drawing import DRAWN, Inputs, edge_cases
from autograder.errors import RubricError

SEEDS = st.binary(min_size=4, max_size=8)
ROWS = st.tuples(st.integers(2, 4), st.integers(1, 3))


def drawn(seed: bytes, **form: Any) -> np.ndarray:
    """One array."""
    inputs = Inputs(CallOptions(library="numpy"), Draw(seed))
    array: np.ndarray = inputs.arguments("case", (form,), {})[0][0]
    return array


def rows(array: np.ndarray) -> list[tuple[Any, ...]]:
    """All rows of the last axis."""
    return [tuple(row) for row in array.reshape(-1, array.shape[-1]).tolist()]


@given(SEEDS, ROWS, st.integers(2, 9))
def test_padding_begins_at_another_place_in_each_row(
    seed: bytes, shape: tuple[int, int], length: int
) -> None:
    """Rows keep one entry at least and never all, and as many different counts as there can be."""
    mask = drawn(seed, draw="padding_mask", shape=[*shape, length])
    kept = mask.sum(-1)
    assert (mask == (np.arange(length) < kept[..., None])).all()
    assert (kept.min() >= 1, kept.max() < length) == (True, True)
    assert len(set(kept.ravel().tolist())) == min(kept.size, length - 1)


@given(SEEDS, ROWS, st.integers(2, 9))
def test_masks_that_differ_see_what_the_other_does_not(
    seed: bytes, shape: tuple[int, int], length: int
) -> None:
    """No row is contained in another one, and there are as many as there can be."""
    mask = drawn(seed, draw="mask", shape=[*shape, length])
    different = set(rows(mask))
    assert len(different) == min(mask.size // length, length)
    for one in different:
        for other in different - {one}:
            assert any(mine and not theirs for mine, theirs in zip(one, other, strict=True))
    assert all(any(row) and not all(row) for row in different)


@given(SEEDS)
def test_single_entries_are_open(seed: bytes) -> None:
    """A row of one entry keeps it: nothing could be computed otherwise."""
    assert all(drawn(seed, draw=kind, shape=[3, 1]).all() for kind in ("mask", "padding_mask"))


@pytest.mark.parametrize(
    ("kind", "shape"),
    [("mask", []), ("padding_mask", []), ("causal_mask", []), ("causal_mask", [3])],
)
def test_a_shape_without_the_axes_that_are_needed_is_refused(kind: str, shape: list[int]) -> None:
    """It is an error in the rubric, and said to be one; an axis of length 0 gives an empty array."""
    with pytest.raises(RubricError, match=f"{kind} needs"):
        drawn(b"seed", draw=kind, shape=shape, low=0, high=3)
    assert (2, 0) == drawn(b"seed", draw=kind, shape=[2, 0], low=0, high=3).shape


def tried(form: Mapping[str, Any], count: int, seed: bytes = b"seed") -> list[Any]:
    """What an argument is in the first tries."""
    options = CallOptions(library="numpy")
    every = (Inputs(options, Draw(seed + bytes([turn])), turn) for turn in range(count))
    return [inputs.arguments("case", (form,), {})[0][0] for inputs in every]


@given(SEEDS)
def test_edge_cases_come_first_and_in_order(seed: bytes) -> None:
    """The empty one, one entry, equal ones; then what is drawn, and as long as is stated."""
    text = {"text": ["ab", "c"], "length": [0, 4], "edges": True}
    empty, one, equal, *others = tried(text, 8, seed)
    assert ("", True) == (empty, one in {"ab", "c"})
    assert equal in {piece * times for piece in ("ab", "c") for times in (2, 3, 4)}
    assert all(len(other.replace("ab", "x")) <= 4 for other in others)
    empty, one, equal, *_ = tried({"list": {"whole": [0, 9]}, "edges": True}, 4, seed)
    assert ([], 1, 1, True) == (empty, len(one), len(set(equal)), 2 <= len(equal) <= 5)
    keyed = {"keys": {"text": "letters"}, "dict": {"whole": [0, 9]}, "edges": True, "length": [0, 3]}
    empty, one, equal, *others = tried(keyed, 6, seed)
    assert ({}, 1, 1, True) == (empty, len(one), len(set(equal.values())), 2 <= len(equal) <= 3)
    assert all(len(other) <= 3 and all(map(str.isalpha, other)) for other in others)
    assert tried(keyed, 6, seed) == [empty, one, equal, *others]


def test_edge_cases_are_those_that_the_length_allows() -> None:
    """Where an empty one is not to be, the first try has one entry; what has no edges has no edge case."""
    some = {"list": {"whole": [0, 9]}, "length": [1, 5], "edges": True}
    assert ("one", "equal") == edge_cases(some)
    assert [1, True] == [len(tried(some, 1)[0]), len(set(tried(some, 2)[1])) == 1]
    assert ("empty", "one") == edge_cases({"text": "ascii", "length": [0, 1], "edges": True})
    assert [(), (), ()] == [edge_cases(one) for one in ({"text": "ascii"}, {"whole": [0, 9]}, [1, 2])]
    assert DRAWN == len(edge_cases({"list": 1, "edges": True}))


def test_entries_of_a_list_are_tries() -> None:
    """So a list of four texts has all edge cases of a text, although there is one try alone."""
    form = {"list": {"text": "digits", "edges": True}, "length": [4, 4]}
    inputs = Inputs(CallOptions(library="numpy"), Draw(b"seed"))
    empty, one, equal, _ = inputs.arguments("case", (form,), {})[0][0]
    assert ("", 1, 1) == (empty, len(one), len(set(equal)))


def test_alphabets_hold_what_their_names_say() -> None:
    """Beyond ASCII: combining characters, emoji of several code points, right to left, longer other case."""
    assert all(piece.isascii() for name in ("ascii", "letters", "digits") for piece in ALPHABETS[name])
    pieces = ALPHABETS["unicode"]
    assert any(unicodedata.combining(one) for piece in pieces for one in piece)
    assert any("\u200d" in piece for piece in pieces)
    assert any(unicodedata.bidirectional(piece[0]) in {"R", "AL"} for piece in pieces)
    assert any(len(piece.upper()) > len(piece) for piece in pieces)
    assert all(len(set(some)) == len(some) for some in ALPHABETS.values())
    assert set("".join(tried({"text": "digits", "length": [50, 50]}, 1))) <= set("0123456789")


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"text": "latin"}, "no alphabet 'latin'; known: ascii, letters, digits, unicode"),
        ({"text": "ascii", "edges": True}, "edges = true needs several tries"),
        ({"text": "ascii", "length": [-1, 2]}, "expected a length from 0, got -1"),
        ({"dict": {"a": 1}, "edges": True}, "need drawn keys"),
        ({"dict": {"whole": [0, 9]}, "keys": {"whole": [0, 9]}}, "expected keys that are texts, got"),
        ({"dict": {"whole": [0, 9]}, "keys": {"choose": ["a"]}, "length": [2, 2]}, "2 different keys are"),
    ],
)
def test_draws_without_a_meaning_are_refused(form: dict[str, Any], told: str) -> None:
    """The message names what is wrong, and what is known."""
    inputs = Inputs(CallOptions(library="numpy"), Draw(b"seed"))
    with pytest.raises(RubricError, match=told):
        inputs.arguments("case", (form,), {})
