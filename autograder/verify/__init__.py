"""The answer key sits the exam, and so does everything that is planted in it.

The key must score full marks, and the untouched release none. Every trial must lose what it says and
keep the rest, every automatic item must be lost by a trial, and all must stay well within the limits.
What a rubric, a reference or a notebook has wrong shows here, before a student meets it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from autograder.assignment import Assignment
from autograder.checks.base import Trial, trials_of
from autograder.grading import Grader, Handed
from autograder.records import Graded, Score, Spent
from autograder.rubric import Question
from autograder.sandbox.outside import leftovers
from autograder.sandbox.pool import Pool
from autograder.verify import headroom
from autograder.verify.credit import Ways, credit
from autograder.verify.findings import Finding, Mark, Matrix, Row, Verified
from autograder.verify.matrix import coverage, matrix, most, paper, row
from autograder.verify.papers import KEY, AnswerKey, of_key, of_release, sit
from autograder.verify.planted import check_trials, planted_trials
from autograder.verify.sitting import Sitting

__all__ = ["Finding", "Mark", "Matrix", "Row", "Verified", "Ways", "credit", "validate", "verify"]


def validate(assignment: Assignment, pool: Pool) -> tuple[Finding, ...]:
    """Grade the source notebooks and the release as if students had handed them in.

    Raises:
        CourseError: a source or a reference solution is not usable.
        SandboxUnavailable: student code cannot be confined on this machine.
    """
    leftovers.sweep_groups()
    grader = Grader(assignment, pool)
    return (*of_key(sit(grader)), *of_release(grader))


def verify(assignment: Assignment, pool: Pool, *, workers: int | None = None) -> Verified:
    """Grade the source notebooks, the release, and every trial.

    Args:
        assignment: loaded; one drawn for a student is verified like the common one.
        pool: gives the sandboxes.
        workers: how many papers are graded at the same time; default: one per core.

    Raises:
        CourseError: a source, a reference solution or a function that plants trials is not usable.
        SandboxUnavailable: student code cannot be confined on this machine.
    """
    started = time.monotonic()
    leftovers.sweep_groups()
    notebooks = assignment.rubric.assignment.notebooks
    # All at once: importing what the rubric preloads takes seconds, and there are several cores.
    pool.warm(dict.fromkeys((assignment.reference_environment(), *map(assignment.environment, notebooks))))
    planted = planted_trials(assignment, pool)
    grader = Grader(assignment, pool)
    key = sit(grader)
    run = _Run(grader, key, Sitting(grader, key), workers or os.cpu_count() or 1)
    limits = assignment.rubric.assignment.limits
    spent = run.key_spent()
    findings = [*of_key(key), *of_release(grader), *headroom.findings(KEY, assignment.name, spent, limits)]
    matrices = run.matrices(planted)
    for made in matrices:
        findings += [finding for one in made.rows for finding in one.findings]
        findings += coverage(made)
    boxes = [one.spent for made in matrices for one in made.rows if one.spent is not None]
    return Verified(
        assignment.name,
        tuple(findings),
        matrices,
        spent,
        most((spent, *boxes)),
        len(boxes),
        time.monotonic() - started,
    )


class _Run:
    """Collects what became of the trials of one assignment."""

    def __init__(self, grader: Grader, key: AnswerKey, sitting: Sitting, workers: int) -> None:
        self._grader = grader
        self._key = key
        self._sitting = sitting
        self._workers = workers
        self._limits = grader.assignment.rubric.assignment.limits

    def key_spent(self) -> Spent:
        """What the answer key uses; where that is too much, of two runs the lesser."""
        spent = self._key.graded.spent
        if headroom.over(spent, self._limits):
            spent = headroom.least(spent, self._grader.grade(Handed(KEY, self._key.sources)).spent)
        return spent

    def matrices(self, planted: Mapping[str, tuple[Trial, ...]]) -> tuple[Matrix, ...]:
        """Let all trials sit the exam: texts here, code in boxes at the same time."""
        papers = [
            (question, trial)
            for question in self._grader.assignment.rubric.questions
            for trial in self._trials(question, planted.get(question.id, ()))
        ]
        rows: dict[str, list[Row]] = {}
        with ThreadPoolExecutor(self._workers) as threads:
            made = [self._begun(question, trial, threads) for question, trial in papers]
            for (question, _), finish in zip(papers, made, strict=True):
                rows.setdefault(question.id, []).append(finish())
        questions = self._grader.assignment.rubric.questions
        return tuple(matrix(question, rows.get(question.id, ())) for question in questions)

    def _trials(self, question: Question, planted: tuple[Trial, ...]) -> tuple[Trial, ...]:
        answer = self._sitting.answer(question)
        own = trials_of(self._grader.assignment.checks[question.id], answer) if answer is not None else ()
        trials = (*own, *planted)
        check_trials(trials, question, f"question {question.id!r}: trials")
        return trials

    def _begun(self, question: Question, trial: Trial, threads: ThreadPoolExecutor) -> Callable[[], Row]:
        """A trial that is judged, or that waits for a box."""
        score = self._sitting.on_paper(question, trial)
        if score is not None:
            judged = self._row(question, trial, score)
            return lambda: judged
        running = threads.submit(self._sitting.in_box, question, trial)
        return lambda: self._of_box(question, trial, running.result())

    def _of_box(self, question: Question, trial: Trial, graded: Graded) -> Row:
        """What became of a trial for which code was run; the time it took counts as well."""
        spent = graded.spent
        if headroom.over(spent, self._limits):  # other trials ran at the same time
            spent = headroom.least(spent, self._sitting.in_box(question, trial).spent)
        judged = self._row(question, trial, graded.score)
        beyond = headroom.findings(paper(trial, question), question.id, spent, self._limits)
        return replace(judged, findings=(*judged.findings, *beyond), spent=spent)

    def _row(self, question: Question, trial: Trial, score: Score) -> Row:
        return row(trial, question, self._grader.assignment.rubric, score, self._key.marks)
