"""Every misconception of a trainer is found and named; what is right in another way loses nothing."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from autograder.checks.base import Draw, Evidence
from autograder.kinds import make_check
from autograder.messages import sentences
from autograder.records import ItemResult, Status
from autograder.rubric import load
from reference import gpt2, training
from reference.faults.misconception import Misconception, planted
from reference.faults.training import MISCONCEPTIONS
from reference.training_questions import SOURCE
from tests.checks.asking import answer
from tests.support.local_box import LocalBox

RUBRIC = load(Path(__file__).parents[3] / "rubrics" / "gpt2.toml")
QUESTION = next(question for question in RUBRIC.questions if question.kind == "training")
CHECK = make_check(QUESTION, RUBRIC)
GIVEN = (
    inspect.getsource(gpt2) + "\nimport copy\n" + inspect.getsource(training.Batches).replace("State", "dict")
)
SECRETS = (b"first", b"second", b"third")
_EXPECTED: dict[bytes, list] = {}


def sit(source: str, secret: bytes = b"first", given: str = GIVEN) -> dict[str, ItemResult]:
    """The results of one answer by item."""
    draw = Draw.for_question(secret, RUBRIC, QUESTION)
    if secret not in _EXPECTED:
        reference = LocalBox("from reference.training_questions import trainer as Trainer")
        _EXPECTED[secret] = reference.ask(CHECK.reference_plan(draw))
    source = "from typing import Any\nState = dict\n" + source
    observed = LocalBox(given, source).ask(CHECK.plan(answer(source), draw))
    results = CHECK.judge(Evidence(answer(source), observed, _EXPECTED[secret], draw=draw))
    return {one.item: one for one in results}


def lost(results: dict[str, ItemResult]) -> set[str]:
    """Ids of the items that did not pass."""
    return {name for name, one in results.items() if one.status is not Status.PASSED}


@pytest.mark.parametrize("secret", SECRETS)
def test_the_right_trainer_earns_everything(secret: bytes) -> None:
    """The reference's own text passes every item."""
    assert set() == lost(sit(SOURCE, secret))


@pytest.mark.slow
@pytest.mark.parametrize("misconception", MISCONCEPTIONS, ids=lambda misconception: misconception.name)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_misconception_loses_exactly_its_items_and_is_named(
    misconception: Misconception, secret: bytes
) -> None:
    """A misconception loses the items it says and no other, and the first of them names it."""
    results = sit(planted(SOURCE, misconception), secret)
    assert set(misconception.loses) == lost(results), {name: one.staff for name, one in results.items()}
    if misconception.loses:
        assert f"training.{misconception.code}" == results[misconception.loses[0]].student.code


def test_every_misconception_has_a_sentence() -> None:
    """Each code of the catalogue is explained in every language."""
    for misconception in MISCONCEPTIONS:
        assert not misconception.code or f"training.{misconception.code}" in sentences()
