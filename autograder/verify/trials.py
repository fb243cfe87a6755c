"""Lets planted answers sit the exam in the place of the key's.

Each trial is one paper: the answer key with one answer changed. So whatever is lost was lost for that
answer. Where texts are enough nothing is run, and only the changed questions are judged again. Code is run
like any submission's; one paper of each question is asked about everything, the others about what was
planted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from autograder.checks.base import Draw, Observations, Trial
from autograder.errors import SandboxError
from autograder.grading import scoring
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.notebook.document import canonical
from autograder.records import Answer, Cell, Graded, ItemResult, Limits, Scenario, Score
from autograder.rubric import Question
from autograder.sandbox.base import Box
from autograder.verify.papers import AnswerKey, with_sources

RunScenarios = Callable[[tuple[Scenario, ...]], Sequence[Observations]]


class TrialGrader:
    """The answer key of one assignment, ready to have answers planted in it. Thread safe."""

    def __init__(self, grader: Grader, key: AnswerKey) -> None:
        self._grader = grader
        self._key = key
        self._rubric = grader.assignment.rubric
        self._results = key.results()

    def answer(self, question: Question) -> Answer | None:
        """The answer key's answer; None when the release has no cell for it."""
        submission = self._key.submissions[question.notebook]
        return self._grader.assignment.answer(question, submission)

    def on_paper(self, question: Question, trial: Trial) -> Score | None:
        """The score of a paper with a planted answer; None when code would have to be run for it.

        The other questions keep the key's results: their answers are the same, and what they make of an
        earlier result that is wrong is for trials of their own (`Trial.earlier`).
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
        """Whether nothing but variables of the planted answer has to be read."""
        answer = self._planted(question, trial)[question.id]
        check = self._grader.assignment.checks[question.id]
        if question.file or trial.files or check.runs_tests:
            return False  # what is asked then calls what was planted
        return not trial.earlier and answer.cell_type == "code" and only_reads(self._plan(question, answer))

    def in_one_box(self, question: Question, trials: Sequence[Trial]) -> dict[str, Score]:
        """The scores of trials of which only variables are read, by name; see `read_all`."""
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
        """The answer key's code cells before a question's answer."""
        cells = self._key.submissions[question.notebook].cells
        grade_id = self._grader.assignment.releases[question.notebook].answer_cell(question)
        place = next((at for at, cell in enumerate(cells) if cell.grade_id == grade_id), len(cells))
        return [cell for cell in cells[:place] if isinstance(cell, Cell) and cell.source.strip()]

    def _scored(self, trial: Trial, planted: Mapping[str, Answer], ask: RunScenarios) -> Score:
        """Judge the changed answers, in the rubric's order."""
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
            earlier[one.id] = results[one.id]
        return scoring.score(trial.name, self._rubric, results)

    def _in_notebook(self, notebook: str, planted: Mapping[str, Answer]) -> dict[str, Answer]:
        """The planted answers of one notebook, by grade_id."""
        return {
            answer.grade_id: answer
            for place, answer in planted.items()
            if self._rubric.question(place).notebook == notebook
        }

    def in_box(self, question: Question, trial: Trial, *, whole: bool = True) -> Graded:
        """Grade a submission with a planted answer, as any student's.

        Args:
            question: what is answered.
            trial: the planted answer.
            whole: ask about all answers; otherwise about the planted ones alone, though all cells are run,
                and the other questions keep the key's results.
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
        """The answers that a trial changes, by question."""
        own = self.answer(question) if trial.files and not trial.source else None
        sources = {question.id: own.source if own is not None else trial.source}
        for place, below in trial.earlier.items():
            key = self.answer(self._rubric.question(place))
            above = f"{key.source.rstrip()}\n" if key is not None and key.cell_type == "code" else ""
            sources[place] = above + below
        return {
            place: self._replaced(self._rubric.question(place), source) for place, source in sources.items()
        }

    def _replaced(self, question: Question, source: str) -> Answer:
        answer = self.answer(question)
        if question.file:
            starter = self._grader.assignment.starters.get(question.file, b"").decode(errors="replace")
            kind = answer.cell_type if answer is not None else "code"
            return Answer(question.file, kind, source, changed=canonical(source) != canonical(starter))
        release = self._grader.assignment.releases[question.notebook]
        grade_id = release.answer_cell(question)
        stub = release.by_id[grade_id]
        cell_type = answer.cell_type if answer is not None else stub.cell_type
        return Answer(grade_id, cell_type, source, changed=canonical(source) != canonical(stub.source))

    def _plan(self, question: Question, answer: Answer) -> tuple[Scenario, ...]:
        grader = self._grader
        draw = Draw.for_question(grader.secret, self._rubric, question)
        return grader.assignment.checks[question.id].plan(answer, draw)


def _known(observed: Sequence[Observations], plan: tuple[Scenario, ...]) -> Sequence[Observations]:
    del plan
    return observed


def _nobody(plan: tuple[Scenario, ...]) -> tuple[Observations, ...]:
    raise AssertionError(f"{len(plan)} scenarios are asked of a paper without a box")


def only_reads(plan: Sequence[Scenario]) -> bool:
    """Whether a plan reads variables and calls nothing of the student's."""
    return all(call.read for scenario in plan for call in scenario.calls)


def read_all(
    box: Box,
    before: Sequence[Cell],
    sources: Mapping[str, tuple[str, tuple[Scenario, ...]]],
    limits: Limits,
) -> dict[str, Sequence[Observations]]:
    """What each trial's variables hold; trials that are missing could not be read this way.

    Starting a box and running a whole notebook for each would cost most of the time of a verification. Before
    each trial the variables that will be read are taken away, so that none is left over from the trial
    before; and a trial that is not as it must be is run again as a paper of its own, which alone counts.

    Args:
        box: fresh; closed here.
        before: the code cells of the notebook before the answer cell.
        sources: by the trial's name, the answer cell and the plan.
        limits: how long a cell and a call may take.
    """
    found: dict[str, Sequence[Observations]] = {}
    try:
        for cell in before:
            box.run_cell(cell.source, seconds=limits.cell_seconds)
        for name, (source, plan) in sources.items():
            names = [call.target for scenario in plan for call in scenario.calls]
            box.run_cell(f"for _ in {names!r}: globals().pop(_, None)", seconds=limits.cell_seconds)
            box.run_cell(source, seconds=limits.cell_seconds)
            found[name] = box.ask(plan, seconds=limits.call_seconds)
    except SandboxError:  # whatever is missing is run as a paper of its own
        pass
    finally:
        box.close()
    return found
