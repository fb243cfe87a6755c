"""The repair kind tells all faults of the catalogue apart, in every question that can be drawn."""

from __future__ import annotations

import random

import pytest

from autograder.checks.base import Draw
from autograder.errors import RubricError
from autograder.kinds.transformers.repair import RepairCheck
from autograder.kinds.transformers.repair.verdicts import PROBES, exclusive
from autograder.records import Status
from reference.faults.decoder import EXAM, listing, trials
from tests.support.repair_draws import ALL_PAIRS, COVERING, RANDOM_SUBSETS, pairs, question, subsets
from tests.support.repair_question import DRAW, asked, check_of, read, sit
from tests.support.repair_variants import Variant, variants
from tests.support.thorough import sample

pytestmark = pytest.mark.apart

BATCH = 50
BATCHES = range(0, RANDOM_SUBSETS, BATCH)


def _failed(source: str, faults: tuple[str, ...], draw: Draw = DRAW) -> set[str]:
    """What fails; everything else has to pass."""
    results = sit(source, made=check_of(tuple(sorted(faults))), draw=draw)
    failed = {item for item, result in results.items() if result.status is Status.FAILED}
    passed = {item for item, result in results.items() if result.status is Status.PASSED}
    assert failed | passed == set(faults)
    return failed


@pytest.mark.parametrize("fault", PROBES)
def test_each_fault_fails_alone_and_is_repaired_alone(fault: str) -> None:
    """Left in an otherwise right listing it alone fails; repaired among the others it alone passes."""
    faults = question((fault,), random.Random(fault))
    assert {fault} == _failed(listing([fault]), faults)
    assert set(faults) - {fault} == _failed(listing([one for one in faults if one != fault]), faults)


@pytest.mark.parametrize("first", PROBES)
def test_each_pair_fails_together(first: str) -> None:
    """Two faults that may be in one question fail, and the other items of the question pass."""
    every = pairs()
    for index, pair in enumerate(every):
        if pair[0] == first and (ALL_PAIRS or index % 12 == 0):
            assert set(pair) == _failed(listing(pair), question(pair, random.Random(index)))


@pytest.mark.parametrize("start", BATCHES)
def test_random_subsets_fail_exactly(start: int) -> None:
    """Of a random question's faults any number is left: those fail, and all others pass."""
    drawn = list(subsets(RANDOM_SUBSETS))[start : start + BATCH]
    assert [set(left) for _, left in drawn] == [_failed(listing(left), faults) for faults, left in drawn]


@pytest.mark.parametrize("seed", sample(range(12), 4))
def test_the_verdicts_do_not_depend_on_the_draw(seed: int) -> None:
    """Under other hidden inputs and weights, random subsets are told as exactly."""
    for faults, left in list(subsets(1000))[-1 - seed * 3 :: -1][:3]:
        assert set(left) == _failed(listing(left), faults, Draw(random.Random(seed).randbytes(32)))


@pytest.mark.parametrize(
    "draw",
    [
        "e04d9ae5a5241f37a13d34eceb57a3ebb1ff90032bd0a5bf0f381c18b13bf29f",
        "4f044b0c0d4e8a68162bcd8949d119a2f370609251e1c1eae39fc3266ff2352a",
    ],
)
def test_a_hidden_feature_at_zero_hides_nothing(draw: str) -> None:
    """It wakes beside huge embeddings only: in the reference of the first draw, in a listing of the other."""
    for faults in COVERING:
        assert set() == _failed("from reference.decoder import Decoder", faults, Draw(bytes.fromhex(draw)))
        assert set(faults) == _failed(listing(faults), faults, Draw(bytes.fromhex(draw)))


@pytest.mark.parametrize("variant", sample(variants("accepted"), 16), ids=lambda variant: variant.name)
def test_right_repairs_pass_every_probe(variant: Variant) -> None:
    """Whatever the question asks for, a right repair in other words loses nothing."""
    prenorm = {"norm_missing"} if variant.name == "norm before the attention" else set()
    for faults in COVERING:
        assert prenorm == _failed(variant.source(), faults)


def test_the_covering_questions_ask_for_every_probe() -> None:
    """So a right repair is seen by all of them."""
    assert {PROBES[fault] for faults in COVERING for fault in faults} == set(PROBES.values())


@pytest.mark.parametrize("faults", sample([COVERING[0], EXAM], 1), ids=len)
def test_trials_lose_exactly_what_they_say(faults: tuple[str, ...]) -> None:
    """The planted answers of the catalogue, as the answer key's exam hands them in."""
    for trial in trials(faults):
        assert set(trial["loses"]) == _failed(trial["source"], faults), trial["name"]


@pytest.mark.parametrize("pair", [("self_mask", "self_unmasked"), ("shape_order", "position_missing")])
def test_faults_that_cannot_be_told_apart_are_refused(pair: tuple[str, str]) -> None:
    """A rubric with both is an error that names the two items."""
    assert exclusive(*pair)
    made = read(asked(pair), points=2)
    with pytest.raises(RubricError, match=f"items '{pair[0]}' and '{pair[1]}'"):
        RepairCheck(made.questions[0], made)
