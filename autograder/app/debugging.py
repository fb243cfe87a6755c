"""What tells the planted faults of a question of kind ``debugging``, for its author."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from autograder import assignment as assignments
from autograder.app import Isolation
from autograder.checks.base import Draw
from autograder.course import Course
from autograder.errors import CourseError
from autograder.grading.pipeline import Grader
from autograder.kinds.general.debugging import DebuggingCheck
from autograder.records import Call, Ref, Scenario, Tensor
from autograder.rubric import Question
from autograder.sandbox.pool import Pool

__all__ = ["ExplainedProbe", "ExplainedQuestion", "explain"]

MAX_CALL = 200


class ExplainedProbe(Struct, frozen=True):
    """One probe that is asked of every answer."""

    name: str
    calls: tuple[str, ...]
    """In words; they hold hidden inputs."""
    about: str
    """The fault that the author made it for; empty: it was found by the search."""
    kills: Mapping[str, int]
    """Fault → percent of the listings without it whose outcome changes when it is planted."""


class ExplainedQuestion(Struct, frozen=True):
    """How the faults of one question are told."""

    question: str
    faults: tuple[str, ...]
    listings: int
    """Sets of faults that were run."""
    probes: tuple[ExplainedProbe, ...]
    confusions: tuple[str, ...]
    """What cannot be told apart, and why."""
    faulty: str
    """The listing with all faults, as it is handed out."""


def explain(
    course: Course, name: str, isolation: Isolation = Isolation.NAMESPACES
) -> tuple[ExplainedQuestion, ...]:
    """Show the probes, what they tell, and what cannot be told.

    Raises:
        CourseError: no question of the assignment is of this kind, or a fault cannot be planted.
        RubricError: the rubric is not valid.
        SandboxUnavailable: code cannot be confined on this machine.
    """
    loaded = assignments.load(course, name)
    checks = [
        (question, check)
        for question in loaded.rubric.questions
        if isinstance(check := loaded.checks[question.id], DebuggingCheck)
    ]
    if not checks:
        raise CourseError(f"{name}: no question has kind = 'debugging'; there is nothing to explain")
    with Pool(isolation=isolation) as pool:
        common = Grader(loaded, pool).sittings.common
        return tuple(
            _explained(
                question,
                check,
                common.named[question.id],
                common.expected[question.id],
                Draw.for_question(course.secret(), loaded.rubric, question),
            )
            for question, check in checks
        )


def _explained(
    question: Question, check: DebuggingCheck, named: Any, expected: Any, draw: Draw
) -> ExplainedQuestion:
    found, scenarios = check.search(named), check.uses.scenarios(draw)
    probes = tuple(
        ExplainedProbe(
            probe,
            _in_words(scenarios[probe]),
            check.uses.about[probe],
            {fault: found.kills(fault, at) for fault in found.listings.faults},
        )
        for probe, at in zip(found.probes, found.chosen, strict=True)
    )
    listing = check.listing(expected)
    return ExplainedQuestion(
        question.id,
        found.listings.faults,
        len(named),
        probes,
        tuple(one.words for one in found.confusions),
        listing.text(listing.faults),
    )


def _in_words(scenario: Scenario) -> tuple[str, ...]:
    return tuple(_call(one)[:MAX_CALL] for one in scenario.calls)


def _call(call: Call) -> str:
    target = call.target.name if isinstance(call.target, Ref) else call.target
    said = f"{target}.{call.attribute}" if call.attribute else target
    if not call.read:
        named = (f"{name}={_value(value)}" for name, value in call.kwargs.items())
        said = f"{said}({', '.join([*map(_value, call.args), *named])})"
    return f"{call.keep} = {said}" if call.keep else said


def _value(value: Any) -> str:
    """An argument; arrays by type and shape."""
    if isinstance(value, Ref):
        return value.name
    if isinstance(value, Tensor):
        return f"tensor {list(value.array.shape)}"
    if isinstance(value, np.ndarray):
        return f"array {list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {_value(one)}' for name, one in value.items())}}}"
    return repr(value)
