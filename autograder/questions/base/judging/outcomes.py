"""Judgements of tests that ran in the judge's sandbox, for the kinds ``tests`` and ``code``."""

from __future__ import annotations

from autograder.core.limits import format_limit
from autograder.core.records import CellOutcome, Ending, LimitKind, Limits
from autograder.messages import build_localised_text
from autograder.questions.base.judging.results import Finding, make_failure, make_review
from autograder.questions.base.values.quoting import quote_text

_LONGEST_REASON = 600
"""Characters: long, because the reason ends with the action to take."""
_INSIDE = "it ran in the student's own box, which could have changed it"


def judge_run(outcome: CellOutcome, *, limits: Limits, seconds: float, review_code: str) -> Finding | None:
    """Return the finding about the run of a test, if the run itself neither passed nor failed.

    Args:
        outcome: of the test.
        limits: of the assignment.
        seconds: of processor time that this test had.
        review_code: of the sentence for students if the item needs manual review.
    """
    staff = describe_outcome(outcome)
    if outcome.refused or (outcome.passed and outcome.doubt):
        return make_review(staff, review_code)
    if outcome.ending is None:
        return None
    limit = f"{seconds:g} s" if outcome.ending is Ending.CALL_TIME else format_limit(outcome.ending, limits)
    return make_failure(
        f"ending.{outcome.ending.value}", staff, what=build_localised_text("phrase.your-code"), limit=limit
    )


def judge_exception(outcome: CellOutcome, limits: Limits) -> Finding:
    """Return the finding that the student's code raised an exception, met a limit or ended a fresh sandbox.

    Args:
        outcome: of a check.
        limits: of the assignment.
    """
    staff, code_name = describe_outcome(outcome), build_localised_text("phrase.your-code")
    endings = {ending.value: ending for ending in Ending}
    # A check in a fresh sandbox reports its ending as the name of an exception.
    if outcome.error in endings:
        limit = format_limit(endings[outcome.error], limits)
        return make_failure(f"ending.{outcome.error}", staff, what=code_name, limit=limit)
    error = quote_text(outcome.error, 60)
    if outcome.error == "MemoryError":
        return make_failure(
            "limit.memory", staff, what=code_name, error=error, limit=format_limit(LimitKind.MEMORY, limits)
        )
    return make_failure("raised", staff, what=code_name, error=error, text=quote_text(outcome.message) or "–")


def describe_outcome(outcome: CellOutcome) -> str:
    """Return the description of an outcome for staff."""
    raised = ": ".join(filter(None, (outcome.error, outcome.message)))
    if outcome.error == "MissingName":
        line = outcome.message.partition(":")[0] or "a line"
        raised = f"{outcome.missing!r} is not defined after the notebook ran; {line} of the check needs it"
    refused = f"not judged: {outcome.refused}" if outcome.refused else ""
    ending = f"the student's box ended: {outcome.ending.value}" if outcome.ending else ""
    if outcome.ending is Ending.NOT_ASKED:
        ending = "not run: others of this question had ended the student's box before"
    words = f"the student's own word was taken: {', '.join(outcome.own_words)}" if outcome.own_words else ""
    inside = _INSIDE if outcome.inside else ""
    mistakes = f"mutants with the same values: {', '.join(outcome.mistakes)}" if outcome.mistakes else ""
    printed = f"it printed: {outcome.printed}" if outcome.printed else ""
    long = (quote_text(raised, _LONGEST_REASON), quote_text(refused, _LONGEST_REASON))
    return "; ".join(
        filter(None, (*long, *map(quote_text, (outcome.doubt, ending, words, inside, mistakes, printed))))
    )
