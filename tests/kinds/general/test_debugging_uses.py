"""Every use and every value that the author wrote is asked, or said not to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from math import comb

import pytest

from autograder.checks.options import Rules
from autograder.checks.planning.drawing import SAMPLE
from autograder.checks.planning.subject import CalleeOptions, Construct
from autograder.errors import Place, RubricError
from autograder.kinds.general.debugging.search import Listings, _confusions, search
from autograder.kinds.general.debugging.use import ListingUses, ProbeOutcome, Use, UseStep
from autograder.kinds.general.debugging.work import SearchWork
from autograder.rubric import Question

CHOICES = {"ignore_index": {"choose": [-1, 0, 2]}, "smoothing": {"choose": [0.1, 0.3]}}


def uses(tries: int, **construct: object) -> ListingUses:
    """Two uses, of which the second one has the question's construction."""
    options = CalleeOptions(construct=Construct(kwargs={"width": {"choose": [4, 8]}}))
    own = Construct(kwargs=dict(construct))
    both = (Use("own", (UseStep(),), construct=own), Use("plain", (UseStep(args=([1],)),)))
    return ListingUses(
        Question("q", "debugging", Decimal(1), (), answer="f"),
        options,
        both,
        tries=tries,
        weights={},
        stir=False,
    )


def test_values_take_turns() -> None:
    """As many probes as a ``choose`` has values have all of them; two of them meet in all ways."""
    made = uses(6, **CHOICES)
    drawn = [
        dict(one.calls[0].kwargs) for name, one in made.scenarios(SAMPLE).items() if name.startswith("own")
    ]
    assert [-1, 0, 2] == [one["ignore_index"] for one in drawn[:3]]
    assert 6 == len({(one["ignore_index"], one["smoothing"]) for one in drawn})
    alike = uses(9, **{**CHOICES, "smoothing": {"choose": [0.1, 0.2, 0.3]}}).asks
    assert 9 == len({some for probe, some in alike.items() if probe.startswith("own")})
    assert "use 'own': construct ignore_index = 2" in made.stated
    assert {"use 'plain'", "construct width = 8"} == made.asks["plain 2"]


def test_values_that_no_try_has_are_stated() -> None:
    """With fewer tries than values the others are among what should be asked."""
    made = uses(1, **CHOICES)
    asked = frozenset[str]().union(*made.asks.values())
    assert {"use 'own': construct ignore_index = 0", "construct width = 8"} <= set(made.stated) - asked


def chosen(asks: Mapping[str, Sequence[str]], most: int) -> tuple[set[str], set[str]]:
    """What is asked, and what is not, of probes that all tell the same."""
    outcomes = [{name: ProbeOutcome((float(left),)) for name in asks} for left in range(2)]
    subsets = [frozenset[str](), frozenset({"a"})]
    wanted = {name: frozenset(some) for name, some in asks.items()}
    listings = Listings.of(("a",), subsets, dict.fromkeys(asks, ""), outcomes, rules=Rules(), asks=wanted)
    found = search(listings, most)
    return set(found.probes), set().union(*wanted.values()) - found.asked


def test_every_use_and_value_is_asked_as_far_as_there_is_room() -> None:
    """One probe tells the fault, and still each use is asked and each value; what has no room is known."""
    asks = {"x 1": ["x", "x = 1"], "x 2": ["x", "x = 2"], "y 1": ["y"], "y 2": ["y"]}
    assert ({"x 1", "x 2", "y 1"}, set()) == chosen(asks, 16)
    assert {"y"} == chosen(asks, 2)[1]


def test_edge_cases_are_tried_first_and_stated() -> None:
    """They are told like values; one that no try reaches is stated, and the right listing may raise there."""
    made = uses(2, words={"list": {"text": "unicode"}, "edges": True}, width={"choose": [4, 8]})
    drawn = [made.scenarios(SAMPLE)[f"own {number}"].calls[0].kwargs for number in (1, 2)]
    assert [(0, 4), (1, 8)] == [(len(one["words"]), one["width"]) for one in drawn]
    assert "use 'own': construct words is one" in made.asks["own 2"]
    assert {f"use 'own': construct words is {edge}" for edge in ("empty", "one", "equal")} == made.edges
    assert made.edges < set(made.stated)


def test_work_is_counted_and_bounded() -> None:
    """All sets of few faults, a sample of many; one call more than there may be is refused."""
    made = uses(3, **CHOICES)
    some = SearchWork.of(("a", "b"), made)
    each = 3 * (made.calls["own"] + made.calls["plain"])
    assert SearchWork(2, 4, 6, 4 * each) == some
    assert f"4 of 4 sets of faults are run, 6 probes, {4 * each} calls" == some.words
    many = SearchWork.of(tuple("abcdefghijkl"), made)
    assert (True, many.listings * each) == (500 < many.listings < 1 << 12, many.calls)
    some.refuse(Place("question"), 4 * each)
    with pytest.raises(RubricError, match="lower tries, or state fewer uses, fewer steps in them, or fewer"):
        some.refuse(Place("question"), 4 * each - 1)


def test_confusions_are_bounded() -> None:
    """Of sets that do the same so many pairs are compared as there may be; the others are counted."""
    faults = tuple("abcdefgh")
    subsets = [frozenset(some) for size in (0, 2, 4) for some in combinations(faults, size)]
    outcomes = [{"p 1": ProbeOutcome((1.0,))} for _ in subsets]
    listings = Listings.of(faults, subsets, {"p 1": ""}, outcomes, rules=Rules())
    pairs = comb(len(subsets), 2)
    every, none = _confusions(listings, (0,))
    assert (0, pairs) == (none, sum(one.count for one in every))
    some, left = _confusions(listings, (0,), 10)
    assert (pairs - 10, 10) == (left, sum(one.count for one in some))


def test_a_call_is_told_by_its_step() -> None:
    """What comes before the first step is the construction, and what is loaded into the object."""
    made = uses(1, **CHOICES)
    assert "where it is constructed or weights are loaded" == made.place_of("own 1", 0)
    assert "in step 1" == made.place_of("own 1", made.calls["own"] - 1)
