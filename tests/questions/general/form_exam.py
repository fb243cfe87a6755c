"""Helpers to judge one formula item of a form, written in TOML."""

from __future__ import annotations

from decimal import Decimal

from autograder.core.records import Answer, ItemResult, Observation
from autograder.messages import render_message
from autograder.questions.base.base import Evidence
from autograder.questions.formula import FormulaCheck
from autograder.rubric import Rubric, parse_rubric

HEAD = """
version = 1
[assignment]
name = "exam"
points = 6
[assignment.symbols]
n = { aliases = ["N"] }
d = { aliases = ["d_model", "D"] }
n_heads = { aliases = ["h"] }
d_head = { aliases = ["d_k"] }
[assignment.assume]
heads = "d = n_heads*d_head"
[[question]]
id = "q"
kind = "formula"
points = 6
answer = "answer"
[[question.item]]
id = "item"
points = 6
text = { en = "What is asked" }
"""


def rubric_of(item: str) -> Rubric:
    """Return a rubric whose only item has these options."""
    return parse_rubric((HEAD + item).encode())


def check_of(item: str) -> FormulaCheck:
    """Return the check of an item with these options."""
    rubric = rubric_of(item)
    return FormulaCheck(rubric.questions[0], rubric)


def result_of(check: FormulaCheck, value: object, *, cell_type: str = "code") -> ItemResult:
    """Return the result of an answer that is assigned as a literal, or written in a text cell."""
    source = f"answer = {value!r}" if cell_type == "code" else str(value)
    given_answer = Answer("q-answer", cell_type, source, changed=True)
    (result,) = check.judge(Evidence(given_answer, (Observation(ok=True, value=value),)))
    for language in ("en", "de"):
        assert render_message(result.student, language)
    return result


def outcome(check: FormulaCheck, value: object) -> tuple[str, Decimal]:
    """Return the code (empty for full points without a message) and the points."""
    result = result_of(check, value)
    return result.code, result.points
