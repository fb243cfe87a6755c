"""Random pairs with known equality never get a wrong verdict.

`PAIRS=200000` tries more pairs, and `SEED` selects others.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable

import pytest

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided, Unreadable
from autograder.formulas.nodes import Node, Relation
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.values.points import Points
from tests.formulas.exam import RUBRIC
from tests.formulas.grammars import SHARES, lattice_pair, related_pair, share_pair
from tests.formulas.notations import HANDS, Hand
from tests.formulas.rational import rational_pair
from tests.formulas.verdicts import judge

PAIRS = int(os.environ.get("PAIRS", "150"))
SEED = int(os.environ.get("SEED", "20"))
VOCABULARY = Vocabulary({**RUBRIC.assignment.symbols, **dict.fromkeys(SHARES, Symbol("probability"))})
COMPARER = Comparer(Points(VOCABULARY.domains, f"a secret of the seed {SEED}".encode()))
BARE = tuple(hand for hand in HANDS.values() if hand.symbol is str and hand.around == "{}")
"""Hands that write every symbol by its name, without text around the formula."""
CALLING = tuple(hand for hand in HANDS.values() if hand.function == "{}({})")
"""Hands that can write functions of several arguments."""
REFUSALS = {
    "too-many-parts", "too-long", "too-deep", "ambiguous-comma", "exponent-too-large", "ambiguous-exponent",
}  # fmt: skip
"""Allowed reasons to reject a pair: its size, a comma in a function, or an exponent of 1 before `/`."""


def write(tree: Node | Relation, hand: Hand) -> str:
    """Return a formula or relation in the notation of a hand."""
    if isinstance(tree, Relation):
        return f"{hand(tree.left)} {tree.sign} {hand(tree.right)}"
    return hand(tree)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw_pair", "hands"),
    [
        pytest.param(rational_pair, tuple(HANDS.values()), id="formulas"),
        pytest.param(lattice_pair, CALLING, id="maxima"),
        pytest.param(share_pair, BARE, id="probabilities"),
        pytest.param(related_pair, BARE, id="relations"),
    ],
)
def test_no_verdict_is_wrong(
    draw_pair: Callable[[random.Random], tuple[Node | Relation, Node | Relation, bool]],
    hands: tuple[Hand, ...],
) -> None:
    """No pair in random notations is judged wrongly, and few equal pairs are undecided."""
    draw, outcomes = random.Random(SEED), Counter[str]()
    for _ in range(PAIRS):
        first, second, equal = draw_pair(draw)
        texts = [write(tree, draw.choice(hands)) for tree in (first, second)]
        read = parse_single if isinstance(first, Relation) else parse
        try:
            verdict = COMPARER.is_equal(*(read(text, VOCABULARY) for text in texts))
        except Unreadable as error:
            if error.code not in REFUSALS:
                raise
            outcomes["refused"] += 1
        except Undecided:
            outcomes["undecided of equal" if equal else "undecided"] += 1
        else:
            assert verdict is equal, texts
            outcomes["right"] += 1
    assert outcomes["right"] > PAIRS // 2
    assert outcomes["undecided of equal"] <= PAIRS // 5
    assert outcomes["refused"] <= PAIRS // 5


@pytest.mark.parametrize(
    "text",
    [
        "(d_hidden*d_hidden)**(V*V*(-V)*e)",
        "(d_hidden*d_hidden)**(V*V*(-V)*e)/(e/e)**(e/e)",
        "(d_hidden*d_hidden)**(V*V*V*e)",
    ],
)
def test_numbers_beyond_a_machines_end_no_search(text: str) -> None:
    """An infinite value at one point does not stop the search for a missing part."""
    comparer = Comparer(Points(VOCABULARY.domains, b"a test"))
    layer = "3*n_heads*d_model*d_head + n_heads*d_head*d_model + 8*d_model^2"
    assert judge(text, layer, VOCABULARY, [comparer]) == "wrong"
