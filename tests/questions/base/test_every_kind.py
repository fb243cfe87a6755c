"""Test rules for every kind: `judge` is total, its results are consistent, and messages exist."""

from __future__ import annotations

import ast
import functools
import random
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograder
from autograder.core.records import Answer, Call, Ending, ItemResult, Observation, Status
from autograder.messages import answers, list_languages, load_sentences, render_message
from autograder.questions import make_check
from autograder.questions.base.base import Check, Draw, Evidence
from autograder.rubric import Rubric, load_rubric
from tests.questions.base import anything
from tests.test_docs_rubric import EXAMPLES, rubric_of

DRAW = Draw(b"any")
RUBRICS = Path(__file__).parents[3] / "rubrics"

GENERAL = {code for code in answers.SENTENCES if not code.startswith("counting.")}
"""Codes of all kinds except formulas, without codes of mistakes that a reference reports."""


@functools.cache
def every_check() -> list[Any]:
    """Return checks of all questions in the documentation and in the rubrics of the course."""
    rubrics = [
        *((f"example {number}", rubric_of(example)) for number, example in enumerate(EXAMPLES)),
        *((path.stem, load_rubric(path)) for path in sorted(RUBRICS.glob("*.toml"))),
    ]
    return [
        pytest.param(rubric, make_check(question, rubric), id=f"{name} {question.id}")
        for name, rubric in rubrics
        for question in rubric.questions
    ]


SEEDS = st.integers(0, 2**64 - 1)


def list_broken_rules(rubric: Rubric, results: tuple[ItemResult, ...]) -> list[str]:
    """Return the broken rules: one result per item, points that fit the status, and a message."""
    question = rubric.get_question(results[0].question)
    items, judged = [item.id for item in question.items], [result.item for result in results]
    if items != judged:
        return [f"results for {judged}, items {items}"]
    rules = {
        "possible points are the item's": lambda item, result: item.points == result.possible,
        "points are between none and all": lambda item, result: 0 <= result.points <= item.points,
        "a passed item has all points": lambda item, result: (
            result.status is not Status.PASSED or item.points == result.points
        ),
        "an open item has no points": lambda item, result: (
            result.status not in (Status.NO_ANSWER, Status.NEEDS_REVIEW) or result.points == 0
        ),
        "there is a sentence in every language": lambda item, result: all(
            render_message(result.student, language) for language in list_languages()
        ),
    }
    return [
        f"{item.id}: {rule}"
        for item, result in zip(question.items, results, strict=True)
        for rule, is_kept in rules.items()
        if not is_kept(item, result)
    ]


@pytest.mark.parametrize(("rubric", "check"), every_check())
@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_judging_is_total(rubric: Rubric, check: Check, seed: int) -> None:
    """Any observations give one consistent result per item, without an exception."""
    numbers = random.Random(seed)
    evidence = Evidence(
        Answer("q-answer", numbers.choice(["code", "markdown"]), anything.source(numbers), changed=True),
        anything.observations(numbers, 6),
        anything.observations(numbers, 4),
        draw=numbers.choice([None, DRAW]),
    )
    check.plan_calls(evidence.answer)
    assert [] == list_broken_rules(rubric, check.judge(evidence))


@pytest.mark.parametrize(("rubric", "check"), every_check())
@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_any_values_from_a_whole_plan(rubric: Rubric, check: Check, seed: int) -> None:
    """A run that answers every planned call with any values gives consistent results."""
    given_answer = Answer("q-answer", "code", "x = f()", changed=True)
    numbers = random.Random(seed)
    # a plan may have a hundred calls
    some = [anything.value(numbers) for _ in range(numbers.randint(1, 6))]

    def answer_calls(plan: Sequence[Call]) -> list[Observation]:
        return [Observation(ok=True, value=numbers.choice(some)) for _ in plan]

    observed, expected = (
        answer_calls(check.plan_calls(given_answer)),
        answer_calls(check.plan_reference_calls()),
    )
    results = check.judge(Evidence(given_answer, observed, expected, draw=DRAW))
    assert [] == list_broken_rules(rubric, results)


@pytest.mark.parametrize(
    "huge", [10**5000, [10**5000, 1], {"wpe": -(10**5000)}, ("fp16", 10**5000)], ids=type
)
@pytest.mark.parametrize(("rubric", "check"), every_check())
def test_integers_that_python_does_not_print(rubric: Rubric, check: Check, huge: object) -> None:
    """An integer above Python's limit for printing is judged like any wrong answer."""
    given_answer = Answer("q-answer", "code", "x = f()", changed=True)
    observation = Observation(ok=True, value=huge)
    observed = [observation for _ in check.plan_calls(given_answer)]
    results = check.judge(Evidence(given_answer, observed, observed, draw=DRAW))
    assert [] == list_broken_rules(rubric, results)


@pytest.mark.parametrize(("rubric", "check"), every_check())
def test_an_untouched_cell_earns_nothing(rubric: Rubric, check: Check) -> None:
    """The released stub has no plan and no points, and its automatic items are NO_ANSWER."""
    stub = Answer("q-answer", "code", "# YOUR CODE HERE\nraise NotImplementedError()", changed=False)
    results = check.judge(Evidence(stub, ()))
    question = rubric.get_question(results[0].question)
    assert Decimal(0) == sum(result.points for result in results)
    if question.options.get("asks") == "file":
        return  # a file counts by its presence, whatever the cell contains
    assert () == check.plan_calls(stub)
    automatic = [
        result.status for result, item in zip(results, question.items, strict=True) if not item.manual
    ]
    assert [Status.NO_ANSWER] * len(automatic) == automatic


def test_every_ending_has_a_sentence() -> None:
    """A message exists for each reason why a box may end."""
    assert [] == [ending for ending in Ending if f"ending.{ending.value}" not in load_sentences()]


def _codes_in_source() -> set[str]:
    """Return every text that looks like a code in the source of the checks and the scoring."""
    folder = Path(autograder.__file__).parent
    elsewhere = {"repair", "formula"}  # they have separate vocabularies
    files = [*(folder / "questions").rglob("*.py")]
    own_files = {path for path in files if path.parent.name not in elsewhere}
    areas = "|".join(sorted({re.escape(code.partition(".")[0]) for code in GENERAL if "." in code}))
    codes: set[str] = set()
    for path in (*own_files, *(folder / "grading").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                codes |= set(re.findall(rf"^(?:{areas})\.[a-z-]+$", node.value))
    return codes


def test_code_and_vocabulary_agree() -> None:
    """Every code in the source has a message, and every message with a dot is used."""
    dotted = {code for code in GENERAL if "." in code and not code.startswith("ending.")}
    used = _codes_in_source()
    assert set() == used - GENERAL
    assert set() == dotted - used
