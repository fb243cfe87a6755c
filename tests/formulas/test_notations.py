"""Every formula of the exam is accepted in all notations, and near misses never are."""

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
    """Yield the name of each hand, and what it writes for each text."""
    for text, (name, hand) in product(texts, HANDS.items()):
        yield name, hand(*parse_sides(text, VOCABULARY))


@functools.cache
def outcomes(formula: Formula, texts: tuple[str, ...]) -> dict[str, ItemResult]:
    """Return the results of the texts in all notations, or of an even sample if there are many."""
    return {text: judged(formula, text) for text in sample([text for _, text in written(texts)], MOST)}


@pytest.mark.parametrize("name", FORMULAS)
def test_right_answers_are_accepted_in_every_notation(name: str) -> None:
    """Each formula earns its points in at least 40 notations."""
    verdicts = outcomes(FORMULAS[name], FORMULAS[name].right)
    assert len(verdicts) >= LEAST
    assert [] == [text for text, result in verdicts.items() if result.status is not Status.PASSED]


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
def test_near_misses_are_rejected_in_every_notation(name: str) -> None:
    """Near misses in as many notations earn no points and need no manual review."""
    verdicts = outcomes(FORMULAS[name], FORMULAS[name].wrong)
    assert len(verdicts) >= LEAST
    assert [] == [text for text, result in verdicts.items() if result.status is not Status.FAILED]
