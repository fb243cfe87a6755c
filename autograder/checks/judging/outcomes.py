"""Judges the outcomes of tests that ran in the judge's box, for the kinds ``tests`` and ``code``."""

from __future__ import annotations

from autograder.checks.judging.results import Finding, failed, review
from autograder.checks.values.quoting import quote
from autograder.limits import amount
from autograder.records import CellOutcome, Ending, Limits
from autograder.rubric import Item
from autograder.wording import LocalisedText

_LONGEST_REASON = 600
"""Characters: it says what to do at its end."""
_INSIDE = "it ran in the student's own box, which could have changed it"


def judge_run(
    outcome: CellOutcome, item: Item, *, limits: Limits, seconds: float, review_code: str
) -> Finding | None:
    """Return what is wrong with the run of a test, if it does not count as passed or failed by itself.

    Args:
        outcome: of the test.
        item: that it decides.
        limits: of the assignment.
        seconds: of processor time, that this test had.
        review_code: of the sentence for students if the item needs manual review.
    """
    staff = describe_outcome(outcome)
    if outcome.refused or (outcome.passed and outcome.doubt):
        return review(staff, review_code)
    if outcome.ending is None:
        return None
    limit = f"{seconds:g} s" if outcome.ending is Ending.CALL_TIME else amount(outcome.ending, limits)
    return failed(
        f"ending.{outcome.ending.value}", staff, what=LocalisedText(item.title(final=False)), limit=limit
    )


def describe_outcome(outcome: CellOutcome) -> str:
    """Return what staff read of an outcome."""
    raised = ": ".join(filter(None, (outcome.error, outcome.message)))
    if outcome.error == "MissingName":
        line = outcome.message.partition(":")[0] or "a line"
        raised = f"{outcome.missing!r} is not defined after the notebook ran; {line} of the check needs it"
    refused = f"not judged: {outcome.refused}" if outcome.refused else ""
    ending = f"the student's box ended: {outcome.ending.value}" if outcome.ending else ""
    words = f"the student's own word was taken: {', '.join(outcome.own_words)}" if outcome.own_words else ""
    inside = _INSIDE if outcome.inside else ""
    mistakes = f"mutants with the same values: {', '.join(outcome.mistakes)}" if outcome.mistakes else ""
    printed = f"it printed: {outcome.printed}" if outcome.printed else ""
    long = (quote(raised, _LONGEST_REASON), quote(refused, _LONGEST_REASON))
    return "; ".join(
        filter(None, (*long, *map(quote, (outcome.doubt, ending, words, inside, mistakes, printed))))
    )
