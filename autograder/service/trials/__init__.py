"""Trials: a new version of an assignment is tried on the whole class before it counts.

A trial concerns a version that is not offered yet. It grades every counting attempt, in a separate queue,
without changing any student's mark. Then it is applied as a whole, or dropped.
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
