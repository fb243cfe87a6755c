"""Run all checks of one question on answers, in the sandbox, for `autograder.checking.outcome_tables`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec.structs import replace

from autograder.checking.check_parser import CheckFile, describe_known_names, name_part
from autograder.checking.outcome_tables import AnswerRow, DeclaredAnswer, list_answers
from autograder.checking.runner import CheckOutcome, Status
from autograder.core.errors import CourseError
from autograder.core.records import CellOutcome
from autograder.grading.assignment import Assignment
from autograder.grading.cell_tests import CellTests, prepare_cells_to_run
from autograder.grading.pipeline import Grader
from autograder.grading.submitted_files import read_files
from autograder.grading.verify.papers import KEY, grade_answer_key, with_sources
from autograder.rubric import Question
from autograder.sandbox.pool import Pool
from autograder.sandbox.timeouts import Timeouts


@runtime_checkable
class _ShowsValues(Protocol):
    """A check that can report drawn and compared values."""

    shows_values: bool


class Explainer:
    """Runs the checks of one question in a notebook that is otherwise the answer key."""

    def __init__(self, assignment: Assignment, pool: Pool, question: str, *, show_values: bool) -> None:
        """Grade the answer key.

        Args:
            assignment: loaded.
            pool: provides the sandboxes.
            question: its id.
            show_values: report drawn and compared values.

        Raises:
            CourseError: there is no such question, or it has no checks.
        """
        checks = assignment.rubric.checks
        check: object = assignment.checks.get(question)
        if question not in checks or not isinstance(check, _ShowsValues):
            has_none = "has no checks in Python" if check else "is not there"
            raise CourseError(f"question {question!r} {has_none}{describe_known_names(question, checks)}")
        check.shows_values = show_values
        self.file: CheckFile = checks[question]
        self._question: Question = assignment.rubric.get_question(question)
        self._grader = Grader(assignment, pool)
        self._key = grade_answer_key(self._grader)

    def run_stated(self) -> Iterator[AnswerRow]:
        """Yield the result for each answer in the file of checks."""
        for answer in list_answers(self.file):
            yield AnswerRow(answer, self._run_checks(self._plant_answer(answer.source)))

    def run_file(self, path: Path) -> AnswerRow:
        """Return the result for an answer in a file.

        Args:
            path: a notebook, or a Python file with the content of the answer cell.

        Raises:
            CourseError: it cannot be read.
            NotebookError: it is not a notebook.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CourseError(f"{path}: cannot be read: {error.strerror}") from error
        # Any other file is the source of the answer cell, planted into the answer key.
        if path.suffix != ".ipynb":
            data = self._plant_answer(data.decode("utf-8", "replace"))
        return AnswerRow(DeclaredAnswer(path.name, "", ()), self._run_checks(data))

    def _plant_answer(self, source: str) -> bytes:
        release = self._grader.assignment.releases[self._question.notebook]
        cell = release.find_answer_cell(self._question)
        return with_sources(self._key.sources[self._question.notebook], {cell: source})

    def _run_checks(self, data: bytes) -> Mapping[str, CheckOutcome]:
        grader, assignment = self._grader, self._grader.assignment
        notebook = next(
            candidate
            for candidate in assignment.rubric.assignment.notebooks
            if candidate.name == self._question.notebook
        )
        submission = assignment.read_submission(notebook.name, data, KEY)
        file_answers = read_files(notebook, self._key.files, assignment.starters)
        submission = replace(submission, answers={**submission.answers, **file_answers.answers})
        other_checks = assignment.checks.keys() - {self._question.id}
        sandbox = grader.pool.create_persistent(assignment.build_environment(notebook))
        draw_scope = grader.sittings.common.own
        tests = CellTests(
            assignment,
            notebook,
            submission,
            sandbox,
            grader=grader,
            draw_scope=draw_scope,
            without=other_checks,
        )
        cells = prepare_cells_to_run(submission.cells, assignment, notebook.name)
        session = tests.open_session(cells, file_answers.contents, Timeouts(lambda: b"", {}))
        with session, tests:
            session.run()
            outcomes = tests.collect_outcomes(session).get(self._question.id, {})
        # A check without an outcome was not run, because the cell counts as unanswered.
        nothing = CellOutcome(error="NoAnswer", message="the cell is as it was handed out, or empty")
        return {
            name: _read_outcome(outcomes.get(name, nothing))
            for check in self.file.checks
            for name in (name_part(check.id, part.name) for part in check.parts)
        }


def _read_outcome(outcome: CellOutcome) -> CheckOutcome:
    """Convert the outcome of a check in the sandbox into one without a sandbox."""
    status: Status = "wrong"
    message = outcome.message
    if outcome.ending is not None:
        status, message = "raised", f"the student's box ended: {outcome.ending.value}"
    elif outcome.refused or outcome.doubt:
        status, message = (
            "unclear",
            "; ".join(filter(None, (outcome.message, outcome.refused, outcome.doubt))),
        )
    elif outcome.missing:
        status = "missing"
    elif outcome.raised:
        status = "raised"
    elif outcome.passed:
        status = "passed"
    forbidden = f"forbidden names: {outcome.forbidden}" if outcome.forbidden else ""
    return CheckOutcome(
        status,
        "; ".join(filter(None, (message, forbidden))),
        outcome.error if status == "raised" else "",
        mistakes=outcome.mistakes,
        values=outcome.values,
    )
