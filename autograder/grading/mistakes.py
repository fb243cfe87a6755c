"""What named mistakes give for the hidden inputs: trials of the reference, called as students' answers are.

A trial stands in the place of the answer, as in a student's notebook: after the cells that were given before
it, after the reference's functions in the place of earlier answers, and beside the key's files. Its results
are kept beside the expected values, in a file of their own with the same care.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec
from msgspec import Struct

from autograder import atomic
from autograder.assignment import Assignment
from autograder.checks.base import Draw, HasNamedTrials, Observations, Trial, TrialResults
from autograder.checks.judging.carried import is_code
from autograder.errors import BoxEnded
from autograder.grading.expected import (
    REFERENCE_TIME_FACTOR,
    asked_digest,
    box_seed,
    cache_key,
    for_many,
    keep,
    kept,
    reference_of,
)
from autograder.grading.planted import planted_trials
from autograder.records import Observation, Scenario
from autograder.rubric import Question
from autograder.sandbox.base import Box, Environment
from autograder.sandbox.pool import Pool
from autograder.sandbox.retry import retry_infrastructure

Named = Mapping[str, tuple[TrialResults, ...]]
"""Question id → its named mistakes."""

_ENDED = Observation(ok=False, error="Ended")
"""In the place of an ending, of which nothing is kept."""


class _MistakePlan(Struct, frozen=True, eq=False):
    """What the trials of one question are asked, of one draw."""

    question: Question
    scenarios: tuple[Scenario, ...]
    name: str
    """Made of all that is asked."""


def named_mistakes(
    assignment: Assignment,
    secret: bytes,
    pool: Pool,
    asked: Sequence[tuple[Assignment, str]],
    *,
    kept_on_disk: bool = True,
) -> tuple[Named, ...]:
    """What the named mistakes give, for each of several that ask.

    Args:
        assignment: the common one.
        secret: the course's.
        pool: gives the sandboxes.
        asked: what each was asked, and whose draw it meets (`autograder.checks.base.draw_scope`).
        kept_on_disk: whether they are computed once for all runs.

    Raises:
        CourseError: a function of trials is missing, fails, or returns something else than trials.
    """
    plans = [tuple(_plans(one, secret, own)) for one, own in asked]
    every = {plan.name: plan for some in plans for plan in some}
    if not every:
        return tuple({} for _ in asked)
    path = assignment.course.private / "expected" / f"{_key(assignment, secret, every)}.mistakes"
    found = read(kept(path), every) if kept_on_disk else None
    if found is None:
        seed = box_seed(secret, assignment.name)
        found = retry_infrastructure(lambda: _compute(assignment, every, pool, seed))
        if kept_on_disk:
            keep(path, {name: written(results) for name, results in found.items()})
    return tuple({plan.question.id: found[plan.name] for plan in some} for some in plans)


def _plans(assignment: Assignment, secret: bytes, own: str) -> Iterator[_MistakePlan]:
    for question in assignment.rubric.questions:
        check = assignment.checks[question.id]
        if question.trials and isinstance(check, HasNamedTrials):
            scenarios = check.trial_plan(Draw.for_question(secret, assignment.rubric, question, own))
            asked = asked_digest(question, scenarios)
            yield _MistakePlan(question, scenarios, f"{question.id} {question.trials} {asked}")


def _key(assignment: Assignment, secret: bytes, plans: Mapping[str, _MistakePlan]) -> str:
    """The given cells count as well: trials run after them."""
    given = sorted(hashlib.sha256(data).hexdigest() for data in assignment.release_bytes.values())
    return cache_key(assignment, secret, [*sorted(plans), *given])


def _compute(
    assignment: Assignment, plans: Mapping[str, _MistakePlan], pool: Pool, seed: int
) -> dict[str, tuple[TrialResults, ...]]:
    limits = assignment.rubric.assignment.limits
    questions = {plan.question.id: plan.question for plan in plans.values()}
    try:
        trials = planted_trials(assignment, pool, questions.values())
    finally:
        if not assignment.reference_stays:
            pool.end(assignment.reference_environment())
    found: dict[str, tuple[TrialResults, ...]] = dict.fromkeys(plans, ())
    environments: dict[str, Environment] = {}
    try:
        for question in questions.values():
            own = {name: plan for name, plan in plans.items() if plan.question.id == question.id}
            for trial in (one for one in trials[question.id] if one.code):
                environment = environments.setdefault(question.id, assignment.trial_environment(question))
                files = _files(assignment, question, trial)
                box = pool.persistent(environment).open(for_many(limits, len(own)), seed=seed, files=files)
                for name, some in _of_trial(assignment, question, trial, own, box).items():
                    found[name] += (TrialResults(trial.code, trial.text, trial.points, some),)
    finally:
        for environment in environments.values():
            pool.end(environment)
    return found


def _files(assignment: Assignment, question: Question, trial: Trial) -> dict[str, bytes]:
    """What lies beside the notebook: the answer key's files, and the trial in the place of the one it is."""
    notebook = next(one for one in assignment.rubric.assignment.notebooks if one.name == question.notebook)
    key = {
        path: atomic.read(place, most=notebook.own[path])
        for path, place in assignment.key_files.items()
        if path in notebook.own
    }
    return {**key, question.file: trial.source.encode()} if question.file else key


def _of_trial(
    assignment: Assignment, question: Question, trial: Trial, plans: Mapping[str, _MistakePlan], box: Box
) -> dict[str, Sequence[Observations]]:
    """What one trial gives for each plan. One that ends its box gives nothing after that."""
    limits = assignment.rubric.assignment.limits
    found: dict[str, Sequence[Observations]] = dict.fromkeys(plans, ())
    try:
        own_cell = () if question.file else (trial.source,)
        for source in (*cells_before(assignment, question), *own_cell):
            box.run_cell(source, seconds=REFERENCE_TIME_FACTOR * limits.cell_seconds)
        for name, plan in plans.items():
            found[name] = box.ask(plan.scenarios, seconds=REFERENCE_TIME_FACTOR * limits.call_seconds)
    except BoxEnded:
        pass
    finally:
        box.close()
    return found


def cells_before(assignment: Assignment, question: Question) -> Iterator[str]:
    """What runs before an answer: given cells, and the reference in the place of earlier answers.

    An answer that is a file is imported by a given cell, at the latest by the one with its points.
    """
    release = assignment.releases[question.notebook]
    answers = {
        release.answer_cell(one): one
        for one in assignment.questions(question.notebook)
        if is_code(one) and not one.file
    }
    own = "" if question.file else release.answer_cell(question)
    for cell in release.cells:
        if cell.grade_id and cell.grade_id == own:
            return
        if cell.grade_id in answers:
            yield reference_of(answers[cell.grade_id]).import_line
        elif cell.cell_type == "code" and cell.source.strip() and not cell.is_answer:
            yield cell.source
        if question.file and cell.grade_id == question.id:
            return


# ---------------------------------------------------------------- on disk


class _Stated(Struct, frozen=True):
    """What is kept of a mistake beside its results."""

    code: str
    text: dict[str, str]
    points: dict[str, Decimal]
    scenarios: int


def written(results: Sequence[TrialResults]) -> list[Observations]:
    """For each mistake what is stated of it, then what its scenarios gave."""
    found: list[Observations] = []
    for one in results:
        stated = _Stated(one.code, one.text, dict(one.points), len(one.observed))
        found.append((Observation(ok=True, value=msgspec.to_builtins(stated)),))
        found += [tuple(_ENDED if came.ending else came for came in some) for some in one.observed]
    return found


def read(
    stored: Mapping[str, Sequence[Observations]] | None, names: Collection[str]
) -> dict[str, tuple[TrialResults, ...]] | None:
    """What was written; None where that is not there, or something else."""
    if stored is None or stored.keys() != set(names):
        return None
    found: dict[str, tuple[TrialResults, ...]] = {}
    try:
        for name, kept_of in stored.items():
            left, results = list(kept_of), []
            while left:
                stated = msgspec.convert(left.pop(0)[0].value, _Stated)
                observed, left = left[: stated.scenarios], left[stated.scenarios :]
                results.append(TrialResults(stated.code, stated.text, stated.points, observed))
            found[name] = tuple(results)
    except (msgspec.ValidationError, IndexError):
        return None
    return found
