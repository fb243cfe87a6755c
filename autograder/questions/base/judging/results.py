"""Construction of item results, and classification of observations: an answer, a student's fault, or ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from autograder.core.records import Answer, Ending, ItemResult, Message, Observation, Status
from autograder.core.wording import Phrase
from autograder.questions.base.values.literal import find_syntax_fault
from autograder.questions.base.values.quoting import quote_text
from autograder.rubric import Item, Question

NO_POINTS = Decimal(0)
_NAME_MISSING = "name.missing"


class Finding(Struct, frozen=True):
    """The judgement of one observation, or of one case, that is not right."""

    status: Status
    message: Message
    staff: str = ""
    points: Decimal = NO_POINTS
    is_unreadable: bool = False
    """The answer could not be read: it needs manual review, unless the rubric gives it no points."""

    @property
    def code(self) -> str:
        """The stable name for statistics."""
        return self.message.code


def make_result(question: Question, item: Item, finding: Finding | None) -> ItemResult:
    """Return the result of one item: full points if there is no finding.

    An item with negative points deducts them if there is a finding, and is worth nothing otherwise.
    """
    possible = max(item.points, NO_POINTS)
    if finding is None:
        return ItemResult(
            question.id, item.id, Status.PASSED, possible, possible, Message("passed"), "as expected"
        )
    wrong = item.points if item.points < 0 else finding.points
    is_open = finding.is_unreadable and question.unreadable == "review"
    status = Status.NEEDS_REVIEW if is_open else finding.status
    points = wrong if status is Status.FAILED else NO_POINTS
    return ItemResult(
        question.id,
        item.id,
        status,
        points,
        possible,
        finding.message,
        finding.staff or finding.message.code,
        finding.message.code,
    )


def make_failure(code: str, staff: str = "", /, **params: Phrase) -> Finding:
    """Return the finding that the student's answer is not right."""
    return Finding(Status.FAILED, Message(code, params), staff)


def make_unreadable(message: Message, staff: str) -> Finding:
    """Return the finding that the student's answer could not be read; the message gives the reason."""
    return Finding(Status.FAILED, message, staff, is_unreadable=True)


def make_no_answer(code: str = "no-answer", staff: str = "", /, **params: Phrase) -> Finding:
    """Return the finding that there is nothing to judge."""
    return Finding(Status.NO_ANSWER, Message(code, params), staff or "no answer")


def make_review(staff: str, code: str = "review.fault", /, **params: Phrase) -> Finding:
    """Return the finding that the answer could not be judged and needs manual review."""
    return Finding(Status.NEEDS_REVIEW, Message(code, params), staff)


AUTOMATIC = "; the automatic result would be: "
"""Separates, for staff, the reason for a manual review from the automatic result."""


def replace_by_review(result: ItemResult, message: Message, staff: str) -> ItemResult:
    """Return a result that needs manual review in place of another one.

    Args:
        result: the one to replace.
        message: for the student.
        staff: the reason, for staff.
    """
    earned = f"{result.points:f} of {result.possible:f} points, " if result.points else ""
    return msgspec.structs.replace(
        result,
        status=Status.NEEDS_REVIEW,
        points=NO_POINTS,
        student=message,
        staff=f"{staff}{AUTOMATIC}{earned}{result.staff or result.code}",
        code=message.code,
    )


def is_blank(answer: Answer) -> bool:
    """Return whether a cell is unchanged since its release, or empty."""
    return not answer.changed or not answer.source.strip()


def read_observed(observed: Sequence[Observation], index: int, name: str) -> tuple[Any, Finding | None]:
    """Return the value of a variable of the student's, or the finding.

    Args:
        observed: one entry per variable, fewer if the run was cut off.
        index: of the variable.
        name: of the variable.
    """
    if index >= len(observed):
        return None, make_review(f"{name}: not asked")
    observation = observed[index]
    if observation.ok:
        return observation.value, None
    if observation.ending is not None:
        return None, _judge_ending(observation.ending, name, observation.limit)
    return None, _judge_exception(observation, name) if observation.error else make_review(
        f"{name}: not asked: {observation.message}"
    )


def read_reference(expected: Sequence[Observation]) -> tuple[Any, Finding | None]:
    """Return the expected value, or why there is none, which is never the student's fault."""
    if not expected:
        return None, make_review("the reference solution was not asked")
    observation = expected[0]
    if observation.ok:
        return observation.value, None
    why = (
        observation.ending.value
        if observation.ending
        else f"{observation.error}: {quote_text(observation.message)}"
    )
    return None, make_review(f"the reference solution failed: {why}")


def _judge_ending(ending: Ending, name: str, limit: str) -> Finding:
    staff = f"{name}: the box ended: {ending.value}" + (f", allowed: {limit}" if limit else "")
    return make_failure(f"ending.{ending.value}", staff, what=name, limit=limit or "–")


def _judge_exception(observation: Observation, name: str) -> Finding:
    error, text = quote_text(str(observation.error), 60), quote_text(str(observation.message))
    staff = f"{name}: {error}: {text}"
    # A NameError about another variable comes from code of the answer that failed.
    if error == "NameError" and (not text or f"'{name}'" in text):
        return make_no_answer(_NAME_MISSING, staff, name=name)
    if error == "NotImplementedError":
        return make_no_answer("not-implemented", staff, name=name)
    met = next((limit_met.met for limit_met in observation.met if limit_met.claimed), None)
    if met is not None:
        staff, limit = f"{staff}; met a limit: {met.value}", observation.limit or "–"
        return make_failure(f"limit.{met.value}", staff, what=name, error=error, limit=limit)
    return make_failure("raised", staff, what=name, error=error, text=text or "–")


def with_syntax_fault(
    results: tuple[ItemResult, ...], answer: Answer, question: Question
) -> tuple[ItemResult, ...]:
    """Return the results; if a name is missing because its cell is not valid Python, say so.

    A notebook runs nothing of such a cell, so that the sandbox only sees the missing name. There is an
    answer, so the result is a failed one; a value in a line, as in ``size = "4*d``, is an answer that could
    not be read.
    """
    if answer.cell_type != "code" or all(judged.code != _NAME_MISSING for judged in results):
        return results
    fault = find_syntax_fault(answer.source)
    if fault is None:
        return results

    def replace_fault(result: ItemResult) -> ItemResult:
        name = re.escape(str(result.student.params.get("name", "")))
        is_value = re.search(rf"^{name}\s*=\s*[^\s#]", answer.source, re.MULTILINE) is not None
        is_open = is_value and question.unreadable == "review"
        status = Status.NEEDS_REVIEW if is_open else Status.FAILED
        return msgspec.structs.replace(result, status=status, student=fault, code=fault.code)

    return tuple(replace_fault(judged) if judged.code == _NAME_MISSING else judged for judged in results)
