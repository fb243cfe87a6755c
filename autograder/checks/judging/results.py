"""Construction of item results, and classification of observations: an answer, a student's fault, or ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from autograder.checks.values.literal import syntax_fault
from autograder.checks.values.quoting import quote
from autograder.records import Answer, Ending, ItemResult, Message, Observation, Status
from autograder.rubric import Item, Question
from autograder.wording import Phrase

NO_POINTS = Decimal(0)
_NAME_MISSING = "name.missing"


class Finding(Struct, frozen=True):
    """The judgement of one observation, or of one case, that is not right."""

    status: Status
    message: Message
    staff: str = ""
    points: Decimal = NO_POINTS
    is_unread: bool = False
    """The answer could not be read: it needs manual review, unless the rubric gives it no points."""

    @property
    def code(self) -> str:
        """The stable name for statistics."""
        return self.message.code


def result(question: Question, item: Item, finding: Finding | None) -> ItemResult:
    """Return the result of one item: full points if there is no finding.

    An item with negative points deducts them if there is a finding, and is worth nothing otherwise.
    """
    possible = max(item.points, NO_POINTS)
    if finding is None:
        return ItemResult(
            question.id, item.id, Status.PASSED, possible, possible, Message("passed"), "as expected"
        )
    wrong = item.points if item.points < 0 else finding.points
    is_open = finding.is_unread and question.unreadable == "review"
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


def failed(code: str, staff: str = "", /, **params: Phrase) -> Finding:
    """Return the finding that the student's answer is not right."""
    return Finding(Status.FAILED, Message(code, params), staff)


def unread(message: Message, staff: str) -> Finding:
    """Return the finding that the student's answer could not be read; the message gives the reason."""
    return Finding(Status.FAILED, message, staff, is_unread=True)


def no_answer(code: str = "no-answer", staff: str = "", /, **params: Phrase) -> Finding:
    """Return the finding that there is nothing to judge."""
    return Finding(Status.NO_ANSWER, Message(code, params), staff or "no answer")


def review(staff: str, code: str = "review.fault") -> Finding:
    """Return the finding that the answer could not be judged and needs manual review."""
    return Finding(Status.NEEDS_REVIEW, Message(code), staff)


AUTOMATIC = "; the automatic result would be: "
"""Separates, for staff, the reason for a manual review from the automatic result."""


def review_instead(result: ItemResult, message: Message, staff: str) -> ItemResult:
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


def observed_value(observed: Sequence[Observation], index: int, name: str) -> tuple[Any, Finding | None]:
    """Return the value of a variable of the student's, or the finding.

    Args:
        observed: one entry per variable, fewer if the run was cut off.
        index: of the variable.
        name: of the variable.
    """
    if index >= len(observed):
        return None, review(f"{name}: not asked")
    one = observed[index]
    if one.ok:
        return one.value, None
    if one.ending is not None:
        return None, _ended(one.ending, name, one.limit)
    return None, _raised(one, name) if one.error else review(f"{name}: not asked: {one.message}")


def reference_value(expected: Sequence[Observation]) -> tuple[Any, Finding | None]:
    """Return the expected value, or why there is none, which is never the student's fault."""
    if not expected:
        return None, review("the reference solution was not asked")
    one = expected[0]
    if one.ok:
        return one.value, None
    why = one.ending.value if one.ending else f"{one.error}: {quote(one.message)}"
    return None, review(f"the reference solution failed: {why}")


def _ended(ending: Ending, what: str, limit: str) -> Finding:
    staff = f"{what}: the box ended: {ending.value}" + (f", allowed: {limit}" if limit else "")
    return failed(f"ending.{ending.value}", staff, what=what, limit=limit or "–")


def _raised(observation: Observation, name: str) -> Finding:
    error, text = quote(str(observation.error), 60), quote(str(observation.message))
    staff = f"{name}: {error}: {text}"
    # A NameError about another variable comes from code of the answer that failed.
    if error == "NameError" and (not text or f"'{name}'" in text):
        return no_answer(_NAME_MISSING, staff, name=name)
    if error == "NotImplementedError":
        return no_answer("not-implemented", staff, name=name)
    met = next((one.met for one in observation.met if one.told), None)
    if met is not None:
        staff, limit = f"{staff}; met a limit: {met.value}", observation.limit or "–"
        return failed(f"limit.{met.value}", staff, what=name, error=error, limit=limit)
    return failed("raised", staff, what=name, error=error, text=text or "–")


def with_syntax_fault(
    results: tuple[ItemResult, ...], answer: Answer, question: Question
) -> tuple[ItemResult, ...]:
    """Return the results; if a name is missing because its cell is not valid Python, say so.

    A notebook runs nothing of such a cell, so that the sandbox only sees the missing name. There is an
    answer, so the result is a failed one; a value in a line, as in ``size = "4*d``, is an answer that could
    not be read.
    """
    if answer.cell_type != "code" or all(one.code != _NAME_MISSING for one in results):
        return results
    fault = syntax_fault(answer.source)
    if fault is None:
        return results

    def replaced(result: ItemResult) -> ItemResult:
        name = re.escape(str(result.student.params.get("name", "")))
        is_value = re.search(rf"^{name}\s*=\s*[^\s#]", answer.source, re.MULTILINE) is not None
        is_open = is_value and question.unreadable == "review"
        status = Status.NEEDS_REVIEW if is_open else Status.FAILED
        return msgspec.structs.replace(result, status=status, student=fault, code=fault.code)

    return tuple(replaced(one) if one.code == _NAME_MISSING else one for one in results)


def combine(findings: Sequence[Finding | None], points: Decimal, *, credit: str) -> Finding | None:
    """Combine the findings of several cases of one item.

    Args:
        findings: one per case; None is right.
        points: of the item.
        credit: ``"all"``: every case must be right; ``"each"``: every case earns an equal part.

    Returns:
        None if all are right. A case that could not be judged needs manual review, unless another one has
        already decided that the item is wrong.
    """
    found = [finding for finding in findings if finding is not None]
    if not found:
        return None
    ours = [finding for finding in found if finding.status is Status.NEEDS_REVIEW]
    wrong = [finding for finding in found if finding.status is Status.FAILED]
    if ours and (credit == "each" or not wrong):
        return ours[0]
    first = wrong[0] if wrong else found[0]
    if credit == "each" and len(found) < len(findings):
        part = points / len(findings)
        return msgspec.structs.replace(
            first, status=Status.FAILED, points=part * (len(findings) - len(found))
        )
    if credit == "each":
        return msgspec.structs.replace(first, points=NO_POINTS) if len(findings) > 1 else first
    return msgspec.structs.replace(first, points=min(finding.points for finding in found))
