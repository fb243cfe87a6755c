"""Audits as a course states them, asked in this very process: our own listings and answers only."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from autograder.checks.base import Check, Draw, Evidence, HasSecondRound
from autograder.kinds import make_check
from autograder.records import Answer, ItemResult, Observation
from autograder.rubric import load
from tests.support.local_box import LocalBox

_RUBRICS = Path(__file__).parents[3] / "rubrics"
RUBRICS = {name: load(_RUBRICS / f"{name}.toml") for name in ("gpt2", "audit")}
ASKED = {
    question.id: (question, rubric)
    for rubric in RUBRICS.values()
    for question in rubric.questions
    if question.kind == "audit"
}
DRAW = Draw(b"a draw of the tests")


def check_of(question: str) -> Check:
    """The check of a question of the shipped assignments."""
    return make_check(*ASKED[question])


def reference_of(question: str) -> Any:
    """What the rubric names as its reference."""
    module, _, name = ASKED[question][0].reference.partition(":")
    return getattr(importlib.import_module(f"reference.{module}"), name)


def asked(question: str, source: str) -> Evidence:
    """Everything that is known of an answer once both rounds were asked."""
    check = check_of(question)
    assert isinstance(check, HasSecondRound)
    answer = Answer(f"{question}-answer", "code", source, changed=True)
    box, reference = LocalBox("import torch", source), LocalBox()
    reference.namespace[ASKED[question][0].answer] = reference_of(question)
    evidence = Evidence(
        answer,
        box.ask(check.plan(answer, DRAW)),
        reference.ask(check.reference_plan(DRAW)),
        draw=DRAW,
    )
    second = check.second_round(evidence)
    return replace(evidence, again=box.ask(second.student), tried=reference.ask(second.reference))


def sit(question: str, source: str) -> dict[str, ItemResult]:
    """The results of an answer by item."""
    return {result.item: result for result in check_of(question).judge(asked(question, source))}


def observed(value: Any) -> tuple[Observation, ...]:
    """A scenario of one call that gave a value."""
    return (Observation(ok=True, value=value),)
