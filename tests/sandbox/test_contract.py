"""The contract of a sandbox, checked on the real one at every level of isolation."""

from __future__ import annotations

import pytest

from autograder.sandbox.levels import Isolation
from tests.conftest import Levels
from tests.sandbox import contract
from tests.sandbox.contract import Fact
from tests.sandbox.facts_asks import ASKS, TORCH
from tests.sandbox.facts_cells import CELLS
from tests.sandbox.facts_endings import CALL_ENDINGS, CELL_ENDINGS
from tests.sandbox.facts_values import VALUES

FACTS = (*CELLS, *ASKS, *TORCH, *VALUES, *CELL_ENDINGS, *CALL_ENDINGS)


def says(fact: Fact) -> str:
    """Return the fact's text as the test's name."""
    return fact.says


@pytest.mark.sandbox
@pytest.mark.parametrize("isolation", Isolation)
@pytest.mark.parametrize("fact", FACTS, ids=says)
def test_holds_for_the_real_sandbox(fact: Fact, isolation: Isolation, levels: Levels) -> None:
    """The contract does not depend on the level of isolation."""
    contract.check(levels.sandbox(isolation, torch=fact.torch), fact)
