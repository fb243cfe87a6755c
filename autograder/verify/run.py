"""Grade all trials of one assignment: texts immediately, code in sandboxes, several at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from msgspec.structs import replace

from autograder.checks.base import Trial, trials_of
from autograder.grading.pipeline import Grader
from autograder.grading.planted import check_trials
from autograder.records import Graded, Score
from autograder.rubric import Question
from autograder.verify import headroom
from autograder.verify.findings import Matrix, Row
from autograder.verify.matrix import matrix, paper, row
from autograder.verify.papers import AnswerKey
from autograder.verify.trials import TrialGrader

ADOPTED_KINDS = ("tests", "written")
"""Kinds of questions that `autograder adopt` writes."""

ShowProgress = Callable[[Iterable[tuple[str, Row]], int], Iterable[tuple[str, Row]]]
"""Passes on the rows of an assignment as they are finished, and may show progress; their number is given."""


class Run:
    """Grades the trials of one assignment."""

    def __init__(self, grader: Grader, key: AnswerKey, workers: int, slow: frozenset[str]) -> None:
        """Prepare the grading.

        Args:
            grader: the grader of the assignment.
            key: its answer key, graded.
            workers: number of papers that are graded at the same time.
            slow: limits that the key itself comes too close to; trials are not blamed for them.
        """
        self._grader = grader
        self._key = key
        self._grading = TrialGrader(grader, key)
        self._workers = workers
        self._slow = slow
        self._limits = grader.assignment.rubric.assignment.limits

    def matrices(self, planted: Mapping[str, tuple[Trial, ...]], watch: ShowProgress) -> tuple[Matrix, ...]:
        """Grade all trials: texts in this thread, code in sandboxes at the same time."""
        questions = self._questions()
        trials = {one.id: self._trials(one, planted.get(one.id, ())) for one in questions}
        rows: dict[str, list[Row]] = {question.id: [] for question in questions}
        for question, made in watch(self._rows(trials), sum(map(len, trials.values()))):
            rows[question].append(made)
        return tuple(matrix(question, rows[question.id]) for question in questions)

    def _questions(self) -> Sequence[Question]:
        """Return the questions that trials are planted for.

        Cells of an adopted assignment share names, so a trial in one would be a fault in others as well;
        mutants replace trials there.
        """
        rubric = self._grader.assignment.rubric
        if not rubric.assignment.adopted:
            return rubric.questions
        return [question for question in rubric.questions if question.kind not in ADOPTED_KINDS]

    def _rows(self, trials: Mapping[str, tuple[Trial, ...]]) -> Iterator[tuple[str, Row]]:
        with ThreadPoolExecutor(self._workers) as threads:
            try:
                # All jobs are started before the first one is awaited.
                begun = [
                    (place, finish)
                    for place, ones in trials.items()
                    for finish in self._begun(self._grader.assignment.rubric.question(place), ones, threads)
                ]
                for place, finish in begun:
                    yield place, finish()
            finally:
                threads.shutdown(cancel_futures=True)  # if interrupted, do not start the waiting trials

    def _trials(self, question: Question, planted: tuple[Trial, ...]) -> tuple[Trial, ...]:
        answer = self._grading.answer(question)
        own = trials_of(self._grader.assignment.checks[question.id], answer) if answer is not None else ()
        trials = (*own, *planted)
        check_trials(trials, question, f"question {question.id!r}: trials")
        return trials

    def _begun(
        self, question: Question, trials: Sequence[Trial], threads: ThreadPoolExecutor
    ) -> Iterator[Callable[[], Row]]:
        """Start all trials of a question and yield a function that returns the row of each."""
        scores = {trial.name: self._grading.on_paper(question, trial) for trial in trials}
        left = [trial for trial in trials if scores[trial.name] is None]
        read = [trial for trial in left if self._grading.is_read(question, trial)]
        reading = threads.submit(self._grading.in_one_box, question, read)
        together = dict.fromkeys((trial.name for trial in read), reading)
        # One trial of each question checks all questions; the others only the planted answers.
        whole = True
        for trial in trials:
            score = scores[trial.name]
            if score is not None:
                yield partial(self._row, question, trial, score)
            elif trial.name in together:
                yield partial(self._of_many, question, trial, together[trial.name])
            else:
                running = threads.submit(self._grading.in_box, question, trial, whole=whole)
                whole = False
                yield partial(self._of_box, question, trial, running)

    def _of_many(self, question: Question, trial: Trial, reading: Future[dict[str, Score]]) -> Row:
        """Return the row of a trial that shared a sandbox with others; if it has findings, run it alone."""
        score = reading.result().get(trial.name)
        if score is not None:
            judged = self._row(question, trial, score)
            if not judged.findings:
                return judged
        alone: Future[Graded] = Future()
        alone.set_result(self._grading.in_box(question, trial))
        return self._of_box(question, trial, alone)

    def _of_box(self, question: Question, trial: Trial, running: Future[Graded]) -> Row:
        """Return the row of a trial that ran code; the time it took counts as well."""
        graded = running.result()
        spent = graded.spent
        # Other trials ran at the same time and may have slowed it down, so it gets a second run.
        if headroom.over(spent, self._limits) - self._slow:
            spent = headroom.least(spent, self._grading.in_box(question, trial).spent)
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
