"""All trials of one assignment: texts are judged at once, code in boxes, several at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

Watch = Callable[[Iterable[tuple[str, Row]], int], Iterable[tuple[str, Row]]]
"""Hands on the rows of an assignment as they come, and may show how far it is; their number is known."""


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

    def matrices(self, planted: Mapping[str, tuple[Trial, ...]], watch: Watch) -> tuple[Matrix, ...]:
        """Let all trials sit the exam: texts here, code in boxes at the same time."""
        questions = self._grader.assignment.rubric.questions
        papers = [
            (question, trial)
            for question in questions
            for trial in self._trials(question, planted.get(question.id, ()))
        ]
        rows: dict[str, list[Row]] = {question.id: [] for question in questions}
        for question, made in watch(self._rows(papers), len(papers)):
            rows[question].append(made)
        return tuple(matrix(question, rows[question.id]) for question in questions)

    def _rows(self, papers: Sequence[tuple[Question, Trial]]) -> Iterator[tuple[str, Row]]:
        with ThreadPoolExecutor(self._workers) as threads:
            try:
                begun = [self._begun(question, trial, threads) for question, trial in papers]
                for (question, _), finish in zip(papers, begun, strict=True):
                    yield question.id, finish()
            finally:
                threads.shutdown(cancel_futures=True)  # interrupted: what waits is not begun

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
