"""Every misconception of the catalogue is found and named; what is right in another way loses nothing."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import Any

import pytest

from autograder.checks.base import Draw, Evidence
from autograder.kinds import make_check
from autograder.messages import languages, render, sentences
from autograder.records import ItemResult, Observation, Status
from autograder.rubric import Question, load
from reference import decoding_questions, gpt2
from reference.faults.decoding import MISCONCEPTIONS
from reference.faults.misconception import Misconception, planted
from tests.checks.asking import answer
from tests.support.local_box import LocalBox
from tests.support.thorough import sample

RUBRIC = load(Path(__file__).parents[3] / "rubrics" / "gpt2.toml")
QUESTIONS = [question for question in RUBRIC.questions if question.kind == "decoding"]
GIVEN = inspect.getsource(gpt2)
SECRETS = (b"first", b"second", b"third")


def oracle(question: Question) -> Any:
    """The oracle that the question names."""
    return getattr(decoding_questions, question.reference.partition(":")[2])


@functools.cache
def _told(name: str, secret: bytes) -> list[tuple[Observation, ...]]:
    question = next(one for one in QUESTIONS if one.id == name)
    plan = make_check(question, RUBRIC).reference_plan(Draw.for_question(secret, RUBRIC, question))
    return LocalBox(f"from reference.decoding_questions import {question.answer}").ask(plan)


def told(question: Question, secret: bytes) -> list[tuple[Observation, ...]]:
    """What the oracle says, asked once for all misconceptions."""
    return _told(question.id, secret)


def sit(question: Question, source: str, secret: bytes) -> dict[str, ItemResult]:
    """The results of one answer by item."""
    check = make_check(question, RUBRIC)
    draw = Draw.for_question(secret, RUBRIC, question)
    given = answer(source)
    observed = LocalBox(GIVEN, source).ask(check.plan(given, draw))
    expected = told(question, secret)
    return {one.item: one for one in check.judge(Evidence(given, observed, expected, draw=draw))}


CASES = [
    pytest.param(question, misconception, secret, id=f"{question.id}-{misconception.name}-{secret.decode()}")
    for question in QUESTIONS
    for misconception in MISCONCEPTIONS[question.answer]
    for secret in SECRETS
]


@pytest.mark.slow
@pytest.mark.parametrize(("question", "misconception", "secret"), sample(CASES, 46))
def test_a_misconception_loses_exactly_its_items_and_is_named(
    question: Question, misconception: Misconception, secret: bytes
) -> None:
    """Whatever the secret draws, a misconception loses the items it says, by name, and no other."""
    results = sit(question, planted(oracle(question).source, misconception), secret)
    lost = {name for name, one in results.items() if one.status is not Status.PASSED}
    assert set(misconception.loses) == lost, {name: one.staff for name, one in results.items()}
    for name in misconception.loses:
        seen = results[name].student.code in {
            "decoding.impossible",
            "decoding.not-random",
            "decoding.one-draw",
        }
        assert seen or misconception.code in results[name].staff.partition("the same as ")[2], results[
            name
        ].staff


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
@pytest.mark.parametrize("secret", SECRETS)
def test_the_right_answer_earns_everything(question: Question, secret: bytes) -> None:
    """The reference's own text passes every item."""
    results = sit(question, oracle(question).source, secret)
    assert {Status.PASSED} == {one.status for one in results.values()}


def test_every_misconception_has_a_sentence() -> None:
    """Each code of the catalogue is explained in every language."""
    for code in {
        misconception.code
        for misconceptions in MISCONCEPTIONS.values()
        for misconception in misconceptions
        if misconception.code
    }:
        assert f"decoding.{code}" in sentences()


def test_every_item_is_lost_by_a_misconception() -> None:
    """No item of the practice assignment is one that cannot be lost."""
    for question in QUESTIONS:
        lost = {item for misconception in MISCONCEPTIONS[question.answer] for item in misconception.loses}
        assert {item.id for item in question.items} == lost


def test_sentences_fill_in() -> None:
    """What a student reads has no gap left in it."""
    question = next(one for one in QUESTIONS if one.id == "top-p")
    misconception = next(one for one in MISCONCEPTIONS["top_p"] if one.code == "crossing-excluded")
    result = sit(question, planted(oracle(question).source, misconception), b"first")["exact"]
    for language in languages():
        assert "top_p [" in render(result.student, language)
    assert result.points == 2
