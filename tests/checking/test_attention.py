"""Test the checks of attention on the lists of right and wrong classes.

They run in this process; tests of the kind ``code`` cover handles.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.checking.runner import CheckProgram
from tests.checking.attention_catalogue import VARIANTS
from tests.checking.attention_classes import OWN, RIGHT, WRONG, Sample
from tests.support.checked import open_program, run_checks
from tests.support.thorough import sample

FORBIDDEN = {"a forbidden function", "sdpa_call"}
"""Mistakes that are found by name before any comparison."""
OTHERWISE = {
    *("batch and heads exchanged in the merge", "merge_swaps_batch", "weights averaged over the heads"),
    *("heads_averaged", "scaled by the width, and the first mask for all"),
}
"""Mistakes that also matter without a mask: the items about masks are judged differently."""
EXPECTED = {"output and weights": frozenset({"self"})}
"""Items lost by mistakes for which these checks deduct less than the lists state."""


@pytest.fixture(scope="module")
def program() -> Iterator[CheckProgram]:
    with open_program("attention") as opened:
        yield opened


@pytest.mark.parametrize("name", sample(list(RIGHT), 8))
def test_right_classes_lose_nothing(name: str, program: CheckProgram) -> None:
    """Right classes in unusual idioms lose nothing and need no manual review."""
    checked = run_checks(program, RIGHT[name].source)
    assert (frozenset(), frozenset()) == (checked.lost, checked.unclear), checked.outcomes


@pytest.mark.parametrize("name", sample(list(OWN), 6))
def test_names_of_ones_own_lose_half_a_point(name: str, program: CheckProgram) -> None:
    """Other parameter names lose half a point; layouts that cannot be compared need manual review."""
    checked = run_checks(program, OWN[name].source)
    assert {"parameters"} == checked.lost, checked.outcomes
    assert checked.points["parameters"] * 2 == 1


MISTAKES: dict[str, Sample] = {
    **{
        name: Sample(one.source, EXPECTED.get(name, one.loses))
        for name, one in WRONG.items()
        if name not in OTHERWISE | FORBIDDEN
    },
    **{
        name: Sample(one.source.replace("MultiHeadAttention", "MyMultiHeadAttention"), frozenset(one.loses))
        for name, one in VARIANTS.items()
        if name not in OTHERWISE | FORBIDDEN and not one.unstated
    },
}


@pytest.mark.parametrize("name", sample(list(MISTAKES), 20))
def test_mistakes_lose_exactly_their_items(name: str, program: CheckProgram) -> None:
    checked = run_checks(program, MISTAKES[name].source)
    assert MISTAKES[name].loses - checked.unclear == checked.lost, checked.outcomes


@pytest.mark.parametrize("name", sample(sorted(OTHERWISE & {*WRONG}), 3))
def test_mistakes_lose_the_items_without_a_mask(name: str, program: CheckProgram) -> None:
    assert {"self", "cross"} <= run_checks(program, WRONG[name].source).lost


def test_mutants_name_mistakes_of_other_styles(program: CheckProgram) -> None:
    """Mutants are compared by their numbers, not by their source."""
    source = RIGHT["plain"].source.replace("/ math.sqrt(self.d_head)", "")
    outcomes = run_checks(program, source, name_mistakes=True).outcomes
    assert ("no_scaling",) == outcomes["self", ""].mistakes
