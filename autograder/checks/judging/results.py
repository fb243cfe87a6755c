"""Makes item results, and sorts observations into an answer, a student's fault, or ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from autograder.checks.base import Observations
from autograder.checks.values.literal import syntax_fault
from autograder.checks.values.quoting import quote
from autograder.records import Answer, Ending, ItemResult, Message, Observation, Status
from autograder.rubric import Item, Question
from autograder.wording import Phrase

NO_POINTS = Decimal(0)
_NAME_MISSING = "name.missing"


class Finding(Struct, frozen=True):
    """What one observation, or one case, came to when it is not right."""

    status: Status
    message: Message
    staff: str = ""
    points: Decimal = NO_POINTS
    is_unread: bool = False
    """The answer could not be read: manual review, unless the rubric says that it earns nothing."""

    @property
    def code(self) -> str:
        """The stable name for statistics."""
        return self.message.code


def result(question: Question, item: Item, finding: Finding | None) -> ItemResult:
    """The result of one item: full points when nothing was found.

    An item with negative points takes them away when something was found, and is worth nothing otherwise.
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
    """The student's answer is not right."""
    return Finding(Status.FAILED, Message(code, params), staff)


def unread(message: Message, staff: str) -> Finding:
    """The student's answer could not be read; the message says why."""
    return Finding(Status.FAILED, message, staff, is_unread=True)


def no_answer(code: str = "no-answer", staff: str = "", /, **params: Phrase) -> Finding:
    """There is nothing to judge."""
    return Finding(Status.NO_ANSWER, Message(code, params), staff or "no answer")


def review(staff: str, code: str = "review.fault") -> Finding:
    """We could not judge; a person decides."""
    return Finding(Status.NEEDS_REVIEW, Message(code), staff)


AUTOMATIC = "; the automatic result would be: "
"""Stands between why a result needs manual review and what it would be otherwise, for staff."""


def review_instead(result: ItemResult, message: Message, staff: str) -> ItemResult:
    """Return a result that needs manual review in the place of another one.

    Args:
        result: that would count otherwise.
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
    """Whether a cell was left as it was handed out, or emptied."""
    return not answer.changed or not answer.source.strip()


def observations_at(all_observations: Sequence[Observations], index: int) -> Observations:
    """The observations of one scenario; empty when the run did not come so far."""
    return all_observations[index] if 0 <= index < len(all_observations) else ()


def first_failure(observations: Observations, calls: int, name: str, what: Phrase) -> Finding | None:
    """The first thing that went wrong in a scenario.

    Args:
        observations: of the scenario.
        calls: how many calls it has.
        name: the name the student assigns or defines.
        what: the call in words, for the student.

    Returns:
        None when every call gave a value.
    """
    for observation in observations:
        if observation.ok:
            continue
        if observation.ending is not None:
            return _ended(observation.ending, what, observation.limit)
        if observation.error and observation.error != "Skipped":
            return _raised(observation, name, what)
        return review(f"{what}: not asked: {observation.error} {observation.message}".rstrip())
    if len(observations) < calls:
        return review(f"{what}: {len(observations)} of {calls} observations")
    return None


def reference_value(observations: Observations, index: int) -> tuple[Any, Finding | None]:
    """The expected value, or why there is none; that is never the student's fault."""
    bad = next((one for one in observations[: index + 1] if not one.ok), None)
    if bad is not None:
        why = bad.ending.value if bad.ending else f"{bad.error}: {quote(bad.message)}"
        return None, review(f"the reference solution failed: {why}")
    if len(observations) <= index:
        return None, review("the reference solution was not asked")
    return observations[index].value, None


def _ended(ending: Ending, what: Phrase, limit: str) -> Finding:
    staff = f"{what}: the box ended: {ending.value}" + (f", allowed: {limit}" if limit else "")
    return failed(f"ending.{ending.value}", staff, what=what, limit=limit or "–")


def _raised(observation: Observation, name: str, what: Phrase) -> Finding:
    error, text = quote(str(observation.error), 60), quote(str(observation.message))
    staff = f"{what}: {error}: {text}"
    if error == "NameError" and (not text or f"'{name}'" in text):
        return no_answer(_NAME_MISSING, staff, name=name)
    if error == "NotImplementedError":
        return no_answer("not-implemented", staff, name=name)
    met = next((one.met for one in observation.met if one.told), None)
    if met is not None:
        staff, limit = f"{staff}; met a limit: {met.value}", observation.limit or "–"
        return failed(f"limit.{met.value}", staff, what=what, error=error, limit=limit)
    return failed("raised", staff, what=what, error=error, text=text or "–")


def with_syntax_fault(
    results: tuple[ItemResult, ...], answer: Answer, question: Question
) -> tuple[ItemResult, ...]:
    """The results, where a name is missing because its cell is not valid Python, saying so.

    A notebook runs nothing of such a cell, so that all the sandbox can tell is the missing name. Something
    was answered, so the result is a failed one; a value that stands in a line, as in ``size = "4*d``, is an
    answer that could not be read.
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
    """What several cases of one item come to together.

    Args:
        findings: one per case; None is right.
        points: of the item.
        credit: ``"all"``: every case must be right; ``"each"``: every case earns an equal part.

    Returns:
        None when all are right. A case we could not judge goes to a person, unless another one has
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
