"""Changes of an assignment that are tried on the whole class before they count.

A draft is a version that is not offered. Every attempt that counts is graded by it, in a queue of its own,
and nothing of a student's moves. Then it is applied, all of it at once, or dropped.
"""

from autograder.service.drafts.applying import apply, drop
from autograder.service.drafts.beginning import begin, keep_case
from autograder.service.drafts.effect import DraftEffect, effect
from autograder.service.drafts.trying import DraftProgress, again, catch_up, progress

__all__ = [
    "DraftEffect",
    "DraftProgress",
    "again",
    "apply",
    "begin",
    "catch_up",
    "drop",
    "effect",
    "keep_case",
    "progress",
]
