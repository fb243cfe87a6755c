"""Test two hundred pairs of formulas with proven verdicts, written independently of the program."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from autograder.core.records import Answer, Status
from autograder.questions.base.base import Evidence
from autograder.questions.formula import FormulaCheck
from autograder.rubric import parse_rubric

PAIRS = json.loads(Path(__file__).with_name("independent.json").read_text("utf-8"))
VERDICTS = {Status.PASSED: "equal", Status.FAILED: "unequal", Status.NEEDS_REVIEW: "a person"}
RUBRIC = """
version = 1
[assignment]
name = "pair"
points = 1
[assignment.symbols]
{symbols}
[[question]]
id = "question"
kind = "formula"
points = 1
answer = "answer"
[[question.item]]
id = "formula"
points = 1
text = {{ en = "Formula" }}
accept = [{key}]
"""


def verdict(symbols: dict[str, str], key: str, answer: str) -> str:
    """Return the program's verdict on an answer."""
    declared = "\n".join(f"{name} = {{ domain = {json.dumps(domain)} }}" for name, domain in symbols.items())
    rubric = parse_rubric(RUBRIC.format(symbols=declared, key=json.dumps(key)).encode())
    given_answer = Answer("answer", "code", f"answer = {answer!r}", changed=True)
    (result,) = FormulaCheck(rubric.get_question("question"), rubric).judge(Evidence(given_answer, (), ()))
    return VERDICTS[result.status]


@pytest.mark.slow
def test_no_verdict_is_another_and_few_are_open() -> None:
    """No verdict is wrong, and at most one in fifty needs manual review."""
    verdicts = {
        number: verdict(pair["symbols"], pair["key"], pair["answer"]) for number, pair in enumerate(PAIRS)
    }
    differing = {number: said for number, said in verdicts.items() if said != PAIRS[number]["verdict"]}
    assert {"a person"} >= set(differing.values()), differing
    assert Counter(verdicts.values())["a person"] <= len(PAIRS) // 50
