"""The test cells of one submission: where in the notebook they run, and what came of them."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

import msgspec
from msgspec.structs import replace

from autograder.assignment import Assignment
from autograder.checks.base import Check, Draw
from autograder.checks.judging.judgeable import (
    imports_of,
    names_bound,
    names_read_around,
    names_used,
    rebinding,
)
from autograder.grading.harmless import cannot_reach
from autograder.notebook.placeholders import without_skipped_lines
from autograder.records import Answer, Cell, CellOutcome, CellTest, Markdown, Submission
from autograder.rubric import NotebookFile, Question
from autograder.sandbox.base import Box, Sandbox
from autograder.sandbox.session import Session, Visit
from autograder.sandbox.testing import CellTester, Key, visit
from autograder.sandbox.timeouts import Timeouts
from autograder.stopwatch import Stopwatch


def cells_to_run(
    cells: Sequence[Cell | Markdown], assignment: Assignment, notebook: str
) -> Sequence[Cell | Markdown]:
    """Return the cells as they run: without what undoes an answer, the start line before plain code."""
    ran = without_skipped_lines(cells, assignment.releases[notebook])
    return with_start(ran, assignment.rubric.assignment.cell_start)


def with_start(cells: Sequence[Cell | Markdown], line: str) -> Sequence[Cell | Markdown]:
    """The cells of a notebook as they run: a line before each that is code and no magic."""
    return [
        replace(cell, source=f"{line}\n{cell.source}")
        if line and isinstance(cell, Cell) and cell.source.strip() and not cell.source.startswith("%%")
        else cell
        for cell in cells
    ]


def _without_program(test: CellTest) -> CellTest:
    """The digest names the checks, and sources are long."""
    return replace(test, check=replace(test.check, program="")) if test.check else test


class SeededGrader(Protocol):
    """What of a grader tests need."""

    secret: bytes
    seed: int
    stopwatch: Stopwatch


INSIDE = ", tests inside"
"""Added to the level of isolation where tests ran in the student's own box."""


class CellTests:
    """Runs them in a box of the same environment that nobody's code has seen; to be used with `Session`."""

    def __init__(
        self,
        assignment: Assignment,
        notebook: NotebookFile,
        submission: Submission,
        sandbox: Sandbox,
        *,
        grader: SeededGrader,
        own: str,
        without: Container[str] = (),
    ) -> None:
        """Find the place of every test.

        Args:
            assignment: as the student was asked it.
            notebook: of it.
            submission: to it.
            sandbox: of the student.
            grader: whose secret and seed they are.
            own: whose hidden inputs the submission meets (`autograder.checks.base.draw_scope`).
            without: questions whose results are known: their tests are left out unless other tests see what
                they define.
        """
        self._cells = cells = submission.cells
        self._found: dict[Key, CellOutcome] = {}
        self._tests: dict[int, dict[Key, CellTest]] = {}
        for question in assignment.questions(notebook.name):
            answer = assignment.answer(question, submission)
            draw = Draw.for_question(grader.secret, assignment.rubric, question, own)
            self._place(
                question, assignment.checks[question.id], answer, draw, is_known=question.id in without
            )
        self._doubt(cells)
        self._sandbox, self._grader = sandbox, grader
        self._limits = limits = assignment.rubric.assignment.limits
        self._release = release = assignment.releases[notebook.name]
        code = [cell.source for cell in release.cells if cell.cell_type == "code"]
        self._imports = imports_of(code) if self._tests else ()
        # Another seed than the student's, so that a seed set by a test is a change.
        self._runner = CellTester(
            lambda: sandbox.open(limits, seed=grader.seed ^ 1),
            self._imports,
            stopwatch=grader.stopwatch,
            open_again=self._open_again,
            call_seconds=limits.call_seconds,
        )

    def _place(
        self, question: Question, check: Check, answer: Answer | None, draw: Draw, *, is_known: bool
    ) -> None:
        """Find the place of the tests of one question."""
        if not check.runs_tests or (answer is not None and check.is_unanswered(answer)):
            return
        tests = {(question.id, item): test for item, test in check.cell_tests(draw).items()}
        if is_known and not any(test.shared for test in tests.values()):
            return
        places = {
            cell.grade_id: place
            for place, cell in enumerate(self._cells)
            if isinstance(cell, Cell) and cell.grade_id
        }
        if check.after and check.after not in places:
            refused = CellOutcome(
                refused=f"there is no cell {check.after!r} in the notebook, at which it would run"
            )
            self._found |= dict.fromkeys(tests, refused)
        else:
            self._tests.setdefault(places.get(check.after, len(self._cells)), {}).update(tests)

    def open_session(
        self, cells: Sequence[Cell | Markdown], files: Mapping[str, bytes], timeouts: Timeouts
    ) -> Session:
        """Return the run of the submission, which stops at the places of tests.

        Args:
            cells: as they run.
            files: that were handed in.
            timeouts: what is known to run out of time.
        """
        self._ran, self._files = cells, files
        if not files:  # a file can stand in the place of a module that a given cell imports
            self._skip_forbidding()
        self._session = Session(
            self._sandbox,
            cells,
            self._limits,
            seed=self._grader.seed,
            files=files,
            stopwatch=self._grader.stopwatch,
            visits=self.visits(timeouts),
            timeouts=timeouts,
        )
        return self._session

    def _open_again(self) -> Box:
        """Return a fresh box in which all cells have run but those that ended the submission's own."""
        grader = self._grader
        session = Session(
            self._sandbox,
            self._ran,
            self._limits,
            seed=grader.seed,
            files=self._files,
            stopwatch=grader.stopwatch,
            skipped=self._session.skipped,
        )
        with session:
            session.run()
            return session.hand_over()

    def _skip_forbidding(self) -> None:
        """Run no check once more if the answer cannot reach what is forbidden: that takes a box."""
        sources = [cell.source for cell in self._cells if isinstance(cell, Cell)]
        given = [one.source for one in self._release.cells if one.cell_type == "code" and not one.is_answer]
        for tests in self._tests.values():
            for key, test in tests.items():
                asked = test.check.forbidden if test.check else ()
                if asked and cannot_reach(asked, sources, given):
                    tests[key] = replace(test, check=replace(test.check, forbidden=()))  # type: ignore[type-var]

    def _doubt(self, cells: Sequence[Cell | Markdown]) -> None:
        """Have tests reviewed that bind a name which this student's code reads: they bind it elsewhere.

        Only tests that share a notebook's names (nbgrader's) are meant to change what other code sees, and
        their visible lines run in the student's box as well.
        """
        binding = {
            key: bound
            for tests in self._tests.values()
            for key, test in tests.items()
            if test.shared and not test.inside and (bound := names_bound(test.code))
        }
        every = frozenset[str]().union(*binding.values())
        code = {place: one.source for place, one in enumerate(cells) if isinstance(one, Cell)}
        uses = {
            place: names_used(source)
            for place, source in code.items()
            if place not in self._tests and any(name in source for name in every)
        }
        for place, tests in self._tests.items():
            for key in tests.keys() & binding.keys():
                before = [use for at, use in uses.items() if at < place]
                shown = code.get(place, "").strip() == tests[key].code.strip()
                after = [use for at, use in uses.items() if at > place and not shown]
                read = sorted(binding[key] & names_read_around(before, after))
                tests[key] = replace(tests[key], doubtful="; ".join(map(rebinding, read[:3])))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.close()

    def visits(self, timeouts: Timeouts) -> Mapping[int, Visit]:
        """Return what the session does at which cell.

        Args:
            timeouts: of the notebook.
        """
        # What a test meets depends on the tests before it, and on what their imports stand for.
        told = [
            [place, [(key, _without_program(test)) for key, test in tests.items()]]
            for place, tests in sorted(self._tests.items())
        ]
        basis = hashlib.sha256(msgspec.json.encode([told, list(self._imports)])).digest()
        return {
            place: visit(self._runner, tests, self._found, timeouts, basis)
            for place, tests in self._tests.items()
        }

    @property
    def stamp(self) -> str:
        """What the level of isolation does not say."""
        return INSIDE if any(one.inside for one in self._found.values()) else ""

    def outcomes(self, session: Session) -> dict[str, dict[str, CellOutcome]]:
        """Outcomes by question and item; of what was not reached because the student's boxes ended, that."""
        self._runner.close()
        found: dict[str, dict[str, CellOutcome]] = {}
        for question, item in (*self._found, *(key for tests in self._tests.values() for key in tests)):
            outcome = self._found.get((question, item))
            if outcome is None and session.given_up is not None:
                outcome = CellOutcome(ending=session.given_up)
            if outcome is not None:
                found.setdefault(question, {})[item] = outcome
        return found
