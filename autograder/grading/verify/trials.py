"""Grade planted answers in place of those of the answer key.

Each trial is one paper: the answer key with one answer changed. All lost points are therefore lost for that
answer. If texts are sufficient no code is run, and only the changed questions are judged again. Code is run
as for any submission; one paper of each question checks everything, the others only the planted answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from msgspec.structs import replace

from autograder.core.errors import SandboxError
from autograder.core.records import Answer, Call, Cell, GradingResult, ItemResult, Limits, Observation, Score
from autograder.grading import grades
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.planted_answers import check_trials
from autograder.grading.verify.matrix import (
    Matrix,
    Row,
    build_matrix,
    build_row,
    find_exceeded,
    name_trial,
    report_exceeded,
    report_stopped,
    take_smaller,
)
from autograder.grading.verify.papers import AnswerKey, with_sources
from autograder.notebook.document import normalize_source
from autograder.questions.base.base import Trial, list_trials
from autograder.rubric import Question
from autograder.sandbox.base import Box

RunCalls = Callable[[tuple[Call, ...]], Sequence[Observation]]
"""Runs calls in a sandbox and returns their results."""


class TrialGrader:
    """The answer key of one assignment, prepared for planting answers. Thread-safe."""

    def __init__(self, grader: Grader, key: AnswerKey) -> None:
        self._grader = grader
        self._key = key
        self._rubric = grader.assignment.rubric
        self._results = key.collect_results()

    def get_answer(self, question: Question) -> Answer | None:
        """Return the answer in the key; None if the release has no cell for it."""
        submission = self._key.submissions[question.notebook]
        return self._grader.assignment.find_answer(question, submission)

    def score_on_paper(self, question: Question, trial: Trial) -> Score | None:
        """Return the score of a paper with a planted answer; None if code would have to be run.

        The other questions keep the results of the key: their answers are the same, and the effect of a wrong
        earlier result on them is tested by separate trials (`Trial.earlier`).
        """
        planted = self._plant_answers(question, trial)
        checks = self._grader.assignment.checks
        if trial.files or any(checks[question_id].runs_tests for question_id in planted):
            return None
        for question_id, answer in planted.items():
            if self._plan_calls(self._rubric.get_question(question_id), answer) != ():
                return None
        return self._score_trial(trial, planted, _refuse_calls)

    def needs_only_reading(self, question: Question, trial: Trial) -> bool:
        """Return whether only variables of the planted answer have to be read."""
        answer = self._plant_answers(question, trial)[question.id]
        check = self._grader.assignment.checks[question.id]
        if question.file or trial.files or check.runs_tests:
            return False  # the plan then calls the planted code
        return (
            not trial.earlier
            and answer.cell_type == "code"
            and is_read_only(self._plan_calls(question, answer))
        )

    def score_in_one_box(self, question: Question, trials: Sequence[Trial]) -> dict[str, Score]:
        """Score trials that only need variables to be read, by name; see `read_variables`."""
        if not trials:
            return {}
        assignment = self._grader.assignment
        limits = assignment.rubric.assignment.limits
        planted = {trial.name: self._plant_answers(question, trial) for trial in trials}
        answers = {name: changed[question.id] for name, changed in planted.items()}
        plans = {name: self._plan_calls(question, answer) for name, answer in answers.items()}
        notebook = next(
            candidate
            for candidate in assignment.rubric.assignment.notebooks
            if candidate.name == question.notebook
        )
        try:
            own_files = {path: data for path, data in self._key.files.items() if path in notebook.own}
            box = self._grader.pool.create_persistent(assignment.build_environment(notebook)).open(
                limits, seed=self._grader.seed, files=own_files
            )
        except SandboxError:
            return {}
        sources = {name: (answers[name].source, plans[name]) for name in answers}
        observed = read_variables(box, self._list_cells_before(question), sources, limits)
        return {
            trial.name: self._score_trial(
                trial, planted[trial.name], partial(_return_observed, observed[trial.name])
            )
            for trial in trials
            if trial.name in observed
        }

    def _list_cells_before(self, question: Question) -> list[Cell]:
        """Return the answer key's code cells before the answer to a question."""
        cells = self._key.submissions[question.notebook].cells
        grade_id = self._grader.assignment.releases[question.notebook].find_answer_cell(question)
        position = next((index for index, cell in enumerate(cells) if cell.grade_id == grade_id), len(cells))
        return [cell for cell in cells[:position] if isinstance(cell, Cell) and cell.source.strip()]

    def _score_trial(self, trial: Trial, planted: Mapping[str, Answer], ask: RunCalls) -> Score:
        """Judge the changed answers, in the order of the rubric."""
        results = dict(self._results)
        earlier: dict[str, Sequence[ItemResult]] = {}
        for question in self._rubric.questions:
            if question.id in planted:
                answers = {
                    **self._key.get_answers(question),
                    **self._select_in_notebook(question.notebook, planted),
                }
                judged = self._grader.judge_answer(
                    question,
                    planted[question.id],
                    answers=answers,
                    earlier=earlier,
                    ask=ask,
                    sitting=self._grader.sittings.common,
                )
                results[question.id] = judged.results
            # Later questions may build on the result of an earlier one, so the order of the rubric matters.
            earlier[question.id] = results[question.id]
        return grades.compute_score(trial.name, self._rubric, results)

    def _select_in_notebook(self, notebook: str, planted: Mapping[str, Answer]) -> dict[str, Answer]:
        """Return the planted answers of one notebook, by grade_id."""
        return {
            answer.grade_id: answer
            for question_id, answer in planted.items()
            if self._rubric.get_question(question_id).notebook == notebook
        }

    def grade_in_box(self, question: Question, trial: Trial, *, whole: bool = True) -> GradingResult:
        """Grade a submission with a planted answer, like that of a student.

        Args:
            question: the question of the planted answer.
            trial: the planted answer.
            whole: judge all answers; otherwise only the planted ones, although all cells are run, and the
                other questions keep the results of the key.
        """
        planted = self._plant_answers(question, trial)
        changes: dict[str, dict[str, str]] = {}
        files = dict(self._key.files)
        for question_id, answer in planted.items():
            changed = self._rubric.get_question(question_id)
            if changed.file in trial.files:
                continue
            if changed.file:
                files[changed.file] = answer.source.encode()
            else:
                changes.setdefault(changed.notebook, {})[answer.grade_id] = answer.source
        files = {path: entry for path, entry in {**files, **trial.files}.items() if entry is not None}
        notebooks = {
            name: with_sources(data, changes.get(name, {})) for name, data in self._key.sources.items()
        }
        kept_results = (
            {}
            if whole
            else {entry: tuple(self._results[entry]) for entry in self._results if entry not in planted}
        )
        return self._grader.grade(SubmittedFiles(trial.name, notebooks, files), kept_results)

    def _plant_answers(self, question: Question, trial: Trial) -> dict[str, Answer]:
        """Return the answers that a trial changes, by question."""
        own_answer = self.get_answer(question) if trial.files and not trial.source else None
        sources = {question.id: own_answer.source if own_answer is not None else trial.source}
        for question_id, suffix in trial.earlier.items():
            key = self.get_answer(self._rubric.get_question(question_id))
            # The planted code is appended to the key's answer to the earlier question.
            prefix = f"{key.source.rstrip()}\n" if key is not None and key.cell_type == "code" else ""
            sources[question_id] = prefix + suffix
        return {
            question_id: self._replace_answer(self._rubric.get_question(question_id), source)
            for question_id, source in sources.items()
        }

    def _replace_answer(self, question: Question, source: str) -> Answer:
        """Return an answer with another source, marked as changed if it differs from the release."""
        answer = self.get_answer(question)
        if question.file:
            starter = self._grader.assignment.starters.get(question.file, b"").decode(errors="replace")
            kind = answer.cell_type if answer is not None else "code"
            return Answer(
                question.file, kind, source, changed=normalize_source(source) != normalize_source(starter)
            )
        release = self._grader.assignment.releases[question.notebook]
        grade_id = release.find_answer_cell(question)
        stub = release.by_id[grade_id]
        # The answer may have another cell type than the stub in the release.
        cell_type = answer.cell_type if answer is not None else stub.cell_type
        return Answer(
            grade_id, cell_type, source, changed=normalize_source(source) != normalize_source(stub.source)
        )

    def _plan_calls(self, question: Question, answer: Answer) -> tuple[Call, ...]:
        return self._grader.assignment.checks[question.id].plan_calls(answer)


def _return_observed(observed: Sequence[Observation], plan: tuple[Call, ...]) -> Sequence[Observation]:
    """Return results that were observed earlier."""
    del plan
    return observed


def _refuse_calls(plan: tuple[Call, ...]) -> tuple[Observation, ...]:
    """Fail, because a paper without a sandbox makes no calls."""
    raise AssertionError(f"{len(plan)} calls are made for a paper without a box")


def is_read_only(plan: Sequence[Call]) -> bool:
    """Return whether a plan only reads variables and calls no student code."""
    return all(call.read for call in plan)


def read_variables(
    box: Box,
    before: Sequence[Cell],
    sources: Mapping[str, tuple[str, tuple[Call, ...]]],
    limits: Limits,
) -> dict[str, Sequence[Observation]]:
    """Return the variables of each trial; trials that could not be read this way are missing.

    Starting a sandbox and running a whole notebook for each trial would take most of the time of a
    verification. Before each trial its variables are deleted, so that none is left over from the previous
    trial; a trial with an unexpected result is run again as a separate paper, and only that result counts.

    Args:
        box: fresh; it is closed here.
        before: the code cells of the notebook before the answer cell.
        sources: name of the trial → answer cell and plan.
        limits: time limits for a cell and a call.
    """
    observed: dict[str, Sequence[Observation]] = {}
    try:
        for cell in before:
            box.run_cell(cell.source, seconds=limits.cell_seconds)
        for name, (source, plan) in sources.items():
            names = [call.target for call in plan]
            box.run_cell(f"for _ in {names!r}: globals().pop(_, None)", seconds=limits.cell_seconds)
            box.run_cell(source, seconds=limits.cell_seconds)
            observed[name] = box.ask(plan, seconds=limits.call_seconds)
    except SandboxError:  # missing trials are run as separate papers
        pass
    finally:
        box.close()
    return observed


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
        if find_exceeded(spent, self._limits) - self._slow:
            spent = take_smaller(spent, self._grading.grade_in_box(question, trial).spent)
        judged = self._build_row(question, trial, graded.score)
        names = find_exceeded(spent, self._limits) - self._slow
        named = name_trial(trial, question)
        beyond = (
            *report_exceeded(named, question.id, spent, self._limits, names),
            *report_stopped(named, question.id, graded.score.notes),
        )
        return replace(judged, findings=(*judged.findings, *beyond), spent=spent)

    def _build_row(self, question: Question, trial: Trial, score: Score) -> Row:
        return build_row(trial, question, self._grader.assignment.rubric, score, self._key.marks)
