"""New versions of an assignment are tried on the whole class before they count.

A trial is about a version that is not offered yet. Every attempt that counts is graded by it, in a queue of
its own, and no student's mark moves. Then it is applied, all of it at once, or dropped.
"""

from autograder.service.trials.applying import apply, drop
from autograder.service.trials.beginning import take_over
from autograder.service.trials.effect import TrialEffect, effect
from autograder.service.trials.trying import TrialProgress, again, catch_up, progress

__all__ = [
    "TrialEffect",
    "TrialProgress",
    "again",
    "apply",
    "catch_up",
    "drop",
    "effect",
    "progress",
    "take_over",
]
