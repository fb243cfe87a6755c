"""Test the tests of an adopted assignment: find mutants of its answer key that they let pass."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import Status
from autograder.grading.assignment import Assignment
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.verify.findings import Mark, MutatedCell, Survivor
from autograder.grading.verify.mutation import Mutant, generate_mutants
from autograder.grading.verify.papers import AnswerKey, with_sources
from autograder.questions import make_check
from autograder.rubric import Question

MUTANTS_PER_CELL = 20
"""Limit on mutants per answer cell."""
# A mutant may loop forever: its tests get five times the time of the whole answer key, at least two seconds.
_LEAST_SECONDS = 2.0
_TIME_FACTOR = 5


class _Plan(Struct, frozen=True):
    """One answer cell, its mutants, and the questions that test it."""

    notebook: str
    cell: str
    tests: tuple[str, ...]
    mutants: tuple[Mutant, ...]


class _Verdict(Struct, frozen=True):
    """Whether a mutant was judged automatically, and the survivor if it passed."""

    is_decided: bool
    survivor: Survivor | None = None


def run_mutants(grader: Grader, key: AnswerKey, workers: int) -> tuple[MutatedCell, ...]:
    """Grade mutants of the answer key with the assignment's own test cells.

    Args:
        grader: the grader of the assignment; without adopted tests the result is empty.
        key: its graded answer key.
        workers: number of mutants that are graded at the same time.
    """
    if not any(question.kind == "tests" for question in grader.assignment.rubric.questions):
        return ()
    runner = _MutantRunner(Grader(_limit_time(grader.assignment, key), grader.pool), key)
    plans = runner.plan_cells()
    with ThreadPoolExecutor(workers) as threads:
        # All mutants of all cells share one pool of threads; their verdicts keep the order of the jobs.
        jobs = [partial(runner.judge_mutant, plan, mutant) for plan in plans for mutant in plan.mutants]
        verdicts = iter(list(threads.map(lambda job: job(), jobs)))
    cells = []
    for plan in plans:
        of_cell = [next(verdicts) for _ in plan.mutants]
        undecided = sum(not verdict.is_decided for verdict in of_cell)
        survivors = tuple(verdict.survivor for verdict in of_cell if verdict.survivor is not None)
        cells.append(
            MutatedCell(plan.notebook, plan.cell, plan.tests, len(plan.mutants), undecided, survivors)
        )
    return tuple(cells)


class _MutantRunner(Struct, frozen=True):
    """Grades mutants of the answer key."""

    grader: Grader
    key: AnswerKey

    def plan_cells(self) -> tuple[_Plan, ...]:
        """Return the answer cells that can be mutated; without own tests, all questions test a cell."""
        plans = []
        rubric = self.grader.assignment.rubric
        for notebook, release in self.grader.assignment.releases.items():
            judged = [
                question
                for question in rubric.questions
                if question.notebook == notebook and self._is_judged(question)
            ]
            for cell in release.cells:
                answer = self.key.submissions[notebook].answers.get(cell.grade_id)
                own_tests = [question.id for question in judged if question.answer_cell == cell.grade_id]
                # A graded cell without own tests is graded manually, so tests need not detect its mutants.
                is_manual = cell.grade and not own_tests
                if answer is None or cell.cell_type != "code" or not cell.is_answer or is_manual:
                    continue
                mutants = generate_mutants(answer.source, MUTANTS_PER_CELL)
                tests = tuple(own_tests or [question.id for question in judged])
                if mutants and tests:
                    plans.append(_Plan(notebook, cell.grade_id, tests, mutants))
        return tuple(plans)

    def judge_mutant(self, plan: _Plan, mutant: Mutant) -> _Verdict:
        """Grade one mutant; if its own tests let it pass, look for another test that detects it."""
        lost, is_open = self._find_lost_questions(plan, mutant, plan.tests)
        if lost or is_open:
            return _Verdict(is_decided=bool(lost))
        other_tests = [
            question.id
            for question in self.grader.assignment.rubric.questions
            if question.notebook == plan.notebook
            and question.id not in plan.tests
            and self._is_judged(question)
        ]
        elsewhere = self._find_lost_questions(plan, mutant, other_tests)[0] if other_tests else ()
        survivor = Survivor(mutant.line, mutant.before, mutant.after, mutant.mistake, elsewhere)
        return _Verdict(is_decided=True, survivor=survivor)

    def _is_judged(self, question: Question) -> bool:
        return question.kind == "tests" and any(
            not item.manual and self.key.marks[f"{question.id}.{item.id}"] is Mark.KEPT
            for item in question.items
        )

    def _find_lost_questions(
        self, plan: _Plan, mutant: Mutant, questions: Sequence[str]
    ) -> tuple[tuple[str, ...], bool]:
        """Return those of the questions that lose points, and whether one needs manual review."""
        notebooks = {
            name: with_sources(data, {plan.cell: mutant.source} if name == plan.notebook else {})
            for name, data in self.key.sources.items()
        }
        # The results of the key are reused for all other questions.
        kept_results = {
            name: tuple(results)
            for name, results in self.key.collect_results().items()
            if name not in questions
        }
        graded = self.grader.grade(
            SubmittedFiles("a mutant of the answer key", notebooks, self.key.files), kept_results
        )
        judged = [
            result
            for result in graded.score.items
            if result.question in questions
            and self.key.marks[f"{result.question}.{result.item}"] is Mark.KEPT
            and not self.grader.assignment.rubric.get_question(result.question).get_item(result.item).manual
        ]
        lost = dict.fromkeys(
            result.question
            for result in judged
            if result.status is not Status.NEEDS_REVIEW and result.points < result.possible
        )
        return tuple(lost), any(result.status is Status.NEEDS_REVIEW for result in judged)


def _limit_time(assignment: Assignment, key: AnswerKey) -> Assignment:
    """Return the assignment with time limits for mutants, which may loop forever."""
    seconds = max(_LEAST_SECONDS, _TIME_FACTOR * key.graded.spent.submission_seconds)
    rubric = assignment.rubric
    questions = tuple(
        replace(
            question,
            items=tuple(
                replace(
                    item, options={**item.options, "seconds": min(seconds, item.options.get("seconds", 30.0))}
                )
                if question.kind == "tests" and not item.manual
                else item
                for item in question.items
            ),
        )
        for question in rubric.questions
    )
    limits = rubric.assignment.limits
    hurried = replace(limits, cell_seconds=min(seconds, limits.cell_seconds))
    rubric = replace(rubric, questions=questions, assignment=replace(rubric.assignment, limits=hurried))
    checks = {question.id: make_check(question, rubric) for question in questions}
    return replace(assignment, rubric=rubric, checks=checks)
