"""Combine the results of all questions to the marks of one submission. Pure; knows no notebook and no box."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import msgspec

from autograder.core.errors import NotebookError
from autograder.core.records import ItemResult, Message, Note, Score, Status
from autograder.rubric import Item, Question, Rubric

NO_POINTS = Decimal(0)
LATE = "late"
"""The code of a refusal because of lateness."""

OUR_FAULT = "our-fault"
"""The code of a note about an unexpected error of ours."""
SANDBOX_FAULT = "sandbox-fault"
"""The code of a note about a sandbox that failed."""
ENDED_ITSELF = "ended-itself"
"""The code of a note about a submission that needs manual review as a whole, because its boxes were lost
repeatedly."""
FAULTS = frozenset({OUR_FAULT, SANDBOX_FAULT, ENDED_ITSELF})
"""The cause of such a note may be gone at the next run, which therefore grades again."""

_DECIDED = frozenset({LATE, "missing"})
"""Refusals that are final. All others mean that a submitted file could not be read: it needs manual review
before the student loses a point."""


def compute_score(
    student: str,
    rubric: Rubric,
    results: Mapping[str, Sequence[ItemResult]],
    notes: Iterable[Note] = (),
    isolation: str = "namespaces",
) -> Score:
    """Return the marks of one submission: one result for every item of the rubric, in its order.

    A missing result becomes NEEDS_REVIEW. A result that breaks a rule (PASSED without full points, points
    above the possible ones, …) is our fault: it becomes NEEDS_REVIEW, and a note names the rule for staff. An
    item with negative points has nothing to win: PASSED and NO_ANSWER leave the question's points unchanged,
    FAILED takes points away, but never more than the other items have earned.

    Args:
        student: the student.
        rubric: of the assignment.
        results: the judged items by question id.
        notes: remarks for staff that are stored with the score.
        isolation: how the student's code was confined.
    """
    faults: list[Note] = []
    items: list[ItemResult] = []
    for question in rubric.questions:
        results_by_item = {
            result.item: result for result in results.get(question.id, ()) if result.question == question.id
        }
        judged = [
            _check_result(question, item, results_by_item.get(item.id), faults) for item in question.items
        ]
        items += _limit_deductions(_with_needs(question, judged))
    return Score(student, rubric.assignment.name, rubric.version, tuple(items), (*notes, *faults), isolation)


def leave_open(
    student: str, rubric: Rubric, staff: str, notes: Iterable[Note] = (), isolation: str = "namespaces"
) -> Score:
    """Return the marks of a submission that needs manual review from the first item to the last.

    Args:
        student: the student.
        rubric: of the assignment.
        staff: the reason, for staff.
        notes: remarks for staff that are stored with the score.
        isolation: how the student's code was confined.
    """
    items = tuple(
        _require_review(question, item, staff, "review.fault")
        for question in rubric.questions
        for item in question.items
    )
    return Score(student, rubric.assignment.name, rubric.version, items, tuple(notes), isolation)


def refuse_questions(
    rubric: Rubric, error: NotebookError, *, notebook: str = ""
) -> dict[str, tuple[ItemResult, ...]]:
    """Return results for the questions of a notebook that could not be read, by question id.

    Args:
        rubric: of the assignment.
        error: why it could not be read.
        notebook: its name; empty: all notebooks of the assignment.
    """
    # An unreadable notebook may contain a correct answer, so it is not a zero.
    status = Status.NO_ANSWER if error.code in _DECIDED else Status.NEEDS_REVIEW
    code = {LATE: f"refused.{LATE}", "missing": "refused"}.get(error.code, "refused.review")
    message = Message(code, {"reason": str(error)})
    return {
        question.id: tuple(
            ItemResult(
                question.id,
                item.id,
                status,
                NO_POINTS,
                item.points,
                message,
                f"not graded ({error.code}): {error}",
                error.code,
            )
            for item in question.items
        )
        for question in rubric.questions
        if notebook in ("", question.notebook)
    }


def _check_result(
    question: Question, item: Item, result: ItemResult | None, faults: list[Note]
) -> ItemResult:
    """Return the result unchanged, or NEEDS_REVIEW if there is none or it breaks a rule."""
    if result is None:
        staff = "no result: our fault"
    else:
        broken = _find_broken_rule(item, result)
        if not broken:
            # A negative item has nothing to win.
            return msgspec.structs.replace(result, possible=max(item.points, NO_POINTS))
        staff = f"{broken}: our fault; it said {result.status} with {result.points}: {result.staff}"
        faults.append(Note("broken-result", f"item {item.id}: {broken}", question.id))
    return _require_review(question, item, staff, "review.missing")


def _require_review(question: Question, item: Item, staff: str, code: str) -> ItemResult:
    """Return a result that needs manual review, because the item could not be graded automatically."""
    possible = max(item.points, NO_POINTS)
    return ItemResult(
        question.id, item.id, Status.NEEDS_REVIEW, NO_POINTS, possible, Message(code), staff, code
    )


def _find_broken_rule(item: Item, result: ItemResult) -> str:
    """Return the rule that a result breaks, in words; empty if it breaks none."""
    if result.possible not in (item.points, max(item.points, NO_POINTS)):
        return f"possible is {result.possible}, the rubric says {item.points}"
    if not result.points.is_finite():
        return "points are not a number"
    low, high = min(item.points, NO_POINTS), max(item.points, NO_POINTS)
    if not low <= result.points <= high:
        return f"points {result.points} are outside of {low} to {high}"
    # For a negative item, `high` is zero: passing it means losing nothing.
    if result.status is Status.PASSED and result.points != high:
        return f"passed with {result.points} of {item.points} points"
    if result.status in (Status.NO_ANSWER, Status.NEEDS_REVIEW) and result.points != 0:
        return f"{result.status} with {result.points} points"
    return ""


def _with_needs(question: Question, judged: Sequence[ItemResult]) -> list[ItemResult]:
    """Withhold points of items that need others which did not pass.

    While one of those is open, so is the item itself.
    """
    status = {result.item: result.status for result in judged}
    results = []
    for item, result in zip(question.items, judged, strict=True):
        lacking = [needed for needed in item.needs if status[needed] is not Status.PASSED]
        if lacking and result.points > 0:
            names = ", ".join(lacking)
            is_open = Status.NEEDS_REVIEW in {status[needed] for needed in lacking}
            result = msgspec.structs.replace(  # noqa: PLW2901
                result,
                status=Status.NEEDS_REVIEW if is_open else Status.FAILED,
                points=NO_POINTS,
                student=Message("review.fault" if is_open else "needs.lacking"),
                staff=f"{result.staff}; counts only with {names}",
                code="needs.lacking",
            )
        results.append(result)
    return results


def _limit_deductions(items: Sequence[ItemResult]) -> list[ItemResult]:
    """Limit negative items, in their order, to the points that the question has earned."""
    # The earned points of the question are all that negative items can take.
    remaining = sum((item.points for item in items if item.points > 0), NO_POINTS)
    results = []
    for item in items:
        if item.points < 0:
            deduction = max(item.points, -remaining)
            remaining += deduction
            results.append(msgspec.structs.replace(item, points=deduction))
        else:
            results.append(item)
    return results
