"""Grade single answer cells outside the sandbox, to compare our sample answers with the rubric."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from autograder import rubric as rubrics
from autograder.checking.runner import CheckProgram
from autograder.core.records import Answer, ItemResult, Message, Observation, Status
from autograder.notebook.release_builder import build_release
from autograder.questions import get_check_type
from autograder.questions.base.base import Draw, Evidence
from autograder.rubric import Question, Rubric
from tests.support.checked import run_checks
from tests.support.local_box import LocalBox

ROOT = Path(__file__).parents[3]
EXAM = "dl4nlp-exam"
SOURCE = ROOT / "assignments" / EXAM / f"{EXAM}.ipynb"
RUBRIC = ROOT / "rubrics" / f"{EXAM}.toml"
SECRET = b"not a secret"


@functools.cache
def shipped(name: str) -> Rubric:
    """Return the rubric of a shipped assignment."""
    return rubrics.load_rubric(ROOT / "rubrics" / f"{name}.toml")


def exam() -> Rubric:
    """Return the exam's rubric."""
    return shipped(EXAM)


@functools.cache
def released(name: str = EXAM) -> bytes:
    """Return the released notebook of a shipped assignment."""
    source = ROOT / "assignments" / name / f"{name}.ipynb"
    return build_release(source.read_bytes(), shipped(name), name)


def marks(
    question_id: str,
    source: str,
    *,
    given: str = "",
    earlier: Mapping[str, ItemResult] | None = None,
    assignment: str = EXAM,
) -> dict[str, ItemResult]:
    """Return the result of every item of a question, by item id.

    Args:
        question_id: the question.
        source: the answer cell.
        given: code that runs before it.
        earlier: results of earlier questions by ``question.item``.
        assignment: of the question.
    """
    rubric = shipped(assignment)
    question = rubric.get_question(question_id)
    if question_id in rubric.checks:
        return _checked(rubric, question, source)
    check = get_check_type(question.kind)(question, rubric)
    draw = Draw.from_secret(SECRET, rubric, question)
    answer = Answer(question.answer_cell, "code", source, changed=True)
    asked = check.plan_calls(answer)
    evidence = Evidence(
        answer,
        LocalBox(given, source).ask(asked) if asked else (),
        _expected(assignment, question_id),
        earlier or {},
        draw=draw,
    )
    return {result.item: result for result in check.judge(evidence)}


def _checked(rubric: Rubric, question: Question, source: str) -> dict[str, ItemResult]:
    """Return the points of checks that are run in this process, without messages."""
    program = CheckProgram(rubric.checks[question.id], str(ROOT))
    try:
        earned = run_checks(program, source)
    finally:
        program.close()
    results = {}
    for item in question.items:
        points = earned.points[item.id].quantize(Decimal("0.01"))
        status = Status.NEEDS_REVIEW if item.id in earned.unclear else Status.FAILED
        status = Status.PASSED if points == item.points else status
        results[item.id] = ItemResult(
            question.id,
            item.id,
            status,
            points,
            item.points,
            Message("x"),
            "",
            "" if points else "code.failed",
        )
    return results


def automatic(results: Mapping[str, ItemResult]) -> dict[str, Decimal]:
    """Return the points of the automatic items."""
    manual = {
        item.id for item in exam().get_question(next(iter(results.values())).question).items if item.manual
    }
    return {item: result.points for item, result in results.items() if item not in manual}


@functools.cache
def _expected(assignment: str, question_id: str) -> tuple[Observation, ...]:
    rubric = shipped(assignment)
    question = rubric.get_question(question_id)
    check = get_check_type(question.kind)(question, rubric)
    asked = check.plan_reference_calls()
    if not asked:
        return ()
    module, name = question.reference.split(":")
    return tuple(
        LocalBox("import torch", f"from reference.{module} import {name} as {question.answer}").ask(asked)
    )
