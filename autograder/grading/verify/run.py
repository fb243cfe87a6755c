"""Grade all trials of one assignment: texts immediately, code in sandboxes, several at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from msgspec.structs import replace

from autograder.core.records import GradingResult, Score
from autograder.grading.pipeline import Grader
from autograder.grading.planted import check_trials
from autograder.grading.verify import headroom
from autograder.grading.verify.findings import Matrix, Row
from autograder.grading.verify.matrix import build_matrix, build_row, name_trial
from autograder.grading.verify.papers import AnswerKey
from autograder.grading.verify.trials import TrialGrader
from autograder.questions.base.base import Trial, list_trials
from autograder.rubric import Question

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

    def build_matrices(
        self, planted: Mapping[str, tuple[Trial, ...]], watch: ShowProgress
    ) -> tuple[Matrix, ...]:
        """Grade all trials: texts in this thread, code in sandboxes at the same time."""
        questions = self._select_questions()
        trials = {target.id: self._collect_trials(target, planted.get(target.id, ())) for target in questions}
        rows: dict[str, list[Row]] = {question.id: [] for question in questions}
        for question, new_row in watch(self._generate_rows(trials), sum(map(len, trials.values()))):
            rows[question].append(new_row)
        return tuple(build_matrix(question, rows[question.id]) for question in questions)

    def _select_questions(self) -> Sequence[Question]:
        """Return the questions that trials are planted for.

        Cells of an adopted assignment share names, so a trial in one would be a fault in others as well;
        mutants replace trials there.
        """
        rubric = self._grader.assignment.rubric
        if not rubric.assignment.adopted:
            return rubric.questions
        return [question for question in rubric.questions if question.kind not in ADOPTED_KINDS]

    def _generate_rows(self, trials: Mapping[str, tuple[Trial, ...]]) -> Iterator[tuple[str, Row]]:
        with ThreadPoolExecutor(self._workers) as threads:
            try:
                # All jobs are started before the first one is awaited.
                jobs = [
                    (question_id, finish)
                    for question_id, question_trials in trials.items()
                    for finish in self._start_trials(
                        self._grader.assignment.rubric.get_question(question_id), question_trials, threads
                    )
                ]
                for question_id, finish in jobs:
                    yield question_id, finish()
            finally:
                threads.shutdown(cancel_futures=True)  # if interrupted, do not start the waiting trials

    def _collect_trials(self, question: Question, planted: tuple[Trial, ...]) -> tuple[Trial, ...]:
        answer = self._grading.get_answer(question)
        own_trials = (
            list_trials(self._grader.assignment.checks[question.id], answer) if answer is not None else ()
        )
        trials = (*own_trials, *planted)
        check_trials(trials, question, f"question {question.id!r}: trials")
        return trials

    def _start_trials(
        self, question: Question, trials: Sequence[Trial], threads: ThreadPoolExecutor
    ) -> Iterator[Callable[[], Row]]:
        """Start all trials of a question and yield a function that returns the row of each."""
        scores = {trial.name: self._grading.score_on_paper(question, trial) for trial in trials}
        pending = [trial for trial in trials if scores[trial.name] is None]
        batch = [trial for trial in pending if self._grading.needs_only_reading(question, trial)]
        batch_result = threads.submit(self._grading.score_in_one_box, question, batch)
        together = dict.fromkeys((trial.name for trial in batch), batch_result)
        # One trial of each question checks all questions; the others only the planted answers.
        whole = True
        for trial in trials:
            score = scores[trial.name]
            if score is not None:
                yield partial(self._build_row, question, trial, score)
            elif trial.name in together:
                yield partial(self._build_batched_row, question, trial, together[trial.name])
            else:
                running = threads.submit(self._grading.grade_in_box, question, trial, whole=whole)
                whole = False
                yield partial(self._build_executed_row, question, trial, running)

    def _build_batched_row(self, question: Question, trial: Trial, reading: Future[dict[str, Score]]) -> Row:
        """Return the row of a trial that shared a sandbox with others; if it has findings, run it alone."""
        score = reading.result().get(trial.name)
        if score is not None:
            judged = self._build_row(question, trial, score)
            if not judged.findings:
                return judged
        alone: Future[GradingResult] = Future()
        alone.set_result(self._grading.grade_in_box(question, trial))
        return self._build_executed_row(question, trial, alone)

    def _build_executed_row(self, question: Question, trial: Trial, running: Future[GradingResult]) -> Row:
        """Return the row of a trial that ran code; the time it took counts as well."""
        graded = running.result()
        spent = graded.spent
        # Other trials ran at the same time and may have slowed it down, so it gets a second run.
        if headroom.find_exceeded(spent, self._limits) - self._slow:
            spent = headroom.take_smaller(spent, self._grading.grade_in_box(question, trial).spent)
        judged = self._build_row(question, trial, graded.score)
        names = headroom.find_exceeded(spent, self._limits) - self._slow
        named = name_trial(trial, question)
        beyond = (
            *headroom.report_exceeded(named, question.id, spent, self._limits, names),
            *headroom.report_stopped(named, question.id, graded.score.notes),
        )
        return replace(judged, findings=(*judged.findings, *beyond), spent=spent)

    def _build_row(self, question: Question, trial: Trial, score: Score) -> Row:
        return build_row(trial, question, self._grader.assignment.rubric, score, self._key.marks)
