"""What the uses of the decoder say of code depends on the code alone, whatever hidden inputs are drawn."""

from __future__ import annotations

import tomllib
from decimal import Decimal

import msgspec
import pytest

from autograder.checks.base import Draw
from autograder.kinds.general.debugging import DebuggingQuestion
from autograder.kinds.general.debugging.outcomes import NAN, related
from autograder.kinds.general.debugging.use import ListingUses, ProbeOutcome, Use, outcome
from autograder.rubric import Question
from autograder.stream import derived
from reference.faults.decoder import listing
from reference.listings import GIVEN
from tests.support.debugging_course import task
from tests.support.local_box import LocalBox
from tests.support.repair_variants import variants

DRAWS = 6
_TABLE = tomllib.loads(task("decoder")[0])["question"][0]
_OWN = {name: _TABLE[name] for name in DebuggingQuestion.__struct_fields__ if name in _TABLE}
OPTIONS = msgspec.convert(_OWN, DebuggingQuestion)
QUESTION = Question("decoder", "debugging", Decimal(8), (), answer="Decoder")
USES = ListingUses(
    QUESTION, OPTIONS, OPTIONS.use, tries=OPTIONS.tries, weights=OPTIONS.weights, stir=OPTIONS.stir
)
RELATING = [use for use in OPTIONS.use if use.relate and not use.instead]


def told(box: LocalBox, use: str, number: int) -> ProbeOutcome | None:
    """What a use says of the code in a box, with the inputs of a draw."""
    draw = Draw(derived(b"x" * 32, "t", str(number)))
    (observed,) = box.ask([USES.scenarios(draw)[f"{use} 1"]])
    return related(outcome(observed, USES.calls[use]), USES.pairs(f"{use} 1"), OPTIONS.compare)


@pytest.mark.parametrize("use", RELATING, ids=lambda use: use.name)
def test_a_relation_holds_of_the_right_listing_whatever_is_drawn(use: Use) -> None:
    """A relation that holds by chance would decide about marks by the course's secret."""
    box = LocalBox(GIVEN, listing(()))
    first, *others = [told(box, use.name, number) for number in range(DRAWS)]
    assert first is not None
    assert not first.error
    assert [first] * len(others) == others


@pytest.mark.parametrize("number", [44, 95])
def test_a_weight_that_sleeps_by_chance_is_no_place(number: int) -> None:
    """With some inputs a weight beside the 48 of the places seems to be one, and is left out in training."""
    answer = next(
        one
        for one in variants("odd")
        if one.name == "a dropout module of the tokens alone, and the layers drop sums"
    )
    source = "\n\n".join([answer.source(), *answer.cells_after()])
    for use in ("some are dropped", "some are dropped, with a layer"):
        found = told(LocalBox(GIVEN, source), use, number)
        assert found is not None
        assert found.values == (False, True)


NORMED = (
    ("self.output_head = nn", "self.ln = nn.LayerNorm(d_model)\n        self.output_head = nn"),
    (
        "self.token_embedding(tokens) + self.position_embedding(positions)",
        "self.ln(self.token_embedding(tokens) + self.position_embedding(positions))",
    ),
)


def test_dropping_after_a_norm_is_not_taken_for_none() -> None:
    """A norm leaves a slope to each feature of a word, of which some are dropped behind it."""
    for left, says in (((), (NAN, ())), (("embedding_dropout",), ("", (True, True)))):
        source = listing(left)
        for right, other in NORMED:
            assert 1 == source.count(right)
            source = source.replace(right, other)
        found = told(LocalBox(GIVEN, source), "some are dropped", 0)
        assert found is not None
        assert says == (found.error, found.values)


@pytest.mark.parametrize("number", [0, 59, 61])
def test_a_gradient_that_is_nought_by_chance_is_no_dropout(number: int) -> None:
    """With some inputs one number of a hundred has no gradient although nothing was dropped."""
    answer = next(one for one in variants("wrong") if one.name == "dropout in evaluation alone")
    for source, says in (
        (listing(()), (False, False)),
        (listing(("embedding_dropout",)), (True, True)),
        (answer.source(), (True, False)),
    ):
        found = told(LocalBox(GIVEN, source), "some are dropped", number)
        assert found is not None
        assert says == found.values
