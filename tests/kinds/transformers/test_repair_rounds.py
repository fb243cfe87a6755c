"""What the repair kind asks, when it asks again, and what a box that ends costs."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pytest

from autograder.checks.base import Evidence, HasStudentSecondRound, Observations
from autograder.kinds.transformers.repair.plan import SERVES
from autograder.kinds.transformers.repair.verdicts import PROBES, probes
from autograder.messages import render
from autograder.records import Ending, ItemResult, Observation, Status
from reference.faults.decoder import EXAM
from reference.listings import GIVEN, RIGHT
from tests.support.local_box import LocalBox
from tests.support.repair_question import DRAW, answer, check, evidence, listing, sit

HEAD = "return self.output_head(x)"
OBJECT = "Decoder = Decoder(100, 16, 2, 4, 32, 0.1, 64)"


@functools.cache
def _first(source: str) -> tuple[Observations, ...]:
    """What the first round gives."""
    return tuple(LocalBox(GIVEN, source).ask(check().plan(answer(source), DRAW)))


def _names(source: str) -> list[str]:
    """The scenarios of the second round."""
    second = check().second_round(evidence(source, _first(source)))
    assert second.reference == ()
    return [scenario.name for scenario in second.student]


def _judged(source: str, observed: Sequence[Observations]) -> dict[str, ItemResult]:
    results = check().judge(Evidence(answer(source), observed, draw=DRAW))
    return {result.item: result for result in results}


def test_a_right_repair_is_asked_once() -> None:
    """Nothing is left open by the first round, and the reference never has to stay for a second."""
    assert _names(RIGHT) == []
    assert isinstance(check(), HasStudentSecondRound)


def test_what_is_asked_again_follows_from_what_is_left() -> None:
    """A cross-attention that reads the state calls for silent attentions; a fixed table for long targets."""
    assert _names(listing(set(EXAM) - {"cross_value"})) == [
        "Decoder: self alone",
        "Decoder: cross alone",
        "Decoder: masks",
        "Decoder: attention, no layers",
        "Decoder: unequal, no layers",
    ]
    assert _names(RIGHT.replace("nn.Embedding(max_len", "nn.Embedding(512")) == [
        "Decoder: very long",
        "Decoder: long",
        "Decoder: attention, no layers",
    ]


def test_a_wrong_return_is_asked_again_and_the_rest_waits_if_it_cannot_be() -> None:
    """Its own item fails in any case; without a second round a person has to see the others."""
    source = RIGHT.replace(HEAD, f"{HEAD}.argmax(-1)")
    assert len(_names(source)) > len(_first(source))
    statuses = {item: result.status for item, result in _judged(source, _first(source)).items()}
    assert statuses.pop("output_head") is Status.FAILED
    assert set(statuses.values()) == {Status.NEEDS_REVIEW}


def test_what_serves_no_planted_fault_is_asked_last() -> None:
    """So a box that ends there has cost nothing; every probe's experiments are known."""
    plan = check().plan(answer(RIGHT), DRAW)
    needed = probes(EXAM)
    unneeded = [name for name, serves in SERVES.items() if serves.isdisjoint(needed)]
    assert unneeded == ["dropped", "wide"]
    assert [scenario.name for scenario in plan[-2:]] == [f"Decoder: {name}" for name in unneeded]
    ended = Observation(ok=False, ending=Ending.CALL_TIME)
    observed = [*_first(RIGHT)[:-2], *((ended,) * len(scenario.calls) for scenario in plan[-2:])]
    assert {result.status for result in _judged(RIGHT, observed).values()} == {Status.PASSED}
    known = {probe for serves in SERVES.values() for probe in serves}
    only_attention = {"self_mask", "cross_mask", "cross_key", "cross_value"}
    assert known | only_attention == {probe.__name__ for probe in PROBES.values()}


@pytest.mark.parametrize("language", ["en", "de"])
def test_an_object_in_the_place_of_the_class_is_told(language: str) -> None:
    """Its class is judged, students read why it could be, and staff do too."""
    results = sit(RIGHT, OBJECT)
    assert {result.status for result in results.values()} == {Status.PASSED}
    for result in results.values():
        assert "Decoder" in render(result.student, language)
        assert result.code == "repair.repaired.object"
    assert "its class was judged" in results["output_head"].staff


def test_an_object_of_something_else_says_what_was_raised() -> None:
    """Where the object's class makes no decoder either, the first call's own error is told."""
    results = sit(RIGHT, "Decoder = [1, 2, 3]")
    assert {result.code for result in results.values()} == {"raised"}
    assert all("TypeError" in result.staff for result in results.values())


def test_a_decoder_without_working_layers_keeps_what_stands_around_them() -> None:
    """Tables, sizes, dropout and head are judged without layers; what the crash hides is for a person."""
    source = RIGHT.replace("attended = self.self_attention(x, x, x, target_mask)", "attended = self.gone(x)")
    results = sit(source)
    around = {"position_table", "shape_order", "embedding_dropout", "output_head"}
    assert {item for item, result in results.items() if result.status is Status.PASSED} == around
    hidden = [results[item] for item in set(EXAM) - around]
    assert {result.status for result in hidden} == {Status.NEEDS_REVIEW}
    assert all("has no attribute 'gone'" in result.staff for result in hidden)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return self.output_head(x)", "return self.head(x)"),
        ("positions = torch.arange(length", "positions = torch.arange(lenght"),
        ("return self.output_head(x)", "return self.output_head(x)[:, :, :, 0]"),
    ],
)
def test_one_line_that_raises_hides_the_rest_from_the_grader_and_not_from_a_person(
    before: str, after: str
) -> None:
    """Nothing is nought for it, and nothing is full marks; staff read what was raised."""
    assert before in RIGHT
    results = sit(RIGHT.replace(before, after))
    assert {result.status for result in results.values()} == {Status.NEEDS_REVIEW}
    assert all("every call raises" in result.staff for result in results.values())


def test_what_raises_because_it_is_not_written_earns_nothing() -> None:
    """A forward pass without a body is no answer to look at, and neither is a class that is gone."""
    begins = "batch, length = tokens.shape"
    assert begins in RIGHT
    for source in (RIGHT.replace(begins, "raise NotImplementedError"), f"{RIGHT}\ndel Decoder"):
        results = sit(source)
        assert Status.NEEDS_REVIEW not in {result.status for result in results.values()}
        assert not any(result.points for result in results.values())
