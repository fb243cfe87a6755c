"""Test that verdicts on formulas and shapes depend on the course secret, and on nothing public."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from autograder.core.records import Answer, Status
from autograder.core.stream import derive_key
from autograder.formulas.values.points import Points
from autograder.questions.base.base import SAMPLE, Draw, Evidence
from autograder.questions.formula import FormulaCheck
from autograder.questions.shape import ShapeCheck
from autograder.rubric import parse_rubric

SYMBOLS = """
version = 1
[assignment]
name = "exam"
points = 1
[assignment.symbols]
n = {}
d = {}
p = { domain = "probability" }
[[question]]
id = "q"
points = 1
answer = "answer"
"""
FORMULA = """
kind = "formula"
[[question.item]]
id = "item"
points = 1
text = { en = "What is asked" }
accept = ["4*n*d"]
"""
ENTROPY = FORMULA.replace("4*n*d", "-(p*ln(p) + (1-p)*ln(1-p))")
SHAPE = """
kind = "shape"
[[question.item]]
id = "item"
points = 1
text = { en = "What is asked" }
value = ["4*n*d"]
"""
KINDS: Mapping[str, type[FormulaCheck | ShapeCheck]] = {"formula": FormulaCheck, "shape": ShapeCheck}


def check_of(question: str) -> FormulaCheck | ShapeCheck:
    """Return the check of a rubric with this question."""
    rubric = parse_rubric((SYMBOLS + question).encode())
    return KINDS[rubric.questions[0].kind](rubric.questions[0], rubric)


def status(check: FormulaCheck | ShapeCheck, text: object, draw: Draw | None) -> Status:
    """Return the status of an answer given as a literal."""
    answer = Answer("q-answer", "code", f"answer = {text!r}", changed=True)
    (result,) = check.judge(Evidence(answer, (), draw=draw))
    return result.status


@pytest.mark.parametrize("question", [FORMULA, SHAPE], ids=["formula", "shape"])
def test_points_that_can_be_looked_up_are_of_no_use(question: str) -> None:
    """A formula that agrees only at publicly known points fails with a secret."""
    check = check_of(question)
    points = Points({"n": "positive integer", "d": "positive integer", "p": "probability"},
                   derive_key(SAMPLE.seed, "points")).exact  # fmt: skip
    forged = f"4*n*d + (n - {points['n']})"
    text = forged if isinstance(check, FormulaCheck) else (forged,)
    assert Status.PASSED is status(check, text, None)
    assert Status.FAILED is status(check, text, Draw(b"a secret"))
    assert Status.FAILED is status(check, text, Draw(b"another secret"))


def test_a_verdict_does_not_follow_from_what_was_judged_before() -> None:
    """Verdicts do not depend on the order of judging, or on other secrets in between."""
    texts = ["-p*ln(p) - (1-p)*ln(1-p)", "-ln(p^p*(1-p)^(1-p))", "p*ln(p)", "max(p, 1-p)", "ln(p", "p^n"]
    draws = [Draw(bytes([number])) for number in range(6)]
    first, second = check_of(ENTROPY), check_of(ENTROPY)
    forward = {(text, draw): status(first, text, draw) for draw in draws for text in texts}
    backward = {(text, draw): status(second, text, draw) for text in reversed(texts) for draw in draws}
    assert forward == backward
    for text in texts:
        assert 1 == len({forward[text, draw] for draw in draws})
    assert Status.PASSED is forward[texts[0], draws[0]] is forward[texts[1], draws[0]]
