"""The example results of feedback, as stored results for the contract of stores."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.core.records import GradingResult, Status
from autograder.grading.store import GradedEntry, ResultKey, Store
from autograder.rubric import Rubric
from tests.pages.examples import RUBRIC, TOML, good, middling, release

__all__ = ["RUBRIC", "SHORT", "as_student", "better", "entry", "good", "keep", "middling", "release"]

SHORT = rubrics.parse_rubric(
    TOML.partition('\n[[question]]\nid = "mha"')[0].replace("points = 17", "points = 11").encode()
)
"""The rubric without its last question."""


def as_student(graded: GradingResult, student: str) -> GradingResult:
    """Return the same result for another student."""
    return replace(graded, score=replace(graded.score, student=student))


def better(graded: GradingResult) -> GradingResult:
    """Return the same result with full points for its first item."""
    first, *others = graded.score.items
    right = replace(first, points=first.possible, status=Status.PASSED)
    return replace(graded, score=replace(graded.score, items=(right, *others)))


def entry(
    graded: GradingResult,
    rubric: Rubric,
    submitted_at: datetime | None = None,
    *,
    environment: str = "e" * 64,
) -> GradedEntry:
    """Return a result with its key."""
    key = ResultKey.from_submission(graded.score.student, graded.digest, rubric, environment)
    return GradedEntry(key, graded, rubric, submitted_at)


def keep(
    store: Store,
    graded: GradingResult,
    rubric: Rubric,
    submitted_at: datetime | None = None,
    *,
    language: str = "",
    environment: str = "e" * 64,
) -> Mapping[str, str]:
    """Record a single result."""
    return store.record_results(
        [entry(graded, rubric, submitted_at, environment=environment)], language=language
    )
