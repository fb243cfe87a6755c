"""Trials: a new version of an assignment is tried on the whole class before it counts.

A trial concerns a version that is not offered yet. It grades every counting attempt, in a separate queue,
without changing any student's mark. Then it is applied as a whole, or dropped.
"""

from autograder.service.trials.effect import TrialEffect, compute_effect
from autograder.service.trials.grading import TrialProgress, catch_up, measure_progress, retry_failed
from autograder.service.trials.rollout import apply_trial, drop_trial, import_assignment

__all__ = [
    "TrialEffect",
    "TrialProgress",
    "apply_trial",
    "catch_up",
    "compute_effect",
    "drop_trial",
    "import_assignment",
    "measure_progress",
    "retry_failed",
]
