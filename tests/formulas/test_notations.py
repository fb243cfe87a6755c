"""Every formula of the exam is accepted however it is written, and its near misses never are."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import product

import pytest

from autograder.core.records import ItemResult, Status
from autograder.formulas.notation.parse import parse_sides
from tests.formulas.exam import FORMULAS, VOCABULARY, Formula, judged
from tests.formulas.notations import HANDS
from tests.support.thorough import sample

LEAST = 40
MOST = 200


def written(texts: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each text in every hand: the hand's name, and what it writes."""
    for text, (name, hand) in product(texts, HANDS.items()):
        yield name, hand(*parse_sides(text, VOCABULARY))


@functools.cache
def outcomes(formula: Formula, texts: tuple[str, ...]) -> dict[str, ItemResult]:
    """What becomes of the texts in every notation: of an even part of them, where they are many."""
    return {text: judged(formula, text) for text in sample([text for _, text in written(texts)], MOST)}


@pytest.mark.parametrize("name", FORMULAS)
def test_right_answers_are_accepted_in_every_notation(name: str) -> None:
    """At least 40 notations of each formula are written, and every one earns its points."""
    found = outcomes(FORMULAS[name], FORMULAS[name].right)
    assert len(found) >= LEAST
    assert [] == [text for text, one in found.items() if one.status is not Status.PASSED]


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
def test_near_misses_are_rejected_in_every_notation(name: str) -> None:
    """As many mistakes are written in as many notations, and none earns its points or reaches a person."""
    found = outcomes(FORMULAS[name], FORMULAS[name].wrong)
    assert len(found) >= LEAST
    assert [] == [text for text, one in found.items() if one.status is not Status.FAILED]
