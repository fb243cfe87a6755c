"""Statistics of a grading run: figures by name, for a table or for programs."""

from __future__ import annotations

import os
import statistics
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any

from autograder.core.records import Status
from autograder.core.stopwatch import StepTime, Stopwatch
from autograder.grading.batch import Outcome

REMARKED = {
    "handed in late": ("late", "late-refused", "late-accepted"),
    "time of handing in not known": ("time-not-known", "time-accepted"),
    "graded by an earlier attempt": ("earlier-attempt",),
}
"""Remarks that the figures list by name, with their codes."""


def compute_run_statistics(outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any]:
    """Return the figures of one run.

    Args:
        outcomes: of the run.
        seconds: its duration.
    """
    scores = [outcome.graded.score for outcome in outcomes]
    fresh = [outcome.graded for outcome in outcomes if outcome.fresh]
    faults = sum(item.student.code == "review.fault" for score in scores for item in score.items)
    return {
        "submissions": len(outcomes),
        "graded now": len(fresh),
        "known before": len(outcomes) - len(fresh),
        "not readable": sum(not outcome.graded.notebooks for outcome in outcomes if not _is_refused(outcome)),
        "mean points": round(statistics.mean(score.points for score in scores), 2) if scores else Decimal(0),
        "points waiting for a person": sum((score.pending for score in scores), Decimal(0)),
        "items waiting because of our own errors": faults,
        "no answer": sum(item.status is Status.NO_ANSWER for score in scores for item in score.items),
        "seconds": round(seconds, 2),
        "median milliseconds per submission": _compute_median([graded.seconds for graded in fresh]),
        "of it in the sandbox": _compute_median([graded.sandbox_seconds for graded in fresh]),
        "isolation": sorted({score.isolation for score in scores}),
        **{title: lines for title, codes in REMARKED.items() if (lines := list_remarks(outcomes, codes))},
        **({"faults of ours": lines} if (lines := list_faults(outcomes)) else {}),
    }


def compute_profile(stopwatch: Stopwatch, submissions: int) -> dict[str, dict[str, float]]:
    """Return where the time of a run went: milliseconds for each graded submission, by step.

    The last two rows are about the whole process and its children: time outside of any step is spent on
    start-up, imports of sandboxes, and work for the class as a whole.

    Args:
        stopwatch: of the run.
        submissions: number of submissions graded in this run.
    """
    steps = dict(stopwatch.get_steps())
    used = os.times()
    whole = StepTime(0.0, used.user + used.children_user, used.system + used.children_system)
    step_totals = [
        sum(getattr(step_time, name) for step_time in steps.values())
        for name in ("user_seconds", "system_seconds")
    ]
    # Clock resolutions differ, so that the difference may come out slightly negative.
    unaccounted = StepTime(
        0.0, max(0.0, whole.user_seconds - step_totals[0]), max(0.0, whole.system_seconds - step_totals[1])
    )
    # All results may have been known before: then no submission was graded.
    per = 1000 / max(1, submissions)
    return {
        name: {
            "milliseconds": round(step.seconds * per, 2),
            "user": round(step.user_seconds * per, 2),
            "system": round(step.system_seconds * per, 2),
        }
        for name, step in {**steps, "not in a step": unaccounted, "all of it": whole}.items()
    }


def list_faults(outcomes: Iterable[Outcome]) -> list[str]:
    """Return our own errors as lines of student and error."""
    return sorted(f"{outcome.student}: {text}" for outcome in outcomes for text in outcome.faults)


def list_remarks(outcomes: Sequence[Outcome], codes: Collection[str]) -> list[str]:
    """Return the remarks with one of these codes as lines: student, question if about one, and text."""
    return [
        f"{outcome.student}, {note.place}: {note.text}" if note.place else f"{outcome.student}: {note.text}"
        for outcome in sorted(outcomes, key=lambda outcome_of_student: outcome_of_student.student)
        for note in outcome.graded.score.notes
        if note.code in codes
    ]


def _is_refused(outcome: Outcome) -> bool:
    """Decide whether a submission was refused as too late; it was not read then."""
    return outcome.timing is not None and outcome.timing.refused


def _compute_median(seconds: list[float]) -> float:
    return round(1000 * statistics.median(seconds), 1) if seconds else 0.0
