"""Many classes for attention, in unusual idioms: each loses exactly what is stated, with a true sentence."""

from __future__ import annotations

import itertools
from decimal import Decimal

import pytest

from autograder.kinds.transformers.implementation.layer import ImplementationQuestion
from autograder.kinds.transformers.implementation.plan import WEIGHTS, Plan
from autograder.messages import languages, render
from autograder.records import Ending, ItemResult, Observation, Status
from tests.demo.marking import marks, shipped
from tests.support.attention_classes import OWN, RIGHT, WRONG, Sample
from tests.support.thorough import sample

ALL = {**RIGHT, **OWN, **WRONG}


def lost(results: dict[str, ItemResult]) -> frozenset[str]:
    """The items that lose points, and those that need them."""
    items = {item for item, one in results.items() if one.points < one.possible}
    needing = {item.id for item in shipped("attention").question("mha").items if items & set(item.needs)}
    return frozenset(items | needing)


def test_there_are_enough() -> None:
    """At least thirty right ones, and thirty wrong ones."""
    assert len(RIGHT) + len(OWN) >= 29
    assert len(WRONG) >= 31
    assert len(ALL) >= 60


@pytest.mark.parametrize("written", sample(list(ALL.values()), 22), ids=sample(list(ALL), 22))
def test_a_class_loses_exactly_what_is_stated(written: Sample) -> None:
    """No item more, none less, and nobody has to look; where a sentence is stated, that one is told."""
    results = marks("mha", written.source, assignment="attention")
    assert written.loses == lost(results), {item: one.staff for item, one in results.items()}
    assert Status.NEEDS_REVIEW not in {one.status for one in results.values()}
    for item, code in (written.codes or {}).items():
        assert code == results[item].code, results[item].staff
    for one in results.values():
        assert all(render(one.student, language) for language in languages())


_ORDERED = """
import math
import torch
from torch import nn


class MyMultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("no")
        self.h = n_heads
        for name in {order}:
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, query, key, value, mask=None):
        query, key, value = {wiring}
        q, k, v = (
            getattr(self, name)(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for name, x in (("ask", query), ("find", key), ("take", value))
        )
        scores = q @ k.mT {scale}
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return self.give((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""
_SCALED = "/ q.shape[-1] ** 0.5"
ORDERS = sample(list(itertools.permutations(("ask", "find", "take", "give"))), 5)
WIRINGS = {
    "right": ("query, key, value", _SCALED, frozenset()),
    "values made of keys": ("query, key, key", _SCALED, frozenset({"cross"})),
    "self-attention only": ("query, query, query", _SCALED, frozenset({"cross"})),
    "queries and keys exchanged": ("key, query, value", _SCALED, frozenset({"cross"})),
    "not scaled": ("query, key, value", "", frozenset({"self", "cross"})),
    "not scaled, values made of keys": ("query, key, key", "", frozenset({"self", "cross"})),
}


@pytest.mark.slow
@pytest.mark.parametrize("wiring", WIRINGS.values(), ids=WIRINGS)
def test_the_order_of_declaration_changes_nothing(wiring: tuple[str, str, frozenset[str]]) -> None:
    """In any order of layers with names of their own: the same points and the same sentences."""
    arguments, scale, numbers = wiring
    seen = set()
    for order in ORDERS:
        source = _ORDERED.format(order=order, wiring=arguments, scale=scale)
        results = marks("mha", source, assignment="attention")
        assert numbers | {"parameters"} | ({"blocked"} & lost(results)) == lost(results), order
        seen.add(tuple((item, one.points, one.code) for item, one in sorted(results.items())))
    assert 1 == len(seen)


def test_what_a_named_misconception_costs_is_all_it_costs() -> None:
    """Points of the classes whose values come from the wrong argument: two of eight are lost."""
    results = marks("mha", WRONG["values made of keys"].source, assignment="attention")
    assert Decimal(6) == sum(one.points for one in results.values())


@pytest.mark.slow
@pytest.mark.parametrize("written", OWN.values(), ids=OWN)
def test_names_of_ones_own_cost_half_a_point(written: Sample) -> None:
    """The text states the names; four maps that are there and learn are worth half of that item."""
    results = marks("mha", written.source, assignment="attention")
    assert Decimal("7.5") == sum(one.points for one in results.values())


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("further parameters", "0.5"),
        ("one map under two names", "0"),
        ("only values learn", "0"),
        ("dropout in evaluation", "1"),
    ],
)
def test_what_is_stated_and_what_learns_count_half_each(name: str, points: str) -> None:
    """Nothing is left where no three projections learn; what is wrong elsewhere costs nothing here."""
    results = marks("mha", WRONG[name].source, assignment="attention")
    assert Decimal(points) == results["parameters"].points


@pytest.mark.parametrize(
    "forward",
    ["raise RuntimeError('later')", "return None", "return self.q_proj(query).detach()"],
    ids=["raises", "gives nothing", "does not learn"],
)
def test_maps_are_worth_half_when_no_pass_shows_that_they_learn(forward: str) -> None:
    """The four maps as stated: half, unless a pass shows that they do not learn."""
    head, _, _ = RIGHT["plain"].source.partition("    def forward(")
    source = f"{head}    def forward(self, query, key, value, mask=None):\n        {forward}\n"
    results = marks("mha", source, assignment="attention")
    assert Decimal(0 if "detach" in forward else "0.5") == results["parameters"].points
    assert Decimal("0.5") == results["construct"].points
    assert not any(results[item].points for item in ("self", "cross", "padding", "causal"))


def test_what_is_no_module_is_told_by_what_failed() -> None:
    """Neither a pass nor the constructor is blamed where there are no parameters to be read."""
    source = (
        "class MyMultiHeadAttention:\n    def __init__(self, d_model, n_heads):\n"
        "        if d_model % n_heads: raise ValueError\n    def __call__(self, q, *_): return q\n"
    )
    for item, one in marks("mha", source, assignment="attention").items():
        if item != "construct":
            text = render(one.student, "en")
            assert text.startswith("Reading the parameters of MyMultiHeadAttention stopped"), text


@pytest.mark.parametrize(
    ("name", "item", "says", "never"),
    [
        ("one map under two names", "parameters", "one and the same parameter", "has no"),
        ("maps that the heads share", "parameters", "another shape", "has no"),
        ("always causal", "self", "later positions stay hidden", "kept"),
        ("output and weights", "self", "length 2", "finite"),
        ("what was computed before", "self", "kept from one call to the next", "dropout"),
        ("dropout in evaluation", "self", "randomness", "kept"),
        ("further parameters", "parameters", "norm.weight, norm.bias", "has no"),
        ("an assertion instead of the exception", "construct", "AssertionError", "AssertionError,"),
    ],
)
def test_the_sentence_is_true(name: str, item: str, says: str, never: str) -> None:
    """What is said is what the class does, and what it does not do is not said."""
    text = render(marks("mha", WRONG[name].source, assignment="attention")[item].student, "en")
    assert says in text
    assert never not in text


def test_what_was_not_tried_is_a_pass_and_not_the_class() -> None:
    """The class was constructed for other items; what nobody came to is a pass of it."""
    layer = Plan("Mine", ImplementationQuestion({"d_model": (8,), "n_heads": (2,)}), {}, {}).layer(WEIGHTS)
    untried = Observation(ok=False, ending=Ending.NOT_ASKED)
    assert "A pass of Mine" == str(layer.what((untried, untried)))
    assert "Mine" == layer.what((Observation(ok=False, error="ValueError"), untried))
