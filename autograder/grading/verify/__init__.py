"""Grade the answer key, the release and deliberately wrong answers to verify an assignment.

The key must earn full marks, and the untouched release none. Every trial must lose exactly the points that it
states, every automatic item must be lost by a trial, and all must stay well within the limits. Errors in a
rubric, a reference or a notebook are found here, before a student meets them.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal

from autograder.grading.assignment import Assignment
from autograder.grading.pipeline import Grader
from autograder.grading.planted_answers import load_planted_trials
from autograder.grading.verify.matrix import (
    Mark,
    Matrix,
    MutatedCell,
    Row,
    Verification,
    VerifyFinding,
    check_coverage,
    find_exceeded,
    list_warnings,
    localise_paper,
    report_exceeded,
    report_stopped,
    take_largest,
    take_smaller,
)
from autograder.grading.verify.mutants import run_mutants
from autograder.grading.verify.papers import (
    KEY,
    AnswerKey,
    check_key,
    check_release,
    check_visible,
    grade_answer_key,
)
from autograder.grading.verify.trials import Run, ShowProgress
from autograder.questions.base.base import Trial
from autograder.sandbox.outside import cgroups
from autograder.sandbox.pool import Pool

__all__ = [
    "Mark",
    "Matrix",
    "MutatedCell",
    "Row",
    "Verification",
    "VerifyFinding",
    "localise_paper",
    "verify",
]


def verify(
    assignment: Assignment,
    pool: Pool,
    *,
    workers: int | None = None,
    quick: bool = False,
    watch: ShowProgress = lambda rows, _: rows,
) -> Verification:
    """Grade the source notebooks, the release, every trial, and mutants of an adopted answer key.

    Args:
        assignment: loaded; one drawn for a student is verified like the common one.
        pool: provides the sandboxes.
        workers: number of papers that are graded at the same time; default: one per core.
        quick: grade only the source notebooks and the release: no trials, no mutants.
        watch: receives the rows of the trials as they are finished.

    Raises:
        RubricError: a module that the rubric preloads is not installed.
        CourseError: a source, a reference solution or a function that plants trials is not usable.
        SandboxUnavailable: student code cannot be confined on this machine.
    """
    started = time.monotonic()
    cgroups.sweep_groups()
    planted = {} if quick else _plant_trials(assignment, pool)
    grader = Grader(assignment, pool)
    pool.end_sandbox(assignment.build_reference_environment())
    key = grade_answer_key(grader)
    limits = assignment.rubric.assignment.limits
    spent = key.graded.spent
    if find_exceeded(spent, limits):  # on a busy machine a second run may be faster
        spent = take_smaller(spent, grade_answer_key(grader).graded.spent)
    # Limits that the key itself exceeds are reported once, not for every trial.
    slow = find_exceeded(spent, limits)
    findings = [
        *_check_papers(grader, key),
        *report_exceeded(KEY, assignment.name, spent, limits, slow),
    ]
    parallel = workers or os.cpu_count() or 1
    matrices = () if quick else Run(grader, key, parallel, slow).build_matrices(planted, watch)
    for matrix in matrices:
        findings += [finding for row in matrix.rows for finding in row.findings]
        findings += check_coverage(matrix)
    items = [item for question in assignment.rubric.questions for item in question.items]
    boxes = [row.spent for matrix in matrices for row in matrix.rows if row.spent is not None]
    return Verification(
        assignment.name,
        tuple(findings),
        matrices,
        spent,
        take_largest((spent, *boxes)),
        len(boxes),
        time.monotonic() - started,
        (*itertools.chain.from_iterable(map(list_warnings, matrices)),),
        () if quick else run_mutants(grader, key, parallel),
        sum((item.points for item in items if not item.manual), Decimal(0)),
        sum((item.points for item in items), Decimal(0)),
    )


def _plant_trials(assignment: Assignment, pool: Pool) -> Mapping[str, tuple[Trial, ...]]:
    with assignment.report_missing_preloads():
        if any(question.trials for question in assignment.rubric.questions):
            # All at once: importing the preloaded modules takes seconds, and there are several cores.
            notebooks = assignment.rubric.assignment.notebooks
            pool.start_all(
                dict.fromkeys(
                    (assignment.build_reference_environment(), *map(assignment.build_environment, notebooks))
                )
            )
        return load_planted_trials(assignment, pool)


def _check_papers(grader: Grader, key: AnswerKey) -> Iterator[VerifyFinding]:
    """Check the parts that need no trials: the answer key and the release."""
    yield from check_key(key)
    yield from check_visible(grader, key)
    yield from check_release(grader)
    yield from report_stopped(KEY, grader.assignment.name, key.graded.score.notes)
