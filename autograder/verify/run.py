"""All trials of one assignment: texts are judged at once, code in boxes, several at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from autograder.checks.base import Trial, trials_of
from autograder.grading import Grader
from autograder.records import Graded, Score
from autograder.rubric import Question
from autograder.verify import headroom
from autograder.verify.findings import Matrix, Row
from autograder.verify.matrix import matrix, paper, row
from autograder.verify.papers import AnswerKey
from autograder.verify.planted import check_trials
from autograder.verify.sitting import Sitting


class Run:
    """Lets the trials of one assignment sit the exam."""

    def __init__(self, grader: Grader, key: AnswerKey, workers: int, slow: frozenset[str]) -> None:
        """Make ready.

        Args:
            grader: of the assignment.
            key: its answer key, graded.
            workers: how many papers are graded at the same time.
            slow: limits that the key itself comes too close to; no trial is blamed for them.
        """
        self._grader = grader
        self._key = key
        self._sitting = Sitting(grader, key)
        self._workers = workers
        self._slow = slow
        self._limits = grader.assignment.rubric.assignment.limits

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
        if headroom.over(spent, self._limits) - self._slow:  # other trials ran at the same time
            spent = headroom.least(spent, self._sitting.in_box(question, trial).spent)
        judged = self._row(question, trial, graded.score)
        names = headroom.over(spent, self._limits) - self._slow
        named = paper(trial, question)
        beyond = (
            *headroom.findings(named, question.id, spent, self._limits, names),
            *headroom.stopped(named, question.id, graded.score.notes),
        )
        return replace(judged, findings=(*judged.findings, *beyond), spent=spent)

    def _row(self, question: Question, trial: Trial, score: Score) -> Row:
        return row(trial, question, self._grader.assignment.rubric, score, self._key.marks)
