"""Planted answers from the reference folder: what ``trials = "module:function"`` returns, read strictly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from autograder.assignment import Assignment
from autograder.checks.base import Trial
from autograder.errors import CourseError
from autograder.grading.expected import ReferenceObject, ask_reference
from autograder.records import Call, Scenario
from autograder.rubric import Question
from autograder.sandbox.pool import Pool
from autograder.sandbox.retry import retry_infrastructure

MOST_TRIALS = 2000
"""Planted answers to one question."""
_NAME = "planted_trials"


def planted_trials(assignment: Assignment, pool: Pool) -> Mapping[str, tuple[Trial, ...]]:
    """The planted answers of every question that names a function for them, by question id.

    The function is called without arguments in the reference's sandbox.

    Raises:
        CourseError: it is missing, fails, or returns something else than trials; names the question.
    """
    asking = [question for question in assignment.rubric.questions if question.trials]
    if not asking:
        return {}
    answers = retry_infrastructure(lambda: _asked(assignment, asking, pool))
    return {question.id: read_trials(answers[question.id], question) for question in asking}


def _asked(assignment: Assignment, asking: Iterable[Question], pool: Pool) -> dict[str, Any]:
    limits = assignment.rubric.assignment.limits
    box = pool.persistent(assignment.reference_environment()).open(limits)
    answers = {}
    try:
        for question in asking:
            plan = (Scenario("trials", (Call(_NAME),)),)
            named = ReferenceObject(f"question {question.id!r}: trials", question.trials, _NAME)
            answers[question.id] = ask_reference(box, named, plan, limits)[0][0].value
    finally:
        box.close()
    return answers


def read_trials(value: Any, question: Question) -> tuple[Trial, ...]:
    """What a function of the reference folder returned, as trials.

    Raises:
        CourseError: it is no list of trials, or they do not fit the question; names the trial.
    """
    where = f"question {question.id!r}: trials: {question.trials!r}"
    if not isinstance(value, list | tuple) or not value:
        raise CourseError(
            f"{where}: expected a list of {{'name', 'source', 'loses'}}, got {type(value).__name__}"
            + (", an empty one" if isinstance(value, list | tuple) else "")
        )
    if len(value) > MOST_TRIALS:
        raise CourseError(f"{where}: expected at most {MOST_TRIALS} trials, got {len(value)}")
    trials = []
    for number, entry in enumerate(value, start=1):
        try:
            trials.append(msgspec.convert(_plain(entry), Trial, strict=True))
        except (msgspec.ValidationError, ValueError) as error:
            raise CourseError(f"{where}: entry {number}: {error}") from error
        if "loses" not in entry:
            raise CourseError(
                f"{where}: entry {number}: loses: expected a list of item ids; [] is an accepted answer"
            )
    check_trials(trials, question, where)
    return tuple(trials)


def check_trials(trials: Iterable[Trial], question: Question, where: str) -> None:
    """Refuse trials that have no name of their own, or speak of items that are not there.

    Raises:
        CourseError: names the trial.
    """
    possible = {item.id: item.points for item in question.items}
    seen: set[str] = set()
    for trial in trials:
        at = f"{where}: trial {trial.name!r}"
        if not trial.name.strip() or trial.name in seen:
            raise CourseError(f"{at}: name: each trial needs a name of its own")
        seen.add(trial.name)
        for name, items in (("loses", trial.loses), ("unstated", trial.unstated), ("codes", (*trial.codes,))):
            if len(set(items) & possible.keys()) < len(items):
                known = ", ".join(possible)
                raise CourseError(
                    f"{at}: {name}: expected items, each once; known: {known}; got {list(items)}"
                )
        for item, points in trial.points.items():
            if item not in trial.loses or not (points.is_finite() and 0 <= points < possible[item]):
                raise CourseError(
                    f"{at}: points: expected items that are lost and less than they are worth, "
                    f"got {item!r}: {points}"
                )


def _plain(entry: Any) -> Any:
    """Points may be whole numbers, floating ones or texts."""
    if isinstance(entry, dict) and isinstance(entry.get("points"), dict):
        points = {
            item: str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
            for item, value in entry["points"].items()
        }
        return {**entry, "points": points}
    return entry
