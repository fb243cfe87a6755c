"""Grade planted answers in place of those of the answer key.

Each trial is one paper: the answer key with one answer changed. All lost points are therefore lost for that
answer. If texts are sufficient no code is run, and only the changed questions are judged again. Code is run
as for any submission; one paper of each question checks everything, the others only the planted answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from autograder.checks.base import Draw, Trial
from autograder.errors import SandboxError
from autograder.grading import scoring
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.notebook.document import canonical
from autograder.records import Answer, Call, Cell, Graded, ItemResult, Limits, Observation, Score
from autograder.rubric import Question
from autograder.sandbox.base import Box
from autograder.verify.papers import AnswerKey, with_sources

RunCalls = Callable[[tuple[Call, ...]], Sequence[Observation]]
"""Runs calls in a sandbox and returns their results."""


class TrialGrader:
    """The answer key of one assignment, prepared for planting answers. Thread-safe."""

    def __init__(self, grader: Grader, key: AnswerKey) -> None:
        self._grader = grader
        self._key = key
        self._rubric = grader.assignment.rubric
        self._results = key.results()

    def answer(self, question: Question) -> Answer | None:
        """Return the answer in the key; None if the release has no cell for it."""
        submission = self._key.submissions[question.notebook]
        return self._grader.assignment.answer(question, submission)

    def on_paper(self, question: Question, trial: Trial) -> Score | None:
        """Return the score of a paper with a planted answer; None if code would have to be run.

        The other questions keep the results of the key: their answers are the same, and the effect of a wrong
        earlier result on them is tested by separate trials (`Trial.earlier`).
        """
        planted = self._planted(question, trial)
        checks = self._grader.assignment.checks
        if trial.files or any(checks[place].runs_tests for place in planted):
            return None
        for place, answer in planted.items():
            if self._plan(self._rubric.question(place), answer) != ():
                return None
        return self._scored(trial, planted, _nobody)

    def is_read(self, question: Question, trial: Trial) -> bool:
        """Return whether only variables of the planted answer have to be read."""
        answer = self._planted(question, trial)[question.id]
        check = self._grader.assignment.checks[question.id]
        if question.file or trial.files or check.runs_tests:
            return False  # the plan then calls the planted code
        return not trial.earlier and answer.cell_type == "code" and only_reads(self._plan(question, answer))

    def in_one_box(self, question: Question, trials: Sequence[Trial]) -> dict[str, Score]:
        """Score trials that only need variables to be read, by name; see `read_variables`."""
        if not trials:
            return {}
        assignment = self._grader.assignment
        limits = assignment.rubric.assignment.limits
        planted = {trial.name: self._planted(question, trial) for trial in trials}
        answers = {name: found[question.id] for name, found in planted.items()}
        plans = {name: self._plan(question, answer) for name, answer in answers.items()}
        notebook = next(
            one for one in assignment.rubric.assignment.notebooks if one.name == question.notebook
        )
        try:
            own = {path: data for path, data in self._key.files.items() if path in notebook.own}
            box = self._grader.pool.persistent(assignment.environment(notebook)).open(
                limits, seed=self._grader.seed, files=own
            )
        except SandboxError:
            return {}
        sources = {name: (answers[name].source, plans[name]) for name in answers}
        observed = read_all(box, self._before(question), sources, limits)
        return {
            trial.name: self._scored(trial, planted[trial.name], partial(_known, observed[trial.name]))
            for trial in trials
            if trial.name in observed
        }

    def _before(self, question: Question) -> list[Cell]:
        """Return the answer key's code cells before the answer to a question."""
        cells = self._key.submissions[question.notebook].cells
        grade_id = self._grader.assignment.releases[question.notebook].answer_cell(question)
        place = next((at for at, cell in enumerate(cells) if cell.grade_id == grade_id), len(cells))
        return [cell for cell in cells[:place] if isinstance(cell, Cell) and cell.source.strip()]

    def _scored(self, trial: Trial, planted: Mapping[str, Answer], ask: RunCalls) -> Score:
        """Judge the changed answers, in the order of the rubric."""
        results = dict(self._results)
        earlier: dict[str, Sequence[ItemResult]] = {}
        for one in self._rubric.questions:
            if one.id in planted:
                answers = {**self._key.answers(one), **self._in_notebook(one.notebook, planted)}
                judged = self._grader.judge(
                    one,
                    planted[one.id],
                    answers=answers,
                    earlier=earlier,
                    ask=ask,
                    sitting=self._grader.sittings.common,
                )
                results[one.id] = judged.results
            # Later questions may build on the result of an earlier one, so the order of the rubric matters.
            earlier[one.id] = results[one.id]
        return scoring.score(trial.name, self._rubric, results)

    def _in_notebook(self, notebook: str, planted: Mapping[str, Answer]) -> dict[str, Answer]:
        """Return the planted answers of one notebook, by grade_id."""
        return {
            answer.grade_id: answer
            for place, answer in planted.items()
            if self._rubric.question(place).notebook == notebook
        }

    def in_box(self, question: Question, trial: Trial, *, whole: bool = True) -> Graded:
        """Grade a submission with a planted answer, like that of a student.

        Args:
            question: the question of the planted answer.
            trial: the planted answer.
            whole: judge all answers; otherwise only the planted ones, although all cells are run, and the
                other questions keep the results of the key.
        """
        planted = self._planted(question, trial)
        changes: dict[str, dict[str, str]] = {}
        files = dict(self._key.files)
        for place, answer in planted.items():
            changed = self._rubric.question(place)
            if changed.file in trial.files:
                continue
            if changed.file:
                files[changed.file] = answer.source.encode()
            else:
                changes.setdefault(changed.notebook, {})[answer.grade_id] = answer.source
        files = {path: one for path, one in {**files, **trial.files}.items() if one is not None}
        notebooks = {
            name: with_sources(data, changes.get(name, {})) for name, data in self._key.sources.items()
        }
        known = (
            {} if whole else {one: tuple(self._results[one]) for one in self._results if one not in planted}
        )
        return self._grader.grade(SubmittedFiles(trial.name, notebooks, files), known)

    def _planted(self, question: Question, trial: Trial) -> dict[str, Answer]:
        """Return the answers that a trial changes, by question."""
        own = self.answer(question) if trial.files and not trial.source else None
        sources = {question.id: own.source if own is not None else trial.source}
        for place, below in trial.earlier.items():
            key = self.answer(self._rubric.question(place))
            # The planted code is appended to the key's answer to the earlier question.
            above = f"{key.source.rstrip()}\n" if key is not None and key.cell_type == "code" else ""
            sources[place] = above + below
        return {
            place: self._replaced(self._rubric.question(place), source) for place, source in sources.items()
        }

    def _replaced(self, question: Question, source: str) -> Answer:
        """Return an answer with another source, marked as changed if it differs from the release."""
        answer = self.answer(question)
        if question.file:
            starter = self._grader.assignment.starters.get(question.file, b"").decode(errors="replace")
            kind = answer.cell_type if answer is not None else "code"
            return Answer(question.file, kind, source, changed=canonical(source) != canonical(starter))
        release = self._grader.assignment.releases[question.notebook]
        grade_id = release.answer_cell(question)
        stub = release.by_id[grade_id]
        # The answer may have another cell type than the stub in the release.
        cell_type = answer.cell_type if answer is not None else stub.cell_type
        return Answer(grade_id, cell_type, source, changed=canonical(source) != canonical(stub.source))

    def _plan(self, question: Question, answer: Answer) -> tuple[Call, ...]:
        grader = self._grader
        draw = Draw.for_question(grader.secret, self._rubric, question)
        return grader.assignment.checks[question.id].plan(answer, draw)


def _known(observed: Sequence[Observation], plan: tuple[Call, ...]) -> Sequence[Observation]:
    """Return results that were observed earlier."""
    del plan
    return observed


def _nobody(plan: tuple[Call, ...]) -> tuple[Observation, ...]:
    """Fail, because a paper without a sandbox makes no calls."""
    raise AssertionError(f"{len(plan)} calls are made for a paper without a box")


def only_reads(plan: Sequence[Call]) -> bool:
    """Return whether a plan only reads variables and calls no student code."""
    return all(call.read for call in plan)


def read_all(
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
    found: dict[str, Sequence[Observation]] = {}
    try:
        for cell in before:
            box.run_cell(cell.source, seconds=limits.cell_seconds)
        for name, (source, plan) in sources.items():
            names = [call.target for call in plan]
            box.run_cell(f"for _ in {names!r}: globals().pop(_, None)", seconds=limits.cell_seconds)
            box.run_cell(source, seconds=limits.cell_seconds)
            found[name] = box.ask(plan, seconds=limits.call_seconds)
    except SandboxError:  # missing trials are run as separate papers
        pass
    finally:
        box.close()
    return found
