"""Records one result in a store, as a test says it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from autograder.records import Graded
from autograder.rubric import Rubric
from autograder.store import GradedEntry, Key, Store


def entry(
    graded: Graded,
    rubric: Rubric,
    submitted_at: datetime.datetime | None = None,
    *,
    environment: str = "e" * 64,
) -> GradedEntry:
    """One result under its key."""
    key = Key.of(graded.score.student, graded.digest, rubric, environment)
    return GradedEntry(key, graded, rubric, submitted_at)


def keep(
    store: Store,
    graded: Graded,
    rubric: Rubric,
    submitted_at: datetime.datetime | None = None,
    *,
    language: str = "",
    environment: str = "e" * 64,
) -> Mapping[str, str]:
    """Record it, by itself."""
    return store.record([entry(graded, rubric, submitted_at, environment=environment)], language=language)
