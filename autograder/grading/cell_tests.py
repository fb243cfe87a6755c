"""The test cells of one submission: their positions in the notebook, and their outcomes."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

import msgspec
from msgspec.structs import replace

from autograder.core.records import Answer, Cell, CellOutcome, CellTest, Markdown, Submission
from autograder.grading.assignment import Assignment
from autograder.grading.attention_access import is_unreachable
from autograder.notebook.placeholders import mask_skipped_lines
from autograder.questions.base.base import Check, Draw
from autograder.questions.base.judging.judgeable import (
    explain_rebinding,
    find_bound_names,
    find_names_read_around,
    find_used_names,
    list_imports,
)
from autograder.rubric import NotebookFile, Question
from autograder.sandbox.base import Box, Sandbox
from autograder.sandbox.judge_session import CellTester, ItemKey, create_visit
from autograder.sandbox.session import Session, Visit
from autograder.sandbox.timeouts import Timeouts


def prepare_cells_to_run(
    cells: Sequence[Cell | Markdown], assignment: Assignment, notebook: str
) -> Sequence[Cell | Markdown]:
    """Return the cells to run: lines that undo an answer removed, the start line added to plain code."""
    ran = mask_skipped_lines(cells, assignment.releases[notebook])
    return with_start_line(ran, assignment.rubric.assignment.cell_start)


def with_start_line(cells: Sequence[Cell | Markdown], line: str) -> Sequence[Cell | Markdown]:
    """Return the cells with a line added before each one that is code and no cell magic."""
    return [
        replace(cell, source=f"{line}\n{cell.source}")
        if line and isinstance(cell, Cell) and cell.source.strip() and not cell.source.startswith("%%")
        else cell
        for cell in cells
    ]


def _drop_program(test: CellTest) -> CellTest:
    """Return the test without its packed sources, which are long; the digest identifies them."""
    return replace(test, check=replace(test.check, program="")) if test.check else test


class SeededGrader(Protocol):
    """The part of a grader that tests need."""

    secret: bytes
    seed: int


INSIDE = ", tests inside"
"""Added to the level of isolation if tests ran in the student's own box."""


class CellTests:
    """Run the tests in a box that no student code has touched. Use it together with `Session`."""

    def __init__(
        self,
        assignment: Assignment,
        notebook: NotebookFile,
        submission: Submission,
        sandbox: Sandbox,
        *,
        grader: SeededGrader,
        draw_scope: str,
        without: Container[str] = (),
    ) -> None:
        """Find the position of every test.

        Args:
            assignment: with the student's variant.
            notebook: of the assignment.
            submission: to the notebook.
            sandbox: of the student.
            grader: provides secret and seed.
            draw_scope: scope of the hidden inputs of this submission; see
                `autograder.questions.base.base.find_draw_scope`.
            without: questions with known results: their tests are omitted unless other tests see their
                definitions.
        """
        self._cells = cells = submission.cells
        self._found: dict[ItemKey, CellOutcome] = {}
        self._tests: dict[int, dict[ItemKey, CellTest]] = {}
        for question in assignment.list_questions(notebook.name):
            answer = assignment.find_answer(question, submission)
            draw = Draw.from_secret(grader.secret, assignment.rubric, question, draw_scope)
            self._place_tests(
                question, assignment.checks[question.id], answer, draw, is_known=question.id in without
            )
        self._mark_doubtful(cells)
        self._sandbox, self._grader = sandbox, grader
        self._limits = limits = assignment.rubric.assignment.limits
        self._release = release = assignment.releases[notebook.name]
        code = [cell.source for cell in release.cells if cell.cell_type == "code"]
        self._imports = list_imports(code) if self._tests else ()
        # A seed other than the student's, so that setting the seed in a test has an effect.
        self._runner = CellTester(
            lambda: sandbox.open(limits, seed=grader.seed ^ 1),
            self._imports,
            open_again=self._open_again,
            call_seconds=limits.call_seconds,
        )

    def _place_tests(
        self, question: Question, check: Check, answer: Answer | None, draw: Draw, *, is_known: bool
    ) -> None:
        """Find the position of the tests of one question."""
        if not check.runs_tests or (answer is not None and check.is_unanswered(answer)):
            return
        tests = {(question.id, item): test for item, test in check.make_cell_tests(draw).items()}
        if is_known and not any(test.shared for test in tests.values()):
            return
        positions = {
            cell.grade_id: position
            for position, cell in enumerate(self._cells)
            if isinstance(cell, Cell) and cell.grade_id
        }
        # Students can delete given cells; the test then has no position to run at.
        if check.after and check.after not in positions:
            refused = CellOutcome(
                refused=f"there is no cell {check.after!r} in the notebook, at which it would run"
            )
            self._found |= dict.fromkeys(tests, refused)
        else:
            # Tests that name no cell run after the whole notebook.
            self._tests.setdefault(positions.get(check.after, len(self._cells)), {}).update(tests)

    def open_session(
        self, cells: Sequence[Cell | Markdown], files: Mapping[str, bytes], timeouts: Timeouts
    ) -> Session:
        """Return the session that runs the submission and stops at the positions of tests.

        Args:
            cells: as they run.
            files: the submitted files.
            timeouts: the known time-outs.
        """
        self._ran, self._files = cells, files
        if not files:  # a submitted file can replace a module that cells import
            self._skip_forbidding()
        self._session = Session(
            self._sandbox,
            cells,
            self._limits,
            seed=self._grader.seed,
            files=files,
            visits=self.list_visits(timeouts),
            timeouts=timeouts,
        )
        return self._session

    def _open_again(self) -> Box:
        """Return a fresh box in which all cells have run except those that ended the submission's box."""
        grader = self._grader
        session = Session(
            self._sandbox,
            self._ran,
            self._limits,
            seed=grader.seed,
            files=self._files,
            skipped=self._session.skipped,
        )
        with session:
            session.run()
            return session.take_box()

    def _skip_forbidding(self) -> None:
        """Skip the second run of checks if the answer cannot reach a forbidden function; it takes a box."""
        sources = [cell.source for cell in self._cells if isinstance(cell, Cell)]
        # Answer cells of the release do not count: their content is the student's.
        given_sources = [
            released_cell.source
            for released_cell in self._release.cells
            if released_cell.cell_type == "code" and not released_cell.is_answer
        ]
        for tests in self._tests.values():
            for key, test in tests.items():
                forbidden = test.check.forbidden if test.check else ()
                if forbidden and is_unreachable(forbidden, sources, given_sources):
                    tests[key] = replace(test, check=replace(test.check, forbidden=()))  # type: ignore[type-var]

    def _mark_doubtful(self, cells: Sequence[Cell | Markdown]) -> None:
        """Require manual review for tests that bind a name which this student's code reads.

        They bind it in another box. Only tests that share a notebook's names (nbgrader's) are meant to change
        what other code sees, and their visible lines run in the student's box as well.
        """
        binding = {
            key: bound
            for tests in self._tests.values()
            for key, test in tests.items()
            if test.shared and not test.inside and (bound := find_bound_names(test.code))
        }
        all_bound = frozenset[str]().union(*binding.values())
        code = {position: cell.source for position, cell in enumerate(cells) if isinstance(cell, Cell)}
        uses = {
            position: find_used_names(source)
            for position, source in code.items()
            if position not in self._tests and any(name in source for name in all_bound)
        }
        for position, tests in self._tests.items():
            for key in tests.keys() & binding.keys():
                before = [use for other_position, use in uses.items() if other_position < position]
                shown = code.get(position, "").strip() == tests[key].code.strip()
                after = [
                    use for other_position, use in uses.items() if other_position > position and not shown
                ]
                read = sorted(binding[key] & find_names_read_around(before, after))
                tests[key] = replace(tests[key], doubtful="; ".join(map(explain_rebinding, read[:3])))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.close()

    def list_visits(self, timeouts: Timeouts) -> Mapping[int, Visit]:
        """Return the tests that the session runs, by position of the cell.

        Args:
            timeouts: of the notebook.
        """
        # The outcome of a test depends on the tests before it, and on their imports.
        described_tests = [
            [position, [(key, _drop_program(test)) for key, test in tests.items()]]
            for position, tests in sorted(self._tests.items())
        ]
        # Known time-outs of tests are valid only for the same tests in the same order.
        basis = hashlib.sha256(msgspec.json.encode([described_tests, list(self._imports)])).digest()
        return {
            position: create_visit(self._runner, tests, self._found, timeouts, basis)
            for position, tests in self._tests.items()
        }

    @property
    def stamp(self) -> str:
        """The part of the provenance that the level of isolation does not express."""
        return INSIDE if any(outcome.inside for outcome in self._found.values()) else ""

    def collect_outcomes(self, session: Session) -> dict[str, dict[str, CellOutcome]]:
        """Return outcomes by question and item.

        Tests that were not reached because the student's boxes ended have that ending as their outcome.
        """
        self._runner.close()
        outcomes: dict[str, dict[str, CellOutcome]] = {}
        for question, item in (*self._found, *(key for tests in self._tests.values() for key in tests)):
            outcome = self._found.get((question, item))
            if outcome is None and session.given_up is not None:
                outcome = CellOutcome(ending=session.given_up)
            if outcome is not None:
                outcomes.setdefault(question, {})[item] = outcome
        return outcomes
