"""The nine formulas of the shipped exam: right arrangements, mistakes, and their judge."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from autograder import rubric as rubrics
from autograder.core.records import Answer, ItemResult, Observation, OpaqueValue
from autograder.formulas.notation.vocabulary import Vocabulary
from autograder.questions.base.base import Draw, Evidence
from autograder.questions.formula import FormulaCheck
from reference import parameters

RUBRIC = rubrics.load_rubric(Path(__file__).parents[2] / "rubrics" / "dl4nlp-exam.toml")
VOCABULARY = Vocabulary(RUBRIC.assignment.symbols)


class Formula(Struct, frozen=True):
    """One formula that the exam asks for.

    Attributes: question: id. item: id. variable: the name that the student assigns. right: arrangements of
    the right answer. wrong: misconceptions, each wrong under every relation that the item grants.
    """

    question: str
    item: str
    variable: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]


FORMULAS = msgspec.convert(
    tomllib.loads(Path(__file__).with_name("exam_formulas.toml").read_text("utf-8")), dict[str, Formula]
)


@cache
def check(question: str) -> FormulaCheck:
    """Return the check of a question, prepared once."""
    return FormulaCheck(RUBRIC.get_question(question), RUBRIC)


def evidence(formula: Formula, text: str, draw: Draw | None = None) -> Evidence:
    """Return the evidence about a text that a student assigns."""
    question = RUBRIC.get_question(formula.question)
    reference = str(getattr(parameters, question.reference.partition(":")[2])())
    answer = Answer(question.answer_cell, "code", f"{formula.variable} = {text!r}", changed=True)
    plan = check(formula.question).plan_calls(answer)
    observed = tuple(Observation(ok=False, error="NameError") for _ in plan)
    expected = (Observation(ok=True, value=OpaqueValue("Expr", reference)),)
    return Evidence(answer, observed, expected, draw=draw)


def judged(formula: Formula, text: str) -> ItemResult:
    """Return the result of a text that a student assigns."""
    results = check(formula.question).judge(evidence(formula, text))
    return next(result for result in results if result.item == formula.item)
