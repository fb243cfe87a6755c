"""Planted answers from the reference folder: the result of ``trials = "module:function"``, read strictly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np

from autograder.core.errors import CourseError
from autograder.core.records import Call
from autograder.grading.assignment import Assignment
from autograder.grading.expected_values import ReferenceObject, ask_reference
from autograder.questions.base.base import Trial
from autograder.rubric import Question
from autograder.sandbox.pool import Pool
from autograder.sandbox.retry import retry_infrastructure

MOST_TRIALS = 2000
"""Maximum number of planted answers to one question."""
_NAME = "planted_trials"
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def load_planted_trials(assignment: Assignment, pool: Pool) -> Mapping[str, tuple[Trial, ...]]:
    """Return the planted answers of every question that names a function for them, by question id.

    The function is called without arguments in the reference's sandbox.

    Args:
        assignment: loaded.
        pool: provides the reference's sandbox.

    Raises:
        CourseError: the function is missing, fails, or does not return trials; names the question.
    """
    rubric = assignment.rubric
    asking = [question for question in rubric.questions if question.trials]
    if not asking:
        return {}
    answers = retry_infrastructure(lambda: _call_functions(assignment, asking, pool))
    files_by_notebook = {question.name: question.own for question in rubric.assignment.notebooks}
    return {
        question.id: read_trials(answers[question.id], question, files_by_notebook[question.notebook])
        for question in asking
    }


def _call_functions(assignment: Assignment, asking: Iterable[Question], pool: Pool) -> dict[str, Any]:
    limits = assignment.rubric.assignment.limits
    box = pool.create_persistent(assignment.build_reference_environment()).open(limits)
    answers = {}
    try:
        for question in asking:
            named = ReferenceObject(f"question {question.id!r}: trials", question.trials, _NAME)
            answers[question.id] = ask_reference(box, named, [Call(_NAME)], limits)[0].value
    finally:
        box.close()
    return answers


def read_trials(value: Any, question: Question, submitted_files: Mapping[str, int] = {}) -> tuple[Trial, ...]:
    """Convert the result of a function of the reference folder to trials.

    Args:
        value: its result.
        question: the question that the trials belong to.
        submitted_files: the files that students submit in addition to the question's notebook, by path.

    Raises:
        CourseError: it is no list of trials, or they do not fit the question; names the trial.
    """
    subject = f"question {question.id!r}: trials: {question.trials!r}"
    if not isinstance(value, list | tuple) or not value:
        raise CourseError(
            f"{subject}: expected a list of {{'name', 'source', 'loses'}}, got {type(value).__name__}"
            + (", an empty one" if isinstance(value, list | tuple) else "")
        )
    if len(value) > MOST_TRIALS:
        raise CourseError(f"{subject}: expected at most {MOST_TRIALS} trials, got {len(value)}")
    trials = []
    for number, entry in enumerate(value, start=1):
        try:
            trials.append(msgspec.convert(_normalise_entry(entry), Trial, strict=True))
        except (msgspec.ValidationError, ValueError) as error:
            raise CourseError(f"{subject}: entry {number}: {error}") from error
        if not {"source", "files"} & entry.keys():
            raise CourseError(
                f"{subject}: entry {number}: source: expected what stands in the answer's place, or files"
            )
        if "loses" not in entry:
            raise CourseError(
                f"{subject}: entry {number}: loses: expected a list of item ids; [] is an accepted answer"
            )
    check_trials(trials, question, subject)
    for trial in trials:
        if unknown := sorted(trial.files.keys() - submitted_files.keys()):
            raise CourseError(
                f"{subject}: trial {trial.name!r}: files: expected paths that students hand in; known: "
                f"{', '.join(submitted_files) or 'none'}; got {unknown}"
            )
    return tuple(trials)


def check_trials(trials: Iterable[Trial], question: Question, subject: str) -> None:
    """Refuse trials without a unique name, or with items that the question does not have.

    Raises:
        CourseError: names the trial.
    """
    possible = {item.id: item.points for item in question.items}
    seen: set[str] = set()
    for trial in trials:
        position = f"{subject}: trial {trial.name!r}"
        if not trial.name.strip() or trial.name in seen:
            raise CourseError(f"{position}: name: each trial needs a name of its own")
        seen.add(trial.name)
        item_lists = {
            "loses": trial.loses,
            "review": trial.review,
            "unstated": trial.unstated,
            "codes": (*trial.codes,),
        }
        for name, items in item_lists.items():
            # Detects unknown ids and duplicates at once.
            if len(set(items) & possible.keys()) < len(items):
                item_names = ", ".join(possible)
                raise CourseError(
                    f"{position}: {name}: expected items, each once; known: {item_names}; got {list(items)}"
                )
        for item, points in trial.points.items():
            if item not in trial.loses or not (points.is_finite() and 0 <= points < possible[item]):
                raise CourseError(
                    f"{position}: points: expected items that are lost and less than they are worth, "
                    f"got {item!r}: {points}"
                )


def _normalise_entry(entry: Any) -> Any:
    """Normalise an entry: points may be integers, floats or texts; a file is a text or an array of bytes."""
    if isinstance(entry, dict) and isinstance(entry.get("files"), dict):
        entry = {**entry, "files": {path: _to_bytes(content) for path, content in entry["files"].items()}}
    if isinstance(entry, dict) and isinstance(entry.get("points"), dict):
        points = {
            # As text, so that 0.1 becomes the exact decimal and not the binary fraction.
            item: str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
            for item, value in entry["points"].items()
        }
        return {**entry, "points": points}
    return entry


def _to_bytes(value: Any) -> Any:
    """Return the content of a file; bytes leave a box as an array."""
    if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 1:
        return value.tobytes()
    return value.encode() if isinstance(value, str) else value
