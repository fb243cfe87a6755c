"""The public API for authors of checks; see docs/checks.md.

Imports no other part of the program, and torch only if it is loaded already.
"""

from __future__ import annotations

from autograder.checking.comparing import assert_close, assert_equal, call, raises, tiered
from autograder.checking.declarations import check, fault, forbid, mutant, planted, probe, solution
from autograder.checking.dependencies import holds
from autograder.checking.outcomes import Unclear, Wrong

__all__ = [
    "Unclear",
    "Wrong",
    "assert_close",
    "assert_equal",
    "call",
    "check",
    "fault",
    "forbid",
    "holds",
    "mutant",
    "planted",
    "probe",
    "raises",
    "solution",
    "tiered",
]
